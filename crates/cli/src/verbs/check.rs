//! `check`: compares the intended with the actual state, layer by layer, with evidence and fix, and measures whether the CPUs
//! are really quiet.

use crate::flags::value_words;
use crate::reading::ReadingArgs;
use check::{CheckResult, CheckVerdict, judge};
use machine::parse_duration;
use plan::words::did_you_mean;
use plan::{Level, Profile};
use report::CheckOutput;
use root::{Failure, Origin, Status};
use session::boot_files::BootScene;
use session::{LastCheck, Session, seconds_now};
use std::path::PathBuf;
use std::time::Duration;
use terminal::{Screen, StepLine};
use verify::examination::{Examination, examine};
use verify::intention::{CheckScope, Declarations};
use verify::repair::repair;

/// Arguments of `check`.
#[derive(clap::Args)]
pub struct Args {
    /// CPUs that should be isolated [default: those that are declared or applied]
    ///
    /// The default is the first of these that names CPUs: /etc/quietcore.toml, what was applied, the boot line, other tools.
    #[arg(long, value_name = "CPUS")]
    cpus: Option<String>,
    /// With --cpus: the profile to expect where quietcore applied nothing [default: minimal]
    #[arg(long, value_name = "PROFILE", requires = "cpus")]
    profile: Option<crate::intent::ProfileWord>,
    /// How long to count ticks, interrupts and softirqs; 0s checks only files
    #[arg(long = "for", value_name = "TIME", default_value = "1s", value_parser = window)]
    window: Duration,
    /// Repair what was lost and is safe to set; `undo` restores this too
    #[arg(long, conflicts_with = "root")]
    fix: bool,
    /// Ignore a finding in the verdict and the status: ID, or ID:SUBJECT (repeatable)
    #[arg(long, value_name = "ID")]
    ignore: Vec<String>,
    /// Exit with status 1 for findings of this level or above
    #[arg(long, value_name = "LEVEL", default_value = "error")]
    level: LevelWord,
    /// Also write a JUnit report to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
}

value_words! {
    /// Levels by name.
    pub enum LevelWord for Level {
        /// A promised effect is absent
        Error,
        /// Isolation is weaker than it looks
        Warning,
        /// Anything worth knowing
        Info,
    }
}

/// Zero is a valid value: it checks files only.
fn window(text: &str) -> Result<Duration, String> {
    match text {
        "0" | "0s" => Ok(Duration::ZERO),
        text => parse_duration(text),
    }
}

/// Maximum number of check-and-repair rounds: the controller, its values, the partition.
const MOST_ROUNDS: usize = 3;

/// Runs the command.
///
/// # Errors
/// A captured machine that cannot be opened, CPUs that do not exist, or a declaration file or journal that cannot be parsed.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    refuse_unknown(&args.ignore)?;
    let session = &*args.reading.open(session)?;
    let scene = BootScene::read(session)?;
    let scope = CheckScope {
        cpus: args.cpus.as_deref(),
        profile: args.profile.map_or(Profile::Minimal, Into::into),
        declarations: Declarations::OfMachine,
    };
    let look = || examine(&scene, &scope, args.window);
    let step = args.fix.then(|| StepLine::start("checking and repairing", screen));
    let mut looked = look()?;
    let mut repairs = Vec::new();
    // Where a whole controller was removed, its files must exist again before their values can be set.
    for _ in 0..if args.fix { MOST_ROUNDS } else { 0 } {
        let lines = repair(session, &looked, &args.ignore)?;
        let new: Vec<String> = lines.into_iter().filter(|line| !repairs.contains(line)).collect();
        // A repair that is refused in every round is reported once.
        if new.is_empty() {
            break;
        }
        repairs.extend(new);
        looked = look()?;
    }
    drop(step);
    print_report(args, session, &looked, &repairs, screen)
}

/// Refuses unknown ids: a misspelled id would have no effect, without a message.
fn refuse_unknown(ignore: &[String]) -> Result<(), Failure> {
    fn id_of(pattern: &str) -> &str {
        pattern.split_once(':').map_or(pattern, |(id, _)| id)
    }
    let is_known = |pattern: &str| plan::findings().any(|row| row.id.as_str() == id_of(pattern));
    match ignore.iter().find(|pattern| !is_known(pattern)) {
        None => Ok(()),
        Some(pattern) => Err(Failure::usage(
            format!("there is no finding `{}`", report::safe(pattern)),
            "--ignore accepts the id of a finding, or ID:SUBJECT",
            did_you_mean(id_of(pattern), plan::findings().map(|row| row.id.as_str())).unwrap_or_else(|| {
                "`check` prints the ids in brackets; `quietcore explain --list` shows all".to_owned()
            }),
        )),
    }
}

/// Records the result for `status`. A check succeeds without that.
fn record(session: &Session, looked: &Examination, judged: &CheckResult) {
    let count = |level| judged.findings.iter().filter(|one| one.finding.level == level).count();
    let recorded = session.record_check(&LastCheck {
        cpus: looked
            .intention
            .cpus()
            .minus(&looked.intention.not_isolated())
            .to_string(),
        at_s: seconds_now(),
        verdict: format!("{:?}", judged.verdict).to_lowercase(),
        errors: count(Level::Error),
        warnings: count(Level::Warning),
    });
    if let Err(error) = recorded {
        session.warn(&error.into());
    }
}

fn print_report(
    args: &Args,
    session: &Session,
    looked: &Examination,
    repairs: &[String],
    screen: &mut Screen,
) -> Result<Status, Failure> {
    let threshold = args.level.into();
    let judged = judge(
        &looked.evidence(),
        &looked.intention,
        looked.found.clone(),
        &args.ignore,
        threshold,
    );
    let checked = CheckOutput {
        origin: match looked.machine.origin {
            Origin::Live => "live",
            Origin::Captured => "captured",
        },
        intention: &looked.intention,
        judged: &judged,
        window_ns: looked.window_ns(),
        unread: &looked.unread,
        repairs,
    };
    if args.ignore.is_empty() {
        record(session, looked, &judged);
    }
    if let Some(path) = &args.junit {
        root::output::write(path, report::check_junit(&checked, threshold).as_bytes())?;
    }
    screen.json(&report::check_json(&checked));
    let text = report::check_text(&checked, screen.detail(), screen.style());
    screen.report(&report::check_verdict(&checked), &text);
    Ok(match (judged.fails, judged.verdict) {
        (true, _) => Status::Failed,
        (false, CheckVerdict::Unknown) => Status::Unable,
        (false, _) => Status::Done,
    })
}
