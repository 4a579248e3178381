//! The reference pages of the book (`docs/src/reference`) are written from the declarations of the program, and say what it says.
//!
//! `QUIETCORE_BLESS=1` writes them again.

use clap::{Arg, Command};
use plan::{KnobUse, KnobValueKind};
use std::fmt::Write as _;
use std::path::PathBuf;

const GENERATED: &str = "<!-- Generated from the program: `make bless` writes this page again. -->\n\n";

#[test]
fn the_page_of_commands_says_what_help_says() {
    let mut cli = quietcore::command().term_width(0);
    cli.build();
    let mut page = format!("# Commands\n\n{GENERATED}");
    let _ = writeln!(page, "Options of every command:\n");
    cli.get_arguments().for_each(|argument| option(&mut page, argument));
    for command in cli.get_subcommands().filter(|command| !command.is_hide_set()) {
        section(&mut page, command, command.get_name(), "##");
    }
    compare("commands", &page);
}

#[test]
fn the_page_of_knobs_says_what_is_declared() {
    let mut page = format!("# Knobs\n\n{GENERATED}");
    let _ = writeln!(
        page,
        "A profile uses the knobs of the profiles below it too: minimal, balanced, strict. `--with KNOB` requests a knob by name, \
         `--without KNOB` leaves one out.\n\n| knob | used | since | what it is |\n|---|---|---|---|"
    );
    let mut knobs: Vec<_> = plan::KNOBS.iter().collect();
    knobs.sort_by_key(|knob| knob.name);
    for knob in &knobs {
        let since = if knob.since.is_empty() {
            "4.14 or older"
        } else {
            knob.since
        };
        let (name, what) = (knob.name, cell(knob.what));
        let _ = writeln!(page, "| [{name}](#{name}) | {} | {since} | {what} |", used(knob.usage));
    }
    for knob in &knobs {
        let _ = writeln!(page, "\n## {}\n\n{}.\n", knob.name, sentence(knob.what));
        let mut row = |name: &str, value: &str| {
            if !value.is_empty() {
                let _ = writeln!(page, "- {name}: {}", value.trim_end_matches('.'));
            }
        };
        let code = |paths: &[&str]| {
            paths
                .iter()
                .map(|path| format!("`{path}`"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        row("used", &used(knob.usage));
        row("files", &code(knob.files));
        row("isolation", knob.isolation);
        row("values", &values(knob.takes));
        row("needs", knob.needs);
        row("side effects", knob.side_effects);
        row("stops", &code(knob.stops));
        row("how to verify", knob.verify);
        row("also set by", &knob.peers.join(", "));
    }
    compare("knobs", &page);
}

#[test]
fn the_page_of_findings_says_what_is_declared() {
    let mut page = format!("# Findings\n\n{GENERATED}Ids are stable: scripts may match them.\n");
    let mut rows: Vec<_> = plan::findings().collect();
    rows.sort_by_key(|row| row.about);
    for group in rows.chunk_by(|one, other| one.about == other.about) {
        let about = group.first().map_or("", |row| row.about);
        let _ = writeln!(page, "\n## Findings of {about}\n\n| id | meaning |\n|---|---|");
        for row in group {
            let _ = writeln!(page, "| `{}` | {} |", row.id, cell(row.what));
        }
    }
    let _ = writeln!(page, "\n## Findings of boot lines\n\n| id | meaning |\n|---|---|");
    for rule in plan::lint::RULES {
        let _ = writeln!(page, "| `{}` | {} |", rule.id, cell(rule.truth));
    }
    compare("findings", &page);
}

fn section(page: &mut String, command: &Command, name: &str, level: &str) {
    let about = command
        .get_long_about()
        .or(command.get_about())
        .map(ToString::to_string)
        .unwrap_or_default();
    let _ = writeln!(page, "\n{level} {name}\n\n{}.\n", about.trim_end_matches('.'));
    let usage = command.clone().render_usage().to_string();
    let _ = writeln!(page, "```text\n{}\n```\n", usage.trim_start_matches("Usage: "));
    let own = command
        .get_arguments()
        .filter(|argument| !argument.is_global_set() && !argument.is_hide_set());
    own.filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"))
        .for_each(|argument| option(page, argument));
    for inner in command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
    {
        section(
            page,
            inner,
            &format!("{name} {}", inner.get_name()),
            &format!("{level}#"),
        );
    }
}

fn option(page: &mut String, argument: &Arg) {
    let help = argument
        .get_long_help()
        .or(argument.get_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = writeln!(page, "- `{argument}`: {}", escaped(help.trim_end_matches('.')));
}

fn used(usage: KnobUse) -> String {
    match usage {
        KnobUse::From(profile) => format!("from {}", format!("{profile:?}").to_lowercase()),
        KnobUse::ByName => "by name".to_owned(),
    }
}

fn values(kind: KnobValueKind) -> String {
    match kind {
        KnobValueKind::Nothing => String::new(),
        KnobValueKind::Words(words) => words.join(", "),
        KnobValueKind::Number(least, most) => format!("{least} to {most}"),
        KnobValueKind::NumberOr(least, most, word) => format!("{least} to {most}, or {word}"),
        KnobValueKind::Owner => "UID, or UID:GID".to_owned(),
    }
}

fn cell(text: &str) -> String {
    escaped(text).replace('|', "\\|")
}

/// Angle brackets would be HTML.
fn escaped(text: &str) -> String {
    text.replace('<', "&lt;")
}

fn sentence(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| {
        format!("{}{}", first.to_uppercase(), letters.as_str())
    })
}

fn compare(name: &str, page: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/src/reference/{name}.md"));
    if std::env::var_os("QUIETCORE_BLESS").is_some() {
        std::fs::write(&path, page).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&path).unwrap();
    let differs = written.lines().zip(page.lines()).find(|(written, now)| written != now);
    assert!(
        written == page,
        "{name}.md is not up to date, `make bless` writes it again: {differs:?}"
    );
}
