//! Locates assignments in files that a shell reads (`/etc/default/grub`). `evaluation` computes their result; an edit is
//! accepted only if it yields the requested result.

use crate::TextEncoding;
use std::ops::Range;

/// One `NAME=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Name of the variable.
    pub name: String,
    /// The value without its quotes, in bytes.
    pub range: Range<usize>,
    /// Its quoting; `None` for a value made of several pieces, which is left alone.
    pub writing: Option<TextEncoding>,
    /// Whether it keeps the former value of the variable (`X="$X more"`, `X+=more`).
    pub former_value_use: AssignmentEffect,
}

/// What an assignment does to the former value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignmentEffect {
    /// Keeps it and adds to it.
    Former,
    /// Replaces it.
    Nothing,
}

/// The assignments of a file, in order, without comments. An assignment that may not run is left alone, and the value
/// before it may still be in effect.
pub fn assignments(text: &str) -> Vec<Assignment> {
    let mut found = Vec::new();
    let (mut at, mut depth) = (0, 0);
    while at < text.len() {
        let line = &text[at..];
        let end = line.find('\n').map_or(line.len(), |end| end + 1);
        let mut next = at + end;
        if let Some((mut assignment, after)) = assignment(text, at) {
            if depth > 0 {
                (assignment.writing, assignment.former_value_use) = (None, AssignmentEffect::Former);
            }
            // A quoted value may span several lines.
            next = next.max(text[after..].find('\n').map_or(text.len(), |end| after + end + 1));
            found.push(assignment);
        } else {
            depth = (depth + deeper(&line[..end])).max(0);
        }
        at = next;
    }
    found
}

/// The number of blocks that a line opens minus those that it closes.
fn deeper(line: &str) -> i32 {
    let code = line.split('#').next().unwrap_or_default();
    let words = code.split(|letter: char| letter.is_whitespace() || letter == ';');
    words
        .map(|word| match word {
            "if" | "case" | "for" | "while" | "until" => 1,
            "fi" | "esac" | "done" => -1,
            _ => 0,
        })
        .sum()
}

fn assignment(text: &str, start: usize) -> Option<(Assignment, usize)> {
    let line = text.get(start..)?;
    let bare = line.trim_start_matches([' ', '\t']);
    let bare = bare
        .strip_prefix("export ")
        .map_or(bare, |rest| rest.trim_start_matches([' ', '\t']));
    let name_at = start + (line.len() - bare.len());
    let length = bare
        .find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .unwrap_or(bare.len());
    let (name, rest) = bare.split_at(length);
    if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let (rest, added) = match rest.strip_prefix('+') {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let value = rest.strip_prefix('=')?;
    let value_at = name_at + (bare.len() - value.len());
    let (range, writing, after) = value_of(text, value_at);
    let meant = &text[range.clone()];
    let itself = [format!("${name}"), format!("${{{name}}}"), format!("${{{name}:")];
    let keeps = match added || itself.iter().any(|own| names(meant, own)) {
        true => AssignmentEffect::Former,
        false => AssignmentEffect::Nothing,
    };
    let assignment = Assignment {
        name: name.to_owned(),
        range,
        writing,
        former_value_use: keeps,
    };
    Some((assignment, after))
}

/// Whether a value refers to this variable, not to one whose name only starts with it.
fn names(value: &str, variable: &str) -> bool {
    value.match_indices(variable).any(|(at, _)| {
        let next = value[at + variable.len()..].chars().next();
        variable.ends_with(['}', ':']) || !next.is_some_and(|next| next.is_ascii_alphanumeric() || next == '_')
    })
}

/// The position of a value, its quoting, and its end.
fn value_of(text: &str, at: usize) -> (Range<usize>, Option<TextEncoding>, usize) {
    let value = &text[at..];
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
    let Some(quote) = quote else {
        let mut escaped = false;
        let length = value
            .find(|letter: char| {
                let ends = !escaped && (letter.is_whitespace() || letter == ';');
                escaped = !escaped && letter == '\\';
                ends
            })
            .unwrap_or(value.len());
        let composed = value[..length].contains(['"', '\'', '`', '$', '(']);
        return (
            at..at + length,
            (!composed).then_some(TextEncoding::Unquoted),
            at + length,
        );
    };
    let mut escaped = false;
    let inside = &value[1..];
    let length = inside.find(|letter: char| {
        let ends = !escaped && letter == quote;
        escaped = quote == '"' && !escaped && letter == '\\';
        ends
    });
    let Some(length) = length else {
        return (at + 1..text.len(), None, text.len());
    };
    let (from, to) = (at + 1, at + 1 + length);
    let after = text[to + 1..].chars().next();
    let alone = after.is_none_or(|next| next.is_whitespace() || matches!(next, ';' | '#' | '&' | '|'));
    let writing = match quote {
        '"' => TextEncoding::DoubleQuoted,
        _ => TextEncoding::SingleQuoted,
    };
    // The output of a command is unknown here.
    let computed = quote == '"' && (inside[..length].contains("$(") || inside[..length].contains('`'));
    (from..to, (alone && !computed).then_some(writing), to + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_are_located_as_a_shell_parses_them() {
        let text = "# X=1\nX=\"a \\\"b c\\\" \\\n d\"\r\n  export Y='q r' # z\nZ=plain\nX=\"$X more\"\nXY=\"$XYZ\"\nW=\nV=a\"b\"\n\
                    U=`date`\nT+=\" x\"\nif [ -f /x ]; then # if\n  X=q\nelse\n X=r\nfi\nif y; then z; fi\nN=1\nS=\"open";
        let found = assignments(text);
        let seen: Vec<(&str, &str, Option<TextEncoding>, AssignmentEffect)> = found
            .iter()
            .map(|one| {
                (
                    one.name.as_str(),
                    &text[one.range.clone()],
                    one.writing,
                    one.former_value_use,
                )
            })
            .collect();
        use AssignmentEffect::{Former, Nothing};
        let double = Some(TextEncoding::DoubleQuoted);
        assert_eq!(
            seen,
            [
                ("X", "a \\\"b c\\\" \\\n d", double, Nothing),
                ("Y", "q r", Some(TextEncoding::SingleQuoted), Nothing),
                ("Z", "plain", Some(TextEncoding::Unquoted), Nothing),
                ("X", "$X more", double, Former),
                ("XY", "$XYZ", double, Nothing),
                ("W", "", Some(TextEncoding::Unquoted), Nothing),
                ("V", "a\"b\"", None, Nothing),
                ("U", "`date`", None, Nothing),
                ("T", " x", double, Former),
                ("X", "q", None, Former),
                ("X", "r", None, Former),
                ("N", "1", Some(TextEncoding::Unquoted), Nothing),
                ("S", "open", None, Nothing),
            ]
        );
    }
}
