//! Parses the shell commands found in configuration files: assignments, `if`, `case`, `&&`, `||` and simple commands.
//! Loops, functions, pipes, subshells and here-documents are refused.

use super::reader::ShellReader;
use super::word::{ShellWord, bare, is_name_letter, word};
use super::{EvaluationFailure, MOST_NESTED};

/// A sequence of commands.
pub type CommandList = Vec<AndOrList>;

/// Commands joined by `&&` and `||`.
#[derive(Clone, Debug)]
pub struct AndOrList {
    /// The first one.
    pub first: Pipeline,
    /// The others, and when they run.
    pub others: Vec<(ListOperator, Pipeline)>,
}

/// When the next command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListOperator {
    /// After a success (`&&`).
    And,
    /// After a failure (`||`).
    Or,
}

/// A command, with `!` or without.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// Whether its status counts.
    pub sense: Sense,
    /// The command.
    pub command: ShellCommand,
    /// Its line, from 1.
    pub line: usize,
}

/// The effect of `!` on a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// Unchanged.
    Plain,
    /// Inverted.
    Negated,
}

/// A command.
#[derive(Clone, Debug)]
pub enum ShellCommand {
    /// Assignments and words.
    Simple(SimpleCommand),
    /// Conditions, each with the commands that run if it holds, and the commands that run if none holds.
    If(Vec<(CommandList, CommandList)>, CommandList),
    /// A word, and for each branch its patterns and commands.
    Case(ShellWord, Vec<(Vec<ShellWord>, CommandList)>),
}

/// Assignments, then words.
#[derive(Clone, Debug, Default)]
pub struct SimpleCommand {
    /// The assignments.
    pub assignments: Vec<AssignmentWord>,
    /// The name of the command and its arguments.
    pub words: Vec<ShellWord>,
    /// Whether its input or output is redirected.
    pub redirected: bool,
}

/// `NAME=word` or `NAME+=word`.
#[derive(Clone, Debug)]
pub struct AssignmentWord {
    /// The variable.
    pub name: String,
    /// The effect on the former value.
    pub joining: AssignmentMode,
    /// The new value, or the part that is added.
    pub word: ShellWord,
    /// Its line, from 1.
    pub line: usize,
}

/// The effect of an assignment on the former value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignmentMode {
    /// Replaces it.
    Replaces,
    /// Appends the word directly to it (`+=`).
    Appends,
}

/// Words that start or end a construct that is not evaluated.
const REFUSED: &[&str] = &[
    "for", "while", "until", "do", "done", "{", "}", "in", "function", "select", "time", "coproc", "[[", "]]",
];

/// Words that end a list.
const ENDS: &[&str] = &["then", "elif", "else", "fi", "esac"];

/// Parses a whole file.
pub fn parse(path: &str, text: &str) -> Result<CommandList, EvaluationFailure> {
    let mut reader = ShellReader::new(path, text);
    if text.contains('\0') {
        return Err(reader.refuse("a NUL byte in the file"));
    }
    let list = list(&mut reader, 0)?;
    match reader.peek() {
        None => Ok(list),
        Some(letter) => {
            let word = reserved(&mut reader).unwrap_or_else(|| letter.to_string());
            Err(reader.refuse(format!("`{word}` without its opening word")))
        }
    }
}

/// Skips blanks, line ends and comments.
fn skip_lines(reader: &mut ShellReader) {
    loop {
        reader.skip_blanks();
        match reader.peek() {
            Some('\n') => {
                reader.raw_next();
            }
            Some('#') => reader.skip_comment(),
            _ => return,
        }
    }
}

/// The characters of the next word if it may be a reserved word. The reader does not move.
fn reserved(reader: &mut ShellReader) -> Option<String> {
    let mut ahead = reader.clone();
    let word = word(&mut ahead).ok()?;
    bare(&word).map(str::to_owned)
}

