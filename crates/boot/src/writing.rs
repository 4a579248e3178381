//! Encodes a boot line in a file: plain, in shell quotes, or in GRUB's environment block. Words are located by their
//! position in the file, so that an edit changes nothing else.

use std::ops::Range;

/// The encoding of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextEncoding {
    /// Plain.
    Plain,
    /// In double quotes of a shell: `\` before `"`, `$`, a backtick and itself.
    DoubleQuoted,
    /// In single quotes of a shell.
    SingleQuoted,
    /// An unquoted shell value; an edit puts it in double quotes.
    Unquoted,
    /// GRUB's environment block: `\` before itself and a line end.
    EnvBlock,
}

/// A word of the line, as the kernel will see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineWord {
    /// Including the kernel's own quotes.
    pub text: String,
    /// Its byte range in the encoded text.
    pub place: Range<usize>,
}

impl TextEncoding {
    /// Decodes an encoded text.
    #[must_use]
    pub fn read(self, raw: &str) -> String {
        self.letters(raw).0
    }

    /// The words of an encoded text.
    #[must_use]
    pub fn words(self, raw: &str) -> Vec<LineWord> {
        let (text, places) = self.letters(raw);
        let place = |at: usize| places.get(at).copied().unwrap_or(raw.len());
        let start = text.as_ptr() as usize;
        let words = machine::cmdline::words(&text).map(|word| {
            let from = word.as_ptr() as usize - start;
            LineWord {
                text: word.to_owned(),
                place: place(from)..place(from + word.len()),
            }
        });
        words.collect()
    }

    /// Encodes a text.
    #[must_use]
    pub fn write(self, text: &str) -> String {
        let escape = |special: &[char]| {
            let mut written = String::with_capacity(text.len());
            for letter in text.chars() {
                if special.contains(&letter) {
                    written.push('\\');
                }
                written.push(letter);
            }
            written
        };
        match self {
            TextEncoding::Plain => text.to_owned(),
            TextEncoding::DoubleQuoted | TextEncoding::Unquoted => escape(&['\\', '"', '$', '`']),
            TextEncoding::SingleQuoted => text.replace('\'', "'\\''"),
            TextEncoding::EnvBlock => escape(&['\\']),
        }
    }

    /// The decoded text, and the offset of each of its bytes in the encoded text, plus one for the end.
    fn letters(self, raw: &str) -> (String, Vec<usize>) {
        let escapes = |next: char| match self {
            TextEncoding::Plain | TextEncoding::SingleQuoted => false,
            TextEncoding::DoubleQuoted => matches!(next, '\\' | '"' | '$' | '`' | '\n'),
            TextEncoding::Unquoted | TextEncoding::EnvBlock => true,
        };
        let (mut text, mut places) = (String::new(), Vec::new());
        let mut letters = raw.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            let mut meant = Some(letter);
            if letter == '\\'
                && let Some(&(_, next)) = letters.peek()
                && escapes(next)
            {
                letters.next();
                // A shell drops a line end after a backslash.
                meant = (next != '\n' || self == TextEncoding::EnvBlock).then_some(next);
            }
            if let Some(meant) = meant {
                text.push(meant);
                places.resize(text.len(), at);
            }
        }
        places.push(raw.len());
        (text, places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_located_in_every_encoding() {
        let raw = "quiet  dyndbg=\\\"file a +p\\\" \\\n x=\\$y";
        let words = TextEncoding::DoubleQuoted.words(raw);
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(texts, ["quiet", "dyndbg=\"file a +p\"", "x=$y"]);
        assert_eq!(&raw[words[1].place.clone()], "dyndbg=\\\"file a +p\\\"");
        assert_eq!(&raw[words[2].place.clone()], "x=\\$y");
    }

    proptest::proptest! {
        #[test]
        fn a_written_line_is_read_back_unchanged(text in "[ -~]{0,40}") {
            for writing in [TextEncoding::Plain, TextEncoding::DoubleQuoted, TextEncoding::Unquoted, TextEncoding::EnvBlock] {
                proptest::prop_assert_eq!(writing.read(&writing.write(&text)), text.clone());
            }
        }
    }
}
