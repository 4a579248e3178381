//! Parses words of a shell: quotes, escapes and expansions. Words with side effects, and words that shells parse
//! differently, are refused.

mod substitution;

use super::EvaluationFailure;
use super::reader::ShellReader;
use substitution::{CommandListEnd, commands};

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordPiece {
    /// Its kind.
    pub content: PieceContent,
    /// Whether it is quoted.
    pub quoting: Quoting,
}

/// Whether a piece is subject to splitting and patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// In quotes, or after a backslash.
    Quoted,
    /// Unquoted.
    Bare,
}

/// The kind of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PieceContent {
    /// Literal text.
    Literal(String),
    /// The value of a variable.
    Variable(Expansion),
    /// An unknown value, with the reason.
    Unknown(String),
    /// The output of a command, whose exit status becomes that of the assignment.
    Output,
}

/// `$NAME`, or `${NAME...}` with an alternative text if the variable is set or unset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The variable.
    pub name: String,
    /// The alternative text.
    pub other: Option<AlternativeText>,
}

/// The text that replaces a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlternativeText {
    /// When it is used.
    pub used_when: AlternativeCondition,
    /// Whether an empty value counts as unset (`:-`, `:+`).
    pub empty: EmptyValueRule,
    /// The pieces of the text.
    pub pieces: Vec<WordPiece>,
}

/// When the alternative text is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlternativeCondition {
    /// If the variable is unset (`-`).
    Without,
    /// If it is set (`+`).
    With,
}

/// How an empty value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyValueRule {
    /// As unset.
    AsUnset,
    /// As set.
    AsSet,
}

/// A whole word.
pub type ShellWord = Vec<WordPiece>;

const OUTPUT: &str = "its value is the output of a command";

/// Parses a word up to a blank, a line end or an operator. Empty input is not a word.
pub fn word(reader: &mut ShellReader) -> Result<ShellWord, EvaluationFailure> {
    let mut pieces = Vec::new();
    loop {
        match reader.peek() {
            None | Some(' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | ')') => return Ok(pieces),
            Some('(') => return Err(reader.refuse("parentheses (a function, an array or a subshell)")),
            Some('\\') => {
                reader.raw_next();
                let letter = reader
                    .raw_next()
                    .ok_or_else(|| reader.refuse("a backslash at the end"))?;
                push(&mut pieces, letter, Quoting::Quoted);
            }
            Some('\'') => single(reader, &mut pieces)?,
            Some('"') => double(reader, &mut pieces)?,
            Some('$') => pieces.push(dollar(reader, Quoting::Bare)?),
            Some('`') => pieces.push(backticks(reader, Quoting::Bare)?),
            Some(letter) => {
                reader.raw_next();
                push(&mut pieces, letter, Quoting::Bare);
            }
        }
    }
}

/// A word that consists of unquoted characters only.
pub fn bare(word: &ShellWord) -> Option<&str> {
    match word.as_slice() {
        [
            WordPiece {
                content: PieceContent::Literal(text),
                quoting: Quoting::Bare,
            },
        ] => Some(text),
        _ => None,
    }
}

/// Whether a character is valid in a name, at its start or later.
pub fn is_name_letter(letter: char, length: usize) -> bool {
    letter == '_' || letter.is_ascii_alphabetic() || (length > 0 && letter.is_ascii_digit())
}

fn push(pieces: &mut ShellWord, letter: char, quoting: Quoting) {
    if let Some(WordPiece {
        content: PieceContent::Literal(text),
        quoting: last,
    }) = pieces.last_mut()
        && *last == quoting
    {
        text.push(letter);
        return;
    }
    pieces.push(WordPiece {
        content: PieceContent::Literal(letter.to_string()),
        quoting,
    });
}

/// An empty quoted text is a word too.
fn empty(pieces: &mut ShellWord) {
    pieces.push(WordPiece {
        content: PieceContent::Literal(String::new()),
        quoting: Quoting::Quoted,
    });
}

