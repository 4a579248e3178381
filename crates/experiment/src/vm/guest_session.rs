//! Runs one guest from start to end: reads its messages as they arrive, with a time limit for everything.

use super::not_started;
use crate::child_output::{ChildOutput, next_part, start};
use crate::guest_task::GuestMessage;
use guest::frames::Frames;
use guest::qemu::PROGRAM;
use root::{Failure, input};
use std::ffi::OsString;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A signal that arrives just before we wait is noticed after this time.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The time for a finished guest to power off.
const SWITCHING_OFF: Duration = Duration::from_secs(20);

/// The maximum console length that is searched for the reason of an end.
const MOST_CONSOLE: u64 = 64 << 20;

/// How a guest ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestEnd {
    /// It tried every run.
    Done,
    /// The study was stopped.
    Interrupted,
    /// It ended early, or was silent for too long, and why.
    Stopped(String),
}

/// Starts a guest and reads its messages until it ends, and QEMU with it. It may be silent for up to this time.
///
/// # Errors
/// QEMU cannot be started; errors of `hear`.
pub fn boot(
    arguments: &[OsString],
    console: &Path,
    silence: Duration,
    stop: &AtomicBool,
    hear: &mut dyn FnMut(GuestMessage) -> Result<(), Failure>,
) -> Result<GuestEnd, Failure> {
    let mut command = Command::new(PROGRAM);
    // Results of a guest are saved first, so the terminal must not kill it.
    let mut child = start(command.args(arguments)).map_err(|error| not_started(&error))?;
    let outcome = listen(&mut child, silence, stop, hear);
    let ended = wait_or_kill(
        &mut child,
        matches!(outcome, Ok(GuestEnd::Done)).then_some(SWITCHING_OFF),
    );
    let mut error_text = String::new();
    if let Some(errors) = child.stderr.as_mut() {
        let _ = errors.take(1 << 12).read_to_string(&mut error_text);
    }
    match outcome? {
        GuestEnd::Stopped(why) if why.is_empty() => Ok(GuestEnd::Stopped(reason(console, &error_text, &ended))),
        end => Ok(end),
    }
}

/// Reads all messages until its end. An empty reason means that QEMU has the reason.
fn listen(
    child: &mut Child,
    silence: Duration,
    stop: &AtomicBool,
    hear: &mut dyn FnMut(GuestMessage) -> Result<(), Failure>,
) -> Result<GuestEnd, Failure> {
    let failed = |why: String| {
        Failure::unable(
            format!("the output of {PROGRAM} cannot be read"),
            why,
            "run the same command again to continue",
        )
    };
    let Some(out) = child.stdout.as_mut() else {
        return Err(failed("its output has no pipe".to_owned()));
    };
    let (mut frames, mut received_at) = (Frames::default(), Instant::now());
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(GuestEnd::Interrupted);
        }
        if received_at.elapsed() > silence {
            return Ok(GuestEnd::Stopped(format!(
                "it sent nothing for {} s",
                silence.as_secs()
            )));
        }
        match next_part(out, POLL_INTERVAL).map_err(|error| failed(error.to_string()))? {
            ChildOutput::Nothing => continue,
            ChildOutput::Part(part) => frames.push(&part),
            ChildOutput::Closed => return Ok(GuestEnd::Stopped(String::new())),
        }
        while let Some((name, body)) = frames.take() {
            received_at = Instant::now();
            match GuestMessage::of(&name, body) {
                Some(GuestMessage::Done) => return Ok(GuestEnd::Done),
                Some(message) => hear(message)?,
                None => {}
            }
        }
    }
}

/// Waits this long for it to end, then kills it.
fn wait_or_kill(child: &mut Child, time: Option<Duration>) -> String {
    let until = time.map(|time| Instant::now() + time);
    while until.is_some_and(|until| Instant::now() < until) {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Ok(Some(status)) => return status.to_string(),
            Err(error) => return error.to_string(),
        }
    }
    // A QEMU that has closed its output is about to exit; its exit status is a reason.
    if time.is_none() {
        std::thread::sleep(Duration::from_millis(100));
    }
    if let Ok(Some(status)) = child.try_wait() {
        return status.to_string();
    }
    let _ = child.kill();
    child
        .wait()
        .map_or_else(|error| error.to_string(), |status| status.to_string())
}

/// Why a guest ended early: the last kernel messages if it panicked, else those of QEMU.
fn reason(console: &Path, errors: &str, ended: &str) -> String {
    const LAST_WORDS: &str = "Kernel panic - not syncing: ";
    let text = input::bytes(console, MOST_CONSOLE).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    if let Some((_, why)) = text.rsplit_once(LAST_WORDS) {
        return format!(
            "its kernel panicked: {}",
            report::safe(why.lines().next().unwrap_or_default())
        );
    }
    match errors.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => report::safe(line),
        None if text.trim().is_empty() => {
            format!("its kernel printed nothing, and QEMU ended with {ended}")
        }
        None => format!("it ended too early ({ended})"),
    }
}
