//! Prepares text for a page. Templates escape markup; here control characters become visible and numbers keep their units.

use crate::style::safe;
use maud::Render;
use std::fmt::Write as _;

/// Our own text for times, with the micro sign, which pages support and terminals may not.
pub(crate) fn unit(text: &str) -> String {
    let text = safe(text);
    let mut out = String::with_capacity(text.len() + 8);
    let mut is_number = false;
    for (place, word) in text.split(' ').enumerate() {
        let is_unit = is_number
            && matches!(
                word.trim_end_matches(['.', ',', ')', ';']),
                "us" | "ns" | "ms" | "s" | "%"
            );
        match (place, is_unit) {
            (0, _) => out.push_str(word),
            (_, false) => out.extend([" ", word]),
            (_, true) => out.extend(["\u{a0}", &word.replacen("us", "µs", 1)]),
        }
        is_number = word.ends_with(|last: char| last.is_ascii_digit());
    }
    out
}

/// Bytes as a data URI's body: everything except letters, digits and a few harmless signs is percent-encoded.
pub(crate) fn percent(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(bytes.len() + bytes.len() / 2);
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b',' | b':' | b'/' | b'(' | b')')
        {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    out
}

/// A length in a drawing, with one decimal.
pub(crate) struct Tenths(pub f64);

impl Render for Tenths {
    fn render_to(&self, page: &mut String) {
        let _ = write!(page, "{:.1}", self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stay_with_numbers_and_control_characters_are_visible() {
        assert_eq!(unit("fell to 12.4 us, let us see"), "fell to 12.4\u{a0}µs, let us see");
        assert_eq!(unit("0.9 % <\u{1b}"), "0.9\u{a0}% <\\u{1b}");
        assert_eq!(unit("5  s 7"), "5  s 7");
    }

    #[test]
    fn bytes_of_a_url_are_percent_encoded() {
        assert_eq!(percent(b"{\"a\": \"<%\"}"), "%7B%22a%22:%20%22%3C%25%22%7D");
    }
}
