//! Installs files that survive a restart (unit, script, links, configuration). The former content is recorded before
//! each write, and removal restores it.

use crate::ApplyError;
use crate::journal::Storage;
use crate::notes;
use crate::undo::Force;
use root::{Live, PathState, RootError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Name of the journal in `/var/lib/quietcore`.
const NAME: &str = "installed";

/// Where files are installed. Production code uses [`Live`]; tests use one that dies on purpose.
pub trait InstallTarget {
    /// Reads what is at a path.
    ///
    /// # Errors
    /// The read error.
    fn path_state(&self, path: &str) -> Result<PathState, RootError>;
    /// Puts this at a path; it is on disk on return.
    ///
    /// # Errors
    /// The write error; the former content is unchanged.
    fn set_path_state(&self, path: &str, state: &PathState) -> Result<(), RootError>;
}

impl InstallTarget for Live {
    fn path_state(&self, path: &str) -> Result<PathState, RootError> {
        Live::path_state(self, path)
    }

    fn set_path_state(&self, path: &str, state: &PathState) -> Result<(), RootError> {
        Live::set_path_state(self, path, state)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum InstallEvent {
    /// This write is next.
    Will {
        path: String,
        before: PathState,
        after: PathState,
    },
    /// It was undone, or left alone permanently.
    Undid { of: u64 },
}

/// What was done to one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstalledPath {
    /// Where.
    pub path: String,
    /// The outcome: `installed`, `already`, `removed`, `restored`, `kept`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["installed", "already", "removed", "restored", "kept"])))]
    pub outcome: &'static str,
}

/// The result of removing installed files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovalResult {
    /// Restored paths, with what was done.
    pub placed: Vec<InstalledPath>,
    /// What another program changed since, and was left alone.
    pub drift: Vec<String>,
    /// What could not be undone, with the reason.
    pub failed: Vec<String>,
}

/// Installs files in this order, with the directories that they need.
///
/// # Errors
/// The failed step; earlier files are recorded, and [`remove`] removes them.
pub fn install(
    files: &dyn InstallTarget,
    lasting: &dyn Storage,
    files_to_install: &[(String, PathState)],
) -> Result<Vec<InstalledPath>, ApplyError> {
    let mut notes = InstallJournal::read(lasting)?;
    let mut placed = Vec::new();
    for (path, state) in files_to_install {
        for dir in missing_above(files, path)? {
            notes.place(files, &dir, PathState::Nothing, &PathState::Dir)?;
        }
        let before = files.path_state(path)?;
        let outcome = if before == *state {
            "already"
        } else {
            notes.place(files, path, before, state)?;
            "installed"
        };
        placed.push(InstalledPath {
            path: path.clone(),
            outcome,
        });
    }
    Ok(placed)
}

/// Undoes every installation, last first. What another program changed since is reported and left alone, unless forced.
/// A changed file in `aside` is kept under another name instead.
///
/// # Errors
/// A journal that cannot be read or written.
pub fn remove(
    files: &dyn InstallTarget,
    lasting: &dyn Storage,
    force: Force,
    aside: &[&str],
) -> Result<RemovalResult, ApplyError> {
    remove_some(files, lasting, force, aside, &|_| true)
}

/// Like [`remove`], for the selected paths only, and the directories that were made only for them.
///
/// # Errors
/// As for [`remove`].
pub fn remove_some(
    files: &dyn InstallTarget,
    lasting: &dyn Storage,
    force: Force,
    aside: &[&str],
    is_meant: &dyn Fn(&str) -> bool,
) -> Result<RemovalResult, ApplyError> {
    let mut notes = InstallJournal::read(lasting)?;
    let mut removed = RemovalResult::default();
    let active = notes.active_notes();
    let serves_others = |path: &str| {
        let in_it = |(_, other, _, what): &(_, String, _, PathState)| {
            *what != PathState::Dir && is_below(other, path) && !is_meant(other)
        };
        active.iter().any(in_it)
    };
    let goes = |path: &str, after: &PathState| is_meant(path) || (*after == PathState::Dir && !serves_others(path));
    let meant = active.iter().filter(|(_, path, _, after)| goes(path, after));
    let meant: Vec<_> = meant.cloned().collect();
    for (seq, path, before, after) in meant {
        let now = files.path_state(&path)?;
        let mut outcome = match before {
            PathState::Nothing => "removed",
            _ => "restored",
        };
        if now == before {
            outcome = "already";
        } else if now != after && aside.contains(&path.as_str()) {
            let backup = rename_to_backup(files, &path)?.map(|path| InstalledPath { path, outcome: "kept" });
            removed.placed.extend(backup);
        } else if now != after && force == Force::No {
            let drift = format!("{path}: another program changed it after the installation");
            removed.drift.push(drift);
            continue;
        } else if now != after && force == Force::Keep {
            outcome = "kept";
        }
        if !matches!(outcome, "already" | "kept")
            && let Err(error) = files.set_path_state(&path, &before)
        {
            // A directory that others use by now stays.
            if error.errno() != Some(libc::ENOTEMPTY) {
                removed.failed.push(error.to_string());
                continue;
            }
            outcome = "kept";
        }
        notes.append(InstallEvent::Undid { of: seq })?;
        removed.placed.push(InstalledPath { path, outcome });
    }
    // A single torn record is a file too.
    if notes.active_notes().is_empty() && lasting.read(NAME)?.is_some() {
        lasting.remove(NAME)?;
    }
    Ok(removed)
}

fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// Renames a file to a free name: `PATH.bak`, `PATH.bak.1` and so on. Returns that name; `None` if there was no file.
///
/// # Errors
/// The error of reading or writing.
pub fn rename_to_backup(files: &dyn InstallTarget, path: &str) -> Result<Option<String>, ApplyError> {
    const TRIES: u32 = 1000;
    let now = files.path_state(path)?;
    if now == PathState::Nothing {
        return Ok(None);
    }
    for number in 0..TRIES {
        let name = match number {
            0 => format!("{path}.bak"),
            number => format!("{path}.bak.{number}"),
        };
        let there = files.path_state(&name)?;
        if there == PathState::Nothing {
            files.set_path_state(&name, &now)?;
        } else if there != now {
            continue;
        }
        files.set_path_state(path, &PathState::Nothing)?;
        return Ok(Some(name));
    }
    Err(ApplyError::Unable {
        why: format!("{path}.bak and {TRIES} similar names already exist"),
        next: "remove old ones".to_owned(),
    })
}

/// Missing parent directories of a path, outermost first.
pub(crate) fn missing_above(files: &dyn InstallTarget, path: &str) -> Result<Vec<String>, ApplyError> {
    let mut missing = Vec::new();
    let mut dir = path;
    while let Some((above, _)) = dir.rsplit_once('/').filter(|(above, _)| !above.is_empty()) {
        if files.path_state(above)? != PathState::Nothing {
            break;
        }
        missing.push(above.to_owned());
        dir = above;
    }
    missing.reverse();
    Ok(missing)
}

/// The journal of installed files.
struct InstallJournal<'a>(notes::RecordLog<'a, InstallEvent>);

