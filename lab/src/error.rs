//! Errors that prevent the lab from running. A failed assertion is not an error but a [`crate::verdict::Verdict`].

use std::path::{Path, PathBuf};

/// Why the lab could not run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A file of the host could not be read or written.
    #[error("{path}: {source}; check that the folder exists and has room", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A program of the host could not be started or failed.
    #[error("{program} failed: {why}; `scripts/setup` installs what the lab needs")]
    Program {
        /// The program's name.
        program: String,
        /// Its status and the end of its output.
        why: String,
    },
    /// No package of a kernel series is available.
    #[error("no package for kernel {id}: {why}")]
    NoKernel {
        /// The lab's name of the kernel.
        id: String,
        /// What was searched, and where.
        why: String,
    },
}

impl LabError {
    /// A [`LabError::File`] for `map_err`.
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> LabError {
        let path = path.to_owned();
        move |source| LabError::File { path, source }
    }
}

/// Runs a program to its end and returns its standard output.
///
/// # Errors
/// [`LabError::Program`] when it cannot be started or its status is not 0.
pub fn run(command: &mut std::process::Command) -> Result<String, LabError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |why: String| LabError::Program {
        program: program.clone(),
        why,
    };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let end: Vec<&str> = errors.lines().rev().take(5).collect();
        let end: Vec<&str> = end.into_iter().rev().collect();
        return Err(failed(format!("{}: {}", output.status, end.join(" | "))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
