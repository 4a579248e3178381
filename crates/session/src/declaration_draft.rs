//! Implements `apply --save`: adds a partition to the declaration file and keeps everything else in it.

use crate::Session;
use crate::declared::wrong;
use apply::DurableStorage;
use apply::installed::install;
use plan::PartitionName;
use plan::declared::{Declaration, DeclarationError, PATH, add, set_boot_flag};
use root::{Content, Failure, PathState, Status};
use std::path::Path;

/// The file as it will be written.
pub struct DeclarationDraft {
    path: String,
    /// `None` if the file already has the partition.
    new_state: Option<PathState>,
}

/// What was saved.
pub struct SavedDeclaration {
    /// The path of the file.
    pub path: String,
    /// Whether the file already had it.
    already: bool,
}

impl DeclarationDraft {
    /// Adds the partition to the file in memory; writes nothing.
    ///
    /// # Errors
    /// A file that declares the partition or its CPUs differently, or that cannot be parsed.
    pub fn with(
        session: &Session,
        declaration: &Declaration,
        named: Option<&Path>,
    ) -> Result<DeclarationDraft, Failure> {
        let path = match named {
            None => PATH.to_owned(),
            Some(path) => std::path::absolute(path)
                .map_err(|error| {
                    let what = format!("{}: not a valid path", path.display());
                    Failure::usage(what, error, "name a file")
                })?
                .display()
                .to_string(),
        };
        DeclarationDraft::edited(session, path, |text| add(text, declaration))
    }

    /// Sets `boot = true` in some partitions of the machine's own file; writes nothing.
    ///
    /// # Errors
    /// As [`DeclarationDraft::with`].
    pub fn on_boot_line(session: &Session, names: &[PartitionName]) -> Result<DeclarationDraft, Failure> {
        DeclarationDraft::edited(session, PATH.to_owned(), |text| set_boot_flag(text, names))
    }

    fn edited(
        session: &Session,
        path: String,
        edit: impl FnOnce(&str) -> Result<Option<String>, DeclarationError>,
    ) -> Result<DeclarationDraft, Failure> {
        let (text, mode) = match session.writable()?.path_state(&path)? {
            PathState::Nothing => (String::new(), 0o644),
            PathState::File {
                content: Content::Text(text),
                mode,
            } => (text, mode),
            _ => {
                return Err(Failure::usage(
                    format!("{path}: not a text file"),
                    "a partition can be added to plain text files only, and links are not followed",
                    "move it away, or choose another file with --config",
                ));
            }
        };
        let edited = edit(&text).map_err(|error| Failure {
            status: if error.line == 0 {
                Status::Usage
            } else {
                Status::Conflict
            },
            ..wrong(&path, &error)
        })?;
        Ok(DeclarationDraft {
            path,
            new_state: edited.map(|text| PathState::text(text, mode)),
        })
    }

    /// Writes the file, with its former content in the journal of installed files.
    ///
    /// # Errors
    /// The write error; the file is then unchanged.
    pub fn write(self, session: &Session) -> Result<SavedDeclaration, Failure> {
        let DeclarationDraft {
            path,
            new_state: wanted,
        } = self;
        let already = wanted.is_none();
        if let Some(new_state) = wanted {
            let state = session.made_lasting_state()?;
            install(
                session.writable()?,
                &DurableStorage(&state),
                &[(path.clone(), new_state)],
            )?;
        }
        Ok(SavedDeclaration { path, already })
    }
}

impl SavedDeclaration {
    /// The outcome as text.
    #[must_use]
    pub fn text(&self) -> String {
        match self.already {
            true => format!("{} already declares it.\n", self.path),
            false => format!(
                "{} now declares it; `quietcore apply --install-unit` applies it at boot.\n",
                self.path
            ),
        }
    }
}