impl<'a> InstallJournal<'a> {
    fn read(lasting: &'a dyn Storage) -> Result<InstallJournal<'a>, ApplyError> {
        Ok(InstallJournal(notes::RecordLog::read(lasting, NAME)?))
    }

    /// What was installed and not undone, last first.
    fn active_notes(&self) -> Vec<(u64, String, PathState, PathState)> {
        let notes = self.0.all();
        let undone: BTreeSet<u64> = notes
            .iter()
            .filter_map(|note| match note.event {
                InstallEvent::Undid { of } => Some(of),
                InstallEvent::Will { .. } => None,
            })
            .collect();
        let active = notes.iter().rev().filter_map(|note| match &note.event {
            InstallEvent::Will { path, before, after } if !undone.contains(&note.seq) => {
                Some((note.seq, path.clone(), before.clone(), after.clone()))
            }
            _ => None,
        });
        active.collect()
    }

    fn place(
        &mut self,
        files: &dyn InstallTarget,
        path: &str,
        before: PathState,
        after: &PathState,
    ) -> Result<(), ApplyError> {
        self.append(InstallEvent::Will {
            path: path.to_owned(),
            before,
            after: after.clone(),
        })?;
        write_verified(files, path, after)
    }

    fn append(&mut self, event: InstallEvent) -> Result<(), ApplyError> {
        self.0.append(event)
    }
}

/// Puts this at a path, and verifies it.
///
/// # Errors
/// The write error, or a content other than the one written.
pub(crate) fn write_verified(files: &dyn InstallTarget, path: &str, state: &PathState) -> Result<(), ApplyError> {
    files.set_path_state(path, state)?;
    let holds = match (&files.path_state(path)?, state) {
        // FAT silently accepts any permissions and keeps those of its mount (`fat_setattr`).
        (PathState::File { content: seen, .. }, PathState::File { content, .. }) => seen == content,
        (seen, intended) => seen == intended,
    };
    match holds {
        true => Ok(()),
        false => Err(ApplyError::Unable {
            why: format!("{path} does not contain what was written"),
            next: "another program may control this file; find out which one writes it, then try again".to_owned(),
        }),
    }
}
