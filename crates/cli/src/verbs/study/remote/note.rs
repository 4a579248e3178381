//! `board/board.json` in the directory of results: which machine they are from, and where ours is there while something of it is.

use crate::CommandError;
use root::{Root, input, output};
use serde::{Deserialize, Serialize};
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
pub fn read(out: &Path) -> Result<Option<Note>, CommandError> {
    let path = path(out);
    if !path.exists() {
        return Ok(None);
    }
    let bytes = input::bytes(&path, MOST_BYTES)?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        CommandError::usage(
            format!("{} says of no board", report::safe(&path.display().to_string())),
            error.to_string(),
            "name another directory with --out",
        )
    })
}

impl Note {
    /// Remembers it.
    ///
    /// # Errors
    /// What writing met.
    pub fn write(&self, out: &Path) -> Result<(), CommandError> {
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
    pub fn there(&mut self) -> Result<There, CommandError> {
        let name = match self.name.clone() {
            Some(name) => name,
            None => {
                let random = Root::live().value("/proc/sys/kernel/random/uuid")?;
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
