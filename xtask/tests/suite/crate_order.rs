//! Checks that crates use only crates below them.

use crate::support::{none, sources, top};

/// The crates from top to bottom (see ARCHITECTURE.md). A crate may use those after it. A new crate must be added here.
const ORDER: &[&str] = &[
    "cli",
    "compat",
    "terminal",
    "daemon",
    "experiment",
    "investigate",
    "verify",
    "tracing",
    "session",
    "watch",
    "report",
    "study",
    "predict",
    "compare",
    "formats",
    "blame",
    "check",
    "trace",
    "measure",
    "observe",
    "lease",
    "apply",
    "boot",
    "plan",
    "machine",
    "root",
    "events",
    "guest",
];

/// Dependencies of a crate (not those of its tests) that violate the order.
fn wrong_arrows(name: &str, manifest: &str) -> Vec<String> {
    let place = |name: &str| ORDER.iter().position(|known| *known == name);
    let Some(own) = place(name) else {
        return vec![format!("{name} has no place in ORDER")];
    };
    let section = manifest.split("[dependencies]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let names = section.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
    let upward = names.filter(|used| place(used).is_some_and(|used| used <= own));
    upward.map(|used| format!("{name} uses {used}")).collect()
}

#[test]
fn crates_use_only_crates_below_them() {
    for entry in std::fs::read_dir(top().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap();
        none(&wrong_arrows(&name, &manifest), "arrows point down only");
    }
    let upward =
        "[dependencies]\nmachine.workspace = true\napply = { workspace = true }\n[dev-dependencies]\ncli = 1\n";
    assert_eq!(wrong_arrows("plan", upward), ["plan uses apply"]);
    assert_eq!(wrong_arrows("unheard", ""), ["unheard has no place in ORDER"]);
}

/// The folder of the commands: a file for each, and possibly a folder.
const COMMANDS: &str = "crates/cli/src/verbs/";

/// Commands that use another command.
fn commands_across(files: &[(String, String)]) -> Vec<String> {
    let command = |path: &str| {
        let name = path.strip_prefix(COMMANDS)?.split(['/', '.']).next()?;
        Some(name.to_owned())
    };
    let mut names: Vec<String> = files.iter().filter_map(|(path, _)| command(path)).collect();
    names.sort();
    names.dedup();
    let mut found = Vec::new();
    for (path, text) in files {
        let Some(own) = command(path) else { continue };
        let is_top = !path.trim_start_matches(COMMANDS).contains('/');
        for other in names.iter().filter(|name| **name != own) {
            let above = format!("super::{other}::");
            if text.contains(&format!("verbs::{other}::")) || (is_top && text.contains(&above)) {
                found.push(format!("{path} uses {other}"));
            }
        }
    }
    found
}

#[test]
fn no_command_imports_another_command() {
    none(
        &commands_across(&sources("crates/cli/src/verbs")),
        "what two commands share belongs to a library, or beside the commands",
    );
    let file = |name: &str, text: &str| (format!("{COMMANDS}{name}"), text.to_owned());
    let broken = [
        file("apply.rs", "use super::undo::Args;\n"),
        file("undo.rs", "use super::Screen;\n"),
        file("undo/traces.rs", "crate::verbs::apply::reload();\nsuper::apply::x();\n"),
    ];
    assert_eq!(
        commands_across(&broken),
        [
            format!("{COMMANDS}apply.rs uses undo"),
            format!("{COMMANDS}undo/traces.rs uses apply"),
        ]
    );
}
