//! Reads the lines of an external file one by one in bounded memory, and parses their numbers; errors have line and column.

use crate::error::{Problem, ReadError, quoted};
use std::io::BufRead;

/// Longer than a data row of any tool; comments are truncated here.
pub(crate) const LONGEST_LINE: usize = 1 << 16;

/// The lines of a file.
pub(crate) struct InputLines<'a> {
    input: &'a mut dyn BufRead,
    buffer: Vec<u8>,
    number: u64,
}

/// One line without its end.
#[derive(Clone, Copy)]
pub(crate) struct InputLine<'a> {
    /// From 1.
    pub(crate) number: u64,
    pub(crate) text: &'a str,
}

impl<'a> InputLines<'a> {
    pub(crate) fn of(input: &'a mut dyn BufRead) -> InputLines<'a> {
        InputLines {
            input,
            buffer: Vec::new(),
            number: 0,
        }
    }

    /// The next line; `None` at the end. A comment (`#`) that is too long is truncated, any other line is an error.
    pub(crate) fn next(&mut self) -> Result<Option<InputLine<'_>>, ReadError> {
        self.buffer.clear();
        self.number += 1;
        let mut cut = false;
        let mut any = false;
        loop {
            let chunk = self.input.fill_buf().map_err(ReadError::Io)?;
            if chunk.is_empty() {
                break;
            }
            any = true;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let piece = &chunk[..end.unwrap_or(chunk.len())];
            let room = LONGEST_LINE - self.buffer.len();
            cut |= piece.len() > room;
            self.buffer.extend_from_slice(&piece[..piece.len().min(room)]);
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.input.consume(used);
            if end.is_some() {
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        if cut {
            if self.buffer.first() != Some(&b'#') {
                return Err(self.here(LONGEST_LINE, Problem::LongLine(LONGEST_LINE)));
            }
            while std::str::from_utf8(&self.buffer).is_err_and(|error| error.error_len().is_none()) {
                self.buffer.pop();
            }
        }
        if self.buffer.last() == Some(&b'\r') {
            self.buffer.pop();
        }
        match std::str::from_utf8(&self.buffer) {
            Ok(text) => Ok(Some(InputLine {
                number: self.number,
                text,
            })),
            Err(error) => Err(self.here(error.valid_up_to(), Problem::NotText)),
        }
    }

    fn here(&self, place: usize, problem: Problem) -> ReadError {
        ReadError::Text {
            line: self.number,
            column: place + 1,
            problem,
        }
    }
}

impl<'a> InputLine<'a> {
    /// An error in this line, at a word of it.
    pub(crate) fn wrong(&self, word: &str, problem: Problem) -> ReadError {
        let place = (word.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        ReadError::Text {
            line: self.number,
            column: if place <= self.text.len() { place + 1 } else { 1 },
            problem,
        }
    }

    /// The error for an unexpected line.
    pub(crate) fn unexpected(&self) -> ReadError {
        self.unexpected_word(self.text.trim())
    }

    pub(crate) fn unexpected_word(&self, word: &str) -> ReadError {
        self.wrong(word, Problem::Unexpected(quoted(word)))
    }

    pub(crate) fn too_large(&self, word: &str) -> ReadError {
        self.wrong(word, Problem::TooLarge(quoted(word)))
    }

    pub(crate) fn out_of_order(&self, word: &str) -> ReadError {
        self.wrong(word, Problem::Order(quoted(word)))
    }

    pub(crate) fn no_number(&self, word: &str) -> ReadError {
        self.wrong(word, Problem::NotANumber(quoted(word)))
    }

    /// The error for a wrong number of columns. The first of them is at this word.
    pub(crate) fn columns(&self, word: &str, found: usize, expected: usize) -> ReadError {
        self.wrong(word, Problem::Columns { found, expected })
    }

    pub(crate) fn words(&self) -> std::str::SplitWhitespace<'a> {
        self.text.split_whitespace()
    }

    /// A non-negative integer.
    pub(crate) fn number(&self, word: &str) -> Result<u64, ReadError> {
        word.parse().map_err(|_| self.wrong(word, problem_of(word)))
    }

    /// A small integer: a CPU, a thread.
    pub(crate) fn small(&self, word: &str) -> Result<u32, ReadError> {
        u32::try_from(self.number(word)?).map_err(|_| self.too_large(word))
    }

    /// An integer number of units, converted to nanoseconds.
    pub(crate) fn time(&self, word: &str, unit_ns: u64) -> Result<u64, ReadError> {
        self.number(word)?
            .checked_mul(unit_ns)
            .ok_or_else(|| self.too_large(word))
    }

    /// A non-negative decimal number.
    pub(crate) fn decimal(&self, word: &str) -> Result<f64, ReadError> {
        match word.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
            _ => Err(self.wrong(word, problem_of(word))),
        }
    }

    /// Adds; on overflow returns an error with the position.
    pub(crate) fn add(&self, word: &str, sum: u64, more: u64) -> Result<u64, ReadError> {
        sum.checked_add(more).ok_or_else(|| self.too_large(word))
    }
}

/// Whether a word has digits and nothing else.
pub(crate) fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Why a word is not an accepted number.
pub(crate) fn problem_of(word: &str) -> Problem {
    match word.strip_prefix('-') {
        Some(rest) if rest.parse::<f64>().is_ok_and(f64::is_finite) => Problem::Negative(quoted(word)),
        _ if is_digits(word)
            || word.parse::<f64>() == Ok(f64::INFINITY) && word.contains(|c: char| c.is_ascii_digit()) =>
        {
            Problem::TooLarge(quoted(word))
        }
        _ => Problem::NotANumber(quoted(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn first_error(bytes: &[u8]) -> String {
        let mut input = BufReader::with_capacity(7, bytes);
        let mut lines = InputLines::of(&mut input);
        loop {
            match lines.next() {
                Ok(Some(line)) => {
                    for word in line.words() {
                        if let Err(error) = line.time(word, 1_000) {
                            return error.to_string();
                        }
                    }
                }
                Ok(None) => return "none".to_owned(),
                Err(error) => return error.to_string(),
            }
        }
    }

    #[test]
    fn invalid_numbers_are_reported_with_line_and_column() {
        assert_eq!(first_error(b"1 2\r\n 33 44\n"), "none");
        assert_eq!(
            first_error(b"1\n 5 -2\n"),
            "line 2, column 4: \"-2\" is negative, which is not possible here"
        );
        assert_eq!(first_error(b"nan"), "line 1, column 1: \"nan\" is not a number");
        assert_eq!(
            first_error(b"1 99999999999999999999999"),
            "line 1, column 3: \"99999999999999999999999\" is too large"
        );
        assert_eq!(
            first_error(b"18446744073709551615"),
            "line 1, column 1: \"18446744073709551615\" is too large"
        );
        assert_eq!(first_error(b"1 \xff"), "line 1, column 3: this is not text");
        assert_eq!(
            first_error("\u{202e}\u{1b}[2J".as_bytes()),
            "line 1, column 1: \"\\u{202e}\\u{1b}[2J\" is not a number"
        );
    }

    #[test]
    fn overlong_lines_are_refused_and_overlong_comments_are_cut() {
        let mut long = vec![b'7'; LONGEST_LINE + 1];
        assert!(first_error(&long).contains("longer than 65536 bytes"));
        long[0] = b'#';
        let mut input = long.as_slice();
        let mut lines = InputLines::of(&mut input);
        assert_eq!(lines.next().unwrap().unwrap().text.len(), LONGEST_LINE);
        assert!(lines.next().unwrap().is_none());
    }
}
