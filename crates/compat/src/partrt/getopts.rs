//! Parses options like the shell's `getopts`, which partrt uses: single letters, also grouped, up to the first word
//! that is not an option.

/// One option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedOption {
    /// A letter, with its value if it takes one.
    Option(char, Option<String>),
    /// An unknown letter.
    Unknown(char),
    /// A letter whose value is missing.
    NoValue(char),
}

/// The options at the start of `words`, and the words after them. `letters` is as in the shell: a colon after
/// each letter that takes a value.
pub fn getopts<'a>(letters: &str, words: &'a [String]) -> (Vec<ParsedOption>, &'a [String]) {
    let mut found = Vec::new();
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        if word == "--" {
            return (found, after);
        }
        // The original has no long option, and fails here.
        if word == "--help" {
            found.push(ParsedOption::Option('h', None));
            rest = after;
            continue;
        }
        let Some(group) = word.strip_prefix('-').filter(|group| !group.is_empty()) else {
            break;
        };
        rest = after;
        let mut group = group.chars();
        while let Some(letter) = group.next() {
            match takes_value(letters, letter) {
                None => found.push(ParsedOption::Unknown(letter)),
                Some(false) => found.push(ParsedOption::Option(letter, None)),
                Some(true) => {
                    let attached = Some(group.as_str().to_owned()).filter(|value| !value.is_empty());
                    let value = match (attached, rest.split_first()) {
                        (None, Some((next, after))) => {
                            rest = after;
                            Some(next.clone())
                        }
                        (attached, _) => attached,
                    };
                    found.push(match value {
                        Some(value) => ParsedOption::Option(letter, Some(value)),
                        None => ParsedOption::NoValue(letter),
                    });
                    break;
                }
            }
        }
    }
    (found, rest)
}

/// Whether a letter takes a value; `None` if it is not an option.
fn takes_value(letters: &str, letter: char) -> Option<bool> {
    if letter == ':' {
        return None;
    }
    let (_, behind) = letters.split_once(letter)?;
    Some(behind.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(letters: &str, line: &str) -> (String, String) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let (found, rest) = getopts(letters, &words);
        let text = |found: &ParsedOption| match found {
            ParsedOption::Option(letter, Some(value)) => format!("{letter}={value}"),
            ParsedOption::Option(letter, None) => letter.to_string(),
            ParsedOption::Unknown(letter) => format!("?{letter}"),
            ParsedOption::NoValue(letter) => format!(":{letter}"),
        };
        (found.iter().map(text).collect::<Vec<_>>().join(" "), rest.join(" "))
    }

    #[test]
    fn options_are_parsed_as_getopts_parses_them() {
        for (letters, line, options, rest) in [
            ("abn:", "-a 0xc", "a", "0xc"),
            ("abn:", "-ab 0xc", "a b", "0xc"),
            ("abn:", "-an1 x", "a n=1", "x"),
            ("abn:", "-n 1 x", "n=1", "x"),
            ("abn:", "-n -a x", "n=-a", "x"),
            ("abn:", "-n", ":n", ""),
            ("abn:", "-x -a", "?x a", ""),
            ("abn:", "-xa", "?x a", ""),
            ("abn:", "0xc -a", "", "0xc -a"),
            ("abn:", "-a -- -b", "a", "-b"),
            ("abn:", "- -b", "", "- -b"),
            ("abn:", "-: 1", "?:", "1"),
            ("ahn:", "--help x", "h", "x"),
            ("ahn:", "-n --help", "n=--help", ""),
            ("ahn:", "x --help", "", "x --help"),
            ("abn:", "", "", ""),
        ] {
            assert_eq!(read(letters, line), (options.to_owned(), rest.to_owned()), "{line}");
        }
    }
}