fn single(reader: &mut ShellReader, pieces: &mut ShellWord) -> Result<(), EvaluationFailure> {
    let start = reader.line();
    reader.raw_next();
    empty(pieces);
    loop {
        match reader.raw_next() {
            None => return Err(reader.refuse_at(start, "a single quote that is not closed")),
            Some('\'') => return Ok(()),
            Some(letter) => push(pieces, letter, Quoting::Quoted),
        }
    }
}

fn double(reader: &mut ShellReader, pieces: &mut ShellWord) -> Result<(), EvaluationFailure> {
    let start = reader.line();
    reader.raw_next();
    empty(pieces);
    loop {
        match reader.peek() {
            None => return Err(reader.refuse_at(start, "a double quote that is not closed")),
            Some('"') => {
                reader.raw_next();
                return Ok(());
            }
            Some('$') => pieces.push(dollar(reader, Quoting::Quoted)?),
            Some('`') => pieces.push(backticks(reader, Quoting::Quoted)?),
            Some('\\') => {
                reader.raw_next();
                match reader.raw_peek() {
                    Some(letter @ ('$' | '`' | '"' | '\\')) => {
                        reader.raw_next();
                        push(pieces, letter, Quoting::Quoted);
                    }
                    _ => push(pieces, '\\', Quoting::Quoted),
                }
            }
            Some(letter) => {
                reader.raw_next();
                push(pieces, letter, Quoting::Quoted);
            }
        }
    }
}

/// Parses what starts with `$`.
fn dollar(reader: &mut ShellReader, quoting: Quoting) -> Result<WordPiece, EvaluationFailure> {
    reader.enter()?;
    let piece = expansion(reader, quoting)?;
    reader.leave();
    Ok(piece)
}

fn expansion(reader: &mut ShellReader, quoting: Quoting) -> Result<WordPiece, EvaluationFailure> {
    reader.raw_next();
    let piece = |content| Ok(WordPiece { content, quoting });
    if reader.starts_with("\\\n") {
        return Err(reader.refuse("a line end after `$`"));
    }
    match reader.raw_peek() {
        Some('(') => {
            if reader.starts_with("((") {
                return Err(reader.refuse("arithmetic"));
            }
            reader.raw_next();
            commands(reader, CommandListEnd::Parenthesis)?;
            piece(PieceContent::Output)
        }
        Some('{') => {
            reader.raw_next();
            let content = braces(reader, quoting)?;
            piece(content)
        }
        Some('[') => Err(reader.refuse("arithmetic")),
        Some('\'' | '"') if quoting == Quoting::Bare => {
            Err(reader.refuse("`$` before a quote, which shells interpret differently"))
        }
        Some(letter) if is_name_letter(letter, 0) => {
            let name = name(reader)?;
            piece(PieceContent::Variable(Expansion { name, other: None }))
        }
        Some(letter @ ('0'..='9' | '@' | '*' | '#' | '?' | '-' | '$' | '!')) => {
            reader.raw_next();
            piece(PieceContent::Unknown(format!("the value of `${letter}` is unknown")))
        }
        _ => piece(PieceContent::Literal("$".to_owned())),
    }
}

fn name(reader: &mut ShellReader) -> Result<String, EvaluationFailure> {
    let mut name = String::new();
    while let Some(letter) = reader.raw_peek()
        && is_name_letter(letter, name.len())
    {
        name.push(letter);
        reader.raw_next();
    }
    if reader.starts_with("\\\n") {
        return Err(reader.refuse("a line end in the name of a variable"));
    }
    Ok(name)
}

