//! Captured boot trees, their modified copies, and the output of the `boot` commands on them.

use super::schemas::document;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// All trees.
pub fn trees() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/boot");
    let mut trees: Vec<PathBuf> = std::fs::read_dir(top)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    trees.sort();
    assert!(trees.len() >= 20, "{trees:?}");
    trees
}

/// Runs a `boot` command on a tree.
pub fn boot(tree: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .arg("boot")
        .args(arguments)
        .arg("--root")
        .arg(tree)
        .output()
        .unwrap()
}

/// Creates the directories that make a directory a captured machine.
pub fn captured(dir: &Path) {
    for name in ["proc", "sys"] {
        std::fs::create_dir(dir.join(name)).unwrap();
    }
}

/// Returns standard error as text.
pub fn error_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Parses standard output as JSON.
pub fn json(output: &Output) -> Value {
    document(&output.stdout).unwrap()
}

/// Copies a tree and adds or replaces one file.
pub fn with(tree: &Path, path: &str, text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let copied = Command::new("cp")
        .arg("-a")
        .arg(tree.join("."))
        .arg(dir.path())
        .status()
        .unwrap();
    assert!(copied.success());
    let path = dir.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    dir
}

/// Writes an EFI variable: four bytes of attributes, then the text.
pub fn efi(dir: &Path, name: &str, value: &[u8]) {
    let dir = dir.join("sys/firmware/efi/efivars");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join(name), [&[6, 0, 0, 0], value].concat()).unwrap();
}

/// Returns the tree with this name.
pub fn tree(name: &str) -> PathBuf {
    trees().into_iter().find(|path| path.ends_with(name)).unwrap()
}
