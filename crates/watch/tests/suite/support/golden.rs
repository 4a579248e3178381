//! Golden files of screens and metrics in `fixtures/watch`; `QUIETCORE_BLESS=1` rewrites them.

use std::path::{Path, PathBuf};

/// The directory of the files.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/watch")
}

/// Compares a text with the golden file of this name.
pub fn golden(name: &str, seen: &str) {
    let path = fixtures().join(name);
    if std::env::var_os("QUIETCORE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, seen).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        seen,
        wanted,
        "{} differs; QUIETCORE_BLESS=1 writes it again",
        path.display()
    );
}
