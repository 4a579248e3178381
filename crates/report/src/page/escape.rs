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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            html("<script>&'\"\u{1b}"),
            "&lt;script&gt;&amp;&#39;&quot;\\u{1b}"
        );
        assert_eq!(
            unit("fell to 12.4 us, let us see"),
            "fell to 12.4\u{a0}µs, let us see"
        );
        assert_eq!(unit("0.9 % <"), "0.9\u{a0}% &lt;");
    }
}
