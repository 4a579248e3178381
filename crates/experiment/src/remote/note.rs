//! Reads and writes `board/board.json` in the directory of results: the board that they are from, and the place of our files there.

use root::{Failure, input, output};
use serde::{Deserialize, Serialize};
use session::Session;
use std::path::{Path, PathBuf};
use study::board::RemoteDirectory;

/// The maximum size.
const MOST_BYTES: u64 = 1 << 16;

/// The board that the results are from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardNote {
    /// The host name as given.
    pub host: String,
    /// The parent of our directory there; `None` is the login directory.
    pub above: Option<String>,
    /// The name of our directory; `None` if nothing of ours is left there.
    pub name: Option<String>,
}

fn path(out: &Path) -> PathBuf {
    out.join("board").join("board.json")
}

/// Reads the note; `None` if the directory has none.
///
/// # Errors
/// An invalid file.
pub fn read(out: &Path) -> Result<Option<BoardNote>, Failure> {
    let path = path(out);
    if !path.exists() {
        return Ok(None);
    }
    let bytes = input::bytes(&path, MOST_BYTES)?;
    let none = |why: String| {
        Failure::usage(
            format!("{} does not describe a board", report::safe_path(&path)),
            why,
            "choose another directory with --out",
        )
    };
    let note: BoardNote = serde_json::from_slice(&bytes).map_err(|error| none(error.to_string()))?;
    // The directory with this name is removed at the end.
    match note.name.as_deref().is_none_or(is_ours) {
        true => Ok(Some(note)),
        false => Err(none("quietcore did not create the directory that it names".to_owned())),
    }
}

/// Whether [`BoardNote::there`] could have created this name.
fn is_ours(name: &str) -> bool {
    let of_uuid = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
    name.strip_prefix(super::DIRECTORY)
        .is_some_and(|rest| rest.chars().all(of_uuid))
}

impl BoardNote {
    /// Writes the note.
    ///
    /// # Errors
    /// The write error.
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

    /// Our directory there. Creates its name if necessary.
    ///
    /// # Errors
    /// This machine has no random numbers.
    pub fn there(&mut self, session: &Session) -> Result<RemoteDirectory, Failure> {
        let name = match self.name.clone() {
            Some(name) => name,
            None => {
                let random = session.root().value("/proc/sys/kernel/random/uuid")?;
                format!("{}{}", super::DIRECTORY, random.unwrap_or_default().trim())
            }
        };
        self.name = Some(name.clone());
        Ok(RemoteDirectory {
            above: self.above.clone(),
            name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn only_names_created_by_quietcore_may_be_removed() {
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
