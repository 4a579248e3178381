//! Rewrites a boot line word by word; words without findings stay as written.

use super::facts::KernelFacts;
use super::line::LintedLine;
use super::{LintHit, LintRule, hits};
use crate::Level;
use machine::CpuSet;
use std::collections::{BTreeMap, BTreeSet};

/// One change of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LineEdit {
    /// Removes a word.
    Drop(usize),
    /// Replaces a word with another one, or with several.
    Set(usize, String),
    /// Adds a word at the end of the kernel's part.
    Add(String),
}

impl LineEdit {
    /// Gives a parameter another list; drops it if no CPU is left.
    pub fn list(place: usize, name: &str, cpus: &CpuSet) -> LineEdit {
        match cpus.is_empty() {
            true => LineEdit::Drop(place),
            false => LineEdit::Set(place, format!("{name}={cpus}")),
        }
    }
}

/// A repair may expose another fault, so the rules run again, at most this often.
const ROUNDS: usize = 24;

/// The line with every repair that the rules offer. A word with an error and no repair is removed.
pub(super) fn repaired(text: &str, facts: &KernelFacts) -> String {
    // What a kernel reported about a line says nothing about another line.
    let facts = KernelFacts {
        outcome: None,
        ..facts.clone()
    };
    let mut text = text.trim().to_owned();
    for _ in 0..ROUNDS {
        let line = LintedLine::new(&text, &facts);
        let all: Vec<(&LintRule, LintHit)> = hits(&line).collect();
        let mut edits: Vec<LineEdit> = Vec::new();
        let (mut places, mut added) = (BTreeSet::new(), BTreeSet::new());
        // Missing words are added to the repaired line.
        let changes = all.iter().any(|(_, hit)| !hit.edits.is_empty() && !only_adds(hit));
        for (_, hit) in all.iter().filter(|(_, hit)| !changes || !only_adds(hit)) {
            let conflicts = |edit: &LineEdit| match edit {
                LineEdit::Drop(place) | LineEdit::Set(place, _) => places.contains(place),
                LineEdit::Add(text) => added.contains(text.as_str()),
            };
            if hit.edits.iter().any(conflicts) {
                continue;
            }
            for edit in &hit.edits {
                match edit {
                    LineEdit::Drop(place) | LineEdit::Set(place, _) => _ = places.insert(*place),
                    LineEdit::Add(text) => _ = added.insert(text.as_str()),
                }
                edits.push(edit.clone());
            }
        }
        if edits.is_empty() {
            edits = last_resort(&line, &all);
        }
        if edits.is_empty() {
            break;
        }
        let next = rewrite(&line, &edits);
        if next == text {
            break;
        }
        text = next;
    }
    text
}

/// Removes the words with errors that have no repair.
fn last_resort(line: &LintedLine, all: &[(&LintRule, LintHit)]) -> Vec<LineEdit> {
    let errors = all
        .iter()
        .filter(|(rule, hit)| hit.level.unwrap_or(rule.level) == Level::Error && hit.edits.is_empty());
    let subjects: BTreeSet<&str> = errors.map(|(_, hit)| hit.subject.as_str()).collect();
    line.kernel()
        .filter(|(_, word)| subjects.contains(word.raw))
        .map(|(place, _)| LineEdit::Drop(place))
        .collect()
}

fn only_adds(hit: &LintHit) -> bool {
    hit.edits.iter().all(|edit| matches!(edit, LineEdit::Add(_)))
}

fn rewrite(line: &LintedLine, edits: &[LineEdit]) -> String {
    let mut changed: BTreeMap<usize, &str> = BTreeMap::new();
    let mut added: Vec<&str> = Vec::new();
    for edit in edits {
        match edit {
            LineEdit::Drop(place) => _ = changed.insert(*place, ""),
            LineEdit::Set(place, text) => _ = changed.insert(*place, text),
            LineEdit::Add(text) => added.push(text),
        }
    }
    let mut words: Vec<&str> = Vec::new();
    for (place, word) in line.words.iter().enumerate() {
        if place == line.kernel_word_count {
            words.append(&mut added);
        }
        words.push(changed.get(&place).copied().unwrap_or(word.raw));
    }
    words.append(&mut added);
    words.retain(|word| !word.is_empty());
    words.join(" ")
}
