//! Formats the overlays over the panes: the keys, a finding with evidence and fix, a result of `blame`.

use crate::keys::KEYS;
use crate::panes::findings;
use crate::{DisplayData, Overlay, PANES, ViewState};

/// Its title and lines.
pub(crate) fn lines(overlay: &Overlay, view: &ViewState, now: &DisplayData, width: usize) -> (String, Vec<String>) {
    match overlay {
        Overlay::Help => ("keys".to_owned(), help(view, width)),
        Overlay::Fix(key) => ("finding".to_owned(), finding(key, now, width)),
        Overlay::Answer { title, text } => (title.clone(), answer(text, width)),
    }
}

fn help(view: &ViewState, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = KEYS.iter().map(|(key, what)| format!("{key:12} {what}")).collect();
    lines.push(String::new());
    for (place, pane) in PANES.iter().enumerate() {
        let order = pane.sorts.get(view.sort(place)).copied().unwrap_or_default();
        let line = format!("{} {:10} by {order}: {}", place + 1, pane.name, pane.what);
        lines.extend(folded(&line, width, HELP_INDENT));
    }
    lines
}

/// The indent of the description of a key or a pane.
const HELP_INDENT: usize = 13;

/// The indent of a wrapped line of a result.
const ANSWER_INDENT: usize = 4;

/// Wraps a line and keeps its columns; the rest continues on the next line, indented.
fn folded(line: &str, width: usize, indent: usize) -> Vec<String> {
    let width = width.max(indent + 10);
    let mut rest: Vec<char> = line.chars().collect();
    let mut lines = Vec::new();
    while rest.len() > width {
        let head = rest.get(..=width).unwrap_or_default();
        // A word longer than a line is split, and so is a line without a blank after the indent.
        let cut = head
            .iter()
            .rposition(|letter| *letter == ' ')
            .filter(|cut| *cut > indent && *cut <= width)
            .unwrap_or(width);
        let tail = rest.split_off(cut);
        lines.push(rest.into_iter().collect::<String>().trim_end().to_owned());
        rest = std::iter::repeat_n(' ', indent)
            .chain(tail.into_iter().skip_while(|letter| *letter == ' '))
            .collect();
    }
    lines.push(rest.into_iter().collect());
    lines
}

fn finding(key: &str, now: &DisplayData, width: usize) -> Vec<String> {
    let Some(seen) = now.scene.findings.iter().find(|seen| findings::key(seen) == key) else {
        return vec!["It is no longer found.".to_owned()];
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
            "" => "fix: no repair is known".to_owned(),
            fix => format!("fix: {fix}"),
        },
        width,
    ));
    lines
}

/// Our own output through a pipe: its line ends are kept.
fn answer(text: &str, width: usize) -> Vec<String> {
    text.lines()
        .map(|line| report::safe(line).replace("\\\\", "\\"))
        .flat_map(|line| folded(&line, width, ANSWER_INDENT))
        .collect()
}

/// Wraps words to a width.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Text wider than the screen is not lost.
    #[test]
    fn a_long_line_is_wrapped() {
        let line = "CPU 1: longest run without one 4.0 ms";
        assert_eq!(folded(line, 40, 4), [line]);
        assert_eq!(folded(line, 35, 4), ["CPU 1: longest run without one 4.0", "    ms"]);
        assert_eq!(
            folded(&"x".repeat(30), 20, 4),
            ["x".repeat(20), format!("    {}", "x".repeat(10))]
        );
        let helped = help(&ViewState::default(), 78);
        assert!(helped.iter().all(|line| line.chars().count() <= 78), "{helped:#?}");
        let all: String = helped.concat().split_whitespace().collect();
        for pane in &PANES {
            let what: String = pane.what.split_whitespace().collect();
            assert!(all.contains(&what), "{} in {helped:#?}", pane.what);
        }
    }
}
