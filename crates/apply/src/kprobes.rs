//! Sets probes on kernel functions (`kprobe_events` of tracefs), which all tracers see and which do not end with their process.
//!
//! The file is shared: we append lines, and remove only our own. The name of our group contains the process ID. The group is in a
//! separate ledger before the first probe is made. At its end the process removes the probes; if it died, the next call does.

use crate::journal::Storage;
use crate::ledger::HoldSelection;
use crate::{ApplyError, System, ledger};
use machine::TaskKey;
use root::{RootError, Tracefs};
use serde::{Deserialize, Serialize};

const NAME: &str = "kprobes";
const FILE: &str = "kprobe_events";
/// Hits and misses of each probe, one line for each of [`FILE`] in the same order, by a name without its group.
const PROFILE: &str = "kprobe_profile";

/// A requested probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kprobe {
    /// Its name in the group.
    pub event: String,
    /// Candidate functions: the probe is set on the first one that the kernel accepts.
    pub functions: Vec<String>,
    /// What it fetches there, in the syntax of `Documentation/trace/kprobetrace.rst`.
    pub fetches: String,
}

/// The group of one process, named `STEM_PID`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeGroup<'a> {
    /// The process.
    pub holder: TaskKey,
    /// The first part of the name.
    pub stem: &'a str,
}

/// The probes that exist in the kernel now.
#[derive(Debug, Default)]
pub struct InstalledKprobes {
    /// The system of the events.
    pub group: String,
    /// Event and function of each.
    pub probes: Vec<(String, String)>,
    /// Those that the kernel refused, each with the error for its last function.
    pub refused: Vec<(String, RootError)>,
}

/// What one process holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct KprobeHold {
    holder: TaskKey,
    group: String,
}

impl ledger::ProcessHold for KprobeHold {
    fn holder(&self) -> TaskKey {
        self.holder
    }
}

impl ledger::TracefsHold for KprobeHold {
    const NAME: &'static str = NAME;

    /// Removes a whole group, except probes in use, which are reported. Returns whether all are gone.
    fn release(&self, system: &dyn System, tracefs: &Tracefs, left: &mut Vec<String>) -> Result<bool, ApplyError> {
        let (file, group) = (tracefs.file(FILE), &self.group);
        let mut is_over = true;
        for event in existing_events(system, &file, group)? {
            let take_out = || match system.write(&file, &format!("-:{group}/{event}")) {
                // Another process has removed it already.
                Err(error) if error.errno() == Some(libc::ENOENT) => Ok(()),
                outcome => outcome,
            };
            if !ledger::remove_unless_busy(system, take_out)? {
                is_over = false;
                left.push(format!(
                    "{}: another program uses it, so it stays until that program ends",
                    Tracefs::display_path(&format!("events/{group}/{event}"))
                ));
            }
        }
        Ok(is_over)
    }
}

/// Whether this kernel has the file at all (`CONFIG_KPROBE_EVENTS`).
///
/// # Errors
/// A directory that cannot be read.
pub fn exist(system: &dyn System, tracefs: &Tracefs) -> Result<bool, RootError> {
    Ok(system.root().kind(&tracefs.file(FILE))?.is_some())
}

/// Makes the probes in a group of their own. A refusal by the kernel is no error.
///
/// # Errors
/// A ledger that cannot be read or written, a list that cannot be read, or a group of that name that is not ours.
pub fn hold(
    system: &dyn System,
    storage: &dyn Storage,
    tracefs: &Tracefs,
    group: ProbeGroup,
    requested: &[Kprobe],
) -> Result<InstalledKprobes, ApplyError> {
    let ProbeGroup { holder, stem } = group;
    // Nothing is added to a ledger with a record of a later version: the probes could not be removed then.
    ledger::read::<KprobeHold>(storage, NAME)?;
    let file = tracefs.file(FILE);
    let mut placed = InstalledKprobes {
        group: format!("{stem}_{}", holder.tid),
        ..InstalledKprobes::default()
    };
    if !existing_events(system, &file, &placed.group)?.is_empty() {
        return Err(ApplyError::Exists {
            path: Tracefs::display_path(&format!("events/{}", placed.group)),
        });
    }
    let hold = KprobeHold {
        holder,
        group: placed.group.clone(),
    };
    ledger::note(storage, NAME, hold)?;
    for probe in requested {
        match place(system, &file, &placed.group, probe) {
            Ok(function) => placed.probes.push((probe.event.clone(), function)),
            Err(error) => placed.refused.push((probe.event.clone(), error)),
        }
    }
    if placed.probes.is_empty() {
        release_own(system, storage, tracefs, holder)?;
    }
    Ok(placed)
}

