//! Expands a pattern of `EnvironmentFile=` to file names, in the order of glob(3).

use crate::reading::RootReader;

/// Maximum number of files per pattern.
const MOST: usize = 64;

/// The files that match a pattern, by name. A name without a pattern is returned as it is, whether it exists or not.
/// `{` is an ordinary character: systemd does not enable braces.
pub(super) fn file_names(reader: &RootReader, pattern: &str) -> Vec<String> {
    if !is_pattern(pattern) {
        return vec![pattern.to_owned()];
    }
    let mut found = vec![String::new()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for dir in &found {
            if !is_pattern(part) {
                next.push(format!("{dir}/{part}"));
                continue;
            }
            let listed = if dir.is_empty() { "/" } else { dir.as_str() };
            let entries = reader.entries(listed).unwrap_or_default();
            let mut names: Vec<String> = entries.into_iter().map(|entry| entry.name).collect();
            names.sort_unstable();
            let fits = names.iter().filter(|name| matches(part, name));
            next.extend(fits.map(|name| format!("{dir}/{name}")));
            next.truncate(MOST);
        }
        found = next;
    }
    found.retain(|path| reader.kind(path).is_some());
    found
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether a name matches one part of a pattern (glob(7)). Only a dot matches a leading dot.
fn matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut place) = (0, 0);
    // The position of the last star, and the letter at which it was tried.
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        let step = match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
                continue;
            }
            Some(_) => one(pattern.get(at..).unwrap_or_default(), name.get(place).copied()),
            None => None,
        };
        match (step, star) {
            (Some(used), _) => {
                at += used;
                place += 1;
            }
            (None, Some((back, tried))) => {
                star = Some((back, tried + 1));
                (at, place) = (back + 1, tried + 1);
            }
            (None, None) => return false,
        }
    }
    pattern
        .get(at..)
        .unwrap_or_default()
        .iter()
        .all(|letter| *letter == '*')
}

/// The number of pattern letters that match this letter of the name; `None` if they do not match.
fn one(pattern: &[char], letter: Option<char>) -> Option<usize> {
    let letter = letter?;
    match pattern {
        ['?', ..] => Some(1),
        ['[', rest @ ..] => {
            // A bracket directly after the first one, or after its negation, is a member.
            let negated = matches!(rest.first(), Some('!' | '^'));
            let members = rest.get(usize::from(negated)..)?;
            let end = 1 + members.get(1..)?.iter().position(|member| *member == ']')?;
            let members = members.get(..end)?;
            let is_member = is_one_of(members, letter);
            (is_member != negated).then_some(2 + usize::from(negated) + end)
        }
        ['\\', escaped, ..] => (*escaped == letter).then_some(2),
        [own, ..] => (*own == letter).then_some(1),
        [] => None,
    }
}

/// Whether a letter is one of a bracket's members: single letters, and ranges such as `a-z`.
fn is_one_of(members: &[char], letter: char) -> bool {
    let mut rest = members;
    while let Some((first, after)) = rest.split_first() {
        if let ['-', last, others @ ..] = after {
            if (*first..=*last).contains(&letter) {
                return true;
            }
            rest = others;
        } else {
            if *first == letter {
                return true;
            }
            rest = after;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_patterns_match_as_glob_does() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        };
        check("irqbalance*", "irqbalance", true);
        check("*.env", "a.env", true);
        check("*.env", ".a.env", false);
        check("*.env", "a.env~", false);
        check("a*b*c", "aXbYbc", true);
        check("a?c", "abc", true);
        check("a?c", "ac", false);
        check("[0-9][0-9]-x", "10-x", true);
        check("[0-9][0-9]-x", "1a-x", false);
        check("[!a]x", "bx", true);
        check("[!a]x", "ax", false);
        check("[]]x", "]x", true);
        check("[a", "a", false);
        check("\\*x", "*x", true);
        check("{a,b}", "a", false);
    }
}
