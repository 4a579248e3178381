//! `compare`: files of any measuring tools side by side, and whether they show what is required.

use crate::foreign::recording;
use crate::screen::Form;
use crate::{CommandError, Screen, Status};
use formats::requirement::{Outcome, Requirement};
use machine::parse_duration;
use report::{Compared, Judged};
use std::path::PathBuf;

/// Arguments of `compare`.
#[derive(clap::Args)]
pub struct Args {
    /// Results of quietcore or of any tool that `report` reads; differences are stated from the first one
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// What every CPU of every file must show: 'p99.99 < 50us', 'max < 1ms', or with `latency` or `noise` before it of
    /// wake-ups or gaps alone; status 1 where one does not, also where a file has too few samples to show it
    #[arg(long, value_name = "RULE", value_parser = requirement)]
    require: Vec<Requirement>,
}

/// Runs it.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let files = args
        .files
        .iter()
        .map(|path| {
            Ok(Compared {
                file: path.display().to_string(),
                recording: recording(path)?,
            })
        })
        .collect::<Result<Vec<Compared>, CommandError>>()?;
    let judged = Judged::all(&files, &args.require);
    match screen.form {
        Form::Json => screen.json(&report::comparison_json(&files, &judged)),
        Form::Text => screen.text(&report::comparison_text(&files, &judged, screen.style())),
    }
    let held = judged.iter().all(|one| one.judgement.outcome == Outcome::Held);
    Ok(if held { Status::Done } else { Status::Failed })
}

/// Reads `p99.99 < 50us`.
fn requirement(text: &str) -> Result<Requirement, String> {
    let (which, limit) = text
        .split_once('<')
        .ok_or_else(|| format!("`{text}` is no rule: write it as 'p99.99 < 50us' or 'max < 1ms'"))?;
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
    use formats::requirement::Which;

    #[test]
    fn rules_have_a_value_and_a_limit_with_a_unit() {
        let rule = requirement("p99.99 < 50us").unwrap();
        assert!(matches!(rule.which, Which::Quantile(share) if (share - 0.9999).abs() < 1e-9));
        assert_eq!(rule.below_ns, 50_000);
        assert_eq!(requirement("max<=1ms").unwrap().below_ns, 1_000_001);
        assert_eq!(requirement("noise max < 1s").unwrap().kind, Some(formats::Kind::Noise));
        for (wrong, why) in [
            ("", "is no rule"),
            ("p99", "is no rule"),
            ("p99 > 5us", "is no rule"),
            ("p99 < 50", "has no unit"),
            ("p99 < ", "has no unit"),
            ("p99 < -5us", "-5us"),
            ("p99 < 5 parsec", "`parsec` is no unit"),
            ("p99 << 5us", "< 5us"),
            ("p99 < 5us < 6us", "us < 6us"),
            ("mean < 5us", "neither `max` nor"),
            (" < 5us", "neither `max` nor"),
            ("sleep max < 5us", "no kind of measurement"),
        ] {
            let error = requirement(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
