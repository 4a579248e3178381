//! `check`: compares the intended with the actual state, layer by layer, with evidence and fix, and measures whether the CPUs
//! are really quiet.

use crate::flags::value_words;
use crate::reading::ReadingArgs;
use check::{CheckResult, CheckVerdict, judge};
use machine::parse_duration;
use plan::{Level, Profile};
use report::CheckOutput;
use root::{Failure, Origin, Status};
use session::boot_files::BootScene;
use session::{LastCheck, Session, seconds_now};
use std::path::PathBuf;
use std::time::Duration;
use terminal::{Screen, Volume};
use verify::examination::{Examination, examine};
use verify::intention::{CheckScope, Declarations};
use verify::repair::repair;

/// Arguments of `check`.
#[derive(clap::Args)]
pub struct Args {
    /// The CPUs that should be left in peace, instead of those of /etc/quietcore.toml, else of what was applied, else of the
    /// boot line, else of other tools
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// With --cpus: how far to go where nothing of ours is in force [default: minimal]
    #[arg(long, value_name = "PROFILE", requires = "cpus")]
    profile: Option<crate::intent::ProfileWord>,
    /// How long ticks, interrupts and softirqs are counted; 0s counts nothing, and then nothing is known to be quiet
    #[arg(long = "for", value_name = "TIME", default_value = "1s", value_parser = window)]
    window: Duration,
    /// Set again what is lost and safe to set: through the journal, as a part of the active partition, so that `undo`
    /// restores it too
    #[arg(long, conflicts_with = "root")]
    fix: bool,
    /// Leave a finding out of verdict and status: ID, or ID:SUBJECT for one of several. May be repeated
    #[arg(long, value_name = "ID")]
    ignore: Vec<String>,
    /// Status 1 from findings of this level on
    #[arg(long, value_name = "LEVEL", default_value = "error")]
    level: LevelWord,
    /// Write a JUnit report too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
}

value_words! {
    /// Levels by name.
    pub enum LevelWord for Level {
        /// An effect that is promised is absent
        Error,
        /// Isolation is weaker than it looks
        Warning,
        /// Anything at all
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
    print_report(args, session, &looked, &repairs, screen)
}

/// Refuses unknown ids: a misspelled id would have no effect, without a message.
fn refuse_unknown(ignore: &[String]) -> Result<(), Failure> {
    let is_known = |pattern: &&String| {
        let id = pattern.split_once(':').map_or(pattern.as_str(), |(id, _)| id);
        plan::findings().any(|row| row.id.as_str() == id)
    };
    match ignore.iter().find(|pattern| !is_known(pattern)) {
        None => Ok(()),
        Some(pattern) => Err(Failure::usage(
            format!("there is no finding `{}`", report::safe(pattern)),
            "--ignore takes the id of a finding, or ID:SUBJECT",
            "the ids stand in brackets before each finding; `quietcore explain --list` shows all",
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
    match screen.volume {
        Volume::Quiet => screen.verdict(&report::check_verdict(&checked)),
        _ => screen.text(&report::check_text(&checked, screen.detail(), screen.style())),
    }
    Ok(match (judged.fails, judged.verdict) {
        (true, _) => Status::Failed,
        (false, CheckVerdict::Unknown) => Status::Unable,
        (false, _) => Status::Done,
    })
}
