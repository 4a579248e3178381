//! Checks where tests are: each file of `tests/` is part of a suite or states why it needs its own process, and `make
//! check` leaves out only modules `live_*`.

use crate::support::{none, sample, workspace};
use std::collections::{BTreeMap, BTreeSet};

/// Start of the first line of a test program outside the suite.
const OWN_PROCESS: &str = "//! In its own process, because ";

/// Prefix of the modules whose tests measure, trace, need root or drive other programs.
const LIVE: &str = "live_";

type SourceFiles = [(String, String)];

/// Files of `tests/` that no suite has as a module and that do not state a reason.
fn outside(files: &SourceFiles) -> Vec<String> {
    let texts: BTreeMap<&str, &str> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let mut parts: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<String> = texts
        .keys()
        .filter(|name| name.ends_with("/tests/suite/main.rs"))
        .map(|name| (*name).to_owned())
        .collect();
    while let Some(name) = open.pop() {
        let text = texts.get(name.as_str()).copied().unwrap_or_default();
        let folder = folder_of_modules(&name);
        for module in modules(text) {
            let places = [format!("{folder}/{module}.rs"), format!("{folder}/{module}/mod.rs")];
            open.extend(
                places
                    .into_iter()
                    .filter(|place| texts.contains_key(place.as_str()) && !parts.contains(place)),
            );
        }
        parts.insert(name);
    }
    let is_outside = |(name, text): &&(String, String)| {
        name.contains("/tests/") && !parts.contains(name) && !(is_program(name) && text.starts_with(OWN_PROCESS))
    };
    files.iter().filter(is_outside).map(|(name, _)| name.clone()).collect()
}

/// Whether cargo makes the file a test program.
fn is_program(name: &str) -> bool {
    name.split_once("/tests/").is_some_and(|(_, rest)| !rest.contains('/'))
}

/// The folder of the modules that a file declares.
fn folder_of_modules(name: &str) -> String {
    let name = name.trim_end_matches(".rs");
    name.trim_end_matches("/main").trim_end_matches("/mod").to_owned()
}

fn modules(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start_matches("pub ");
        line.strip_prefix("mod ")?.strip_suffix(';')
    })
}

/// Tests outside of modules `live_*` whose name the filter also matches.
fn left_out_by_name(files: &SourceFiles) -> Vec<String> {
    let is_live = |name: &str| name.split('/').any(|part| part.starts_with(LIVE));
    let mut found = Vec::new();
    for (name, text) in files.iter().filter(|(name, _)| !is_live(name)) {
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let next = lines.peek().copied().unwrap_or_default().trim_start();
            if line.trim() == "#[test]" && next.contains(LIVE) {
                found.push(format!("{name}: {next}"));
            }
        }
    }
    found
}

#[test]
fn every_test_file_is_in_a_suite_or_states_why_it_is_separate() {
    none(
        &outside(&workspace()),
        "a module of tests/suite/, or `//! In its own process, because ...`",
    );
    let main = ("crates/x/tests/suite/main.rs".to_owned(), "mod a;\nmod b;\n".to_owned());
    let with = |name: &str, text: &str| outside(&[vec![main.clone()], sample(name, text)].concat());
    assert!(with("crates/x/tests/suite/a.rs", "").is_empty());
    assert!(with("crates/x/tests/suite/b/mod.rs", "").is_empty());
    assert!(with("crates/x/tests/alone.rs", "//! In its own process, because it forks.\n").is_empty());
    assert_eq!(with("crates/x/tests/suite/c.rs", "").len(), 1, "no module");
    assert_eq!(with("crates/x/tests/alone.rs", "//! Forks.\n").len(), 1, "no reason");
    assert_eq!(
        with(
            "crates/x/tests/other/main.rs",
            "//! In its own process, because it forks.\n"
        )
        .len(),
        1,
        "a folder"
    );
}

#[test]
fn only_modules_with_that_prefix_are_left_out_of_quick_tests() {
    none(
        &left_out_by_name(&workspace()),
        "`live_` starts the name of a module, and is in no other test's name",
    );
    let text = "#[test]\nfn a_live_machine() {\n";
    assert_eq!(left_out_by_name(&sample("crates/x/src/a.rs", text)).len(), 1);
    assert!(left_out_by_name(&sample("crates/x/tests/suite/live_a.rs", text)).is_empty());
}