fn list(reader: &mut ShellReader, depth: usize) -> Result<CommandList, EvaluationFailure> {
    if depth > MOST_NESTED {
        return Err(reader.refuse("`if` and `case` are nested too deeply"));
    }
    let mut all = Vec::new();
    loop {
        skip_lines(reader);
        let ends = match reader.peek() {
            None | Some(')') => true,
            Some(';') => reader.starts_with(";;"),
            Some(_) => reserved(reader).is_some_and(|word| ENDS.contains(&word.as_str())),
        };
        if ends {
            return Ok(all);
        }
        all.push(and_or(reader, depth)?);
        reader.skip_blanks();
        match reader.peek() {
            Some(';') if !reader.starts_with(";;") => {
                reader.raw_next();
            }
            Some('#') => reader.skip_comment(),
            None | Some('\n' | ';' | ')') => {}
            Some('&') => return Err(reader.refuse("a command in the background (`&`)")),
            Some('|') => return Err(reader.refuse("a pipe")),
            Some(letter) => return Err(reader.refuse(format!("`{letter}` after a command"))),
        }
    }
}

fn and_or(reader: &mut ShellReader, depth: usize) -> Result<AndOrList, EvaluationFailure> {
    let first = pipeline(reader, depth)?;
    let mut others = Vec::new();
    loop {
        reader.skip_blanks();
        let joint = match reader.peek() {
            Some('&') if reader.starts_with("&&") => ListOperator::And,
            Some('|') if reader.starts_with("||") => ListOperator::Or,
            _ => return Ok(AndOrList { first, others }),
        };
        reader.raw_next();
        reader.raw_next();
        skip_lines(reader);
        others.push((joint, pipeline(reader, depth)?));
    }
}

fn pipeline(reader: &mut ShellReader, depth: usize) -> Result<Pipeline, EvaluationFailure> {
    reader.skip_blanks();
    let mut sense = Sense::Plain;
    if reserved(reader).as_deref() == Some("!") {
        word(reader)?;
        reader.skip_blanks();
        sense = Sense::Negated;
    }
    let line = reader.line();
    let command = match reserved(reader).as_deref() {
        Some("if") => if_command(reader, depth)?,
        Some("case") => case_command(reader, depth)?,
        Some(word) if REFUSED.contains(&word) || ENDS.contains(&word) || word == "!" => {
            return Err(reader.refuse(format!("`{word}` is not evaluated")));
        }
        _ => ShellCommand::Simple(simple(reader)?),
    };
    Ok(Pipeline { sense, command, line })
}

/// Consumes the required reserved word.
fn expect(reader: &mut ShellReader, expected: &str) -> Result<(), EvaluationFailure> {
    skip_lines(reader);
    match reserved(reader).as_deref() == Some(expected) {
        true => word(reader).map(drop),
        false => Err(reader.refuse(format!("`{expected}` is missing"))),
    }
}

fn if_command(reader: &mut ShellReader, depth: usize) -> Result<ShellCommand, EvaluationFailure> {
    word(reader)?;
    let mut branches = Vec::new();
    loop {
        let condition = filled(reader, depth)?;
        expect(reader, "then")?;
        let body = filled(reader, depth)?;
        branches.push((condition, body));
        match reserved(reader).as_deref() {
            Some("elif") => {
                word(reader)?;
            }
            Some("else") => {
                word(reader)?;
                let otherwise = filled(reader, depth)?;
                expect(reader, "fi")?;
                no_redirect(reader)?;
                return Ok(ShellCommand::If(branches, otherwise));
            }
            _ => {
                expect(reader, "fi")?;
                no_redirect(reader)?;
                return Ok(ShellCommand::If(branches, Vec::new()));
            }
        }
    }
}

/// A list with at least one command, as `if` requires.
fn filled(reader: &mut ShellReader, depth: usize) -> Result<CommandList, EvaluationFailure> {
    let found = list(reader, depth + 1)?;
    match found.is_empty() {
        true => Err(reader.refuse("a command is missing")),
        false => Ok(found),
    }
}

fn no_redirect(reader: &mut ShellReader) -> Result<(), EvaluationFailure> {
    reader.skip_blanks();
    match reader.peek() {
        Some('<' | '>') => Err(reader.refuse("`if` or `case` followed by `<` or `>`")),
        _ => Ok(()),
    }
}

