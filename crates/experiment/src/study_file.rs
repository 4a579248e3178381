//! Reads the file that describes a study, and keeps its bytes.

use root::{Failure, Status, input};
use std::path::Path;
use study::{MOST_BYTES, SourceText, Study, StudyError, parse};

/// A study and its bytes.
pub struct StudyFile {
    pub(crate) study: Study,
    pub(crate) bytes: Vec<u8>,
}

impl StudyFile {
    /// Reads a file.
    ///
    /// # Errors
    /// A usage error: the file does not exist, or is not a study, with the line.
    pub fn read(file: &Path) -> Result<StudyFile, Failure> {
        let bytes = input::bytes(file, MOST_BYTES).map_err(|error| Failure {
            status: Status::Usage,
            next: "name the file that describes the study; `quietcore study --help` shows an example".to_owned(),
            ..error.into()
        })?;
        let study = parse(&bytes).map_err(|error| refused(file, error))?;
        Ok(StudyFile { study, bytes })
    }

    /// A study that was generated from options, in the form of a file.
    ///
    /// # Errors
    /// Invalid options.
    pub fn generated(text: String) -> Result<StudyFile, Failure> {
        let study =
            parse(text.as_bytes()).map_err(|error| Failure::usage("there is no such study", error.what, error.next))?;
        Ok(StudyFile {
            study,
            bytes: text.into_bytes(),
        })
    }

    /// The study.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// The bytes of its file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Replaces the CPUs of the file.
    pub(crate) fn measure_on(&mut self, cpus: &str) {
        cpus.clone_into(&mut self.study.cpus.text);
    }

    /// An error about its CPUs, with the line that names them.
    pub(crate) fn at_cpus(&self, file: &Path, error: Failure) -> Failure {
        at(file, &self.study.cpus, error)
    }
}

/// The error for a file that is not a study.
pub(crate) fn refused(file: &Path, error: StudyError) -> Failure {
    let file = report::safe_path(file);
    Failure::usage(
        format!("{file} does not describe a study"),
        error.to_string(),
        error.next,
    )
}

/// Adds the file and the line to an error.
pub(crate) fn at(file: &Path, source: &SourceText, error: Failure) -> Failure {
    Failure {
        what: format!("{}: line {}: {}", report::safe_path(file), source.line, error.what),
        ..error
    }
}
