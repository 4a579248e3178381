//! Errors of tasks, and functions to run programs.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
pub enum XtaskError {
    /// A check failed. The failure was already reported.
    #[error("failed")]
    Failed,
    /// A file could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A program could not be started or failed.
    #[error("{program}: {why}")]
    Program {
        /// Its name.
        program: String,
        /// The reason.
        why: String,
    },
}

/// The result of a task.
pub type TaskResult<T = ()> = Result<T, XtaskError>;

impl XtaskError {
    /// An [`XtaskError::File`] for `map_err`.
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> XtaskError {
        let path = path.to_owned();
        move |source| XtaskError::File { path, source }
    }
}

/// Prints the reason of a failure, and returns the exit status of a task.
#[must_use]
pub fn report(done: TaskResult) -> ExitCode {
    match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(XtaskError::Failed) => {}
        Err(error) => eprintln!("error: {error}"),
    }
    ExitCode::FAILURE
}

/// The project's root directory.
#[must_use]
pub fn top() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Cargo's target directory.
#[must_use]
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| top().join("target"), PathBuf::from)
}

/// Runs a program in the root directory and returns its standard output; its standard error is inherited.
///
/// # Errors
/// Runs a program in the root directory and returns its standard output. Its standard error is inherited.
///
/// # Errors
/// [`XtaskError::Program`] when it cannot be started or its status is not 0.
pub fn output(command: &mut Command) -> TaskResult<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |why: String| XtaskError::Program {
        program: program.clone(),
        why,
    };
    let output = command
        .current_dir(top())
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Builds the static binaries of a package with its release profile, and returns their directory.
///
/// # Errors
/// [`XtaskError::Program`] when the build fails.
pub fn build_static(package: &str) -> TaskResult<PathBuf> {
    let folder = output(Command::new("scripts/build-static").arg(package))?;
    Ok(top().join(folder.trim()))
}

/// The static quietcore: `QUIETCORE_BIN`, or a new build.
///
/// # Errors
/// [`XtaskError::Program`] when the build fails.
pub fn product() -> TaskResult<PathBuf> {
    named_or_built("QUIETCORE_BIN", "quietcore", "quietcore")
}

/// The static program of the lab's guests: `LAB_GUEST_BIN`, or a new build.
///
/// # Errors
/// [`XtaskError::Program`] when the build fails.
pub fn lab_guest() -> TaskResult<PathBuf> {
    named_or_built("LAB_GUEST_BIN", "lab", "lab-guest")
}

fn named_or_built(variable: &str, package: &str, binary: &str) -> TaskResult<PathBuf> {
    match std::env::var_os(variable) {
        Some(path) => Ok(PathBuf::from(path)),
        None => Ok(build_static(package)?.join(binary)),
    }
}
