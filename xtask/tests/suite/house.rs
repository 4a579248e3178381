//! Checks the rules of the project. Each rule is a function over text, tested here with a sample that breaks it.

use crate::support::{none, product, sample, sources, workspace};

/// Crates above the session, which must get the machine from it.
const ABOVE_SESSION: &[&str] = &[
    "cli",
    "compat",
    "daemon",
    "experiment",
    "investigate",
    "terminal",
    "tracing",
    "verify",
];

/// Crates that compute and do not access a machine.
const PURE: &[&str] = &[
    "watch", "report", "study", "predict", "compare", "formats", "blame", "check", "plan", "events", "guest",
];

/// Files outside `root` that may open files, with the reason.
const OPENS: &[(&str, &str)] = &[("crates/measure/src/load", "the load's own work is to make system calls")];

/// Files outside `cli` that may write to standard output, with the reason.
const WRITES: &[(&str, &str)] = &[("crates/apply/src/guard.rs", "a pipe to the process that armed it")];

const LINES: usize = 500;

/// The lines of a file before its unit tests.
fn without_tests(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"))
}

/// The code of a file, without comments, string literals and unit tests.
pub fn code(text: &str) -> String {
    let mut lines = Vec::new();
    for line in without_tests(text) {
        let line = line.trim_start();
        if !line.starts_with("//") {
            lines.push(without_quotes(line));
        }
    }
    lines.join("\n")
}

fn without_quotes(line: &str) -> String {
    let mut kept = String::new();
    let (mut quoted, mut escaped) = (false, false);
    for letter in line.chars() {
        match (quoted, escaped, letter) {
            (true, true, _) => escaped = false,
            (true, false, '\\') => escaped = true,
            (_, _, '"') => quoted = !quoted,
            (false, _, letter) => kept.push(letter),
            _ => {}
        }
    }
    kept
}

fn crate_of(name: &str) -> &str {
    name.split('/').nth(1).unwrap_or_default()
}

/// Files outside the crates `allowed` and the exceptions whose code has one of the words.
fn with_words(
    files: &[(String, String)],
    words: &[&str],
    allowed: &[&str],
    exceptions: &[(&str, &str)],
) -> Vec<String> {
    let mut found = Vec::new();
    let excepted = |name: &str| exceptions.iter().any(|(start, _)| name.starts_with(start));
    for (name, text) in files
        .iter()
        .filter(|(name, _)| !allowed.contains(&crate_of(name)) && !excepted(name))
    {
        let code = code(text);
        for (number, line) in code.lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{name}, code line {}: {line}", number + 1));
            }
        }
    }
    found
}

#[test]
fn pure_crates_take_a_machine_instead_of_its_files() {
    let words_of_files = ["&Root", "&Live", "root::Root", "root::Live"];
    let pure: Vec<(String, String)> = product()
        .into_iter()
        .filter(|(name, _)| PURE.contains(&crate_of(name)))
        .collect();
    let words = |files: &[(String, String)]| with_words(files, &words_of_files, &[], &[]);
    none(&words(&pure), "report, formats and plan read no machine");
    assert_eq!(
        words(&sample("crates/plan/src/lib.rs", "//! why\nfn f(root: &Root) {}\n")).len(),
        1
    );
}

const FILES: &[&str] = &[
    "std::fs",
    "fs::File",
    "File::open",
    "File::create",
    "OpenOptions",
    "rustix::fs",
];

#[test]
fn only_root_opens_files() {
    none(
        &with_words(&product(), FILES, &["root"], OPENS),
        "files are opened in crates/root and nowhere else",
    );
    let broken = sample(
        "crates/plan/src/lib.rs",
        "//! why\n// std::fs here is a comment\nlet x = std::fs::read(p);\n",
    );
    assert_eq!(with_words(&broken, FILES, &["root"], OPENS).len(), 1);
    let tested = sample(
        "crates/plan/src/lib.rs",
        "//! why\n#[cfg(test)]\nmod tests { use std::fs; }\n",
    );
    assert!(with_words(&tested, FILES, &["root"], OPENS).is_empty());
}

const PRINTING: &[&str] = &[
    "print!(",
    "println!(",
    "eprint!(",
    "eprintln!(",
    "io::stdout",
    "io::stderr",
];

