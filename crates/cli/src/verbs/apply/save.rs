//! `apply --save`: one more partition in the file of declared ones, everything else in it kept.

use crate::{CommandError, Status};
use apply::Lasting;
use apply::installed::install;
use plan::PartitionName;
use plan::declared::{Declaration, DeclarationError, PATH, add, put_on_boot_line};
use root::{Content, Standing};
use session::Session;
use session::declared::wrong;
use std::path::Path;

/// The file as it shall be.
pub struct Draft {
    path: String,
    /// `None` where the partition stands there already.
    wanted: Option<Standing>,
}

/// What was saved.
pub struct Saved {
    /// Where.
    pub path: String,
    /// Whether it stood there already.
    already: bool,
}

impl Draft {
    /// The file with the partition in it; nothing is written yet.
    ///
    /// # Errors
    /// A file that declares the partition or its CPUs otherwise, or that cannot be understood.
    pub fn with(
        session: &Session,
        declaration: &Declaration,
        named: Option<&Path>,
    ) -> Result<Draft, CommandError> {
        let path = match named {
            None => PATH.to_owned(),
            Some(path) => std::path::absolute(path)
                .map_err(|error| {
                    let what = format!("{}: is no path", path.display());
                    CommandError::usage(what, error.to_string(), "name a file")
                })?
                .display()
                .to_string(),
        };
        Draft::edited(session, path, |text| add(text, declaration))
    }

    /// The machine's own file with `boot = true` in some partitions; nothing is written yet.
    ///
    /// # Errors
    /// As [`Draft::with`].
    pub fn on_boot_line(session: &Session, names: &[PartitionName]) -> Result<Draft, CommandError> {
        Draft::edited(session, PATH.to_owned(), |text| put_on_boot_line(text, names))
    }

    fn edited(
        session: &Session,
        path: String,
        edit: impl FnOnce(&str) -> Result<Option<String>, DeclarationError>,
    ) -> Result<Draft, CommandError> {
        let (text, mode) = match session.writable()?.standing(&path)? {
            Standing::Nothing => (String::new(), 0o644),
            Standing::File {
                content: Content::Text(text),
                mode,
            } => (text, mode),
            _ => {
                return Err(CommandError::usage(
                    format!("{path}: is no text file"),
                    "a partition can be added to plain text only, and links are not followed",
                    "move it away, or name another file with --config",
                ));
            }
        };
        let edited = edit(&text).map_err(|error| CommandError {
            status: if error.line == 0 {
                Status::Usage
            } else {
                Status::Conflict
            },
            ..wrong(&path, &error)
        })?;
        Ok(Draft {
            path,
            wanted: edited.map(|text| Standing::text(text, mode)),
        })
    }

    /// Writes it, with its former content in the journal of installed files.
    ///
    /// # Errors
    /// What writing met; the file is as before then.
    pub fn write(self, session: &Session) -> Result<Saved, CommandError> {
        let Draft { path, wanted } = self;
        let already = wanted.is_none();
        if let Some(wanted) = wanted {
            let state = session.made_lasting_state()?;
            install(session.writable()?, &Lasting(&state), &[(path.clone(), wanted)])?;
        }
        Ok(Saved { path, already })
    }
}

impl Saved {
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
