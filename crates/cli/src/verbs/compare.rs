//! `compare`: compares files of any measuring tools, reports what repetitions show, and checks requirements.

mod groups;

use ::compare::{RunSet, Verdict, compared};
use formats::requirement::{Requirement, RequirementOutcome};
use machine::{Nanos, parse_duration};
use report::{ComparedFile, RequirementResult};
use root::{Failure, Status};
use session::{Session, read_recording};
use std::path::{Path, PathBuf};
use terminal::{OutputFormat, Screen};

/// Arguments of `compare`.
#[derive(clap::Args)]
pub struct Args {
    /// Results of any tool that `report` reads; each is compared with the first
    ///
    /// A directory is a set of repetitions. To show a difference, each set needs at least four.
    #[arg(value_name = "FILE|DIR", required = true)]
    files: Vec<PathBuf>,
    /// Compare the files before this option, as one set of repetitions, with those after it
    #[arg(long, alias = "with", value_name = "FILE", num_args = 1..)]
    versus: Vec<PathBuf>,
    /// Require this of every CPU in every file: 'p99.99 < 50us', 'latency max < 1ms' (repeatable)
    ///
    /// `latency` or `noise` before the rule restricts it to wake-ups or gaps. The exit status is 1 where a rule is not
    /// shown to hold, also because a file has too few samples.
    #[arg(long, value_name = "RULE", value_parser = requirement)]
    require: Vec<Requirement>,
    /// Report how many repetitions would show a difference of this size
    #[arg(long, value_name = "TIME", value_parser = size)]
    detect: Option<Nanos>,
    /// Exit with status 1 if a set is worse than the first one in any number
    #[arg(long)]
    fail_on_worse: bool,
    /// Print in another format: an HTML page with the distributions of all sets
    #[arg(long = "format", alias = "as", value_name = "FORMAT", value_parser = ["html"], conflicts_with = "json")]
    form: Option<String>,
    /// With --format: write to this file instead of standard output
    #[arg(long, value_name = "FILE", requires = "form")]
    out: Option<PathBuf>,
}

