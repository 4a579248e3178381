//! `/etc/quietcore.toml` while the daemon runs: read again when it changes; while it cannot be used the old one counts.

use plan::declared::{PATH, Repair, Watching, watching};
use root::Failure;
use session::Session;
use session::declared::{self, DeclaredFile};

/// What the file says, or said when it could last be used.
pub struct Configuration {
    /// The partitions; `None` for no file.
    pub file: Option<DeclaredFile>,
    /// What is done with findings.
    pub watching: Watching,
    /// What is wrong with the file as it is now.
    pub error: Option<String>,
    seen: Seen,
    repairs_all: bool,
}

/// What stands in the file, `None` for no file, or why nobody can know.
type Seen = Result<Option<Vec<u8>>, String>;

/// Says whether what is declared can be held against this machine.
pub type Fits<'a> = &'a dyn Fn(Option<&DeclaredFile>) -> Result<(), Failure>;

impl Configuration {
    /// Reads it; `repairs` is the command line's wish and counts besides.
    ///
    /// # Errors
    /// A file that cannot be used: at the start somebody looks.
    pub fn read(session: &Session, repairs: Repair) -> Result<Configuration, Failure> {
        let mut configuration = Configuration {
            file: None,
            watching: Watching::default(),
            error: None,
            seen: Ok(None),
            repairs_all: repairs == Repair::All(true),
        };
        // Whether it fits the machine is seen by the first look.
        configuration.take(session, &|_| Ok(()))?;
        Ok(configuration)
    }

    /// Whether the file reads otherwise than when it was last looked at.
    pub fn is_changed(&self, session: &Session) -> bool {
        declared::own_bytes(session).map_err(in_one_line) != self.seen
    }

    /// Reads it again.
    ///
    /// # Errors
    /// What is wrong with it; the old one stays.
    pub fn reload(&mut self, session: &Session, fits: Fits) -> Result<(), String> {
        let outcome = self.take(session, fits).map_err(in_one_line);
        self.error = outcome.clone().err();
        outcome
    }

    /// The bytes that were seen are those that are used: what is written meanwhile is seen at the next look.
    fn take(&mut self, session: &Session, fits: Fits) -> Result<(), Failure> {
        let read = declared::own_bytes(session);
        self.seen = read.clone().map_err(in_one_line);
        let (file, mut said) = match read? {
            Some(bytes) => (
                Some(DeclaredFile::of(PATH.to_owned(), &bytes)?),
                watching(&bytes).map_err(|error| declared::wrong(PATH, &error))?,
            ),
            None => (None, Watching::default()),
        };
        fits(file.as_ref())?;
        if self.repairs_all {
            said.repair = Repair::All(true);
        }
        (self.file, self.watching) = (file, said);
        Ok(())
    }
}

fn in_one_line(error: Failure) -> String {
    format!("{}: {}", error.what, error.why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn write(dir: &Path, text: &str) {
        let path = dir.join("etc/quietcore.toml");
        let _ = std::fs::remove_dir(&path); // Where a directory stands there.
        std::fs::create_dir_all(dir.join("etc")).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Whatever is wrong with the file, what could last be used is used, whole.
    #[test]
    fn what_cannot_be_used_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let whole = "[[partition]]\nname = \"audio\"\ncpus = \"1\"\n[watch]\nlevel = \"error\"\n";
        write(dir.path(), whole);
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        let root = root::Root::open(dir.path()).unwrap();
        let session = Session::live(&terminal::StandardError::Normal).captured(root);
        let mut configuration = Configuration::read(&session, Repair::All(false)).unwrap();
        let good: Fits = &|_| Ok(());
        let never: Fits = &|_| Err(Failure::usage("no CPU 99", "this machine has 2", "name others"));
        let mut is_kept = |fits: Fits, words: &str| {
            assert!(configuration.is_changed(&session), "{words}");
            let said = configuration.reload(&session, fits).unwrap_err();
            assert!(said.contains(words), "{said}");
            assert_eq!(configuration.error.as_ref(), Some(&said));
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
