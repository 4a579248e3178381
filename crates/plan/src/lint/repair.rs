//! Rewrites a boot line word by word: what no rule complains about stays as it was written.

use super::facts::Facts;
use super::line::Line;
use super::{Hit, Rule, hits};
use crate::Level;
use std::collections::{BTreeMap, BTreeSet};

/// One change of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Takes a word out.
    Drop(usize),
    /// Writes another word, or several, in the place of one.
    Set(usize, String),
    /// Adds a word at the end of the kernel's part.
    Add(String),
}

/// A repair may uncover another fault, so the rules are asked again; this often at most.
const ROUNDS: usize = 24;

/// The line with every repair that the rules offer. What they offer none for and is still an error goes.
pub(super) fn repaired(text: &str, facts: &Facts) -> String {
    // What a kernel said about a line says nothing about another line.
    let facts = Facts {
        outcome: None,
        ..facts.clone()
    };
    let mut text = text.trim().to_owned();
    for _ in 0..ROUNDS {
        let line = Line::new(&text, &facts);
        let all: Vec<(&Rule, Hit)> = hits(&line).collect();
        let mut edits: Vec<Edit> = Vec::new();
        let (mut places, mut added) = (BTreeSet::new(), BTreeSet::new());
        // What a line lacks is added to the line as repaired.
        let changes = all
            .iter()
            .any(|(_, hit)| !hit.edits.is_empty() && !only_adds(hit));
        for (_, hit) in all.iter().filter(|(_, hit)| !changes || !only_adds(hit)) {
            let conflicts = |edit: &Edit| match edit {
                Edit::Drop(place) | Edit::Set(place, _) => places.contains(place),
                Edit::Add(text) => added.contains(text.as_str()),
            };
            if hit.edits.iter().any(conflicts) {
                continue;
            }
            for edit in &hit.edits {
                match edit {
                    Edit::Drop(place) | Edit::Set(place, _) => _ = places.insert(*place),
                    Edit::Add(text) => _ = added.insert(text.as_str()),
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

/// Takes out the words that errors without a repair are about.
fn last_resort(line: &Line, all: &[(&Rule, Hit)]) -> Vec<Edit> {
    let errors = all
        .iter()
        .filter(|(rule, hit)| hit.level.unwrap_or(rule.level) == Level::Error && hit.edits.is_empty());
    let subjects: BTreeSet<&str> = errors.map(|(_, hit)| hit.subject.as_str()).collect();
    line.kernel()
        .filter(|(_, word)| subjects.contains(word.raw))
        .map(|(place, _)| Edit::Drop(place))
        .collect()
}

fn only_adds(hit: &Hit) -> bool {
    hit.edits.iter().all(|edit| matches!(edit, Edit::Add(_)))
}

fn rewrite(line: &Line, edits: &[Edit]) -> String {
    let mut changed: BTreeMap<usize, &str> = BTreeMap::new();
    let mut added: Vec<&str> = Vec::new();
    for edit in edits {
        match edit {
            Edit::Drop(place) => _ = changed.insert(*place, ""),
            Edit::Set(place, text) => _ = changed.insert(*place, text),
            Edit::Add(text) => added.push(text),
        }
    }
    let mut words: Vec<&str> = Vec::new();
    for (place, word) in line.words.iter().enumerate() {
        if place == line.ours {
            words.append(&mut added);
        }
        words.push(changed.get(&place).copied().unwrap_or(word.raw));
    }
    words.append(&mut added);
    words.retain(|word| !word.is_empty());
    words.join(" ")
}
