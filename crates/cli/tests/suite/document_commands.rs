//! Every command that README.md and the pages of `docs` show is accepted by the parser of arguments, in its present
//! spelling: an option that is renamed has to be renamed there too.

use super::support::documents::{ShownKind, ShownText, pages, shown};
use super::support::shell;
use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use std::collections::BTreeSet;

/// Names by which the program speaks for other tools; their arguments are those of the tools.
const FRONT_ENDS: [&str; 5] = ["cset", "partrt", "bitcalc", "count_ticks", "systress"];

/// The program without the old spellings of its options.
fn present_spelling(mut command: Command) -> Command {
    command = command.mut_args(|argument| argument.alias(Resettable::Reset));
    let names: Vec<String> = command
        .get_subcommands()
        .map(|inner| inner.get_name().to_owned())
        .collect();
    names
        .iter()
        .fold(command, |command, name| command.mut_subcommand(name, present_spelling))
}

/// Why the parser refuses the arguments.
fn refusal(program: &Command, words: &[String], kind: ShownKind) -> Option<String> {
    let first = words.get(1).map_or("", String::as_str);
    if FRONT_ENDS.contains(&first) {
        return None;
    }
    let error = program.clone().try_get_matches_from(words).err()?;
    let is_accepted = match (error.kind(), kind) {
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, _) => true,
        (_, ShownKind::Shell) => false,
        (_, ShownKind::Inline) => is_incomplete(&error) || is_about_inner_commands(program, words),
    };
    (!is_accepted).then(|| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// Whether something is only missing, or a placeholder such as `FILE`.
fn is_incomplete(error: &clap::Error) -> bool {
    let is_placeholder = |kind| match error.get(kind) {
        Some(ContextValue::String(value)) => value.is_empty() || value.starts_with(char::is_uppercase),
        _ => false,
    };
    match error.kind() {
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => true,
        _ => is_placeholder(ContextKind::InvalidValue) || is_placeholder(ContextKind::InvalidSubcommand),
    }
}

/// Whether the arguments are those of an inner command that is left out, such as `measure --break`.
fn is_about_inner_commands(program: &Command, words: &[String]) -> bool {
    let Some((before, after)) = words.split_at_checked(2).filter(|(_, after)| !after.is_empty()) else {
        return false;
    };
    let inner = program
        .find_subcommand(&before[1])
        .into_iter()
        .flat_map(Command::get_subcommands);
    let mut lines = inner.map(|inner| [before, &[inner.get_name().to_owned()], after].concat());
    lines.any(|line| match program.clone().try_get_matches_from(line) {
        Ok(_) => true,
        Err(error) => is_incomplete(&error),
    })
}

/// The command lines of a piece. Between backquotes the name of the program may be missing.
fn command_lines(shown: &ShownText) -> Vec<Vec<String>> {
    let first = shown.text.split(' ').next().unwrap_or_default();
    let is_short = shown.kind == ShownKind::Inline && shown.text.contains(" --") && shell::is_command(first);
    match is_short {
        true => shell::command_lines(&format!("quietcore {}", shown.text)),
        false => shell::command_lines(&shown.text),
    }
}

#[test]
fn every_command_of_the_documents_parses() {
    let program = present_spelling(quietcore::command());
    let (mut checked, mut refused) = (0, Vec::new());
    for page in pages() {
        for shown in shown(&page).iter().filter(|shown| !shown.text.contains("...")) {
            for words in command_lines(shown) {
                checked += 1;
                let refusal = refusal(&program, &words, shown.kind);
                refused.extend(refusal.map(|why| format!("{}: {}: {why}", shown.place, words.join(" "))));
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(checked > 300, "only {checked} commands were found");
}

#[test]
fn an_old_spelling_in_a_document_is_refused() {
    let program = present_spelling(quietcore::command());
    let refused = |line: &str, kind| refusal(&program, &shell::command_lines(line)[0], kind).is_some();
    for (old, new) in [
        ("quietcore undo --keep", "quietcore undo --skip-changed"),
        ("quietcore blame --until 1ms", "quietcore blame --break 1ms"),
        (
            "quietcore study report DIR --as csv",
            "quietcore study report DIR --format csv",
        ),
        (
            "quietcore measure noise --method osnoise",
            "quietcore measure noise --tracer osnoise",
        ),
    ] {
        assert!(
            refused(old, ShownKind::Inline) && refused(old, ShownKind::Shell),
            "{old}"
        );
        assert!(
            !refused(new, ShownKind::Inline) && !refused(new, ShownKind::Shell),
            "{new}"
        );
    }
    for incomplete in [
        "quietcore blame --break TIME",
        "quietcore measure --break",
        "quietcore COMMAND --json",
    ] {
        assert!(refused(incomplete, ShownKind::Shell), "{incomplete}");
        assert!(!refused(incomplete, ShownKind::Inline), "{incomplete}");
    }
}

/// Options of other tools that pages name alone.
const OF_OTHERS: [&str; 5] = ["default-system", "histfile", "packages", "reset", "smi"];

#[test]
fn every_option_that_a_page_names_alone_exists() {
    fn options(command: &Command, names: &mut BTreeSet<String>) {
        names.extend(command.get_arguments().filter_map(Arg::get_long).map(str::to_owned));
        command.get_subcommands().for_each(|inner| options(inner, names));
    }
    let mut names = BTreeSet::new();
    let mut program = present_spelling(quietcore::command());
    program.build();
    options(&program, &mut names);
    let mut unknown = Vec::new();
    for page in pages() {
        for shown in shown(&page).iter().filter(|shown| shown.kind == ShownKind::Inline) {
            let Some(option) = shown.text.strip_prefix("--") else {
                continue;
            };
            let name = option.split([' ', '=', '[']).next().unwrap_or_default();
            if !name.is_empty() && !names.contains(name) && !OF_OTHERS.contains(&name) {
                unknown.push(format!("{}: --{name}", shown.place));
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}
