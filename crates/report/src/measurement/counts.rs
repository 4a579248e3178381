//! What was counted besides the samples, and what could not be.

use crate::style::{grouped, safe};
use crate::units::time;
use measure::{Count, ThreadResult};

/// At most two lines without indent: the numbers, and what has none.
pub(super) fn lines(thread: &ThreadResult) -> Vec<String> {
    let known: Vec<String> = thread.counts.iter().filter_map(one).collect();
    let unknown: Vec<String> = thread
        .counts
        .iter()
        .filter_map(|count| Some(format!("{}: {}", name(count), safe(count.why.as_deref()?))))
        .collect();
    let line = |what: &str, parts: &[String], between: &str| {
        (!parts.is_empty()).then(|| format!("{what} {}", parts.join(between)))
    };
    [line("counted:", &known, ", "), line("not known:", &unknown, "; ")]
        .into_iter()
        .flatten()
        .collect()
}

fn one(count: &Count) -> Option<String> {
    let number = count.count?;
    Some(match count.unit.as_str() {
        "ns" => format!("{} {}", name(count), time(number)),
        _ => format!("{} {}", name(count), grouped(number)),
    })
}

fn name(count: &Count) -> String {
    safe(&count.name).replace('_', " ")
}
