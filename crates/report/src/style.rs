//! Formats text: colours or none, safe names, wrapped sentences, aligned columns.
//!
//! A name from the machine (a task may use any name) never reaches a terminal unescaped.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// Maximum width of every screen, in columns.
pub const COLUMNS: usize = 80;

/// Whether a text contains terminal colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Plain characters.
    #[default]
    Plain,
    /// With SGR colours.
    Colour,
}

/// The role of a piece of text, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextRole {
    Head,
    Quiet,
    Good,
    Warning,
    Bad,
}

impl Style {
    /// The text in the colour of its role.
    pub(crate) fn paint(self, role: TextRole, text: &str) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Colour if text.is_empty() => String::new(),
            Style::Colour => format!("\u{1b}[{}m{text}\u{1b}[0m", role.code()),
        }
    }
}

impl TextRole {
    const ALL: [TextRole; 5] = [
        TextRole::Head,
        TextRole::Quiet,
        TextRole::Good,
        TextRole::Warning,
        TextRole::Bad,
    ];

    /// The parameter of SGR.
    const fn code(self) -> &'static str {
        match self {
            TextRole::Head => "1",
            TextRole::Quiet => "2",
            TextRole::Good => "32",
            TextRole::Warning => "33",
            TextRole::Bad => "31",
        }
    }
}

/// Like [`safe`], for multi-line text whose bytes matter: line ends, tabs and backslashes stay.
#[must_use]
pub fn safe_lines(text: &str) -> String {
    let keeps = |letter: char| matches!(letter, '\n' | '\t' | '\\');
    let pieces = text.split_inclusive(keeps).map(|piece| match piece.chars().last() {
        Some(last) if keeps(last) => format!("{}{last}", safe(&piece[..piece.len() - 1])),
        _ => safe(piece),
    });
    pieces.collect()
}

/// Any text, made safe for a terminal: line ends, tabs, and the colours of this style stay, every other control character
/// becomes an escape.
#[must_use]
pub fn for_terminal(text: &str, style: Style) -> Cow<'_, str> {
    let keeps = |letter: char| matches!(letter, '\n' | '\t') || !is_unsafe(letter);
    if text.chars().all(keeps) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let colour = (style == Style::Colour).then(|| colour_at(rest)).flatten();
        let taken = colour.map_or(letter.len_utf8(), str::len);
        match colour {
            Some(colour) => out.push_str(colour),
            None if keeps(letter) => out.push(letter),
            None => out.extend(letter.escape_default()),
        }
        rest = &rest[taken..];
    }
    Cow::Owned(out)
}

/// The sequence of one of our own colours at the start of a text.
fn colour_at(text: &str) -> Option<&str> {
    const END: &str = "\u{1b}[0m";
    let begin = |role: TextRole| format!("\u{1b}[{}m", role.code());
    let is_own = |sequence: &str| sequence == END || TextRole::ALL.iter().any(|role| sequence == begin(*role));
    let end = text.find('m')?;
    text.get(..=end).filter(|sequence| is_own(sequence))
}

/// Whether a character could control a terminal, be invisible, or change the writing direction.
fn is_unsafe(letter: char) -> bool {
    let hidden =
        matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    letter.is_control() || hidden
}

/// A foreign name made safe for a terminal: control characters, and characters that are invisible or change the writing
/// direction, become escapes.
#[must_use]
pub fn safe(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter == '\\' {
            text.push_str("\\\\");
        } else if is_unsafe(letter) {
            text.extend(letter.escape_default());
        } else {
            text.push(letter);
        }
    }
    text
}

/// A path made safe as with [`safe`].
#[must_use]
pub fn safe_path(path: &Path) -> String {
    safe(&path.display().to_string())
}

/// A name made safe and cut to a width.
pub(crate) fn safe_cut(name: &str, width: usize) -> String {
    cut(&safe(name), width)
}

/// A text cut to a width, with `..` if something is missing.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(2)).chain("..".chars()).collect()
}

/// Wraps a text into lines of `width` columns; every line except the first starts with `indent` spaces. The first is
/// assumed to start at column `indent` already. Words that are too long are broken.
pub(crate) fn wrap(text: &str, indent: usize, width: usize) -> String {
    let room = width.saturating_sub(indent).max(10);
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        let gap = usize::from(used > 0);
        if used + gap + word.len() > room && used > 0 {
            let _ = write!(out, "\n{:indent$}", "");
            used = 0;
        }
        if used > 0 {
            out.push(' ');
            used += 1;
        }
        while word.len() > room {
            let rest = word.split_off(break_place(&word, room));
            out.extend(&word);
            let _ = write!(out, "\n{:indent$}", "");
            word = rest;
        }
        used += word.len();
        out.extend(&word);
    }
    out
}

/// Where to break a long word: after the last comma that fits, because CPU lists are long words.
fn break_place(word: &[char], room: usize) -> usize {
    word.iter()
        .take(room)
        .rposition(|&letter| letter == ',')
        .map_or(room, |place| place + 1)
}

/// `1 CPU`, `2 CPUs`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = match noun.strip_suffix('y') {
        _ if count == 1 => noun.to_owned(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    };
    format!("{} {plural}", grouped(count as u64))
}

/// A count with thousands separators: `1,234,567`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size in bytes, in the usual notation for caches: `48 KB`, `25 MB`, `1.25 MB`.
pub(crate) fn bytes(size: u64) -> String {
    let scaled = |unit: u64| size as f64 / unit as f64;
    let (value, unit) = match size {
        0..0x0010_0000 => (scaled(1 << 10), "KB"),
        0x0010_0000..0x4000_0000 => (scaled(1 << 20), "MB"),
        _ => (scaled(1 << 30), "GB"),
    };
    let text = format!("{value:.2}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_escaped() {
        assert_eq!(
            safe("a\u{1b}[2Jb\n\u{9b}c\u{202e}d\\"),
            "a\\u{1b}[2Jb\\n\\u{9b}c\\u{202e}d\\\\"
        );
        assert_eq!(safe("plain (name) ü"), "plain (name) ü");
    }

    #[test]
    fn only_own_colour_codes_reach_a_terminal() {
        let painted = Style::Colour.paint(TextRole::Bad, "x");
        let text = format!("a\tb\n{painted} \u{1b}[8m\u{1b}]0;t\u{7}\r\u{202e}\\m");
        let safe = "\\u{1b}[8m\\u{1b}]0;t\\u{7}\\r\\u{202e}\\m";
        assert_eq!(for_terminal(&text, Style::Colour), format!("a\tb\n{painted} {safe}"));
        assert_eq!(
            for_terminal(&text, Style::Plain),
            format!("a\tb\n\\u{{1b}}[31mx\\u{{1b}}[0m {safe}")
        );
        assert!(matches!(for_terminal("a\tb\n\\ ü", Style::Plain), Cow::Borrowed(_)));
    }

    #[test]
    fn text_wraps_at_spaces_and_lists_at_commas() {
        assert_eq!(wrap("one two three four", 2, 14), "one two\n  three four");
        let list = wrap("0,2,4,6,8,10,12,14", 2, 14);
        assert_eq!(list, "0,2,4,6,8,\n  10,12,14");
    }

    #[test]
    fn numbers_are_grouped_and_units_are_scaled() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(999), "999");
        assert_eq!(counted(1, "CPU"), "1 CPU");
        assert_eq!(counted(2, "memory"), "2 memories");
        assert_eq!(bytes(48 << 10), "48 KB");
        assert_eq!(bytes(1_310_720), "1.25 MB");
        assert_eq!(bytes(25 << 20), "25 MB");
    }
}
