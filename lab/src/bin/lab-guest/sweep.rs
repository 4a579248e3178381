//! Kills `apply` (or `undo`) at each state-changing call in turn, undoes, and compares with the state before.

use crate::killat::{self, CallAction};
use crate::state::{differences, read};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Which of the two commands is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SweepVictim {
    Apply,
    Undo,
}

/// The commands of a sweep.
struct Commands<'a> {
    apply: &'a [&'a str],
    undo: &'a [&'a str],
    /// Runs before each `apply`, and is never killed.
    setup: &'a [&'a str],
}

impl<'a> Commands<'a> {
    fn of(words: &'a [&'a str]) -> Result<Commands<'a>, String> {
        let mut lists = words.split(|word| *word == "--");
        match (lists.next(), lists.next(), lists.next(), lists.next()) {
            (Some(apply), Some(undo), setup, None) => Ok(Commands {
                apply,
                undo,
                setup: setup.unwrap_or_default(),
            }),
            _ => Err("APPLY -- UNDO [-- SETUP]".to_owned()),
        }
    }

    fn set_up(&self) -> Result<(), String> {
        if self.setup.is_empty() {
            return Ok(());
        }
        let (status, output) = plain(self.setup);
        expect(status, &format!("the setup ({output})"))
    }
}

/// `lab-guest sweep`, `sweep-undo` and `meanwhile`: prints one JSON object.
pub fn main(verb: &str, what: &str, step: u64, offset: u64, commands: &[&str]) -> Result<(), String> {
    let deed = match verb {
        "meanwhile" => CallAction::RunShell(what),
        _ => CallAction::parse(what)?,
    };
    let victim = match verb {
        "sweep-undo" => SweepVictim::Undo,
        _ => SweepVictim::Apply,
    };
    let commands = Commands::of(commands)?;
    let mut before = read();
    commands.set_up()?;
    let calls = match victim {
        SweepVictim::Apply => {
            let counted = killat::run(commands.apply, None, deed)?;
            expect(counted.status, "apply without a kill")?;
            plain(commands.undo);
            counted.calls
        }
        SweepVictim::Undo => {
            plain(commands.apply);
            killat::run(commands.undo, None, deed)?.calls
        }
    };
    let mut failures: Vec<Value> = Vec::new();
    let mut after = read();
    let whole = differences(&before, &after);
    if !whole.is_empty() {
        failures.push(json!({ "call": 0, "at": "no kill at all", "differences": whole }));
    }
    let mut tried = 0;
    let mut statuses: BTreeMap<String, u64> = BTreeMap::new();
    let mut call = offset.max(1);
    while call <= calls {
        let started = std::time::Instant::now();
        // Nothing ran since the last comparison.
        before = after;
        commands.set_up()?;
        let killed = match victim {
            SweepVictim::Apply => killat::run(commands.apply, Some(call), deed)?,
            SweepVictim::Undo => {
                plain(commands.apply);
                killat::run(commands.undo, Some(call), deed)?
            }
        };
        *statuses.entry(killed.status.to_string()).or_default() += 1;
        let (status, output) = plain(commands.undo);
        after = read();
        let found = differences(&before, &after);
        progress(call, calls, started.elapsed().as_millis());
        // A run can have fewer calls than were counted. Then nothing was killed, and the run proves nothing.
        tried += u64::from(killed.killed_at.is_some());
        if !found.is_empty() {
            failures.push(json!({
                "call": call, "at": killed.killed_at, "status": killed.status,
                "undo_status": status, "undo_said": output,
                "differences": found.iter().take(8).collect::<Vec<_>>(), "count": found.len(),
            }));
        }
        call += step.max(1);
    }
    let restored = tried.saturating_sub(u64::try_from(failures.len()).unwrap_or(u64::MAX));
    println!(
        "{}",
        json!({
            "calls": calls, "tried": tried, "restored": restored, "statuses": statuses, "failures": failures,
        })
    );
    Ok(())
}

/// Prints a line on the console, so that an interrupted sweep shows its progress.
fn progress(call: u64, calls: u64, ms: u128) {
    let line = format!("lab: at call {call} of {calls}, {ms} ms\n");
    std::fs::write("/dev/console", line).ok();
}

fn plain(command: &[&str]) -> (i32, String) {
    let Some((program, arguments)) = command.split_first() else {
        return (-1, "no command".to_owned());
    };
    match Command::new(program).args(arguments).stdin(Stdio::null()).output() {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            (output.status.code().unwrap_or(-1), errors.chars().take(300).collect())
        }
        Err(error) => (-1, error.to_string()),
    }
}

fn expect(status: i32, what: &str) -> Result<(), String> {
    if status == 0 {
        Ok(())
    } else {
        Err(format!("{what}: exit status {status}"))
    }
}
