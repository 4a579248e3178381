//! Compares printed output with a documented one, in which `...` stands for any number of lines.

/// Stands for lines that are left out.
const LEFT_OUT: &str = "...";

/// A documented line that was not printed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// Its place in the documented output, from 0.
    pub line: usize,
    /// What was expected, and what was printed.
    pub what: String,
}

/// The first documented line that was not printed where the document shows it. Lines that are not separated by `...`
/// follow each other in both; volatile values have the same shape.
pub(super) fn difference(documented: &[&str], printed: &str) -> Option<Difference> {
    let expected: Vec<String> = documented.iter().map(|line| shape(line)).collect();
    let printed: Vec<String> = printed.trim_end().lines().map(shape).collect();
    let (mut next, mut place) = (0, 0);
    for part in expected.split(|line| line == LEFT_OUT) {
        let is_first = place == 0;
        let is_last = place + part.len() == expected.len();
        let starts = match (is_first, is_last) {
            (true, _) => next..=next,
            (_, true) if !part.is_empty() => {
                let from = printed.len().saturating_sub(part.len()).max(next);
                from..=from
            }
            _ => next..=printed.len(),
        };
        let longest = starts.map(|start| (common(part, printed.get(start..).unwrap_or_default()), start));
        // The first of several equal ones.
        let best = longest.reduce(|best, other| if other.0 > best.0 { other } else { best });
        let (length, start) = best.unwrap_or((0, next));
        if let Some(missing) = part.get(length) {
            return Some(not_printed(place + length, missing, printed.get(start + length)));
        }
        next = start + length;
        place += part.len() + 1;
    }
    let ends_open = expected.last().is_some_and(|line| line == LEFT_OUT);
    match printed.get(next) {
        Some(line) if !ends_open => Some(Difference {
            line: expected.len(),
            what: format!("not shown, but printed: {line:?}"),
        }),
        _ => None,
    }
}

/// The first heading of an output of another machine that was not printed. Headings are the lines without a number.
pub(super) fn missing_heading(documented: &[&str], printed: &str) -> Option<Difference> {
    let is_heading =
        |line: &str| line != LEFT_OUT && !line.is_empty() && !line.contains(|letter: char| letter.is_ascii_digit());
    let mut rest = printed.lines();
    let mut headings = documented
        .iter()
        .enumerate()
        .filter(|(_, line)| is_heading(line))
        .peekable();
    if headings.peek().is_none() {
        return Some(Difference {
            line: 0,
            what: "shows no heading".into(),
        });
    }
    let (line, missing) = headings.find(|(_, heading)| !rest.any(|line| line == **heading))?;
    Some(not_printed(line, missing, None))
}

fn not_printed(line: usize, missing: &str, instead: Option<&String>) -> Difference {
    let what = match instead {
        Some(printed) => format!("shown: {missing:?}, printed: {printed:?}"),
        None => format!("shown, but not printed: {missing:?}"),
    };
    Difference { line, what }
}

/// How many lines are equal at the start.
fn common(part: &[String], printed: &[String]) -> usize {
    part.iter().zip(printed).take_while(|(one, other)| one == other).count()
}

/// The line with volatile values replaced. These are:
/// - a time of day,
/// - how long `check` measured, after `measured for`,
/// - the number before `notes`,
/// - the mark of CPUs on which a task happens to run, and its legend.
fn shape(line: &str) -> String {
    let line = line.trim_end().replace("* a task runs or waits here   ", "");
    let line = match line.trim_start().starts_with("L3 ") {
        true => line.replace('*', "").split_whitespace().collect::<Vec<_>>().join(" "),
        false => line,
    };
    let words: Vec<&str> = line.trim_end().split(' ').collect();
    let word = |place: usize| words.get(place).copied().unwrap_or_default();
    let shapes = words.iter().enumerate().map(|(place, text)| {
        let is_measured = place > 1 && (word(place - 2), word(place - 1)) == ("measured", "for");
        let is_counted = word(place + 1).starts_with("notes");
        match text {
            text if is_time(text) => "TIME",
            text if (is_measured || is_counted) && is_number(text) => "N",
            text => text,
        }
    });
    shapes.collect::<Vec<_>>().join(" ")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Whether a word is a time such as `2026-11-26T12:10:47Z`.
fn is_time(text: &str) -> bool {
    let digits: String = text
        .chars()
        .map(|letter| if letter.is_ascii_digit() { '0' } else { letter })
        .collect();
    digits == "0000-00-00T00:00:00Z"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(documented: &[&str], printed: &str) -> Option<usize> {
        difference(documented, printed).map(|found| found.line)
    }

    #[test]
    fn lines_follow_each_other_unless_some_are_left_out() {
        assert_eq!(place(&["a", "b"], "a\nb\n"), None);
        assert_eq!(place(&["a", "c"], "a\nb\nc\n"), Some(1));
        assert_eq!(place(&["a", "...", "c"], "a\nb\nc\n"), None);
        assert_eq!(place(&["a", "...", "b", "c"], "a\nb\nx\nb\nc\n"), None);
        assert_eq!(place(&["a", "...", "c", "...", "b"], "a\nb\nc\n"), Some(4));
        assert_eq!(place(&["...", "c"], "a\nb\nc\n"), None);
        assert_eq!(place(&["...", "b"], "a\nb\nc\n"), Some(1));
        assert_eq!(place(&["a", "..."], "a\nb\nc\n"), None);
    }

    #[test]
    fn a_line_that_is_not_shown_is_a_difference() {
        assert_eq!(place(&["a"], "a\nb\n"), Some(1));
        assert_eq!(place(&["b"], "a\nb\n"), Some(0));
        assert_eq!(place(&["a"], ""), Some(0));
        let found = difference(&["a", "...", "x 3"], "a\nb\nx 2\n").unwrap();
        assert_eq!(
            (found.line, found.what.as_str()),
            (2, "shown: \"x 3\", printed: \"x 2\"")
        );
    }

    #[test]
    fn only_volatile_values_may_differ() {
        let same = |one: &str, other: &str| shape(one) == shape(other);
        assert!(same(
            "measured for 1.3 s (0 errors, 10 notes).",
            "measured for 1.0 s (0 errors, 9 notes)."
        ));
        assert!(same("since 2026-11-26T12:10:47Z", "since 2027-01-01T00:00:00Z"));
        assert!(same("  L3 16 MB   0*^ 1", "  L3 16 MB   0^ 1*"));
        assert!(same("  * a task runs or waits here   ^ lowest", "  ^ lowest"));
        assert!(!same("measured for 1.0 s (0 errors", "measured for 1.0 s (1 errors"));
        assert!(!same("irq affinity   17 changes", "irq affinity   15 changes"));
        assert!(!same("undone in 300 s", "undone in 30 s"));
    }

    #[test]
    fn headings_of_another_machine_are_printed_in_their_order() {
        let documented = [
            "  share  who",
            "  7 %  BLOCK",
            "...",
            "  What would stop it:",
            "  7 %  x",
        ];
        assert_eq!(
            missing_heading(&documented, "CPU 1\n  share  who\n 9\n  What would stop it:\n"),
            None
        );
        let found = missing_heading(&documented, "  What would stop it:\n  share  who\n").unwrap();
        assert_eq!(found.line, 3);
        assert!(missing_heading(&["7"], "7").is_some());
    }
}
