//! Collects the licence texts of the crates that are linked into the program: most licences require that copies of the
//! program contain them.

use super::linked::{LinkedCrates, name_and_version};
use crate::error::{TaskResult, XtaskError};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Starts of the names of files with licence texts, in capitals.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// The licence texts of all published crates, each once, below the names of the crates that have it.
pub(super) fn notices(linked: &LinkedCrates) -> TaskResult<String> {
    let mut crates_by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    let published = linked.packages.values().filter(|package| !package["source"].is_null());
    for package in published {
        let (name, version) = name_and_version(package);
        let texts = texts(package)?;
        if texts.is_empty() {
            without.push(format!(
                "{name} {version} ({})",
                package["license"].as_str().unwrap_or("?")
            ));
        }
        for text in texts {
            crates_by_text
                .entry(text)
                .or_default()
                .push(format!("{name} {version}"));
        }
    }
    let mut entries: Vec<(String, String)> = crates_by_text
        .into_iter()
        .map(|(text, crates)| (crates.join(", "), text))
        .collect();
    entries.sort();
    let mut all = "Licence texts of the crates that are linked into quietcore.\n".to_owned();
    if !without.is_empty() {
        all.push_str(&format!(
            "\nCrates without a text of their own: {}\n",
            without.join(", ")
        ));
    }
    for (crates, text) in entries {
        let line = "-".repeat(80);
        all.push_str(&format!("\n{line}\n{crates}\n{line}\n\n{}\n", text.trim_end()));
    }
    Ok(all)
}

/// The licence texts in the directory of a crate, in the order of their file names.
fn texts(package: &Value) -> TaskResult<Vec<String>> {
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let dir = manifest.parent().unwrap_or(manifest);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(XtaskError::file(dir))? {
        let path = entry.map_err(XtaskError::file(dir))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            files.push(path);
        }
    }
    files.sort();
    let read = |path: &std::path::PathBuf| -> TaskResult<String> {
        let bytes = std::fs::read(path).map_err(XtaskError::file(path))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    files.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_licence_text_is_printed_once_below_its_crates() {
        let dir = tempfile::tempdir().unwrap();
        let package = |name: &str, licence: Option<&str>| {
            let place = dir.path().join(name);
            std::fs::create_dir(&place).unwrap();
            if let Some(text) = licence {
                std::fs::write(place.join("LICENSE-MIT"), text).unwrap();
            }
            let manifest = place.join("Cargo.toml");
            json!({ "name": name, "version": "1.0.0", "license": "MIT", "source": "registry", "manifest_path": manifest })
        };
        let packages = [("a", Some("one\n")), ("b", Some("one\n")), ("c", None)];
        let linked = LinkedCrates {
            packages: packages
                .map(|(name, text)| (name.to_owned(), package(name, text)))
                .into(),
            uses: BTreeMap::new(),
            program: String::new(),
        };
        let found = notices(&linked).unwrap();
        assert!(found.contains("of their own: c 1.0.0 (MIT)\n"), "{found}");
        assert!(found.contains("\na 1.0.0, b 1.0.0\n"), "{found}");
        assert_eq!(found.matches("one\n").count(), 1, "{found}");
    }
}
