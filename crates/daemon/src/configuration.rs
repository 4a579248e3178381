//! Reads `/etc/quietcore.toml` again when it changes while the daemon runs. An unusable file leaves the previous one active.

use plan::declared::{PATH, Repair, WatchSettings, watching};
use root::Failure;
use session::Session;
use session::declared::{self, DeclaredFile};
use watch::drift::Interval;

/// The content of the file when it was last usable.
pub struct DaemonConfiguration {
    /// The partitions; `None` without a file.
    pub file: Option<DeclaredFile>,
    /// How to handle findings.
    pub watching: WatchSettings,
    /// The error in the current file.
    pub error: Option<String>,
    /// When it is read again to see whether it has changed.
    pub reads: Interval,
    seen: ConfigurationContent,
    repairs_all: bool,
}

/// The content of the file, `None` without a file, or why it cannot be read.
type ConfigurationContent = Result<Option<Vec<u8>>, Failure>;

/// Checks whether the declarations can be compared with this machine.
pub type DeclarationCheck<'a> = &'a dyn Fn(Option<&DeclaredFile>) -> Result<(), Failure>;

impl DaemonConfiguration {
    /// Reads it. `repairs` is the option of the command line, which applies in addition.
    ///
    /// # Errors
    /// A file that cannot be used: at the start the user sees the error.
    pub fn read(session: &Session, repairs: Repair) -> Result<DaemonConfiguration, Failure> {
        let mut configuration = DaemonConfiguration {
            file: None,
            watching: WatchSettings::default(),
            error: None,
            reads: Interval::CONFIGURATION,
            seen: Ok(None),
            repairs_all: repairs == Repair::All(true),
        };
        // The first check shows whether it fits the machine.
        configuration.take(session, &|_| Ok(()))?;
        Ok(configuration)
    }

    /// Whether the file differs from when it was last read.
    pub fn is_changed(&self, session: &Session) -> bool {
        declared::own_bytes(session) != self.seen
    }

    /// Reads it again.
    ///
    /// # Errors
    /// The error in it; the previous configuration stays active.
    pub fn reload(&mut self, session: &Session, fits: DeclarationCheck) -> Result<(), Failure> {
        let outcome = self.take(session, fits);
        self.error = outcome.as_ref().err().map(Failure::reason);
        outcome
    }

    /// Uses the same bytes that it records as seen, so that a later write is detected by the next check.
    fn take(&mut self, session: &Session, fits: DeclarationCheck) -> Result<(), Failure> {
        let read = declared::own_bytes(session);
        self.seen = read.clone();
        let (file, mut lines) = match read? {
            Some(bytes) => (
                Some(DeclaredFile::of(PATH.to_owned(), &bytes)?),
                watching(&bytes).map_err(|error| declared::wrong(PATH, &error))?,
            ),
            None => (None, WatchSettings::default()),
        };
        fits(file.as_ref())?;
        if self.repairs_all {
            lines.repair = Repair::All(true);
        }
        (self.file, self.watching) = (file, lines);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn write(dir: &Path, text: &str) {
        let path = dir.join("etc/quietcore.toml");
        let _ = std::fs::remove_dir(&path); // If it is a directory.
        std::fs::create_dir_all(dir.join("etc")).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// An unusable file leaves the whole previous configuration active.
    #[test]
    fn an_unusable_file_leaves_the_configuration_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let whole = "[[partition]]\nname = \"audio\"\ncpus = \"1\"\n[watch]\nlevel = \"error\"\n";
        write(dir.path(), whole);
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        let root = root::Root::open(dir.path()).unwrap();
        let session = Session::live(&terminal::StandardError::Normal).captured(root);
        let mut configuration = DaemonConfiguration::read(&session, Repair::All(false)).unwrap();
        let good: DeclarationCheck = &|_| Ok(());
        let never: DeclarationCheck = &|_| Err(Failure::usage("no CPU 99", "this machine has 2", "name others"));
        let mut is_kept = |fits: DeclarationCheck, words: &str| {
            assert!(configuration.is_changed(&session), "{words}");
            let message = configuration.reload(&session, fits).unwrap_err().reason();
            assert!(message.contains(words), "{message}");
            assert_eq!(configuration.error.as_ref(), Some(&message));
            assert!(!configuration.is_changed(&session), "it is told once: {words}");
            let file = configuration.file.as_ref().unwrap();
            assert_eq!(file.declarations[0].name().as_str(), "audio");
            assert_eq!(configuration.watching.level, plan::Level::Error);
        };
        write(dir.path(), &whole[..30]);
        is_kept(good, "quietcore.toml:");
        write(dir.path(), &whole.replace("error", "loud"));
        is_kept(good, "loud");
        write(dir.path(), &whole.replace("\"1\"", "\"99\""));
        is_kept(never, "no CPU 99");
        std::fs::remove_file(dir.path().join("etc/quietcore.toml")).unwrap();
        std::fs::create_dir(dir.path().join("etc/quietcore.toml")).unwrap();
        is_kept(good, "it is a directory");
        write(dir.path(), &whole.replace("audio", "video"));
        configuration.reload(&session, good).unwrap();
        assert_eq!(configuration.error, None);
        std::fs::remove_file(dir.path().join("etc/quietcore.toml")).unwrap();
        assert!(
            configuration.is_changed(&session),
            "a file that is gone declares nothing"
        );
        configuration.reload(&session, good).unwrap();
        assert!(configuration.file.is_none());
    }
}
