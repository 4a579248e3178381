//! `quietcore complete`, which the completion scripts ask: every visible command and option, and no error for any line.

use crate::support::program::quietcore;
use clap::Command;
use std::collections::BTreeSet;

/// The candidates for the last word.
fn candidates(words: &[&str]) -> BTreeSet<String> {
    let output = quietcore(&[&["complete", "--"], words].concat());
    assert!(output.status.success(), "{words:?}: {output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let word = |line: &str| line.split_once('\t').map(|(word, _)| word.to_owned());
    let words: BTreeSet<String> = text.lines().map(|line| word(line).expect(line)).collect();
    assert_eq!(words.len(), text.lines().count(), "a word is offered once: {text}");
    words
}

/// Checks a command and those below it.
fn check(command: &Command, path: &[&str]) {
    let visible = command.get_arguments().filter(|one| !one.is_hide_set());
    let longs: BTreeSet<String> = visible
        .filter_map(|one| Some(format!("--{}", one.get_long()?)))
        .collect();
    assert_eq!(candidates(&[path, &["--"]].concat()), longs, "{path:?}");
    let below: Vec<&Command> = command.get_subcommands().filter(|one| !one.is_hide_set()).collect();
    let first = candidates(&[path, &[""]].concat());
    for one in &below {
        assert!(first.contains(one.get_name()), "{path:?}: {first:?}");
    }
    for one in below.iter().filter(|one| one.get_name() != "help") {
        check(one, &[path, &[one.get_name()]].concat());
    }
}

#[test]
fn every_visible_command_and_option_is_offered_and_no_hidden_one() {
    let mut program = quietcore::command();
    program.build();
    check(&program, &[]);
    assert!(candidates(&["explain", "housek"]).contains("housekeeping"));
    let first = candidates(&[""]);
    for hidden in ["complete", "guard", "good-boot"] {
        assert!(!first.contains(hidden), "{first:?}");
    }
}

#[test]
fn a_line_that_cannot_be_understood_has_no_candidates_and_no_error() {
    let lines: [&[&str]; 9] = [
        &["nonsense", ""],
        &["cset", "set", "-"],
        &["apply", "--nonsense="],
        &["apply", "--cpus", "9999999999999999-"],
        &["apply", "--kind", "x"],
        &["apply", "--nonsense", "x", "--cpus"],
        &["plan", "--root", "/no/such/machine", "--partition", "x,="],
        &["--=", "-=", "\u{7f}\u{e4}"],
        &["cpus", "\t\n<files>"],
    ];
    for line in lines {
        assert_eq!(candidates(line), BTreeSet::new(), "{line:?}");
    }
}
