//! Splits a command line into words as a shell does, without expansion. Blanks separate words, single and double quotes
//! group them, and a backslash escapes the next character (within double quotes only a quote or a backslash).
//! `;`, `{}`, `*` and `$` have no special meaning.

/// Returns the words.
///
/// # Errors
/// A quote that is not closed, or a backslash at the end: its position (in characters from 0), and a description.
pub(super) fn split(line: &str) -> Result<Vec<String>, (usize, &'static str)> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<(char, usize)> = None;
    let mut letters = line.chars().enumerate().peekable();
    while let Some((at, letter)) = letters.next() {
        match (letter, quote) {
            ('\\', None) => match letters.next() {
                Some((_, next)) => word.get_or_insert_default().push(next),
                None => return Err((at, "there is nothing after the backslash")),
            },
            ('\\', Some(('"', _))) if letters.peek().is_some_and(|(_, next)| matches!(next, '"' | '\\')) => {
                word.get_or_insert_default()
                    .extend(letters.next().map(|(_, next)| next));
            }
            (_, Some((mark, _))) if letter == mark => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(letter),
            ('"' | '\'', None) => {
                quote = Some((letter, at));
                word.get_or_insert_default();
            }
            (_, None) if letter.is_whitespace() => words.extend(word.take()),
            (_, None) => word.get_or_insert_default().push(letter),
        }
    }
    if let Some((_, at)) = quote {
        return Err((at, "this quote is never closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn commands_of_the_article_are_split_into_words() {
        let check = |line, words: &[&str]| {
            assert_eq!(
                split(line),
                Ok(words.iter().map(|word| (*word).to_owned()).collect()),
                "{line}"
            );
        };
        check(
            "find / -type d -exec /bin/ls {} ; -print",
            &["find", "/", "-type", "d", "-exec", "/bin/ls", "{}", ";", "-print"],
        );
        check(
            "sh -c \"find / -type d -print0 | tar --null -cvzf - -T -\"",
            &["sh", "-c", "find / -type d -print0 | tar --null -cvzf - -T -"],
        );
        check(
            "a 'b c'd \"\" e\\ f \"g\\\"h\\n\"",
            &["a", "b cd", "", "e f", "g\"h\\n"],
        );
        check("", &[]);
        check(" \t ", &[]);
    }

    #[test]
    fn unterminated_quotes_are_reported_with_their_position() {
        assert_eq!(split("sh -c 'x").map_err(|(at, _)| at), Err(6));
        assert_eq!(split("a \\").map_err(|(at, _)| at), Err(2));
    }
}
