//! The reference pages of the book (`docs/src/reference`) are written from the declarations of the program, and say what it says.
//! So are the tables of the page of exit statuses.
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
    let visible = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    for command in cli.get_subcommands().filter(visible) {
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
    let mut page = format!(
        "# Findings\n\n{GENERATED}Ids are stable: scripts may match them. The level is the highest with which a finding is reported.\n"
    );
    let mut rows: Vec<_> = plan::findings().collect();
    rows.sort_by_key(|row| row.about);
    for group in rows.chunk_by(|one, other| one.about == other.about) {
        let about = group.first().map_or("", |row| row.about);
        let _ = writeln!(page, "\n## Findings of {about}\n\n{FINDING_COLUMNS}");
        for row in group {
            finding(&mut page, row.id.as_str(), row.level, [row.what, row.fix]);
        }
    }
    let _ = writeln!(page, "\n## Findings of boot lines\n\n{FINDING_COLUMNS}");
    for rule in plan::lint::RULES {
        finding(&mut page, rule.id, rule.level, [rule.truth, rule.fix]);
    }
    compare("findings", &page);
}

#[test]
fn the_page_of_exit_statuses_says_what_is_declared() {
    let path = page_path("exit-statuses");
    let written = std::fs::read_to_string(&path).unwrap();
    let mut all = "| status | meaning |\n|---|---|\n".to_owned();
    for (status, meaning) in quietcore::exit_statuses() {
        let _ = writeln!(all, "| {status} | {meaning} |");
    }
    let mut more = "| command | status | when |\n|---|---|---|\n".to_owned();
    let mut former = "";
    for (command, status, when) in quietcore::command_exit_statuses() {
        let name = if *command == former {
            String::new()
        } else {
            format!("`{command}` ")
        };
        former = command;
        let _ = writeln!(more, "| {name}| {status} | {when} |");
    }
    compare("exit-statuses", &with_table(&with_table(&written, &all), &more));
}

/// The page with a table of the same heading replaced.
fn with_table(page: &str, table: &str) -> String {
    let heading = table.lines().next().unwrap_or_default();
    let (before, rest) = page.split_once(heading).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    format!("{before}{table}\n{after}")
}

const FINDING_COLUMNS: &str = "| id | level | meaning | what to do |\n|---|---|---|---|";

fn finding(page: &mut String, id: &str, level: plan::Level, texts: [&str; 2]) {
    let level = format!("{level:?}").to_lowercase();
    let [what, fix] = texts.map(cell);
    let _ = writeln!(page, "| `{id}` | {level} | {what} | {fix} |");
}

#[test]
fn the_page_of_terms_says_what_explain_says() {
    let mut page = format!(
        "# Glossary\n\n{GENERATED}`quietcore explain WORD` prints the same. It also explains each [knob](knobs.md), each \
         [finding](findings.md), kernel threads, counters, boot parameters and errors.\n"
    );
    let terms: Vec<_> = report::explain::glossary().collect();
    for term in &terms {
        let (name, others) = term.names.split_first().unwrap();
        let _ = writeln!(page, "\n## {name}\n\n{}\n", cell(term.what));
        let see = |word: &&str| match terms.iter().any(|term| term.names[0] == *word) {
            true => format!("[{word}](#{})", word.to_lowercase().replace(' ', "-")),
            false => format!("`{word}`"),
        };
        let see: Vec<String> = term.see.iter().map(see).collect();
        if !others.is_empty() {
            let _ = writeln!(page, "Also: {}.", others.join(", "));
        }
        let _ = writeln!(page, "See also: {}.", see.join(", "));
    }
    compare("glossary", &page);
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
    if let Some(closing) = command.get_after_long_help() {
        let _ = writeln!(page, "\n```text\n{closing}\n```");
    }
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
        KnobUse::ByName => "on request".to_owned(),
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

fn page_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/src/reference/{name}.md"))
}

fn compare(name: &str, page: &str) {
    let path = page_path(name);
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