#[test]
fn only_the_cli_and_the_terminal_print() {
    none(
        &with_words(&product(), PRINTING, &["cli", "terminal"], WRITES),
        "printing is done in crates/terminal and crates/cli",
    );
    let broken = sample("crates/report/src/lib.rs", "//! why\nfn f() { println!(\"\") }\n");
    assert_eq!(with_words(&broken, PRINTING, &["cli", "terminal"], WRITES).len(), 1);
}

const CHANGING: &[&str] = &[
    "live.write(",
    ".make_dir(",
    ".remove_dir(",
    ".set_ownership(",
    ".set_standing(",
];

#[test]
fn only_apply_changes_the_machine() {
    // `root` declares these methods; its tests and `apply` use them.
    let live = |files: &[(String, String)]| {
        let using: Vec<(String, String)> = files
            .iter()
            .filter(|(_, text)| code(text).contains("Live"))
            .cloned()
            .collect();
        with_words(&using, CHANGING, &["root", "apply"], &[])
    };
    none(
        &live(&product()),
        "a Live's changing methods are called in crates/apply and nowhere else",
    );
    let broken = sample(
        "crates/cli/src/main.rs",
        "//! why\nuse root::Live;\nfn f(live: &Live) { live.make_dir(p) }\n",
    );
    assert_eq!(live(&broken).len(), 1);
}

/// Only the session opens the running machine, and it reads the machine in one place.
#[test]
fn only_the_session_opens_the_running_machine() {
    let opening = |files: &[(String, String)]| {
        let reads: Vec<(String, String)> = files
            .iter()
            .filter(|(name, _)| ABOVE_SESSION.contains(&crate_of(name)))
            .cloned()
            .collect();
        let mut found = with_words(files, &["Root::live()", "Live::host()"], &["root", "session"], &[]);
        found.extend(with_words(&reads, &["Machine::read("], &[], &[]));
        found
    };
    none(&opening(&product()), "ask the session for the machine and its files");
    let broken = sample(
        "crates/cli/src/x.rs",
        "//! why\nlet root = Root::live();\nlet machine = Machine::read(&root);\n",
    );
    assert_eq!(opening(&broken).len(), 2);
}

/// Lines of code (not comments or tests) with a literal state directory instead of its constant.
fn state_paths(files: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in files.iter().filter(|(name, _)| name != "crates/root/src/state.rs") {
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = product.lines().filter(|line| !line.trim_start().starts_with("//"));
        let written_out = |line: &&str| {
            ["/run/quietcore", "/var/lib/quietcore"].iter().any(|dir| {
                let mut after = line.split(dir).skip(1);
                after.any(|rest| !rest.starts_with('-'))
            })
        };
        found.extend(lines.filter(written_out).map(|line| format!("{name}: {line}")));
    }
    found
}

#[test]
fn state_directories_are_named_in_one_place() {
    none(&state_paths(&product()), "write root::state::RUN_DIR or LIB_DIR");
    let broken =
        "//! /run/quietcore\nlet path = \"/run/quietcore/journal\";\nlet script = \"/run/quietcore-script-rt\";\n";
    assert_eq!(state_paths(&sample("crates/cli/src/x.rs", broken)).len(), 1);
}

fn without_reason(files: &[(String, String)]) -> Vec<String> {
    files
        .iter()
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(name, _)| name.clone())
        .collect()
}

#[test]
fn every_file_states_its_purpose() {
    let files = workspace();
    none(
        &without_reason(&files),
        "the first line of a file is `//! ` and says why it exists",
    );
    assert_eq!(
        without_reason(&sample("crates/x/src/lib.rs", "use std;\n//! late\n")).len(),
        1
    );
    assert!(without_reason(&sample("crates/x/src/lib.rs", "//! why\n")).is_empty());
}

fn too_long(files: &[(String, String)]) -> Vec<String> {
    let long = files.iter().filter(|(_, text)| text.lines().count() > LINES);
    long.map(|(name, text)| format!("{name}: {} lines", text.lines().count()))
        .collect()
}

#[test]
fn no_file_exceeds_the_length_limit() {
    let files = workspace();
    none(&too_long(&files), "above 500 lines a file is split by meaning");
    assert_eq!(
        too_long(&sample("crates/x/src/lib.rs", &"x\n".repeat(LINES + 1))).len(),
        1
    );
    assert!(too_long(&sample("crates/x/src/lib.rs", &"x\n".repeat(LINES))).is_empty());
}

