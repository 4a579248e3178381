//! Files that outlive a restart (unit, script, links, configuration): each is noted with what stood there before it is
//! written, and goes back to that.

use crate::ApplyError;
use crate::journal::Storage;
use crate::notes;
use crate::undo::Force;
use root::{Live, RootError, Standing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Name of the journal in `/var/lib/quietcore`.
const NAME: &str = "installed";

/// Where files are installed. The tool's is [`Live`]; tests bring one that dies on purpose.
pub trait Files {
    /// What stands at a path.
    ///
    /// # Errors
    /// What reading met.
    fn standing(&self, path: &str) -> Result<Standing, RootError>;
    /// Makes something stand there, on the disk when it returns.
    ///
    /// # Errors
    /// What writing met; what stood there stands there still.
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
    /// The next write is this one.
    Will {
        path: String,
        before: Standing,
        after: Standing,
    },
    /// It was taken back, or left alone for good.
    Undid { of: u64 },
}

/// What was done to one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// Where.
    pub path: String,
    /// What came of it: `installed`, `already`, `removed`, `restored`, `kept`.
    pub outcome: &'static str,
}

/// What came of taking installed files back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Paths that are as before, with what was done.
    pub placed: Vec<Placed>,
    /// What somebody else changed since, and was left alone.
    pub drift: Vec<String>,
    /// What could not be taken back, with the reason.
    pub failed: Vec<String>,
}

/// Puts files into their places, in this order, with the directories that they need.
///
/// # Errors
/// The step that failed; what was placed before it is noted and goes with [`remove`].
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

/// Takes everything back that was installed, last first. What somebody changed since is named and left alone, unless
/// forced; of the paths in `aside` a changed file is kept under another name instead.
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

/// As [`remove`], only of the paths that are meant, and of the directories that were made for nothing else.
///
/// # Errors
/// As [`remove`].
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
    let meant: Vec<_> = standing
        .iter()
        .filter(|(_, path, _, after)| goes(path, after))
        .cloned()
        .collect();
    for (seq, path, before, after) in meant {
        let now = files.standing(&path)?;
        let mut outcome = match before {
            Standing::Nothing => "removed",
            _ => "restored",
        };
        if now == before {
            outcome = "already";
        } else if now != after && aside.contains(&path.as_str()) {
            put_aside(files, &path)?.into_iter().for_each(|kept| {
                removed.placed.push(Placed {
                    path: kept,
                    outcome: "kept",
                });
            });
        } else if now != after && force == Force::No {
            removed
                .drift
                .push(format!("{path}: somebody changed it since it was installed"));
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
    // One torn note alone is a file too.
    if notes.standing_notes().is_empty() && lasting.read(NAME)?.is_some() {
        lasting.remove(NAME)?;
    }
    Ok(removed)
}

fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Gives a file another name that is free: `PATH.bak`, `PATH.bak.1` and so on. Gives that name; `None` where nothing
/// stood.
///
/// # Errors
/// What reading or writing met.
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

/// Whether anything is installed.
///
/// # Errors
/// What reading met.
pub fn is_installed(lasting: &dyn Storage) -> Result<bool, ApplyError> {
    Ok(!Notes::read(lasting)?.standing_notes().is_empty())
}

/// Directories above a path that are not there, outermost first.
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

    /// What was installed and not taken back, last first.
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

/// Makes something stand at a path, and looks whether it does.
///
/// # Errors
/// What writing met, or another content than what was written.
pub(crate) fn put(files: &dyn Files, path: &str, wanted: &Standing) -> Result<(), ApplyError> {
    files.set_standing(path, wanted)?;
    let holds = match (&files.standing(path)?, wanted) {
        // FAT takes any permissions without a word and has those of its mount (`fat_setattr`).
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
