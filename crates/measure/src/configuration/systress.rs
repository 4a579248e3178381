//! Parses systress's configuration file: stanzas `name[index] { key value }`, one key per line, `#` comments, times with
//! their unit after a blank.
//!
//! Supports every stanza and key that the article on `isolcpus` and cpusets shows (sections 4.3.4, 5.2.2 and
//! 5.3.2). systress's own manual was not available. A key that the article does not show is rejected with its position.
//! The exceptions are `period` of a timer thread and `cgroup` and `lifetime.duration` of a program: the article mentions
//! them without naming their keys.

mod keys;

use super::error::ConfigurationError;
use super::{RunConfiguration, SourceValue};

/// Whether a file is of this form: TOML starts with a table in brackets, or with a key and its `=`.
pub(super) fn looks_like(text: &str) -> bool {
    let first = lines(text).next();
    first.is_some_and(|line| !line.text.starts_with('[') && !line.text.contains('='))
}

/// Parses a configuration file of systress.
pub(super) fn parse(text: &str) -> Result<RunConfiguration, ConfigurationError> {
    keys::interpret(&stanzas(text)?)
}

/// One stanza: its name and the lines below it.
struct Stanza<'a> {
    /// `main`, `timer_thread`, `program`.
    kind: &'a str,
    index: Option<u32>,
    /// The name as written.
    name: SourceValue<String>,
    entries: Vec<SystressEntry<'a>>,
}

/// One key with the rest of its line.
struct SystressEntry<'a> {
    key: SourceValue<&'a str>,
    value: SourceValue<&'a str>,
}

/// A line without its comment and its outer blanks; never empty.
#[derive(Clone, Copy)]
struct SystressLine<'a> {
    number: usize,
    /// Column of its first character.
    column: usize,
    text: &'a str,
}

impl SystressLine<'_> {
    fn place(&self) -> (usize, usize) {
        (self.number, self.column)
    }
}

fn lines(text: &str) -> impl Iterator<Item = SystressLine<'_>> {
    text.lines().enumerate().filter_map(|(place, whole)| {
        let text = without_comment(whole).trim_end();
        let column = text.chars().take_while(|letter| letter.is_whitespace()).count() + 1;
        let text = text.trim_start();
        (!text.is_empty()).then_some(SystressLine {
            number: place + 1,
            column,
            text,
        })
    })
}

/// Removes a comment: it starts at a `#` outside quotes that follows a blank or starts the line.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut after_blank = true;
    for (at, letter) in line.char_indices() {
        match (letter, quote) {
            ('#', None) if after_blank => return line.get(..at).unwrap_or_default(),
            (_, Some(mark)) if letter == mark => quote = None,
            ('"' | '\'', None) => quote = Some(letter),
            _ => {}
        }
        after_blank = letter.is_whitespace();
    }
    line
}

/// The head of a stanza, and whether its brace is on the same line.
fn head<'a>(line: &SystressLine<'a>) -> Result<(Stanza<'a>, BracePosition), ConfigurationError> {
    let (name, brace) = match line.text.strip_suffix('{') {
        Some(name) => (name.trim_end(), BracePosition::Here),
        None => (line.text, BracePosition::Follows),
    };
    let (kind, index) = match name.split_once('[') {
        None => (name, None),
        Some((kind, rest)) => {
            let number = rest.strip_suffix(']').and_then(|number| number.trim().parse().ok());
            let Some(number) = number.filter(|number| *number <= 9_999) else {
                return Err(ConfigurationError::at(
                    (line.number, line.column + kind.chars().count()),
                    format!("`[{rest}` is not an index"),
                    format!("write {kind}[0], {kind}[1], up to {kind}[9999]"),
                ));
            };
            (kind.trim_end(), Some(number))
        }
    };
    if kind.is_empty()
        || !kind
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    {
        return Err(ConfigurationError::at(
            line.place(),
            format!("`{}` does not start a stanza", line.text),
            "write main, timer_thread[0] or program[0], followed by its keys between { and }",
        ));
    }
    let stanza = Stanza {
        kind,
        index,
        name: SourceValue {
            value: name.to_owned(),
            line: line.number,
            column: line.column,
        },
        entries: Vec::new(),
    };
    Ok((stanza, brace))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BracePosition {
    Here,
    Follows,
}

fn stanzas(text: &str) -> Result<Vec<Stanza<'_>>, ConfigurationError> {
    let mut done = Vec::new();
    let mut lines = lines(text);
    while let Some(line) = lines.next() {
        let (mut stanza, brace) = head(&line)?;
        if brace == BracePosition::Follows {
            match lines.next() {
                Some(line) if line.text == "{" => {}
                other => {
                    let place = other.map_or(line.place(), |line| line.place());
                    return Err(ConfigurationError::at(
                        place,
                        format!("the `{{` of {} is missing", stanza.name.value),
                        "put { on its own line after the stanza's name",
                    ));
                }
            }
        }
        loop {
            match lines.next() {
                Some(line) if line.text == "}" => break,
                Some(line) => stanza.entries.push(entry(&line)),
                None => {
                    return Err(ConfigurationError::at(
                        line.place(),
                        format!("{} is never closed", stanza.name.value),
                        "put } on its own line after its last key",
                    ));
                }
            }
        }
        done.push(stanza);
    }
    Ok(done)
}

fn entry<'a>(line: &SystressLine<'a>) -> SystressEntry<'a> {
    let (key, rest) = line.text.split_once(char::is_whitespace).unwrap_or((line.text, ""));
    let value = rest.trim_start();
    let before = line.text.strip_suffix(value).unwrap_or(line.text);
    SystressEntry {
        key: SourceValue {
            value: key,
            line: line.number,
            column: line.column,
        },
        value: SourceValue {
            value,
            line: line.number,
            column: line.column + before.chars().count(),
        },
    }
}
