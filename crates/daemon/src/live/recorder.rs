//! Writes each moment to a file as one line at once, so that an interrupted recording keeps all earlier moments.

use root::Failure;
use root::output::Appender;
use std::path::{Path, PathBuf};
use std::time::Duration;
use watch::{Header, Moment, SCHEMA};

/// A recording in progress.
pub(super) struct MomentRecorder {
    file: Appender,
    path: PathBuf,
}

impl MomentRecorder {
    /// Starts a recording.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(super) fn start(path: &Path, kernel: &str, every: Duration) -> Result<MomentRecorder, Failure> {
        let header = Header {
            schema: SCHEMA.to_owned(),
            kernel: kernel.to_owned(),
            every_ns: u64::try_from(every.as_nanos()).unwrap_or(u64::MAX),
        };
        let mut recorder = MomentRecorder {
            file: Appender::create(path)?,
            path: path.to_owned(),
        };
        recorder.append(&watch::line(&header))?;
        Ok(recorder)
    }

    /// Adds a moment.
    ///
    /// # Errors
    /// A write error, for example a full disk.
    pub(super) fn add(&mut self, moment: &Moment) -> Result<(), Failure> {
        self.append(&watch::line(moment))
    }

    fn append(&mut self, line: &[u8]) -> Result<(), Failure> {
        self.file.append(line).map_err(|error| {
            Failure::unable(
                format!("{} ends here", report::safe_path(&self.path)),
                error,
                "free some space, or choose another file; what the file contains can be played",
            )
        })
    }
}
