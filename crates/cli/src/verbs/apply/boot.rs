//! `apply --at-boot`: runs from the boot unit. In doubt it does nothing rather than lock a user out.

use super::{Args, many};
use apply::DurableStorage;
use apply::boot_attempt::{Attempt, AttemptResult, CurrentBoot, OFF, attempt};
use plan::declared::{ActivationMode, PATH};
use root::{Failure, Status};
use serde::Serialize;
use session::Session;
use session::declared;
use std::process::{Command, Stdio};
use std::time::Duration;
use terminal::Screen;

/// Runs the command.
///
/// # Errors
/// As `apply`; if the attempt cannot be recorded on the disk, nothing is tried.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let root = session.root();
    let boot_line = root.value("/proc/cmdline")?.unwrap_or_default();
    let boot_id = root.value("/proc/sys/kernel/random/boot_id")?;
    let boot = CurrentBoot {
        id: boot_id.as_deref(),
        line: &boot_line,
    };
    let read = || -> Result<_, Failure> {
        let mut file = declared::read(session, args.config.as_deref())?;
        if let Some(file) = &mut file {
            file.retain(|one| one.restored_at_boot == ActivationMode::AtBoot);
        }
        Ok(file)
    };
    // On a machine where it is disabled, even a broken file is not an error.
    let is_off = boot_line.split_whitespace().any(|word| word == OFF);
    if !is_off {
        note_boot_line(session, screen)?;
    }
    let file = if is_off { None } else { read()? };
    let Some(file) = file.filter(|file| !file.declarations.is_empty()) else {
        let why = match is_off {
            true => format!("the boot line contains {OFF}"),
            false => format!("{PATH} declares no partition to apply at boot"),
        };
        return Ok(skipped(&why, screen));
    };
    let state = session.made_lasting_state()?;
    let tried = {
        // One at a time, as for every change.
        let _changing = session.lock()?;
        attempt(&DurableStorage(&state), &boot, env!("CARGO_PKG_VERSION"), || ())?
    };
    match tried {
        AttemptResult::Off => Ok(skipped(&format!("the boot line contains {OFF}"), screen)),
        AttemptResult::LastNotGood(note) => Err(not_good(note)),
        AttemptResult::Tried(()) => {
            wait_for_good(args.good_after)?;
            many::apply_all(session, &file, "boot", None, screen)
        }
    }
}

/// Records in the journal of the boot line which of its words this boot has. An error in that journal does not prevent the
/// run-time part.
fn note_boot_line(session: &Session, screen: &mut Screen) -> Result<(), Failure> {
    if session.lasting_state()?.is_none() {
        return Ok(());
    }
    let recorded = session
        .lock_boot_files()
        .and_then(|changing| session::boot_files::record_first_boot(&changing));
    if let Err(error) = recorded {
        screen.error(&error);
    }
    Ok(())
}

/// JSON of `apply --at-boot` where nothing is applied.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SkippedApplyJson<'a> {
    /// No change was made.
    entries: [(); 0],
    /// No partition was applied.
    partitions: [(); 0],
    schema: &'static str,
    /// Why nothing was done.
    skipped: &'a str,
}

fn skipped(why: &str, screen: &mut Screen) -> Status {
    screen.json(&SkippedApplyJson {
        entries: [],
        partitions: [],
        schema: "quietcore.apply/1",
        skipped: why,
    });
    screen.verdict(&format!("Nothing was done: {why}.\n"));
    Status::Done
}

fn not_good(note: Option<Attempt>) -> Failure {
    let when = note.map_or_else(
        || "the record of an attempt cannot be read".to_owned(),
        |note| {
            format!(
                "the attempt of {} was not followed by a good boot: the machine went down before the waiting time was \
                 over",
                machine::utc_text(note.at_ns / 1_000_000_000)
            )
        },
    );
    Failure::new(
        Status::Conflict,
        "nothing is isolated in this boot",
        when,
        "find out what went wrong, then run `quietcore confirm`: the next boot tries again, and so does `quietcore \
         apply --at-boot` now",
    )
}

/// Starts the process that removes the record once the machine has stayed up. If the process is killed the record stays,
/// which is safe.
fn wait_for_good(time: Duration) -> Result<(), Failure> {
    let seconds = time.as_secs_f64().to_string();
    Command::new("/proc/self/exe")
        .args(["good-boot", "--after", &seconds])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(|_| ())
        .map_err(|error| {
            Failure::new(
                Status::Unable,
                "the process that waits for a good boot could not be started",
                error.to_string(),
                "nothing was changed; try again with `quietcore confirm` and `quietcore apply --at-boot`",
            )
        })
}
