//! Expands words: values of assignments, arguments of commands, patterns of `case`.

use super::interpreter::Interpreter;
use super::pattern::{self, PatternPart};
use super::word::{
    AlternativeCondition, AlternativeText, EmptyValueRule, Expansion, PieceContent, Quoting, ShellWord, WordPiece,
    output_reason,
};
use super::{EvaluationFailure, MOST_VALUE, ShellValue};

/// Characters that split an unquoted value or make it a pattern.
const SPLITTING: &[char] = &[' ', '\t', '\n', '*', '?', '[', '\\', '~', '{'];

impl Interpreter<'_> {
    /// Whether a pattern matches; `None` for brackets, and for matches that depend on the locale.
    pub(super) fn is_match(&self, pattern: &ShellWord, text: &str) -> Option<bool> {
        let mut parts = Vec::new();
        for piece in pattern {
            let text = match &piece.content {
                PieceContent::Literal(text) => text.clone(),
                PieceContent::Variable(expansion) => self.expand(expansion)?,
                PieceContent::Unknown(_) | PieceContent::Output => return None,
            };
            let bare = piece.quoting == Quoting::Bare;
            if bare && (text.contains(['[', '\\']) || text.starts_with('~')) {
                return None;
            }
            parts.extend(text.chars().map(|letter| match letter {
                '*' if bare => PatternPart::Any,
                '?' if bare => PatternPart::One,
                letter => PatternPart::Letter(letter),
            }));
        }
        let letters: Vec<char> = text.chars().collect();
        text.is_ascii().then(|| pattern::matches(&parts, &letters))
    }

    /// The value of a word after `=`, which is not split and is not a pattern.
    pub(super) fn value(&self, word: &ShellWord, line: usize) -> ShellValue {
        let mut text = String::new();
        for piece in word {
            let part = match &piece.content {
                PieceContent::Literal(part) => {
                    let at_start = text.is_empty() || text.ends_with(':');
                    let home = part.starts_with('~') && at_start || part.contains(":~");
                    if piece.quoting == Quoting::Bare && home {
                        return ShellValue::Unknown(
                            self.refusal(line, "`~` is a home directory, which depends on the user"),
                        );
                    }
                    Some(part.clone())
                }
                PieceContent::Variable(expansion) => self.expand(expansion),
                PieceContent::Unknown(why) => return ShellValue::Unknown(self.refusal(line, why.clone())),
                PieceContent::Output => return ShellValue::Unknown(self.refusal(line, output_reason())),
            };
            match (part, &piece.content) {
                (Some(part), _) => text.push_str(&part),
                (None, PieceContent::Variable(expansion)) => {
                    return ShellValue::Unknown(self.why_unknown(expansion, line));
                }
                (None, _) => return ShellValue::Unknown(self.refusal(line, "it is not evaluated")),
            }
        }
        match text.len() > MOST_VALUE {
            true => ShellValue::Unknown(self.refusal(line, too_long())),
            false => ShellValue::Text(text),
        }
    }

    /// The result of an expansion; `None` if unknown.
    pub(super) fn expand(&self, expansion: &Expansion) -> Option<String> {
        let value = match self.variables.values.get(&expansion.name)? {
            ShellValue::Text(text) => Some(text.clone()),
            ShellValue::Unset => None,
            ShellValue::Unknown(_) => return None,
        };
        let Some(AlternativeText {
            used_when: taken,
            empty,
            pieces,
        }) = &expansion.other
        else {
            return Some(value.unwrap_or_default());
        };
        let counts = match empty {
            EmptyValueRule::AsUnset => value.as_ref().is_some_and(|text| !text.is_empty()),
            EmptyValueRule::AsSet => value.is_some(),
        };
        match (taken, counts) {
            (AlternativeCondition::Without, true) => value,
            (AlternativeCondition::With, false) => Some(String::new()),
            (AlternativeCondition::Without, false) | (AlternativeCondition::With, true) => self.joined(pieces),
        }
    }

    pub(super) fn joined(&self, pieces: &[WordPiece]) -> Option<String> {
        let mut text = String::new();
        for piece in pieces {
            match &piece.content {
                PieceContent::Literal(part) => text.push_str(part),
                PieceContent::Variable(expansion) => text.push_str(&self.expand(expansion)?),
                PieceContent::Unknown(_) | PieceContent::Output => return None,
            }
        }
        (text.len() <= MOST_VALUE).then_some(text)
    }

    pub(super) fn why_unknown(&self, expansion: &Expansion, line: usize) -> EvaluationFailure {
        match self.variables.values.get(&expansion.name) {
            Some(ShellValue::Unknown(refusal)) => refusal.clone(),
            _ => self.refusal(line, unset_reason(&expansion.name)),
        }
    }

    /// An argument of a command. Unquoted, it is split and is a pattern.
    pub(super) fn argument(&self, word: &ShellWord) -> Option<String> {
        for piece in word.iter().filter(|piece| piece.quoting == Quoting::Bare) {
            let text = match &piece.content {
                PieceContent::Literal(text) => text.clone(),
                PieceContent::Variable(expansion) => self.expand(expansion).filter(|text| !text.is_empty())?,
                PieceContent::Unknown(_) | PieceContent::Output => return None,
            };
            if text != "[" && text.contains(SPLITTING) {
                return None;
            }
        }
        self.joined(word)
    }
}

/// Why a variable that no file sets is unknown.
pub(super) fn unset_reason(name: &str) -> String {
    format!("no file sets `${name}`, so its value comes from elsewhere")
}

/// Why a long value is not computed.
pub(super) fn too_long() -> String {
    format!("the value is longer than {MOST_VALUE} bytes")
}