/// Sets the probe; returns its function.
fn place(system: &dyn System, file: &str, group: &str, probe: &Kprobe) -> Result<String, RootError> {
    let mut last = RootError::Io {
        path: Tracefs::display_path(FILE),
        operation: "write",
        errno: libc::ENOENT,
    };
    for function in &probe.functions {
        let line = format!("p:{group}/{} {function} {}", probe.event, probe.fetches);
        match system.write(file, &line) {
            Ok(()) => return Ok(function.clone()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// How often each probe of a group was hit and recorded nothing, because the CPU was in another probe. Empty if the
/// kernel does not count this, or the list changed during the read.
///
/// # Errors
/// A file that cannot be read.
pub fn missed(system: &dyn System, tracefs: &Tracefs, group: &str) -> Result<Option<Vec<(String, u64)>>, RootError> {
    let root = system.root();
    let Some(profile) = root.text(&tracefs.file(PROFILE))? else {
        return Ok(None);
    };
    let list = root.text(&tracefs.file(FILE))?.unwrap_or_default();
    let (mut list, mut profile) = (list.lines(), profile.lines());
    let mut missed = Vec::new();
    loop {
        let (line, counts) = match (list.next(), profile.next()) {
            (None, None) => return Ok(Some(missed)),
            (Some(line), Some(counts)) => (line, counts),
            _ => return Ok(None),
        };
        // The name, hits, misses.
        let mut words = counts.split_whitespace();
        let (name, misses) = (words.next(), words.nth(1).and_then(|word| word.parse().ok()));
        match (named(line), misses) {
            (Some((of, event)), Some(misses)) if name == Some(event) => {
                if of == group {
                    missed.push((event.to_owned(), misses));
                }
            }
            _ => return Ok(None),
        }
    }
}

/// Removes the probes of one process. Its events are off already, because the instance that enabled them is gone.
/// Probes that another process uses are left alone and reported.
///
/// # Errors
/// A ledger or a list that cannot be read or written.
pub fn release_own(
    system: &dyn System,
    storage: &dyn Storage,
    tracefs: &Tracefs,
    holder: TaskKey,
) -> Result<Vec<String>, ApplyError> {
    ledger::release::<KprobeHold>(system, storage, &HoldSelection::Own(holder, tracefs))
}

/// Does the same for processes that ended without it, after their instances are gone ([`crate::tracing::sweep`]).
///
/// # Errors
/// As for [`release_own`].
pub fn sweep(system: &dyn System, storage: &dyn Storage) -> Result<Vec<String>, ApplyError> {
    ledger::release::<KprobeHold>(system, storage, &HoldSelection::Ended)
}

/// Events of a group.
fn existing_events(system: &dyn System, file: &str, group: &str) -> Result<Vec<String>, RootError> {
    let text = system.root().text(file)?.unwrap_or_default();
    let named = text.lines().filter_map(named);
    Ok(named
        .filter(|(of, _)| *of == group)
        .map(|(_, event)| event.to_owned())
        .collect())
}

/// Group and event of a line `p:GROUP/EVENT FUNCTION...`; a number may precede the colon (`r16:`).
fn named(line: &str) -> Option<(&str, &str)> {
    let (_, named) = line.split_whitespace().next()?.split_once(':')?;
    named.split_once('/')
}
