//! Rules about lists and names split by a blank, as a line wrap or an editor leaves them: the kernel parses each part
//! as a separate word (`lib/cmdline.c`, `next_arg`).
//!
//! A part is joined if exactly one reading makes sense. Otherwise the stray part is removed, which does not change what
//! the kernel does with the line.

use super::Check::Each;
use super::line::{BootWord, LISTS, LintedLine, parse_cpus};
use super::repair::LineEdit;
use super::{LintHit, LintRule, rule};
use crate::Level::Error;
use machine::{CpuId, same_name};

pub(super) const BLANK_IN_LIST: LintRule = rule(
    "blank-in-list",
    Error,
    "a blank ends the parameter: the rest is a separate parameter, and those CPUs are not in the list",
    "write the list without blanks",
    Each(|line| {
        torn(line)
            .filter_map(|(place, joined)| {
                let (word, stray) = (line.words.get(place)?, line.words.get(place + 1)?);
                let hit = LintHit::on(format!("{} {}", word.raw, stray.raw)).drop([place + 1]);
                Some(match joined {
                    Some(joined) => hit.edit(LineEdit::Set(place, joined)),
                    None => hit.because("it is unclear which CPUs are meant"),
                })
            })
            .collect()
    }),
);

pub(super) const BLANK_IN_NAME: LintRule = rule(
    "blank-in-name",
    Error,
    "a blank ends the parameter: the kernel has neither of the two parameters, and they isolate nothing",
    "write the name without blanks",
    Each(|line| {
        let words: Vec<_> = line.kernel().collect();
        words
            .windows(2)
            .filter_map(|pair| match pair {
                [(at, first), (next, second)] => {
                    let name = torn_name(first, second)?;
                    Some(
                        LintHit::on(format!("{} {}", first.raw, second.raw))
                            .because(format!("together they are {name}="))
                            .edit(LineEdit::Set(*at, format!("{name}={}", second.value())))
                            .drop([*next]),
                    )
                }
                _ => None,
            })
            .collect()
    }),
);

/// Each split list: the index of its parameter, and the word joined with the next one, if unambiguous.
pub(super) fn torn<'a>(line: &'a LintedLine) -> impl Iterator<Item = (usize, Option<String>)> + 'a {
    line.kernel().filter_map(move |(place, word)| {
        let next = line
            .words
            .get(place + 1)
            .filter(|_| place + 1 < line.kernel_word_count)?;
        if !word.takes_list() || word.parameter.value.is_none() {
            return None;
        }
        let flagged = same_name(word.name(), "isolcpus") && begins_with_flag(next.raw);
        if flagged {
            return joined_flags(word, next.raw).map(|joined| (place, Some(joined)));
        }
        is_stray(next.raw, word).then(|| (place, joined(line, word, next.raw)))
    })
}

/// Whether a word is the rest of a list. No parameter starts with a digit, a comma or a dash. Single digits are run
/// levels for init, unless the list before them is incomplete.
fn is_stray(text: &str, before: &BootWord) -> bool {
    let runlevel = text.len() == 1 && text.starts_with(|first: char| ('0'..='6').contains(&first));
    is_part_of_list(text) && (!runlevel || is_open(before))
}

/// Digits, `N` and list punctuation, with at least one digit or `N`.
fn is_part_of_list(text: &str) -> bool {
    let has_cpu = text.bytes().any(|byte| byte.is_ascii_digit() || byte == b'N');
    has_cpu
        && !text.starts_with(':')
        && !text.starts_with('/')
        && text
            .split([',', '-', ':', '/'])
            .all(|part| part.is_empty() || part == "N" || part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a list is incomplete at its end.
fn is_open(word: &BootWord) -> bool {
    word.raw.ends_with([',', '-', '='])
}

fn begins_with_flag(text: &str) -> bool {
    text.split_once(',')
        .is_some_and(|(flag, _)| matches!(flag, "domain" | "managed_irq" | "nohz"))
}

/// `isolcpus=domain, managed_irq,2-3`, also without the first comma.
fn joined_flags(word: &BootWord, rest: &str) -> Option<String> {
    let mut parts = word.value().trim_end_matches(',').split(',');
    let only_flags = word.value().is_empty() || parts.all(|part| matches!(part, "domain" | "managed_irq" | "nohz"));
    let comma = if is_open(word) { "" } else { "," };
    only_flags.then(|| format!("{}{comma}{rest}", word.raw))
}

/// Whether a word is the first part of a split name.
pub(super) fn begins_torn_name(line: &LintedLine, place: usize) -> bool {
    let second = line.words.get(place + 1).filter(|_| place + 1 < line.kernel_word_count);
    let first = line.words.get(place);
    first
        .zip(second)
        .is_some_and(|(first, second)| torn_name(first, second).is_some())
}

/// The word with the rest of its list: directly if one of both is incomplete, else by the only valid reading.
fn joined(line: &LintedLine, word: &BootWord, rest: &str) -> Option<String> {
    let tight = format!("{}{rest}", word.raw);
    if is_open(word) || rest.starts_with(',') {
        return Some(tight);
    }
    let spaced = format!("{},{rest}", word.raw);
    let mut readings = [tight, spaced].into_iter().filter(|reading| is_in_order(line, reading));
    readings.next().filter(|_| readings.next().is_none())
}

/// Whether a list parses, is ascending without overlap, and names only CPUs of the machine.
fn is_in_order(line: &LintedLine, word: &str) -> bool {
    let value = word.split_once('=').map_or("", |(_, value)| value);
    let list: Vec<&str> = value
        .split(',')
        .filter(|part| !part.starts_with(|first: char| first.is_ascii_lowercase()))
        .collect();
    let mut end: Option<CpuId> = None;
    list.iter().all(|part| {
        let Some(cpus) = parse_cpus(part, line.facts).ok().filter(|cpus| !cpus.is_empty()) else {
            return false;
        };
        let beyond = line
            .facts
            .possible
            .as_ref()
            .is_some_and(|possible| !cpus.is_subset(possible));
        let behind = end < cpus.first();
        end = cpus.last();
        behind && !beyond
    })
}

/// The list parameter whose name two words form together: `nohz _full=2-3`.
fn torn_name(first: &BootWord, second: &BootWord) -> Option<&'static str> {
    if first.parameter.value.is_some() || first.takes_list() || second.takes_list() {
        return None;
    }
    second.parameter.value.as_ref()?;
    let plain = |text: &str| text.replace(['-', '_'], "");
    let name = plain(&format!("{}{}", first.name(), second.name()));
    LISTS.iter().copied().find(|known| plain(known) == name)
}

/// Whether a text is a list that starts with a number.
pub(super) fn is_list(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && is_part_of_list(text)
}
