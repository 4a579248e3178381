//! Installs files that survive a restart (unit, script, links, configuration). The former content is recorded before
//! each write, and removal restores it.

use crate::ApplyError;
use crate::journal::Storage;
use crate::notes;
use crate::undo::Force;
use root::{Live, RootError, Standing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Name of the journal in `/var/lib/quietcore`.
const NAME: &str = "installed";

/// Where files are installed. Production code uses [`Live`]; tests use one that dies on purpose.
pub trait Files {
    /// Reads what is at a path.
    ///
    /// # Errors
    /// The read error.
    fn standing(&self, path: &str) -> Result<Standing, RootError>;
    /// Puts this at a path; it is on disk on return.
    ///
    /// # Errors
    /// The write error; the former content is unchanged.
    fn set_standing(&self, path: &str, wanted: &Standing) -> Result<(), RootError>;
}

impl Files for Live {
    fn standing(&self, path: &str) -> Result<Standing, RootError> {
        Live::standing(self, path)
    }

    fn set_standing(&self, path: &str, wanted: &Standing) -> Result<(), RootError> {
        Live::set_standing(self, path, wanted)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    /// This write is next.
    Will {
        path: String,
        before: Standing,
        after: Standing,
    },
    /// It was undone, or left alone permanently.
    Undid { of: u64 },
}

/// What was done to one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// Where.
    pub path: String,
    /// The outcome: `installed`, `already`, `removed`, `restored`, `kept`.
    pub outcome: &'static str,
}

/// The result of removing installed files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Restored paths, with what was done.
    pub placed: Vec<Placed>,
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
    files: &dyn Files,
    lasting: &dyn Storage,
    wanted: &[(String, Standing)],
) -> Result<Vec<Placed>, ApplyError> {
    let mut notes = Notes::read(lasting)?;
    let mut placed = Vec::new();
    for (path, standing) in wanted {
        for dir in missing_above(files, path)? {
            notes.place(files, &dir, Standing::Nothing, &Standing::Dir)?;
        }
        let before = files.standing(path)?;
        let outcome = if before == *standing {
            "already"
        } else {
            notes.place(files, path, before, standing)?;
            "installed"
        };
        placed.push(Placed {
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
    files: &dyn Files,
    lasting: &dyn Storage,
    force: Force,
    aside: &[&str],
) -> Result<Removed, ApplyError> {
    remove_some(files, lasting, force, aside, &|_| true)
}

/// Like [`remove`], for the selected paths only, and the directories that were made only for them.
///
/// # Errors
/// As for [`remove`].
pub fn remove_some(
    files: &dyn Files,
    lasting: &dyn Storage,
    force: Force,
    aside: &[&str],
    is_meant: &dyn Fn(&str) -> bool,
) -> Result<Removed, ApplyError> {
    let mut notes = Notes::read(lasting)?;
    let mut removed = Removed::default();
    let standing = notes.standing_notes();
    let serves_others = |path: &str| {
        let in_it = |(_, other, _, what): &(_, String, _, Standing)| {
            *what != Standing::Dir && is_below(other, path) && !is_meant(other)
        };
        standing.iter().any(in_it)
    };
    let goes =
        |path: &str, after: &Standing| is_meant(path) || (*after == Standing::Dir && !serves_others(path));
    let meant = standing.iter().filter(|(_, path, _, after)| goes(path, after));
    let meant: Vec<_> = meant.cloned().collect();
    for (seq, path, before, after) in meant {
        let now = files.standing(&path)?;
        let mut outcome = match before {
            Standing::Nothing => "removed",
            _ => "restored",
        };
        if now == before {
            outcome = "already";
        } else if now != after && aside.contains(&path.as_str()) {
            let kept = put_aside(files, &path)?.map(|path| Placed {
                path,
                outcome: "kept",
            });
            removed.placed.extend(kept);
        } else if now != after && force == Force::No {
            let drift = format!("{path}: another program changed it since it was installed");
            removed.drift.push(drift);
            continue;
        } else if now != after && force == Force::Keep {
            outcome = "kept";
        }
        if !matches!(outcome, "already" | "kept")
            && let Err(error) = files.set_standing(&path, &before)
        {
            // A directory that others use by now stays.
            if error.errno() != Some(libc::ENOTEMPTY) {
                removed.failed.push(error.to_string());
                continue;
            }
            outcome = "kept";
        }
        notes.append(Event::Undid { of: seq })?;
        removed.placed.push(Placed { path, outcome });
    }
    // A single torn record is a file too.
    if notes.standing_notes().is_empty() && lasting.read(NAME)?.is_some() {
        lasting.remove(NAME)?;
    }
    Ok(removed)
}

fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Renames a file to a free name: `PATH.bak`, `PATH.bak.1` and so on. Returns that name; `None` if there was no file.
///
/// # Errors
/// The error of reading or writing.
pub fn put_aside(files: &dyn Files, path: &str) -> Result<Option<String>, ApplyError> {
    const TRIES: u32 = 1000;
    let now = files.standing(path)?;
    if now == Standing::Nothing {
        return Ok(None);
    }
    for number in 0..TRIES {
        let name = match number {
            0 => format!("{path}.bak"),
            number => format!("{path}.bak.{number}"),
        };
        let there = files.standing(&name)?;
        if there == Standing::Nothing {
            files.set_standing(&name, &now)?;
        } else if there != now {
            continue;
        }
        files.set_standing(path, &Standing::Nothing)?;
        return Ok(Some(name));
    }
    Err(ApplyError::Unable {
        why: format!("{path}.bak and {TRIES} names like it are taken"),
        next: "remove old ones".to_owned(),
    })
}

/// Missing parent directories of a path, outermost first.
pub(crate) fn missing_above(files: &dyn Files, path: &str) -> Result<Vec<String>, ApplyError> {
    let mut missing = Vec::new();
    let mut dir = path;
    while let Some((above, _)) = dir.rsplit_once('/').filter(|(above, _)| !above.is_empty()) {
        if files.standing(above)? != Standing::Nothing {
            break;
        }
        missing.push(above.to_owned());
        dir = above;
    }
    missing.reverse();
    Ok(missing)
}

/// The journal of installed files.
struct Notes<'a>(notes::Notes<'a, Event>);

impl<'a> Notes<'a> {
    fn read(lasting: &'a dyn Storage) -> Result<Notes<'a>, ApplyError> {
        Ok(Notes(notes::Notes::read(lasting, NAME)?))
    }

    /// What was installed and not undone, last first.
    fn standing_notes(&self) -> Vec<(u64, String, Standing, Standing)> {
        let notes = self.0.all();
        let undone: BTreeSet<u64> = notes
            .iter()
            .filter_map(|note| match note.event {
                Event::Undid { of } => Some(of),
                Event::Will { .. } => None,
            })
            .collect();
        let standing = notes.iter().rev().filter_map(|note| match &note.event {
            Event::Will { path, before, after } if !undone.contains(&note.seq) => {
                Some((note.seq, path.clone(), before.clone(), after.clone()))
            }
            _ => None,
        });
        standing.collect()
    }

    fn place(
        &mut self,
        files: &dyn Files,
        path: &str,
        before: Standing,
        after: &Standing,
    ) -> Result<(), ApplyError> {
        self.append(Event::Will {
            path: path.to_owned(),
            before,
            after: after.clone(),
        })?;
        put(files, path, after)
    }

    fn append(&mut self, event: Event) -> Result<(), ApplyError> {
        self.0.append(event)
    }
}

/// Puts this at a path, and verifies it.
///
/// # Errors
/// The write error, or a content other than the one written.
pub(crate) fn put(files: &dyn Files, path: &str, wanted: &Standing) -> Result<(), ApplyError> {
    files.set_standing(path, wanted)?;
    let holds = match (&files.standing(path)?, wanted) {
        // FAT silently accepts any permissions and keeps those of its mount (`fat_setattr`).
        (Standing::File { content: seen, .. }, Standing::File { content, .. }) => seen == content,
        (seen, wanted) => seen == wanted,
    };
    match holds {
        true => Ok(()),
        false => Err(ApplyError::Unable {
            why: format!("{path} reads otherwise than it was written"),
            next: "another program may hold this file; look who writes it, then try again".to_owned(),
        }),
    }
}