/// Parses the inside of `${...}`.
fn braces(reader: &mut ShellReader, quoting: Quoting) -> Result<PieceContent, EvaluationFailure> {
    let name = name(reader)?;
    if name.is_empty() {
        return special_parameter(reader);
    }
    let empty = match reader.raw_peek() {
        Some(':') => {
            reader.raw_next();
            EmptyValueRule::AsUnset
        }
        _ => EmptyValueRule::AsSet,
    };
    let taken = match (reader.raw_next(), empty) {
        (Some('}'), EmptyValueRule::AsSet) => {
            return Ok(PieceContent::Variable(Expansion { name, other: None }));
        }
        (Some('-'), _) => AlternativeCondition::Without,
        (Some('+'), _) => AlternativeCondition::With,
        (Some('%' | '#'), EmptyValueRule::AsSet) => {
            plain_until_brace(reader)?;
            return Ok(PieceContent::Unknown(format!("only a part of `${name}` is used")));
        }
        _ => return Err(reader.refuse(format!("`${{{name}...}}` with an operator that cannot be evaluated"))),
    };
    let mut pieces = Vec::new();
    loop {
        match reader.raw_peek() {
            Some('}') => break,
            Some('$') => {
                let inner = dollar(reader, quoting)?;
                match inner.content {
                    PieceContent::Variable(Expansion { other: None, .. }) | PieceContent::Literal(_) => {
                        pieces.push(inner)
                    }
                    _ => return Err(reader.refuse(format!("`${{{name}...}}` with an expansion inside"))),
                }
            }
            None | Some('\'' | '"' | '\\' | '`' | '{' | '~' | '\n') => {
                return Err(reader.refuse(format!("`${{{name}...}}` with quotes, escapes or `~` inside")));
            }
            Some(letter) => {
                reader.raw_next();
                push(&mut pieces, letter, quoting);
            }
        }
    }
    reader.raw_next();
    let other = Some(AlternativeText {
        used_when: taken,
        empty,
        pieces,
    });
    Ok(PieceContent::Variable(Expansion { name, other }))
}

/// Parses `${#NAME}`, `${1}` and `${@}`, which have no side effect.
fn special_parameter(reader: &mut ShellReader) -> Result<PieceContent, EvaluationFailure> {
    let simple = plain_until_brace(reader)?;
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|letter| is_name_letter(letter, 1));
    let known = is_name(&simple)
        || simple.strip_prefix('#').is_some_and(is_name)
        || matches!(simple.as_str(), "@" | "*" | "#" | "?" | "-" | "$");
    match known {
        true => Ok(PieceContent::Unknown(format!("`${{{simple}}}` is not evaluated"))),
        false => Err(reader.refuse(format!("`${{{simple}}}`"))),
    }
}

/// Characters up to `}`, without any that a shell treats specially.
fn plain_until_brace(reader: &mut ShellReader) -> Result<String, EvaluationFailure> {
    let mut text = String::new();
    loop {
        match reader.raw_next() {
            Some('}') => return Ok(text),
            None | Some('\'' | '"' | '\\' | '`' | '{' | '$' | '\n') => {
                return Err(reader.refuse("`${...}` with quotes, escapes or expansions inside"));
            }
            Some(letter) => text.push(letter),
        }
    }
}

/// Skips a command between backticks. It ends at the first backtick without a backslash.
fn backticks(reader: &mut ShellReader, quoting: Quoting) -> Result<WordPiece, EvaluationFailure> {
    let start = reader.clone();
    reader.raw_next();
    let mut inside = String::new();
    loop {
        match reader.raw_next() {
            None => return Err(start.refuse("a backtick that is not closed")),
            Some('`') => break,
            // Which backslashes are removed depends on the next character and the surrounding quotes.
            Some('\\') => return Err(start.refuse("a backslash between backticks")),
            Some('"') if quoting == Quoting::Quoted => {
                return Err(start.refuse("a double quote between backticks that are in double quotes"));
            }
            Some(letter) => inside.push(letter),
        }
    }
    commands(&mut start.inside(&inside), CommandListEnd::Text)?;
    Ok(WordPiece {
        content: PieceContent::Output,
        quoting,
    })
}

/// Why the output of a command is unknown.
pub fn output_reason() -> String {
    OUTPUT.to_owned()
}
