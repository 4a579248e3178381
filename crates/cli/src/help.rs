//! The help of the commands: examples and exit statuses in each, and the layout of `--help`.

mod examples;
mod exit_statuses;
mod synonyms;

use clap::builder::{PossibleValue, Resettable};
use clap::{Arg, Command};
pub use exit_statuses::{COMMAND_STATUSES, STATUSES};
use std::ffi::OsString;
pub use synonyms::with_synonym;

/// Width of text that `clap` does not wrap, in columns.
const WIDTH: usize = 80;

/// Adds examples and exit statuses to the long help of a command and of its subcommands.
#[must_use]
pub fn described(command: Command) -> Command {
    add_closing(command, "")
}

fn add_closing(command: Command, path: &str) -> Command {
    if command.is_hide_set() {
        return command;
    }
    let own = command.get_after_long_help().map(ToString::to_string);
    let parts = own
        .into_iter()
        .chain(examples::text(path))
        .chain([exit_statuses::text(path)]);
    let closing = parts
        .map(|part| part.trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n\n");
    command.after_long_help(closing).mut_subcommands(|inner| {
        let path = format!("{path} {}", inner.get_name());
        add_closing(inner, path.trim_start())
    })
}

/// Whether a command line requests the long help.
#[must_use]
pub fn is_long_requested(command_line: &[OsString]) -> bool {
    let mut words = command_line.iter().skip(1).take_while(|word| *word != "--");
    words.any(|word| word == "--help" || word == "help")
}

/// The same command with the content of its long help in the layout of the short one: one option needs one to three lines
/// there, instead of three to eight.
#[must_use]
pub fn compact(command: Command) -> Command {
    let long_about = command.get_long_about().map(ToString::to_string);
    let closing = command.get_after_long_help().map(ToString::to_string);
    let mut command = command
        .long_about(Resettable::Reset)
        .after_long_help(Resettable::Reset)
        .mut_args(compact_argument)
        .mut_subcommands(compact);
    if let Some(text) = long_about {
        let paragraphs: Vec<String> = text.split("\n\n").map(|paragraph| wrapped(paragraph, "", "")).collect();
        let head = paragraphs.join("\n");
        command = command.help_template(format!(
            "{head}\n{{usage-heading}} {{usage}}\n\n{{all-args}}{{after-help}}"
        ));
    }
    match closing {
        Some(text) => command.after_help(text),
        None => command,
    }
}

fn compact_argument(argument: Arg) -> Arg {
    let help = argument.get_long_help().or(argument.get_help());
    let mut help = help.map(ToString::to_string).unwrap_or_default().replace("\n\n", "\n");
    let values = argument.get_possible_values();
    let argument = argument.long_help(Resettable::Reset).hide_short_help(false);
    if values.iter().all(|value| value.get_help().is_none()) {
        return argument.help(help);
    }
    let default = argument
        .get_default_values()
        .first()
        .map(|value| value.to_string_lossy().into_owned());
    if let Some(default) = default {
        help.push_str(&format!(" [default: {default}]"));
    }
    help.extend(values.iter().filter(|value| !value.is_hide_set()).map(value_line));
    argument.help(help).hide_possible_values(true).hide_default_value(true)
}

fn value_line(value: &PossibleValue) -> String {
    let help = value.get_help().map(|help| format!(": {help}")).unwrap_or_default();
    format!("\n- {}{help}", value.get_name())
}

/// A paragraph in lines of [`WIDTH`] after a first word of its own; `indent` precedes the further lines. Ends with a newline.
fn wrapped(paragraph: &str, first: &str, indent: &str) -> String {
    let mut text = first.to_owned();
    let mut column = first.chars().count();
    let mut separator = "";
    for word in paragraph.split_whitespace() {
        let width = word.chars().count();
        if column + separator.len() + width > WIDTH {
            text.push('\n');
            text.push_str(indent);
            (column, separator) = (indent.len(), "");
        }
        text.push_str(separator);
        text.push_str(word);
        column += separator.len() + width;
        separator = " ";
    }
    text.push('\n');
    text
}
