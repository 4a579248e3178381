//! Reads a shell file character by character. A backslash before a line end joins two lines in every word; it is dropped here.

use super::{EvaluationFailure, MOST_NESTED};

/// A file that is read from start to end.
#[derive(Clone)]
pub struct ShellReader<'a> {
    path: &'a str,
    text: &'a str,
    at: usize,
    line: usize,
    depth: usize,
}

impl<'a> ShellReader<'a> {
    /// A reader at the start.
    pub fn new(path: &'a str, text: &'a str) -> ShellReader<'a> {
        ShellReader {
            path,
            text,
            at: 0,
            line: 1,
            depth: 0,
        }
    }

    /// A reader of a nested text, at the same depth as this one.
    pub fn inside<'b>(&self, text: &'b str) -> ShellReader<'b>
    where
        'a: 'b,
    {
        ShellReader {
            path: self.path,
            text,
            at: 0,
            line: self.line,
            depth: self.depth,
        }
    }

    /// Whether digits before `<` or `>` follow.
    pub fn is_descriptor(&self) -> bool {
        let mut ahead = self.clone();
        while matches!(ahead.peek(), Some('0'..='9')) {
            ahead.raw_next();
        }
        matches!(ahead.peek(), Some('<' | '>'))
    }

    /// The next character. Joined lines count as one.
    pub fn peek(&mut self) -> Option<char> {
        while self.rest().starts_with("\\\n") {
            self.at += 2;
            self.line += 1;
        }
        self.raw_peek()
    }

    /// The next character, and the reader after it. Joined lines count as one.
    pub fn next(&mut self) -> Option<char> {
        self.peek()?;
        self.raw_next()
    }

    /// The next raw character of the file.
    pub fn raw_peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The next raw character of the file, and the reader after it.
    pub fn raw_next(&mut self) -> Option<char> {
        let letter = self.raw_peek()?;
        self.at += letter.len_utf8();
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    /// Whether this raw text follows.
    pub fn starts_with(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// Consumes the next character if it is this one.
    pub fn take(&mut self, letter: char) -> bool {
        let there = self.peek() == Some(letter);
        if there {
            self.raw_next();
        }
        there
    }

    /// Skips spaces and tabs.
    pub fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.raw_next();
        }
    }

    /// Skips a comment, up to its line end.
    pub fn skip_comment(&mut self) {
        if self.raw_peek() == Some('#') {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Enters an expansion.
    pub fn enter(&mut self) -> Result<(), EvaluationFailure> {
        self.depth += 1;
        match self.depth > MOST_NESTED {
            true => Err(self.refuse("expansions are nested too deeply")),
            false => Ok(()),
        }
    }

    /// Leaves an expansion.
    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// The line of the next character, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Refuses the construct at this position.
    pub fn refuse(&self, why: impl Into<String>) -> EvaluationFailure {
        self.refuse_at(self.line(), why)
    }

    /// Refuses a construct that started on this line.
    pub fn refuse_at(&self, line: usize, why: impl Into<String>) -> EvaluationFailure {
        EvaluationFailure {
            path: self.path.to_owned(),
            line,
            why: why.into(),
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }
}
