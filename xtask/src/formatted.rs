//! Lists every Rust file for rustfmt. `cargo fmt` follows only `mod` lines, so it misses modules that a macro declares,
//! such as all verbs.

use crate::error::{TaskResult, XtaskError, top};
use std::path::{Path, PathBuf};

/// The folders of the sources.
const FOLDERS: [&str; 5] = ["bench", "crates", "fuzz", "lab", "xtask"];

/// The arguments that make `cargo` check all of them.
///
/// # Errors
/// [`XtaskError::File`] when a folder cannot be read.
pub fn arguments() -> TaskResult<Vec<String>> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        gather(&top().join(folder), &mut files)?;
    }
    files.sort();
    let words = ["fmt", "--all", "--check", "--"].map(str::to_owned).into_iter();
    Ok(words
        .chain(files.into_iter().map(|file| file.display().to_string()))
        .collect())
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> TaskResult {
    for entry in std::fs::read_dir(folder).map_err(XtaskError::file(folder))? {
        let path = entry.map_err(XtaskError::file(folder))?.path();
        if path.is_dir() {
            if !path.ends_with("target") {
                gather(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_declared_only_by_a_macro_are_formatted_too() {
        let all = arguments().unwrap();
        for file in ["crates/cli/src/verbs/study.rs", "xtask/src/main.rs"] {
            assert!(all.iter().any(|argument| argument.ends_with(file)), "{file}");
        }
    }
}
