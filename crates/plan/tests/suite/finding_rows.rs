//! `explain` knows each finding: an id in the code has a row, and each row has code that reports it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Texts of all sources of the product, without the table itself.
fn sources(dir: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, texts);
        } else if !path.ends_with("finding_ids.rs") && path.extension().is_some_and(|end| end == "rs") {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// The ids that a text gives to `Finding::new` and the like: its second argument, if it is a literal.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    text.split("Finding::new(").skip(1).filter_map(|call| {
        let (level, rest) = call.split_once(',')?;
        let is_level = level.trim().starts_with("Level::") || level.trim() == "level";
        rest.trim_start()
            .strip_prefix('"')
            .filter(|_| is_level)?
            .split('"')
            .next()
    })
}

#[test]
fn every_finding_has_a_row_and_every_row_a_finding() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut texts = Vec::new();
    for entry in fs::read_dir(crates).unwrap().flatten() {
        sources(&entry.path().join("src"), &mut texts);
    }
    let rows: BTreeSet<&str> = plan::findings().map(|row| row.id).collect();
    let used: BTreeSet<&str> = texts.iter().flat_map(|text| ids(text)).collect();
    assert!(used.len() > 60, "{used:?}");
    let without: Vec<&&str> = used.difference(&rows).collect();
    assert!(
        without.is_empty(),
        "findings without a row in finding_ids.rs: {without:?}"
    );
    let unused: Vec<&&str> = rows
        .iter()
        .filter(|id| !texts.iter().any(|text| text.contains(&format!("\"{id}\""))))
        .collect();
    assert!(unused.is_empty(), "rows that no code reports: {unused:?}");
}