impl Args {
    /// Refuses options that would have no effect without sets: a script would take their silence as a good result.
    fn refuse_options_of_sets(&self) -> Result<(), Failure> {
        let options = [
            ("--detect", self.detect.is_some()),
            ("--fail-on-worse", self.fail_on_worse),
        ];
        match options.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => Err(Failure::usage(
                format!("{option} needs sets of repetitions"),
                "single files were given, and one run of each shows no lasting difference",
                "name directories, or use --versus between the files of two sets",
            )),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, _session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    if let Some(path) = &args.out {
        root::output::check(path)?;
    }
    let groups = groups::groups(&args.files, &args.versus)?;
    let mut files = Vec::new();
    let mut sizes = Vec::new();
    for group in &groups {
        let before = files.len();
        for path in &group.files {
            files.push(ComparedFile {
                file: path.display().to_string(),
                recording: read_recording(path)?,
            });
        }
        sizes.push(files.len() - before);
    }
    let judged = RequirementResult::all(&files, &args.require);
    let names = groups.into_iter().map(|group| group.name);
    let sets: Vec<(String, usize)> = names.zip(sizes).collect();
    let verdicts = verdicts(&sets, &files);
    if verdicts.is_empty() {
        args.refuse_options_of_sets()?;
    }
    match screen.form {
        _ if args.form.is_some() => {
            let page = html(args, &files, &sets, &judged, &verdicts);
            crate::deliver(&page, args.out.as_deref(), screen)?;
        }
        OutputFormat::Json => screen.json(&report::comparison_json(&files, &judged, &verdicts)),
        OutputFormat::Text => {
            let text = match verdicts.is_empty() {
                true => report::comparison_text(&files, &judged, screen.style()),
                false => report::sets_text(&verdicts, args.detect, &judged, screen.style()),
            };
            screen.report(&report::comparison_verdict(&files, &verdicts, &judged), &text);
        }
    }
    let held = judged
        .iter()
        .all(|one| one.judgement.outcome == RequirementOutcome::Held);
    let mut answers = verdicts.iter().flat_map(|one| &one.answers);
    let is_worse = args.fail_on_worse && answers.any(|(_, answer)| answer.verdict == Verdict::Higher);
    Ok(if held && !is_worse {
        Status::Done
    } else {
        Status::Failed
    })
}

/// Compares each set with the first; `sets` has their names and numbers of files. Single files get no verdict: one run of
/// each cannot show anything.
fn verdicts(sets: &[(String, usize)], files: &[ComparedFile]) -> Vec<::compare::SetComparison> {
    let mut rest = files;
    let sets = sets.iter().map(|(name, size)| {
        let (own, others) = rest.split_at((*size).min(rest.len()));
        rest = others;
        RunSet {
            name: name.clone(),
            runs: own.iter().map(|one| &one.recording).collect(),
        }
    });
    let sets: Vec<RunSet<'_>> = sets.collect();
    let is_repeated = sets.iter().any(|set| set.runs.len() > 1);
    match sets.split_first() {
        Some((first, others)) if is_repeated => others.iter().map(|other| compared(first, other)).collect(),
        _ => Vec::new(),
    }
}

/// The page.
fn html(
    args: &Args,
    files: &[ComparedFile],
    sets: &[(String, usize)],
    judged: &[RequirementResult],
    verdicts: &[::compare::SetComparison],
) -> String {
    let json = serde_json::to_vec(&report::comparison_json(files, judged, verdicts)).ok();
    let path = args.out.as_deref().unwrap_or(Path::new("comparison"));
    let json_name = path.with_extension("json");
    report::comparison_html(&report::ComparePage {
        files,
        sets,
        verdicts,
        judged,
        json: json.as_deref(),
        json_name: &json_name.file_name().unwrap_or_default().to_string_lossy(),
    })
}

/// Parses `1us`.
fn size(text: &str) -> Result<Nanos, String> {
    let nanoseconds = u64::try_from(parse_duration(text)?.as_nanos()).unwrap_or(u64::MAX);
    Ok(Nanos(nanoseconds))
}

/// Parses `p99.99 < 50us`.
fn requirement(text: &str) -> Result<Requirement, String> {
    let (which, limit) = text
        .split_once('<')
        .ok_or_else(|| format!("`{text}` is not a rule: write it as 'p99.99 < 50us' or 'max < 1ms'"))?;
    let (limit, more_ns) = match limit.strip_prefix('=') {
        Some(limit) => (limit, 1),
        None => (limit, 0),
    };
    let limit = limit.trim();
    if !limit.ends_with(char::is_alphabetic) {
        return Err(format!("`{limit}` has no unit: write it as 50us or 1ms"));
    }
    let nanoseconds = u64::try_from(parse_duration(limit)?.as_nanos()).unwrap_or(u64::MAX);
    Requirement::new(text, which.trim(), nanoseconds.saturating_add(more_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use formats::requirement::BoundedStatistic;

    #[test]
    fn a_requirement_needs_a_value_and_a_limit_with_a_unit() {
        let rule = requirement("p99.99 < 50us").unwrap();
        assert!(matches!(rule.which, BoundedStatistic::Quantile(share) if (share - 0.9999).abs() < 1e-9));
        assert_eq!(rule.below_ns, 50_000);
        assert_eq!(requirement("max<=1ms").unwrap().below_ns, 1_000_001);
        assert_eq!(
            requirement("noise max < 1s").unwrap().kind,
            Some(formats::SeriesKind::Noise)
        );
        for (wrong, why) in [
            ("", "is not a rule"),
            ("p99", "is not a rule"),
            ("p99 > 5us", "is not a rule"),
            ("p99 < 50", "has no unit"),
            ("p99 < ", "has no unit"),
            ("p99 < -5us", "-5us"),
            ("p99 < 5 parsec", "`parsec` is not a unit"),
            ("p99 << 5us", "< 5us"),
            ("p99 < 5us < 6us", "us < 6us"),
            ("mean < 5us", "neither `max` nor"),
            (" < 5us", "neither `max` nor"),
            ("sleep max < 5us", "not a kind of measurement"),
        ] {
            let error = requirement(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