fn case_command(reader: &mut ShellReader, depth: usize) -> Result<ShellCommand, EvaluationFailure> {
    word(reader)?;
    reader.skip_blanks();
    let subject = word(reader)?;
    if subject.is_empty() {
        return Err(reader.refuse("`case` without a word"));
    }
    expect(reader, "in")?;
    let mut branches = Vec::new();
    loop {
        skip_lines(reader);
        if reserved(reader).as_deref() == Some("esac") {
            word(reader)?;
            no_redirect(reader)?;
            return Ok(ShellCommand::Case(subject, branches));
        }
        reader.take('(');
        let mut patterns = Vec::new();
        loop {
            reader.skip_blanks();
            let pattern = word(reader)?;
            if pattern.is_empty() {
                return Err(reader.refuse("a pattern is missing"));
            }
            patterns.push(pattern);
            reader.skip_blanks();
            match reader.next() {
                Some('|') => {}
                Some(')') => break,
                _ => return Err(reader.refuse("`)` is missing after a pattern")),
            }
        }
        let body = list(reader, depth + 1)?;
        branches.push((patterns, body));
        skip_lines(reader);
        if reader.starts_with(";;") {
            reader.raw_next();
            reader.raw_next();
            if matches!(reader.peek(), Some('&' | ';')) {
                return Err(reader.refuse("`;;&`"));
            }
        } else if reserved(reader).as_deref() != Some("esac") {
            return Err(reader.refuse("`esac` is missing"));
        }
    }
}

fn simple(reader: &mut ShellReader) -> Result<SimpleCommand, EvaluationFailure> {
    let mut found = SimpleCommand::default();
    loop {
        reader.skip_blanks();
        match reader.peek() {
            None | Some('\n' | ';' | '&' | '|' | ')' | '#') => break,
            Some('<' | '>') => redirect(reader, &mut found)?,
            Some('0'..='9') if reader.is_descriptor() => redirect(reader, &mut found)?,
            Some(_) => {
                if found.words.is_empty()
                    && let Some(assign) = assign(reader)?
                {
                    found.assignments.push(assign);
                    continue;
                }
                let next = word(reader)?;
                if next.is_empty() {
                    return Err(reader.refuse("a character that cannot be evaluated"));
                }
                found.words.push(next);
            }
        }
    }
    match found.words.is_empty() && found.assignments.is_empty() {
        true => Err(reader.refuse("a command is missing")),
        false => Ok(found),
    }
}

fn redirect(reader: &mut ShellReader, found: &mut SimpleCommand) -> Result<(), EvaluationFailure> {
    while matches!(reader.peek(), Some('0'..='9')) {
        reader.raw_next();
    }
    if reader.starts_with("<<") || reader.starts_with("<(") || reader.starts_with(">(") {
        return Err(reader.refuse("a here-document or the output of a process"));
    }
    reader.next();
    if matches!(reader.peek(), Some('>' | '&' | '|')) {
        reader.raw_next();
    }
    reader.skip_blanks();
    if word(reader)?.is_empty() {
        return Err(reader.refuse("`<` or `>` without a file"));
    }
    found.redirected = true;
    Ok(())
}

/// An assignment, if one follows.
fn assign(reader: &mut ShellReader) -> Result<Option<AssignmentWord>, EvaluationFailure> {
    let mut ahead = reader.clone();
    let mut name = String::new();
    ahead.peek();
    let line = ahead.line();
    while let Some(letter) = ahead.peek()
        && is_name_letter(letter, name.len())
    {
        name.push(letter);
        ahead.raw_next();
    }
    if name.is_empty() {
        return Ok(None);
    }
    let joining = match ahead.take('+') {
        true => AssignmentMode::Appends,
        false => AssignmentMode::Replaces,
    };
    if !ahead.take('=') {
        return Ok(None);
    }
    *reader = ahead;
    Ok(Some(AssignmentWord {
        name,
        joining,
        word: word(reader)?,
        line,
    }))
}
