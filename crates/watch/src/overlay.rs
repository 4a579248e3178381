//! What lies over the panes: the keys, a finding with evidence and fix, an answer of `blame`.

use crate::keys::KEYS;
use crate::panes::findings;
use crate::{Now, Overlay, PANES, View};

/// Its title and its lines.
pub(crate) fn lines(overlay: &Overlay, view: &View, now: &Now, width: usize) -> (String, Vec<String>) {
    match overlay {
        Overlay::Help => ("keys".to_owned(), help(view, width)),
        Overlay::Fix(key) => ("finding".to_owned(), finding(key, now, width)),
        Overlay::Answer { title, text } => (title.clone(), answer(text, width)),
    }
}

fn help(view: &View, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = KEYS
        .iter()
        .map(|(key, what)| format!("{key:12} {what}"))
        .collect();
    lines.push(String::new());
    for (place, pane) in PANES.iter().enumerate() {
        let order = pane.sorts.get(view.sort(place)).copied().unwrap_or_default();
        let line = format!("{} {:10} by {order}: {}", place + 1, pane.name, pane.what);
        lines.extend(folded(&line, width, HELP_INDENT));
    }
    lines
}

/// Letters before the words of a key or a pane.
const HELP_INDENT: usize = 13;

/// Letters before what did not fit on a line of an answer.
const ANSWER_INDENT: usize = 4;

/// A line whose columns stay; what does not fit goes on below, further in.
fn folded(line: &str, width: usize, indent: usize) -> Vec<String> {
    let width = width.max(indent + 10);
    let mut rest: Vec<char> = line.chars().collect();
    let mut lines = Vec::new();
    while rest.len() > width {
        let head = rest.get(..=width).unwrap_or_default();
        // A word that is longer than a line is cut, and so is a line that begins with more room than words.
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
fn answer(text: &str, width: usize) -> Vec<String> {
    text.lines()
        .map(|line| report::safe(line).replace("\\\\", "\\"))
        .flat_map(|line| folded(&line, width, ANSWER_INDENT))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing of a line is lost where it is wider than the screen.
    #[test]
    fn a_long_line_goes_on_below() {
        let line = "CPU 1: longest run without one 4.0 ms";
        assert_eq!(folded(line, 40, 4), [line]);
        assert_eq!(
            folded(line, 35, 4),
            ["CPU 1: longest run without one 4.0", "    ms"]
        );
        assert_eq!(
            folded(&"x".repeat(30), 20, 4),
            ["x".repeat(20), format!("    {}", "x".repeat(10))]
        );
        let helped = help(&View::default(), 78);
        assert!(
            helped.iter().all(|line| line.chars().count() <= 78),
            "{helped:#?}"
        );
        let all: String = helped.concat().split_whitespace().collect();
        for pane in &PANES {
            let what: String = pane.what.split_whitespace().collect();
            assert!(all.contains(&what), "{} in {helped:#?}", pane.what);
        }
    }
}
