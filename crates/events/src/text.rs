//! Reads text from ftrace and trace-cmd: `trace`, `trace_pipe`, the latency format, `trace-cmd report`, of kernels since
//! 2.6.32. It reads line by line with bounded memory. Unknown lines are counted, the first ones are kept, and reading
//! continues.
//!
//! Sources: the kernel's `kernel/trace/trace_output.c` and `Documentation/trace/ftrace.rst`, and real outputs.

mod fields;
mod header;
mod line;

pub use fields::fields;
pub use header::TextHeader;
pub use line::TextEvent;

use std::io::{BufRead, Read};

/// Longest line that is read; the rest is skipped. Real lines have a few hundred bytes.
pub const LONGEST_LINE: usize = 1 << 16;

/// Maximum number of unknown lines that are kept for display.
const MAX_UNKNOWN_LINES: usize = 5;

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextItem<'a> {
    /// An event.
    Event(TextEvent<'a>),
    /// Events are missing before what follows.
    Lost {
        /// The CPU that lost them.
        cpu: u32,
        /// The number; `None` if the text does not state it.
        count: Option<u64>,
    },
    /// From here on the text has events of this CPU too (`##### CPU 1 buffer started ####`).
    BufferStart {
        /// The CPU.
        cpu: u32,
    },
    /// One line of a stack trace, which belongs to the previous event.
    Frame(&'a str),
}

/// The invalid lines of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownLines {
    /// The number of unknown lines.
    pub lines: u64,
    /// Line number, from 1, and start of the first of them.
    pub first: Vec<(u64, String)>,
    /// Lines longer than [`LONGEST_LINE`], which were truncated.
    pub cut: u64,
}

/// Reads the text of a trace, line by line.
pub struct TextReader<R> {
    input: R,
    header: TextHeader,
    unknown: UnknownLines,
    number: u64,
    bytes: Vec<u8>,
    line: String,
}

impl<R: BufRead> TextReader<R> {
    /// Reads from the start, or from any line.
    pub fn new(input: R) -> TextReader<R> {
        TextReader {
            input,
            header: TextHeader::default(),
            unknown: UnknownLines::default(),
            number: 0,
            bytes: Vec::new(),
            line: String::new(),
        }
    }

    /// The header lines (`#`) so far.
    #[must_use]
    pub const fn header(&self) -> &TextHeader {
        &self.header
    }

    /// The invalid lines so far.
    #[must_use]
    pub const fn unknown(&self) -> &UnknownLines {
        &self.unknown
    }

    /// Lines read so far.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        self.number
    }

    /// The next item; `None` at the end.
    ///
    /// # Errors
    /// Errors of the input.
    pub fn next_item(&mut self) -> std::io::Result<Option<TextItem<'_>>> {
        while self.next_line()? {
            match line::kind(&self.line) {
                line::LineKind::Item => break,
                line::LineKind::Header => self.header.take(&self.line),
                line::LineKind::Nothing => {}
                line::LineKind::Unknown => {
                    self.unknown.lines += 1;
                    if self.unknown.first.len() < MAX_UNKNOWN_LINES {
                        let beginning = self.line.chars().take(120).collect();
                        self.unknown.first.push((self.number, beginning));
                    }
                }
            }
            self.line.clear();
        }
        // Empty at the end of the input.
        Ok(line::item(&self.line, self.header.tracer.as_deref()))
    }

    fn next_line(&mut self) -> std::io::Result<bool> {
        self.bytes.clear();
        self.line.clear();
        let mut some = self.input.by_ref().take(LONGEST_LINE as u64);
        if some.read_until(b'\n', &mut self.bytes)? == 0 {
            return Ok(false);
        }
        self.number += 1;
        if self.bytes.last() != Some(&b'\n') && self.bytes.len() == LONGEST_LINE {
            self.unknown.cut += 1;
            self.input.skip_until(b'\n')?;
        }
        self.line.push_str(&String::from_utf8_lossy(&self.bytes));
        self.line.truncate(self.line.trim_end().len());
        Ok(true)
    }
}
