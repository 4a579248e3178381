//! Shared functions of this suite: the project's sources, and samples that break a rule.

use std::path::{Path, PathBuf};

/// The project's root directory.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Rust files below a folder, with their paths relative to the root.
pub fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![top().join(folder)];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(top()).unwrap().display().to_string();
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Source files of the product, without integration tests.
pub fn product() -> Vec<(String, String)> {
    let all = sources("crates");
    assert!(all.len() > 20, "the product has more files than {}", all.len());
    all.into_iter().filter(|(name, _)| name.contains("/src/")).collect()
}

/// All source files.
pub fn workspace() -> Vec<(String, String)> {
    ["bench", "crates", "lab", "xtask"]
        .into_iter()
        .flat_map(sources)
        .collect()
}

/// One file, in the form that [`sources`] returns.
pub fn sample(name: &str, text: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), text.to_owned())]
}

/// Fails if anything was found that breaks a rule.
pub fn none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}\n{}", found.join("\n"));
}