/// Lines of the command line interface without unit tests.
fn cli_lines(files: &[(String, String)]) -> usize {
    let cli = files.iter().filter(|(name, _)| name.starts_with("crates/cli/src/"));
    cli.map(|(_, text)| without_tests(text).count()).sum()
}

#[test]
fn the_command_line_interface_is_thin() {
    let lines = cli_lines(&product());
    assert!(
        (1_000..=9_000).contains(&lines),
        "crates/cli/src has {lines} lines: logic belongs in a library, rendering in `report`"
    );
    assert_eq!(cli_lines(&sample("crates/cli/src/x.rs", "a\nb\n#[cfg(test)]\nc\n")), 2);
}

fn nameless(files: &[(String, String)]) -> Vec<String> {
    const NAMES: &[&str] = &["util", "utils", "helper", "helpers", "manager", "common", "misc"];
    let parts = |name: &str| name.split(['/', '.']).any(|part| NAMES.contains(&part));
    files
        .iter()
        .filter(|(name, _)| parts(name))
        .map(|(name, _)| name.clone())
        .collect()
}

#[test]
fn every_file_is_named_after_what_it_does() {
    let files = workspace();
    none(&nameless(&files), "a name says what is inside");
    assert_eq!(nameless(&sample("crates/x/src/util.rs", "")).len(), 1);
    assert_eq!(nameless(&sample("crates/x/src/helpers/mod.rs", "")).len(), 1);
}

#[test]
fn no_code_is_unfinished_or_disabled() {
    let mut files = sources("crates");
    files.extend(sources("lab"));
    // Split in two, so that this file does not match itself.
    let words = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[", "ignore"),
    ];
    none(&with_words(&files, &words, &[], &[]), "finished, or not there");
    assert_eq!(
        with_words(
            &sample("crates/x/src/lib.rs", &format!("//! y\n{}", words[2])),
            &words,
            &[],
            &[]
        )
        .len(),
        1
    );
}

/// Rows of the table of findings whose constant is not named after its ID, and the number of rows.
fn misnamed(table: &str) -> (Vec<String>, usize) {
    let rows = table.lines().filter_map(|line| {
        let (name, rest) = line.trim_start().split_once(" \"")?;
        let (id, rest) = rest.split_once('"')?;
        rest.ends_with("=>").then_some((name, id))
    });
    let rows: Vec<_> = rows.collect();
    let is_wrong = |(name, id): &&(&str, &str)| id.to_uppercase().replace('-', "_") != *name;
    let wrong = rows.iter().filter(is_wrong);
    (wrong.map(|(name, id)| format!("{name}: {id}")).collect(), rows.len())
}

/// Finding IDs that are built from text instead of the ID of a rule.
fn loose_ids(files: &[(String, String)]) -> Vec<String> {
    let calls = files.iter().flat_map(|(name, text)| {
        let calls = text.split("FindingId::of_rule(").skip(1);
        calls.map(move |call| (name, call))
    });
    calls
        .filter(|(_, call)| !call.starts_with("rule.id)"))
        .map(|(name, call)| format!("{name}: {}", call.lines().next().unwrap_or_default()))
        .collect()
}

/// The compiler accepts only constants of the tables in `finding/ids/`, except for the IDs of rules, which have their own
/// explanation.
#[test]
fn explain_knows_every_finding() {
    let files = product().into_iter();
    let tables: Vec<String> = files
        .filter(|(name, _)| name.starts_with("crates/plan/src/finding/ids/"))
        .map(|(_, text)| text)
        .collect();
    let (wrong, count) = misnamed(&tables.concat());
    assert!(count > 100, "only {count} rows were found");
    none(&wrong, "a constant is named after its id");
    assert_eq!(misnamed("    TICKS \"tick\" Info =>").0, ["TICKS: tick"]);
    none(
        &loose_ids(&product()),
        "an id is a row of finding/ids/ or the id of a rule",
    );
    let made = sample("crates/plan/src/x.rs", "FindingId::of_rule(\"a-b\")");
    assert_eq!(loose_ids(&made).len(), 1);
}
