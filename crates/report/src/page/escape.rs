//! Escapes foreign text in a page: no name of a task, an interrupt or a file can become markup.

use crate::style::safe;

/// Text as HTML, also valid inside an attribute in double quotes. Control characters become visible escapes first.
pub(crate) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in safe(text).chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(letter),
        }
    }
    out
}

/// Our own text for times, with the micro sign, which pages support and terminals may not.
pub(crate) fn unit(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut words = html(text)
        .split(' ')
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
        .peekable();
    while let Some(word) = words.next() {
        let is_number = word.ends_with(|last: char| last.is_ascii_digit());
        let next = words
            .peek()
            .map(|next| next.trim_end_matches(['.', ',', ')', ';']))
            .filter(|_| is_number);
        let glued = matches!(next, Some("us" | "ns" | "ms" | "s" | "%"));
        out.push_str(&word);
        if let Some(unit) = words.next_if(|_| glued) {
            out.push('\u{a0}');
            out.push_str(&unit.replacen("us", "µs", 1));
        }
        if words.peek().is_some() {
            out.push(' ');
        }
    }
    out
}

/// Bytes as a data URI's body: everything except letters, digits and a few harmless signs is percent-encoded.
pub(crate) fn percent(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(bytes.len() + bytes.len() / 2);
    for &byte in bytes {
        if byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'.' | b'_' | b'~' | b',' | b':' | b'/' | b'(' | b')')
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            html("<script>&'\"\u{1b}"),
            "&lt;script&gt;&amp;&#39;&quot;\\u{1b}"
        );
        assert_eq!(percent(b"{\"a\": \"<%\"}"), "%7B%22a%22:%20%22%3C%25%22%7D");
        assert_eq!(
            unit("fell to 12.4 us, let us see"),
            "fell to 12.4\u{a0}µs, let us see"
        );
        assert_eq!(unit("0.9 % <"), "0.9\u{a0}% &lt;");
    }
}
