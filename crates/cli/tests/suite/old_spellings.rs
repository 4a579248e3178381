//! Options that have another name now: the old spelling still means the same, and no help shows it.

use clap::ArgMatches;
use std::process::Command;

/// A command line with the old spelling, the old spelling, and the new one.
const SPELLINGS: &[(&str, &str, &str)] = &[
    ("measure latency --method timerlat", "--method", "--tracer"),
    ("measure noise --method osnoise", "--method", "--tracer"),
    ("measure run run.toml --check", "--check", "--dry-run"),
    ("blame --cpus 3 --until 200us", "--until", "--break"),
    ("blame --cpus 3 --html b.html", "--html", "--page"),
    ("report r.json --as csv", "--as", "--format"),
    ("compare a.json b.json --as html", "--as", "--format"),
    ("compare a.json --with b.json c.json", "--with", "--versus"),
    ("plan --cpus 3 --export tuned", "--export", "--format"),
    ("plan --cpus 3 --format tuned --export-to dir", "--export-to", "--out"),
    ("study report dir --as markdown", "--as", "--format"),
    ("study report dir --html s.html", "--html", "--page"),
    (
        "study run s.toml --out o --in vm --kernel image",
        "--kernel",
        "--vm-kernel",
    ),
    (
        "study run s.toml --out o --in vm --vm-patience 5s",
        "--vm-patience",
        "--vm-timeout",
    ),
    ("study plan s.toml --on host --binary b", "--binary", "--remote-binary"),
    ("study plan s.toml --on host --there dir", "--there", "--remote-dir"),
    ("study plan s.toml --on host --keep", "--keep", "--remote-keep"),
    (
        "study plan s.toml --on host --on-patience 5s",
        "--on-patience",
        "--remote-timeout",
    ),
    ("explain --cmdline quiet --config file", "--config", "--kernel-config"),
    ("move --pid 1 --out", "--out", "--back"),
    ("undo --keep", "--keep", "--skip-changed"),
    ("watch --every 2s", "--every", "--interval"),
];

fn parsed(line: &str) -> ArgMatches {
    let words = std::iter::once("quietcore").chain(line.split(' '));
    let parsed = quietcore::command().try_get_matches_from(words);
    parsed.unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn every_old_spelling_means_the_same() {
    for (line, old, new) in SPELLINGS {
        let renamed = line.replace(&format!("{old} "), &format!("{new} "));
        let renamed = match renamed.strip_suffix(old) {
            Some(start) => format!("{start}{new}"),
            None => renamed,
        };
        assert_ne!(*line, renamed);
        assert_eq!(parsed(line), parsed(&renamed), "{line}");
    }
}

#[test]
fn a_thread_is_named_alone_or_as_formerly_beside_its_flag() {
    parsed("blame --tid 4711");
    parsed("blame --pid 4711 --tid");
    parsed("blame --tid --pid 4711");
    for unclear in ["blame --tid", "blame --pid 4711 --tid 4712"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
        let output = command.args(unclear.split(' ')).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{unclear}: {message}");
        assert!(message.contains("use --tid TID"), "{unclear}: {message}");
    }
}

#[test]
fn no_help_shows_an_old_spelling() {
    let shown = |path: &[&str], option: &str| {
        let mut program = quietcore::command();
        program.build();
        let mut command = &program;
        for name in path {
            command = command.find_subcommand(name).unwrap();
        }
        let mut command = command.clone();
        let help = command.render_long_help().to_string();
        let words = help.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        words.into_iter().any(|word| word == option)
    };
    for (line, old, new) in SPELLINGS {
        let words: Vec<&str> = line.split(' ').collect();
        let program = quietcore::command();
        let inner = program.find_subcommand(words[0]).unwrap();
        let depth = if inner.has_subcommands() { 2 } else { 1 };
        assert!(shown(&words[..depth], new), "{line}: {new}");
        assert!(!shown(&words[..depth], old), "{line}: {old}");
    }
}
