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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            html("<script>&'\"\u{1b}"),
            "&lt;script&gt;&amp;&#39;&quot;\\u{1b}"
        );
    }
}
