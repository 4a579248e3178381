//! `apply --save`: one more partition in the file of declared ones, everything else in it kept.

use crate::Session;
use crate::declared::wrong;
use apply::Lasting;
use apply::installed::install;
use plan::PartitionName;
use plan::declared::{Declaration, DeclarationError, PATH, add, put_on_boot_line};
use root::{Content, Failure, Standing, Status};
use std::path::Path;

/// The file as it shall be.
pub struct DeclarationDraft {
    path: String,
    /// `None` where the partition stands there already.
    wanted: Option<Standing>,
}

/// What was saved.
pub struct SavedDeclaration {
    /// Where.
    pub path: String,
    /// Whether it stood there already.
    already: bool,
}

impl DeclarationDraft {
    /// The file with the partition in it; nothing is written yet.
    ///
    /// # Errors
    /// A file that declares the partition or its CPUs otherwise, or that cannot be understood.
    pub fn with(
        session: &Session,
        declaration: &Declaration,
        named: Option<&Path>,
    ) -> Result<DeclarationDraft, Failure> {
        let path = match named {
            None => PATH.to_owned(),
            Some(path) => std::path::absolute(path)
                .map_err(|error| {
                    let what = format!("{}: is no path", path.display());
                    Failure::usage(what, error.to_string(), "name a file")
                })?
                .display()
                .to_string(),
        };
        DeclarationDraft::edited(session, path, |text| add(text, declaration))
    }

    /// The machine's own file with `boot = true` in some partitions; nothing is written yet.
    ///
    /// # Errors
    /// As [`DeclarationDraft::with`].
    pub fn on_boot_line(session: &Session, names: &[PartitionName]) -> Result<DeclarationDraft, Failure> {
        DeclarationDraft::edited(session, PATH.to_owned(), |text| put_on_boot_line(text, names))
    }

    fn edited(
        session: &Session,
        path: String,
        edit: impl FnOnce(&str) -> Result<Option<String>, DeclarationError>,
    ) -> Result<DeclarationDraft, Failure> {
        let (text, mode) = match session.writable()?.standing(&path)? {
            Standing::Nothing => (String::new(), 0o644),
            Standing::File {
                content: Content::Text(text),
                mode,
            } => (text, mode),
            _ => {
                return Err(Failure::usage(
                    format!("{path}: is no text file"),
                    "a partition can be added to plain text only, and links are not followed",
                    "move it away, or name another file with --config",
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
            wanted: edited.map(|text| Standing::text(text, mode)),
        })
    }

    /// Writes it, with its former content in the journal of installed files.
    ///
    /// # Errors
    /// What writing met; the file is as before then.
    pub fn write(self, session: &Session) -> Result<SavedDeclaration, Failure> {
        let DeclarationDraft { path, wanted } = self;
        let already = wanted.is_none();
        if let Some(wanted) = wanted {
            let state = session.made_lasting_state()?;
            install(session.writable()?, &Lasting(&state), &[(path.clone(), wanted)])?;
        }
        Ok(SavedDeclaration { path, already })
    }
}

impl SavedDeclaration {
    /// In words.
    #[must_use]
    pub fn text(&self) -> String {
        match self.already {
            true => format!("{} declares it already.\n", self.path),
            false => format!(
                "{} declares it now; `quietcore apply --install-unit` lets it come back at boot.\n",
                self.path
            ),
        }
    }
}
