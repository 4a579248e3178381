//! Text for a terminal that grows line by line, in the style of the terminal.

use crate::style::{COLUMNS, Style, TextRole, counted, safe, wrap};
use machine::OrderBy;
use measure::{Note, NoteLevel};
use plan::{Finding, Level};
use std::fmt::{Arguments, Write as _};

/// The title of findings that need no other.
pub(crate) const GOOD_TO_KNOW: &str = "Notes";

/// How much of a plan, a check, a comparison or the history is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KnobDetail {
    /// What needs attention; the rest is counted.
    #[default]
    Short,
    /// All of it.
    Whole,
}

/// A text and its style. `write!` and `writeln!` append to it.
pub(crate) struct ReportText {
    text: String,
    style: Style,
}

impl ReportText {
    pub(crate) fn new(style: Style) -> ReportText {
        ReportText {
            text: String::new(),
            style,
        }
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }

    /// Appends formatted text. `write!` and `writeln!` call it.
    pub(crate) fn write_fmt(&mut self, arguments: Arguments) {
        let _ = self.text.write_fmt(arguments);
    }

    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// The words in the colour of their role.
    pub(crate) fn paint(&self, role: TextRole, words: &str) -> String {
        self.style.paint(role, words)
    }

    /// Appends a line in the colour of its role, as it is.
    pub(crate) fn painted(&mut self, role: TextRole, line: &str) {
        let line = self.paint(role, line);
        writeln!(self, "{line}");
    }

    /// Appends an empty line and a heading.
    pub(crate) fn heading(&mut self, title: &str) {
        writeln!(self);
        self.painted(TextRole::Head, title);
    }

    /// Appends words that begin after `lead` columns and continue on further lines after `indent` columns.
    pub(crate) fn wrapped(&mut self, lead: usize, indent: usize, words: &str) {
        writeln!(self, "{:lead$}{}", "", wrap(words, indent, COLUMNS));
    }

    /// Appends such words in the colour of their role.
    pub(crate) fn wrapped_as(&mut self, role: TextRole, lead: usize, indent: usize, words: &str) {
        let words = self.paint(role, &wrap(words, indent, COLUMNS));
        writeln!(self, "{:lead$}{words}", "");
    }

    /// Appends a word in its colour after `lead` columns, and words in the column `indent`.
    pub(crate) fn marked(&mut self, (word, role): (&str, TextRole), lead: usize, indent: usize, words: &str) {
        let gap = indent - lead - word.len();
        let word = self.paint(role, word);
        writeln!(self, "{:lead$}{word}{:gap$}{}", "", "", wrap(words, indent, COLUMNS));
    }

    /// Appends a finding: its level, its words, its repair.
    pub(crate) fn finding(&mut self, level: Level, words: &str, fix: &str) {
        self.marked(level_mark(level), 2, 11, words);
        self.fix(fix);
    }

    /// Appends the repair of a finding, if it has one.
    pub(crate) fn fix(&mut self, fix: &str) {
        if !fix.is_empty() {
            self.wrapped(11, 14, &format!("-> {}", safe(fix)));
        }
    }

    /// Appends findings, the most severe first, below a title.
    pub(crate) fn findings(&mut self, title: &str, findings: &[Finding]) {
        if findings.is_empty() {
            return;
        }
        self.heading(title);
        let mut findings: Vec<&Finding> = findings.iter().collect();
        findings.order_by_key(|finding| std::cmp::Reverse(finding.level));
        for one in findings {
            let words = format!("{}: {}", safe(&one.subject), safe(&one.message));
            self.finding(one.level, &words, &one.fix);
        }
    }

    /// Appends the notes of a measurement after an empty line.
    pub(crate) fn notes(&mut self, notes: &[Note]) {
        if !notes.is_empty() {
            writeln!(self);
        }
        for note in notes {
            let words = format!("{}: {}", safe(&note.subject), safe(&note.message));
            self.finding(note_level(note), &words, &note.fix);
        }
    }
}

/// The level of a note, as that of a finding.
pub(crate) const fn note_level(note: &Note) -> Level {
    match note.level {
        NoteLevel::Error => Level::Error,
        NoteLevel::Warning => Level::Warning,
        NoteLevel::Info => Level::Info,
    }
}

/// How many findings have each level.
pub(crate) fn counted_levels(levels: impl Iterator<Item = Level> + Clone, info: &str) -> String {
    let nouns = [
        (Level::Error, "error"),
        (Level::Warning, "warning"),
        (Level::Info, info),
    ];
    let counts = nouns.map(|(level, noun)| counted(levels.clone().filter(|one| *one == level).count(), noun));
    counts.join(", ")
}

/// The word for a level, and its colour.
pub(crate) const fn level_mark(level: Level) -> (&'static str, TextRole) {
    match level {
        Level::Error => ("error", TextRole::Bad),
        Level::Warning => ("warning", TextRole::Warning),
        Level::Info => ("info", TextRole::Quiet),
    }
}
