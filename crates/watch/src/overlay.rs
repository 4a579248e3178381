//! What lies over the panes: the keys, a finding with evidence and fix, an answer of `blame`.

use crate::keys::KEYS;
use crate::panes::findings;
use crate::{Now, Overlay, PANES, View};

/// Its title and its lines.
pub(crate) fn lines(overlay: &Overlay, view: &View, now: &Now, width: usize) -> (String, Vec<String>) {
    match overlay {
        Overlay::Help => ("keys".to_owned(), help(view)),
        Overlay::Fix(key) => ("finding".to_owned(), finding(key, now, width)),
        Overlay::Answer { title, text } => (title.clone(), answer(text)),
    }
}

fn help(view: &View) -> Vec<String> {
    let mut lines: Vec<String> = KEYS
        .iter()
        .map(|(key, what)| format!("{key:12} {what}"))
        .collect();
    lines.push(String::new());
    for (place, pane) in PANES.iter().enumerate() {
        let order = pane.sorts.get(view.sort(place)).copied().unwrap_or_default();
        lines.push(format!(
            "{} {:10} by {order}: {}",
            place + 1,
            pane.name,
            pane.what
        ));
    }
    lines
}

fn finding(key: &str, now: &Now, width: usize) -> Vec<String> {
    let Some(seen) = now.scene.findings.iter().find(|seen| findings::key(seen) == key) else {
        return vec!["It is not found any more.".to_owned()];
    };
    let mut lines = vec![format!(
        "[{}] {}, {}",
        report::safe(&seen.id),
        findings::level(seen.level).0,
        report::safe(&seen.layer)
    )];
    lines.extend(wrapped(&format!("{}: {}", seen.subject, seen.message), width));
    lines.push(String::new());
    for one in &seen.evidence {
        lines.extend(wrapped(&format!("seen: {one}"), width));
    }
    lines.extend(wrapped(
        &match seen.fix.as_str() {
            "" => "fix: nothing is known that mends it".to_owned(),
            fix => format!("fix: {fix}"),
        },
        width,
    ));
    lines
}

/// Text of our own that came through a pipe: its line ends are meant.
fn answer(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| report::safe(line).replace("\\\\", "\\"))
        .collect()
}

/// Words in lines of a width.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(10);
    let mut lines = vec![String::new()];
    for word in report::safe(text).split_whitespace() {
        let mut letters: Vec<char> = word.chars().collect();
        while !letters.is_empty() {
            let rest = letters.split_off(letters.len().min(width));
            let piece: String = letters.into_iter().collect();
            letters = rest;
            match lines.last_mut() {
                Some(line) if line.is_empty() => *line = piece,
                Some(line) if line.chars().count() + 1 + piece.chars().count() <= width => {
                    line.push(' ');
                    line.push_str(&piece);
                }
                _ => lines.push(piece),
            }
        }
    }
    lines
}
