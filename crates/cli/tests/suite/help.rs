//! The help of every command: global options under one heading, examples that parse, exit statuses; and one name per idea.

use super::support::shell;
use clap::{Arg, ArgAction, Command};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command as Process;

/// Lines of a terminal of usual size.
const SCREEN: usize = 50;

/// Each visible command with its words, such as `["boot", "set"]`; the program itself has none.
fn commands() -> Vec<(Vec<String>, Command)> {
    fn add(command: &Command, words: &[String], all: &mut Vec<(Vec<String>, Command)>) {
        all.push((words.to_vec(), command.clone()));
        for inner in command
            .get_subcommands()
            .filter(|one| !one.is_hide_set() && one.get_name() != "help")
        {
            let words = [words, &[inner.get_name().to_owned()]].concat();
            add(inner, &words, all);
        }
    }
    let mut all = Vec::new();
    let mut program = quietcore::command();
    program.build();
    add(&program, &[], &mut all);
    all
}

fn help(words: &[String], flag: &str) -> String {
    let output = Process::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(words)
        .arg(flag)
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?} {flag}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of the section with this heading, which ends at an empty line.
fn section<'t>(text: &'t str, heading: &str) -> Vec<&'t str> {
    let lines = text.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn every_command_has_global_options_examples_and_exit_statuses() {
    let program = quietcore::command();
    for (path, _) in commands() {
        let long = help(&path, "--help");
        for text in [&long, &help(&path, "-h")] {
            let global = section(text, "Global options:");
            assert!(global.len() >= 6, "{path:?}: {text}");
            assert!(
                global.iter().any(|line| line.trim_start().starts_with("-h, --help ")),
                "{path:?}: {text}"
            );
            let (before, _) = text.split_once("Global options:").unwrap();
            let is_flag = |line: &str| {
                ["--json", "-V, --version"]
                    .iter()
                    .any(|flag| line.trim_start().starts_with(flag))
            };
            assert!(!before.lines().any(is_flag), "{path:?}: {text}");
        }
        assert!(!section(&long, "Exit status:").is_empty(), "{path:?}: {long}");
        let examples = section(&long, "Examples:");
        assert!((2..=4).contains(&examples.len()), "{path:?}: {long}");
        for example in examples.iter().filter(|line| line.contains("quietcore ")) {
            assert!(example.chars().count() <= 80, "{example}");
            let calls = shell::command_lines(example);
            assert_eq!(calls.len(), 1, "{example}");
            let parsed = program.clone().try_get_matches_from(&calls[0]);
            assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        }
        let name = path.join(" ");
        assert!(
            examples.iter().any(|line| line.contains(&format!("quietcore {name}"))),
            "{name}: {examples:?}"
        );
    }
}

#[test]
fn a_summary_fits_on_one_screen_and_all_of_apply_on_two() {
    for (path, _) in commands() {
        let lines = help(&path, "-h").lines().count();
        assert!(lines <= SCREEN, "{path:?} -h has {lines} lines");
    }
    let apply = ["apply".to_owned()];
    let lines = help(&apply, "--help").lines().count();
    assert!(lines <= 2 * SCREEN, "apply --help has {lines} lines");
    let of_help = help(&["help".to_owned()], "apply");
    assert_eq!(of_help, help(&apply, "--help"));
    assert!(of_help.contains("lost ssh connection"), "{of_help}");
}

#[test]
fn an_option_has_one_meaning_in_every_command() {
    // A file or a directory; a place where the option may stand alone; a file, or the partition to move tasks from; how
    // long, or for which owner; the cgroup of a program, or one's own.
    const SEVERAL: [&str; 5] = ["out", "install-unit", "from", "for", "in-place"];
    let value = |argument: &Arg| match argument.get_action() {
        ArgAction::Set | ArgAction::Append => argument
            .get_value_names()
            .unwrap_or_default()
            .iter()
            .map(ToString::to_string)
            .collect::<String>(),
        _ => "a flag".to_owned(),
    };
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, command) in commands() {
        for argument in command.get_arguments().filter(|one| !one.is_hide_set()) {
            if let Some(name) = argument.get_long() {
                values.entry(name.to_owned()).or_default().insert(value(argument));
            }
        }
    }
    for (name, values) in &values {
        assert!(
            values.len() == 1 || SEVERAL.contains(&name.as_str()),
            "--{name}: {values:?}"
        );
    }
    assert_eq!(values["cpus"], BTreeSet::from(["CPUS".to_owned()]));
    let all: BTreeSet<&str> = values.values().flatten().map(String::as_str).collect();
    for old in ["LIST", "EXPR", "EXPRESSION", "POSSIBLE", "FORM"] {
        assert!(!all.contains(old), "{old}");
    }
}
