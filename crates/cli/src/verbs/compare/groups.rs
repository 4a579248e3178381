//! Groups files into repetitions of one measurement.

use root::Failure;
use std::path::{Path, PathBuf};

/// Repetitions of one measurement.
#[derive(Debug, PartialEq, Eq)]
pub struct FileGroup {
    /// Its name: the directory, or the first file.
    pub name: String,
    /// Its files.
    pub files: Vec<PathBuf>,
}

/// Each directory and each single file is a group. With `--versus`, all paths before it are one group, and all paths after
/// it are another.
///
/// # Errors
/// Wrong usage: a directory without files, or nothing to compare with.
pub fn groups(files: &[PathBuf], versus: &[PathBuf]) -> Result<Vec<FileGroup>, Failure> {
    let mut groups = Vec::new();
    if versus.is_empty() {
        for path in files {
            groups.push(group(std::slice::from_ref(path))?);
        }
    } else {
        groups.push(group(files)?);
        groups.push(group(versus)?);
    }
    Ok(groups)
}

fn group(paths: &[PathBuf]) -> Result<FileGroup, Failure> {
    let mut files = Vec::new();
    for path in paths {
        let Some(mut inside) = root::input::files_in(path)? else {
            files.push(path.clone());
            continue;
        };
        inside.retain(|file| !is_page(file));
        if inside.is_empty() {
            return Err(empty(path));
        }
        files.extend(inside);
    }
    let first = paths.first().map(|path| path.display().to_string()).unwrap_or_default();
    let name = match paths.len() {
        1 => first,
        count => format!("{first} and {} more", count - 1),
    };
    Ok(FileGroup { name, files })
}

/// A page beside a result contains the same data.
fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "html")
}

fn empty(dir: &Path) -> Failure {
    Failure::usage(
        format!("{} contains no result", report::safe_path(dir)),
        "a directory is a set of repetitions".to_owned(),
        "save some measurements in it, then compare again",
    )
}
