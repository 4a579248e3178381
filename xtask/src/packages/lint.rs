//! Has packages checked by `lintian` and `rpmlint`.

use crate::error::{TaskResult, output, top};
use std::path::PathBuf;
use std::process::Command;

/// A checker that is not installed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingLinter(
    /// Its name.
    pub &'static str,
);

/// Checks packages. Errors of the checkers are errors here; their warnings are printed. Returns a checker that is
/// missing.
///
/// # Errors
/// [`crate::error::XtaskError::Program`] when a checker reports an error; its report is on standard error.
pub fn lint(files: &[PathBuf]) -> TaskResult<Option<MissingLinter>> {
    let checkers: [(&str, &str, &[&str]); 2] = [
        ("lintian", "deb", &["--fail-on", "error"]),
        ("rpmlint", "rpm", &["--config", "packaging/rpm/rpmlint.toml"]),
    ];
    for (checker, ending, arguments) in checkers {
        if Command::new(checker).arg("--version").output().is_err() {
            return Ok(Some(MissingLinter(checker)));
        }
        let packages = files
            .iter()
            .filter(|file| file.extension().is_some_and(|end| end == ending));
        let report = output(
            Command::new("sh")
                // What it found belongs on standard error, beside the error that follows from it.
                .args(["-c", "\"$@\" >&2", "lint", checker])
                .args(arguments)
                .args(packages)
                .current_dir(top()),
        );
        report?;
    }
    Ok(None)
}
