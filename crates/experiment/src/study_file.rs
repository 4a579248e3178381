//! The file that describes a study, with the bytes that it was read from.

use root::{Failure, Status, input};
use std::path::Path;
use study::{MOST_BYTES, SourceText, Study, StudyError, parse};

/// A study and the bytes that it was read from.
pub struct StudyFile {
    pub(crate) study: Study,
    pub(crate) bytes: Vec<u8>,
}

impl StudyFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Wrong usage: no such file, or one that is no study, with the line.
    pub fn read(file: &Path) -> Result<StudyFile, Failure> {
        let bytes = input::bytes(file, MOST_BYTES).map_err(|error| Failure {
            status: Status::Usage,
            next: "name the file that describes the study; `quietcore study --help` has one".to_owned(),
            ..error.into()
        })?;
        let study = parse(&bytes).map_err(|error| refused(file, error))?;
        Ok(StudyFile { study, bytes })
    }

    /// A study that was generated from options, as the file that it will be.
    ///
    /// # Errors
    /// What of it cannot be.
    pub fn generated(text: String) -> Result<StudyFile, Failure> {
        let study = parse(text.as_bytes())
            .map_err(|error| Failure::usage("there is no such study", error.what, error.next))?;
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

    /// Replaces the CPUs that its file names.
    pub(crate) fn measure_on(&mut self, cpus: &str) {
        cpus.clone_into(&mut self.study.cpus.text);
    }

    /// An error about its CPUs, with the line that names them.
    pub(crate) fn at_cpus(&self, file: &Path, error: Failure) -> Failure {
        at(file, &self.study.cpus, error)
    }
}

/// The error about a file that is no study.
pub(crate) fn refused(file: &Path, error: StudyError) -> Failure {
    let file = report::safe(&file.display().to_string());
    Failure::usage(
        format!("{file} describes no study"),
        error.to_string(),
        error.next,
    )
}

/// An error with the file and the line that it is about.
pub(crate) fn at(file: &Path, said: &SourceText, error: Failure) -> Failure {
    Failure {
        what: format!(
            "{}: line {}: {}",
            report::safe(&file.display().to_string()),
            said.line,
            error.what
        ),
        ..error
    }
}
