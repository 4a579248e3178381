//! Kills `apply` (or `undo`) at one state-changing call after the other, undoes, and compares with the state before.

use crate::killat::{self, Mode};
use crate::state::{differences, read};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// Which of the two commands is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Apply,
    Undo,
}

/// `lab-guest sweep` and `lab-guest sweep-undo`: prints one JSON object.
pub fn main(verb: &str, mode: &str, step: u64, offset: u64, commands: &[&str]) -> Result<(), String> {
    let mode = Mode::parse(mode)?;
    let victim = if verb == "sweep" {
        Victim::Apply
    } else {
        Victim::Undo
    };
    let cut = commands
        .iter()
        .position(|word| *word == "--")
        .ok_or("APPLY -- UNDO")?;
    let (apply, undo) = (
        commands.get(..cut).unwrap_or_default(),
        commands.get(cut + 1..).unwrap_or_default(),
    );
    let mut before = read();
    let calls = match victim {
        Victim::Apply => {
            let counted = killat::run(apply, None, mode)?;
            expect(counted.status, "apply without a kill")?;
            plain(undo);
            counted.calls
        }
        Victim::Undo => {
            plain(apply);
            killat::run(undo, None, mode)?.calls
        }
    };
    let mut failures: Vec<Value> = Vec::new();
    let whole = differences(&before, &read());
    if !whole.is_empty() {
        failures.push(json!({ "call": 0, "at": "no kill at all", "differences": whole }));
    }
    let mut tried = 0;
    let mut call = offset.max(1);
    while call <= calls {
        let started = std::time::Instant::now();
        before = read();
        let killed = match victim {
            Victim::Apply => killat::run(apply, Some(call), mode)?,
            Victim::Undo => {
                plain(apply);
                killat::run(undo, Some(call), mode)?
            }
        };
        let (status, said) = plain(undo);
        let found = differences(&before, &read());
        progress(call, calls, started.elapsed().as_millis());
        // A run can have fewer calls than the counted one; then nothing was killed and nothing is proven.
        tried += u64::from(killed.killed_at.is_some());
        if !found.is_empty() {
            failures.push(json!({
                "call": call, "at": killed.killed_at, "undo_status": status, "undo_said": said,
                "differences": found.iter().take(8).collect::<Vec<_>>(), "count": found.len(),
            }));
        }
        call += step.max(1);
    }
    let restored = tried.saturating_sub(u64::try_from(failures.len()).unwrap_or(u64::MAX));
    println!(
        "{}",
        json!({ "calls": calls, "tried": tried, "restored": restored, "failures": failures })
    );
    Ok(())
}

/// A line on the console: a sweep that is cut off shows how far it came.
fn progress(call: u64, calls: u64, ms: u128) {
    let line = format!("lab: killed at call {call} of {calls}, {ms} ms\n");
    std::fs::write("/dev/console", line).ok();
}

fn plain(command: &[&str]) -> (i32, String) {
    let Some((program, arguments)) = command.split_first() else {
        return (-1, "no command".to_owned());
    };
    match Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
    {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            (
                output.status.code().unwrap_or(-1),
                said.chars().take(300).collect(),
            )
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
