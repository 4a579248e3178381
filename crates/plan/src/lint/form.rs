//! Rules about the line as text: length, quotes, `--`, blanks, non-ASCII letters, repeated words.

use super::Check::{Each, EachWord, One};
use super::line::LintedLine;
use super::repair::LineEdit;
use super::torn::is_list;
use super::{LintHit, LintRule, rule};
use crate::Level::{Error, Info, Warning};
use crate::parameters::{Repeatability, parameter};
use machine::same_name;
use std::collections::BTreeMap;

pub(super) const LINE_TOO_LONG: LintRule = rule(
    "line-too-long",
    Warning,
    "the kernel keeps only a limited number of bytes of its line (COMMAND_LINE_SIZE: 2048 on x86 and arm64, 1024 on \
     arm) and drops the rest",
    "remove what is not needed, or use the kernel's bootconfig",
    One(|line| {
        let (length, limit) = (line.text.len(), line.facts.line_limit());
        let hit = || LintHit::on(format!("{length} bytes")).because(format!("{length} bytes, limit {}", limit - 1));
        (length >= limit).then(hit)
    }),
);

pub(super) const OPEN_QUOTE: LintRule = rule(
    "open-quote",
    Error,
    "a double quote that is not closed makes everything after it part of one parameter",
    "close the quote or remove it",
    Each(|line| {
        let open = line
            .words
            .iter()
            .enumerate()
            .filter(|(_, word)| word.raw.matches('"').count() % 2 == 1);
        open.map(|(place, word)| word.hit().edit(LineEdit::Set(place, word.raw.replacen('"', "", 1))))
            .collect()
    }),
);

pub(super) const BEHIND_DASHES: LintRule = rule(
    "behind-double-dash",
    Error,
    "everything after ` -- ` goes to init; the kernel does not see it",
    "write it before `--`",
    Each(|line| {
        let behind = line.words.iter().enumerate().skip(line.kernel_word_count + 1);
        behind
            .filter(|(_, word)| word.raw.contains('=') && parameter(word.name()).is_some())
            .map(|(place, word)| word.hit().drop([place]).edit(LineEdit::Add(word.raw.to_owned())))
            .collect()
    }),
);

pub(super) const NOT_ASCII: LintRule = rule(
    "not-ascii",
    Warning,
    "the kernel compares bytes, so typographic dashes, quotes and blanks copied from a document do not match",
    "type it again with plain ASCII characters",
    EachWord(|_, place, word| {
        if word.raw.is_ascii() {
            return None;
        }
        let plain: String = word.raw.chars().filter_map(plain).collect();
        let edit = plain.is_ascii().then_some(LineEdit::Set(place, plain));
        Some(word.hit().edits(edit))
    }),
);

/// The ASCII character that a look-alike stands for; `None` for an invisible one.
fn plain(letter: char) -> Option<char> {
    match letter {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
        '\u{201c}' | '\u{201d}' | '\u{201e}' => Some('"'),
        '\u{ff0c}' | '\u{201a}' => Some(','),
        '\u{a0}' | '\u{202f}' => Some(' '),
        '\u{ff1d}' => Some('='),
        '\u{200b}'..='\u{200f}' | '\u{feff}' | '\u{ad}' => None,
        other => Some(other),
    }
}

pub(super) const NO_VALUE: LintRule = rule(
    "parameter-without-value",
    Error,
    "the kernel accepts this parameter only with `=` and a list directly after it",
    "write name=list without blanks",
    Each(|line| {
        let bare = |word: &&(usize, &super::line::BootWord)| {
            // `rcu_nocbs` alone is valid since 5.17 and has its own rule.
            word.1.parameter.value.is_none() && word.1.takes_list() && !same_name("rcu_nocbs", word.1.name())
        };
        let words: Vec<(usize, &super::line::BootWord)> = line.kernel().collect();
        words
            .iter()
            .filter(bare)
            .map(|(place, word)| {
                // `isolcpus =2-3`, `isolcpus = 2-3`: the parts are joined.
                let rest: Vec<&str> = words.iter().skip(place + 1).take(2).map(|(_, word)| word.raw).collect();
                let hit = word.hit();
                match rest.as_slice() {
                    ["=", list, ..] if is_list(list) => hit
                        .edit(LineEdit::Set(*place, format!("{}={list}", word.raw)))
                        .drop([place + 1, place + 2]),
                    [list, ..] if list.strip_prefix('=').is_some_and(is_list) => hit
                        .edit(LineEdit::Set(*place, format!("{}{list}", word.raw)))
                        .drop([place + 1]),
                    // A single digit is a run level for init.
                    [list, ..] if is_list(list) && list.len() > 1 => hit
                        .edit(LineEdit::Set(*place, format!("{}={list}", word.raw)))
                        .drop([place + 1]),
                    _ => hit.drop([*place]),
                }
            })
            .collect()
    }),
);

pub(super) const DUPLICATE: LintRule = rule(
    "duplicate-parameter",
    Warning,
    "the parameter is given twice with different values, and only one of them counts",
    "keep only one",
    Each(|line| repeated(line, ValueEquality::No)),
);

pub(super) const REPEATED: LintRule = rule(
    "repeated-parameter",
    Info,
    "the same parameter is there twice, which changes nothing",
    "keep only one",
    Each(|line| repeated(line, ValueEquality::Yes)),
);

#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueEquality {
    Yes,
    No,
}

fn repeated(line: &LintedLine, same: ValueEquality) -> Vec<LintHit> {
    let mut hits = Vec::new();
    // Looked up once per name: a line may consist of thousands of words with one name.
    let mut counting = BTreeMap::new();
    for (place, word) in line.kernel() {
        let Some(row) = parameter(word.name()) else {
            continue;
        };
        // isolcpus= may be given once per flag and has its own rules.
        if row.repeats == Repeatability::Many || row.name == "isolcpus" {
            continue;
        }
        let counting = *counting.entry(row.name).or_insert_with(|| line.counting(row.name));
        let Some((_, counts)) = counting.filter(|(at, _)| *at != place) else {
            continue;
        };
        let equal = counts.parameter.value == word.parameter.value;
        if equal == (same == ValueEquality::Yes) {
            let hit = word.hit().drop([place]);
            hits.push(if equal {
                hit
            } else {
                hit.because(which_counts(line, row.repeats, counts.raw))
            });
        }
    }
    hits
}

/// The text that another occurrence counts.
fn which_counts(line: &LintedLine, repeats: Repeatability, raw: &str) -> String {
    match (repeats, line.facts.since((4, 15))) {
        (Repeatability::First, Some(true)) => {
            format!("{raw} comes first, and the kernel ignores a different list after it (\"must match\")")
        }
        (Repeatability::First, None) => {
            format!("{raw} comes first and counts; up to 4.14 the last one counts")
        }
        _ => format!("{raw} follows, and the last one counts"),
    }
}
