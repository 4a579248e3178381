//! Splits a `print fmt:` line into C tokens.

/// A token of a `print fmt` line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Number(i128),
    Text(String),
    Sign(&'static str),
}

/// Longer operators first.
const SIGNS: &[&str] = &[
    "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "(", ")", "{", "}", "[", "]", ",", "?", ":", "+", "-", "*",
    "/", "%", "&", "|", "^", "~", "!", "<", ">", ".",
];

/// All tokens of a line; `None` if it contains an invalid one.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, after) = if first == '"' {
            let (text, after) = quoted(rest, '"')?;
            (Token::Text(text), after)
        } else if first == '\'' {
            let (text, after) = quoted(rest, '\'')?;
            (Token::Number(text.chars().next()? as i128), after)
        } else if first.is_ascii_digit() {
            number(rest)?
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
            (Token::Name(name.to_owned()), after)
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
            (Token::Sign(sign), rest.get(sign.len()..)?)
        };
        tokens.push(token);
        rest = after.trim_start();
    }
    Some(tokens)
}

fn number(text: &str) -> Option<(Token, &str)> {
    let end = text
        .find(|letter: char| !letter.is_ascii_alphanumeric())
        .unwrap_or(text.len());
    let (word, after) = text.split_at(end);
    let word = word.trim_end_matches(['u', 'U', 'l', 'L']);
    let value = if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        i128::from_str_radix(hex, 16)
    } else if word.len() > 1 && word.starts_with('0') {
        i128::from_str_radix(word, 8)
    } else {
        word.parse()
    };
    Some((Token::Number(value.ok()?), after))
}

/// The text between two quotation marks, with escapes resolved, and the remaining text.
fn quoted(text: &str, mark: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            letter if letter == mark => return Some((out, text.get(at + letter.len_utf8()..)?)),
            '\\' => match letters.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                '0' => out.push('\0'),
                other => out.push(other),
            },
            letter => out.push(letter),
        }
    }
    None
}
