//! Checks that files named in the documents for contributors exist.

use crate::support::{none, top};

/// Documents for contributors.
const DOCUMENTS: &[&str] = &[
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/contributing/testing.md",
    "docs/contributing/fuzzing.md",
    "docs/contributing/knobs.md",
];

/// Folders of the repository whose files the documents name.
const FOLDERS: &[&str] = &[
    "bench/",
    "crates/",
    "docs/",
    "fixtures/",
    "fuzz/",
    "lab/",
    "packaging/",
    "scripts/",
    "xtask/",
];

/// Backquoted text that is a plain path of the repository.
fn paths(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)))
        .filter(|word| {
            word.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte))
        })
        .collect()
}

/// Whether a path names one file: a placeholder (`NAME.rs`) stands for any file, and artifacts exist only after a run.
fn is_concrete(path: &str) -> bool {
    let is_placeholder = |part: &str| part.starts_with(|letter: char| letter.is_ascii_uppercase());
    !path.split('/').any(is_placeholder) && !path.starts_with("fuzz/artifacts") && !path.starts_with("fuzz/corpus")
}

#[test]
fn documents_name_files_that_exist() {
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(top().join(document)).unwrap();
        let named = paths(&text).into_iter().filter(|path| is_concrete(path));
        missing.extend(
            named
                .filter(|path| !top().join(path).exists())
                .map(|path| format!("{document}: {path}")),
        );
    }
    none(&missing, "a document names a file that does not exist");
    assert_eq!(
        paths("see `crates/none/src/x.rs`, `make check` and `crates/*/src`"),
        ["crates/none/src/x.rs"]
    );
}
