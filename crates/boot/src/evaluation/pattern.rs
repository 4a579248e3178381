//! Matches patterns of `case`: characters, `*` and `?`.

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternPart {
    /// This character.
    Letter(char),
    /// Any one character (`?`).
    One,
    /// Any characters, or none (`*`).
    Any,
}

/// Whether the whole text matches the pattern.
pub fn matches(pattern: &[PatternPart], text: &[char]) -> bool {
    // The position of the last `*`, and how much of the text it has matched.
    let mut star: Option<(usize, usize)> = None;
    let (mut at, mut part) = (0, 0);
    while at < text.len() {
        match pattern.get(part) {
            Some(PatternPart::Any) => {
                star = Some((part, at));
                part += 1;
                continue;
            }
            Some(PatternPart::One) => {
                at += 1;
                part += 1;
                continue;
            }
            Some(PatternPart::Letter(letter)) if *letter == text[at] => {
                at += 1;
                part += 1;
                continue;
            }
            _ => {}
        }
        let Some((before, taken)) = star else {
            return false;
        };
        star = Some((before, taken + 1));
        (at, part) = (taken + 1, before + 1);
    }
    pattern[part..].iter().all(|part| *part == PatternPart::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_in_patterns_match_any_length() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("*", "", true),
            ("a*c", "abcbc", true),
            ("a*c", "abcb", false),
            ("?", "", false),
            ("a?", "ab", true),
            ("*a*b?", "xaybbc", true),
            ("*a*b?", "xayb", false),
        ] {
            let parts: Vec<PatternPart> = pattern
                .chars()
                .map(|letter| match letter {
                    '*' => PatternPart::Any,
                    '?' => PatternPart::One,
                    letter => PatternPart::Letter(letter),
                })
                .collect();
            let text: Vec<char> = text.chars().collect();
            assert_eq!(matches(&parts, &text), expected, "{pattern} {text:?}");
        }
    }
}
