//! `explain` knows each finding, because an id in the code is a constant of a table row. Code exists that reports each
//! row.

use std::fs;
use std::path::Path;

/// Collects the text of all sources of the product, without the table itself.
fn sources(dir: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("finding/ids") {
            sources(&path, texts);
        } else if path.extension().is_some_and(|end| end == "rs") {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// Returns whether a text uses the constant of an id, or declares the rule of this id.
fn reports(text: &str, id: &str) -> bool {
    let name = format!("FindingId::{}", id.to_uppercase().replace('-', "_"));
    let is_end = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    let is_constant = text
        .match_indices(&name)
        .any(|(at, _)| is_end(&text[at + name.len()..]));
    is_constant || text.contains(&format!("id: \"{id}\""))
}

/// The level and the id of `warning  [irq-managed] ...`.
fn reported(line: &str) -> Option<(plan::Level, &str)> {
    let mut words = line.split_whitespace();
    let level = match words.next()? {
        "error" => plan::Level::Error,
        "warning" => plan::Level::Warning,
        "info" => plan::Level::Info,
        _ => return None,
    };
    Some((level, words.next()?.strip_prefix('[')?.strip_suffix(']')?))
}

#[test]
fn no_finding_of_a_captured_machine_exceeds_the_level_that_explain_states() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden");
    let mut seen = 0;
    for machine in fs::read_dir(golden).unwrap().flatten() {
        for file in fs::read_dir(machine.path()).unwrap().flatten() {
            let text = fs::read_to_string(file.path()).unwrap();
            for (level, id) in text.lines().filter_map(reported) {
                let Some(row) = plan::findings().find(|row| row.id.as_str() == id) else {
                    continue;
                };
                assert!(level <= row.level, "{id} is {level:?} in {}", file.path().display());
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn every_row_has_code_that_reports_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut texts = Vec::new();
    for entry in fs::read_dir(crates).unwrap().flatten() {
        sources(&entry.path().join("src"), &mut texts);
    }
    assert!(!reports("FindingId::CPUSET_OVERLAPS", "cpuset"));
    let rows: Vec<&str> = plan::findings().map(|row| row.id.as_str()).collect();
    assert!(rows.len() > 100, "{rows:?}");
    let unused: Vec<&&str> = rows
        .iter()
        .filter(|id| !texts.iter().any(|text| reports(text, id)))
        .collect();
    assert!(unused.is_empty(), "rows that no code reports: {unused:?}");
}
