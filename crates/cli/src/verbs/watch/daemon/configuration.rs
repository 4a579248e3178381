//! `/etc/quietcore.toml` while the daemon runs: read again when it changes; while it cannot be used the old one counts.

use crate::CommandError;
use crate::declared::{self, DeclaredFile};
use plan::declared::{MOST_BYTES, PATH, Repair, Watching, watching};
use root::Root;

/// What the file says, or said when it could last be used.
pub struct Configuration {
    /// The partitions; `None` for no file.
    pub file: Option<DeclaredFile>,
    /// What is done with findings.
    pub watching: Watching,
    /// What is wrong with the file as it is now.
    pub error: Option<String>,
    seen: Option<Vec<u8>>,
    repairs_all: bool,
}

impl Configuration {
    /// Reads it; `repairs` is the command line's wish and counts besides.
    ///
    /// # Errors
    /// A file that cannot be used: at the start somebody looks.
    pub fn read(root: &Root, repairs: Repair) -> Result<Configuration, CommandError> {
        let mut configuration = Configuration {
            file: None,
            watching: Watching::default(),
            error: None,
            seen: None,
            repairs_all: repairs == Repair::All(true),
        };
        configuration.take(root)?;
        Ok(configuration)
    }

    /// Whether the file reads otherwise than when it was last looked at.
    pub fn is_changed(&self, root: &Root) -> bool {
        content(root) != self.seen
    }

    /// Reads it again.
    ///
    /// # Errors
    /// What is wrong with it; the old one stays.
    pub fn reload(&mut self, root: &Root) -> Result<(), String> {
        let outcome = self
            .take(root)
            .map_err(|error| format!("{}: {}", error.what, error.why));
        self.error = outcome.clone().err();
        outcome
    }

    fn take(&mut self, root: &Root) -> Result<(), CommandError> {
        // First, so that what is written meanwhile is seen at the next look.
        self.seen = content(root);
        let file = declared::read(root, None)?;
        let mut said = match &self.seen {
            Some(bytes) => watching(bytes).map_err(|error| declared::wrong(PATH, &error))?,
            None => Watching::default(),
        };
        if self.repairs_all {
            said.repair = Repair::All(true);
        }
        (self.file, self.watching) = (file, said);
        Ok(())
    }
}

/// Unreadable is as absent here: what is wrong is said by whoever reads it in earnest.
fn content(root: &Root) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    root.bytes_at_most(PATH, MOST_BYTES, &mut bytes)
        .ok()
        .filter(|there| *there)
        .map(|_| bytes)
}
