//! What the pages show for a captured machine or a file of the repository is what the program prints.

use super::support::documents::{pages, top};
use super::support::shell;
use std::process::Command;

/// The blocks of output that start with a command that anyone can repeat: it reads a file of the repository, or none.
fn repeatable(page: &str) -> Vec<(&str, Vec<&str>)> {
    let blocks = page
        .split("```text\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next());
    let commands = blocks.filter_map(|block| {
        let (command, output) = block.split_once('\n')?;
        let command = command.strip_prefix("$ ")?;
        let is_repeatable = command.contains(" fixtures/") || command.starts_with("quietcore explain --cmdline '");
        is_repeatable.then(|| (command, output.lines().collect()))
    });
    commands.collect()
}

/// What the program prints for a command, from the folder of the repository.
fn printed(command: &str) -> String {
    let words = shell::command_lines(command).remove(0);
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(&words[1..])
        .current_dir(top())
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// The first documented line that is not printed in its place. `...` stands for lines that are left out.
fn first_missing<'t>(documented: &[&'t str], printed: &str) -> Option<&'t str> {
    let mut rest = printed.lines().map(str::trim_end);
    let mut is_left_out = false;
    for line in documented {
        let is_printed = match (*line, is_left_out) {
            ("...", _) => {
                is_left_out = true;
                continue;
            }
            (line, true) => rest.any(|printed| printed == line),
            (line, false) => rest.next() == Some(line),
        };
        if !is_printed {
            return Some(line);
        }
        is_left_out = false;
    }
    None
}

#[test]
fn shown_outputs_of_captured_machines_are_printed() {
    let (mut repeated, mut missing) = (0, Vec::new());
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for (command, documented) in repeatable(&text) {
            repeated += 1;
            let line = first_missing(&documented, &printed(command));
            missing.extend(line.map(|line| format!("{}: {command}: not printed: {line}", page.display())));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(repeated >= 7, "only {repeated} outputs were compared");
}

#[test]
fn lines_may_be_left_out_only_where_dots_stand() {
    assert_eq!(first_missing(&["a", "...", "c"], "a\nb\nc\n"), None);
    assert_eq!(first_missing(&["a", "c"], "a\nb\nc\n"), Some("c"));
    assert_eq!(first_missing(&["...", "b", "..."], "a\nb\nc\n"), None);
}
