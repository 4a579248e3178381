//! Skips command substitutions (`$(...)`, backticks). They run in a subshell and change no variable, so only their end is
//! searched. A shell parses them together with the file, so anything that might not be a valid command is refused.

use super::super::EvaluationFailure;
use super::super::reader::ShellReader;
use super::{bare, word};

/// Words that start a construct with its own end.
const RESERVED: &[&str] = &[
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "{", "}", "!",
    "function", "select", "time", "coproc", "[[", "]]",
];

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedSyntax {
    /// A command must follow.
    Command,
    /// A command may follow, or the end.
    CommandOrEnd,
    /// The rest of a command, or its end.
    Rest,
    /// The end of a group in parentheses.
    GroupEnd,
}

/// Where the commands end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CommandListEnd {
    /// At `)`, which is consumed.
    Parenthesis,
    /// At the end of the text.
    Text,
}

/// Skips commands.
pub fn commands(reader: &mut ShellReader, end: CommandListEnd) -> Result<(), EvaluationFailure> {
    reader.enter()?;
    let mut next = ExpectedSyntax::Command;
    loop {
        reader.skip_blanks();
        let complete = matches!(next, ExpectedSyntax::Rest | ExpectedSyntax::GroupEnd);
        match reader.peek() {
            None if end == CommandListEnd::Text && next != ExpectedSyntax::Command => break,
            Some(')') if end == CommandListEnd::Parenthesis && next != ExpectedSyntax::Command => {
                reader.raw_next();
                break;
            }
            Some('\n') => {
                reader.raw_next();
                next = if complete { ExpectedSyntax::CommandOrEnd } else { next };
            }
            Some(';') if complete && !reader.starts_with(";;") => {
                reader.raw_next();
                next = ExpectedSyntax::CommandOrEnd;
            }
            Some('&') if complete && reader.starts_with("&&") => next = joined(reader),
            Some('|') if complete && reader.starts_with("||") => next = joined(reader),
            Some('|') if complete && !reader.starts_with("|&") => {
                reader.raw_next();
                next = ExpectedSyntax::Command;
            }
            Some('<' | '>') => {
                redirect(reader)?;
                if next != ExpectedSyntax::GroupEnd {
                    next = ExpectedSyntax::Rest;
                }
            }
            Some('0'..='9') if reader.is_descriptor() => {
                while matches!(reader.peek(), Some('0'..='9')) {
                    reader.raw_next();
                }
            }
            Some('(')
                if matches!(next, ExpectedSyntax::Command | ExpectedSyntax::CommandOrEnd)
                    && !reader.starts_with("((") =>
            {
                reader.raw_next();
                commands(reader, CommandListEnd::Parenthesis)?;
                next = ExpectedSyntax::GroupEnd;
            }
            None | Some(';' | '&' | '|' | '(' | ')' | '#') => return Err(unknown(reader)),
            Some(_) => {
                let found = word(reader)?;
                let reserved = bare(&found).is_some_and(|found| RESERVED.contains(&found));
                if next == ExpectedSyntax::GroupEnd || (next != ExpectedSyntax::Rest && reserved) || found.is_empty() {
                    return Err(unknown(reader));
                }
                next = ExpectedSyntax::Rest;
            }
        }
    }
    reader.leave();
    Ok(())
}

fn joined(reader: &mut ShellReader) -> ExpectedSyntax {
    reader.raw_next();
    reader.raw_next();
    ExpectedSyntax::Command
}

fn redirect(reader: &mut ShellReader) -> Result<(), EvaluationFailure> {
    let strange = ["<<", "<(", "<>", ">(", ">|"];
    if strange.iter().any(|operator| reader.starts_with(operator)) {
        return Err(unknown(reader));
    }
    reader.raw_next();
    if matches!(reader.raw_peek(), Some('>' | '&')) {
        reader.raw_next();
    }
    reader.skip_blanks();
    match word(reader)?.is_empty() {
        true => Err(unknown(reader)),
        false => Ok(()),
    }
}

fn unknown(reader: &ShellReader) -> EvaluationFailure {
    reader.refuse("the output of commands that cannot be evaluated")
}
