//! `board/board.json` in the directory of results: which machine they are from, and where ours is there while something of it is.

use root::{Failure, input, output};
use serde::{Deserialize, Serialize};
use session::Session;
use std::path::{Path, PathBuf};
use study::board::There;

/// The longest one.
const MOST_BYTES: u64 = 1 << 16;

/// A board, as its results remember it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// As it was named.
    pub host: String,
    /// In which directory there ours is; `None` is the one that a login begins in.
    pub above: Option<String>,
    /// Its name; `None` where nothing of ours is left there.
    pub name: Option<String>,
}

fn path(out: &Path) -> PathBuf {
    out.join("board").join("board.json")
}

/// What is remembered; `None` in a directory that knows no board.
///
/// # Errors
/// A file in its place that says something else.
pub fn read(out: &Path) -> Result<Option<Note>, Failure> {
    let path = path(out);
    if !path.exists() {
        return Ok(None);
    }
    let bytes = input::bytes(&path, MOST_BYTES)?;
    let none = |why: String| {
        Failure::usage(
            format!("{} says of no board", report::safe(&path.display().to_string())),
            why,
            "name another directory with --out",
        )
    };
    let note: Note = serde_json::from_slice(&bytes).map_err(|error| none(error.to_string()))?;
    // What has this name there is removed at the end.
    match note.name.as_deref().is_none_or(is_ours) {
        true => Ok(Some(note)),
        false => Err(none(
            "the directory that it names there is none of ours".to_owned(),
        )),
    }
}

/// Whether a name is one that [`Note::there`] gives.
fn is_ours(name: &str) -> bool {
    let of_uuid = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    name.strip_prefix(super::DIRECTORY)
        .is_some_and(|rest| rest.chars().all(of_uuid))
}

impl Note {
    /// Remembers it.
    ///
    /// # Errors
    /// What writing met.
    pub fn write(&self, out: &Path) -> Result<(), Failure> {
        let path = path(out);
        if let Some(folder) = path.parent() {
            output::make_folder(folder)?;
        }
        Ok(output::write(
            &path,
            &serde_json::to_vec_pretty(self).unwrap_or_default(),
        )?)
    }

    /// Our directory there, which has a name from now on.
    ///
    /// # Errors
    /// This machine has no random numbers.
    pub fn there(&mut self, session: &Session) -> Result<There, Failure> {
        let name = match self.name.clone() {
            Some(name) => name,
            None => {
                let random = session.root().value("/proc/sys/kernel/random/uuid")?;
                format!("{}{}", super::DIRECTORY, random.unwrap_or_default().trim())
            }
        };
        self.name = Some(name.clone());
        Ok(There {
            above: self.above.clone(),
            name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn only_a_name_that_was_made_here_is_one_to_remove() {
        assert!(is_ours(".quietcore-study-0b1c-2d"));
        for other in [
            "",
            "..",
            ".quietcore-study-/..",
            ".quietcore-study-a b",
            "x/.quietcore-study-1",
        ] {
            assert!(!is_ours(other), "{other:?}");
        }
    }
}
