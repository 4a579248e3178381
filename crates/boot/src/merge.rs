//! Merges the requested words into a boot line: each is on it once afterwards. Every change is recorded word by word, so
//! that it can be undone in a file that has been edited since.

use crate::{LineWord, SlotChoice, TextEncoding};
use machine::OrderBy;
use machine::cmdline::{Parameter, same_name};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Parameters that take effect each time they occur. All others are set once, because the kernel uses
/// the last occurrence, and of `isolcpus=` and `nohz_full=` the first (`kernel/sched/isolation.c`).
const REPEATED: &[&str] = &[
    "acpi_osi",
    "clearcpuid",
    "console",
    "crashkernel",
    "dyndbg",
    "earlycon",
    "hugepages",
    "hugepagesz",
    "initrd",
    "ip",
    "memmap",
    "mem",
    "modprobe.blacklist",
    "module_blacklist",
    "netconsole",
    "pci",
    "video",
];

/// Families of such parameters: dracut's, systemd's and those of encrypted disks.
const REPEATED_FAMILIES: &[&str] = &["rd.", "systemd.", "luks."];

/// A change of one word in a slot. Without `before` the word was added, without `after` it was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    /// Which slot of the file.
    pub key: String,
    /// The former word.
    pub before: Option<String>,
    /// The new word.
    pub after: Option<String>,
}

/// A slot of a line, with the data that merging needs.
#[derive(Clone, Debug)]
pub struct MergeSlot<'a> {
    /// Its name in its file.
    pub key: &'a str,
    /// Its written text.
    pub raw: &'a str,
    /// Its quoting.
    pub writing: TextEncoding,
}

/// The result for a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeResult {
    /// Its new text.
    pub raw: String,
    /// The changes, word by word.
    pub swaps: Vec<Swap>,
}

/// Whether a parameter may occur on a line more than once.
#[must_use]
pub fn is_repeated(name: &str) -> bool {
    REPEATED.iter().any(|known| same_name(known, name))
        || REPEATED_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Adds words to a line. A word that is already there in the same form stays in place and does not become ours.
#[must_use]
pub fn merge(parts: &[MergeSlot], new_word_slot: usize, gather: SlotChoice, requested: &[String]) -> Vec<MergeResult> {
    let words: Vec<Vec<LineWord>> = parts.iter().map(|part| kernels_words(part)).collect();
    let mut changes: Vec<Vec<(Range<usize>, Option<String>)>> = vec![Vec::new(); parts.len()];
    let mut swaps: Vec<Vec<Swap>> = vec![Vec::new(); parts.len()];
    let mut added: Vec<&String> = Vec::new();
    for (at, word) in requested.iter().enumerate() {
        let name = Parameter::parse(word).name;
        if is_repeated(&name) {
            let there = words.iter().flatten().any(|other| other.text == *word);
            if !there && !added.contains(&word) {
                added.push(word);
            }
            continue;
        }
        let later = &requested[at + 1..];
        if later
            .iter()
            .any(|other| same_name(&Parameter::parse(other).name, &name))
        {
            continue;
        }
        let found = called(&words, &name);
        if let [(_, only)] = found.as_slice()
            && only.text == *word
        {
            continue;
        }
        let keeper = match gather {
            SlotChoice::InPlace => found.first().copied(),
            SlotChoice::NewWordSlot => found.iter().find(|(part, _)| *part == new_word_slot).copied(),
        };
        for (part, other) in found {
            let after = (Some((part, other)) == keeper).then(|| word.clone());
            if after.as_ref() == Some(&other.text) {
                continue;
            }
            changes[part].push((other.place.clone(), after.clone()));
            swaps[part].push(Swap {
                key: parts[part].key.to_owned(),
                before: Some(other.text.clone()),
                after,
            });
        }
        if keeper.is_none() {
            added.push(word);
        }
    }
    let places = parts.iter().zip(swaps).zip(&changes).enumerate();
    let merged = places.map(|(number, ((part, mut swaps), changes))| {
        let own_words: &[&String] = if number == new_word_slot { &added } else { &[] };
        swaps.extend(own_words.iter().map(|word| Swap {
            key: part.key.to_owned(),
            before: None,
            after: Some((*word).clone()),
        }));
        let raw = rewritten(part, changes, own_words);
        MergeResult { raw, swaps }
    });
    merged.collect()
}

/// The words with this name, with the number of their part.
fn called<'w>(words: &'w [Vec<LineWord>], name: &str) -> Vec<(usize, &'w LineWord)> {
    let all = words.iter().enumerate();
    let all = all.flat_map(|(part, words)| words.iter().map(move |word| (part, word)));
    all.filter(|(_, other)| same_name(&Parameter::parse(&other.text).name, name))
        .collect()
}

/// A line with words on it.
#[must_use]
pub fn on_line(line: &str, words: &[String]) -> String {
    let part = MergeSlot {
        key: "",
        raw: line,
        writing: TextEncoding::Plain,
    };
    let merged = merge(&[part], 0, SlotChoice::InPlace, words);
    merged.into_iter().map(|one| one.raw).collect()
}

/// Undoes our changes to a slot as far as they are still there: a word of ours that was changed since then stays.
/// Returns the text, and the words that were not found.
pub fn undo_swaps(part: &MergeSlot, swaps: &[Swap]) -> (String, Vec<String>) {
    let words = kernels_words(part);
    let mut used: Vec<bool> = vec![false; words.len()];
    let (mut changes, mut added, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for swap in swaps {
        let Some(after) = &swap.after else {
            added.extend(&swap.before);
            continue;
        };
        // Of equal words the last is ours: we appended it.
        let found = (0..words.len()).rev().find(|&at| !used[at] && words[at].text == *after);
        match found {
            Some(at) => {
                used[at] = true;
                changes.push((words[at].place.clone(), swap.before.clone()));
            }
            None => missing.push(after.clone()),
        }
    }
    // A removed word is restored only if no other value was written since then.
    let name = |word: &str| Parameter::parse(word).name;
    added.retain(|word| {
        is_repeated(&name(word))
            || !words
                .iter()
                .enumerate()
                .any(|(at, other)| !used[at] && same_name(&name(&other.text), &name(word)))
    });
    (rewritten(part, &changes, &added), missing)
}

/// The words of a slot up to the `--`; everything after it belongs to init.
fn kernels_words(part: &MergeSlot) -> Vec<LineWord> {
    let words = part.writing.words(part.raw).into_iter();
    words
        .take_while(|word| !Parameter::parse(&word.text).ends_the_kernels_part())
        .collect()
}

/// A written text with some words changed or removed, and others added after the kernel's last word.
fn rewritten(part: &MergeSlot, changes: &[(Range<usize>, Option<String>)], added: &[&String]) -> String {
    if changes.is_empty() && added.is_empty() {
        return part.raw.to_owned();
    }
    if part.writing == TextEncoding::Unquoted {
        // Without quotes there is room for only one word.
        let meant = part.writing.read(part.raw);
        let plain = MergeSlot {
            raw: &meant,
            writing: TextEncoding::Plain,
            ..part.clone()
        };
        let places = plain.writing.words(&meant);
        let written = part.writing.words(part.raw);
        let place = |old: &Range<usize>| {
            let at = written.iter().position(|word| word.place == *old)?;
            places.get(at).map(|word| word.place.clone())
        };
        let changes: Vec<_> = changes
            .iter()
            .filter_map(|(old, new)| Some((place(old)?, new.clone())))
            .collect();
        let text = rewritten(&plain, &changes, added);
        return format!("\"{}\"", TextEncoding::DoubleQuoted.write(&text));
    }
    let mut raw = part.raw.to_owned();
    let end = part
        .writing
        .words(part.raw)
        .into_iter()
        .find(|word| Parameter::parse(&word.text).ends_the_kernels_part())
        .map(|word| word.place.start);
    let mut changes = changes.to_vec();
    changes.order_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let written: Vec<String> = added.iter().map(|word| part.writing.write(word)).collect();
    let written = written.join(" ");
    if let Some(end) = end
        && !written.is_empty()
    {
        raw.insert_str(end, &format!("{written} "));
    }
    for (place, new) in changes {
        match new {
            Some(word) => raw.replace_range(place, &part.writing.write(&word)),
            None => raw.replace_range(with_blank(&raw, &place), ""),
        }
    }
    if end.is_none() && !written.is_empty() {
        let apart = raw.is_empty() || raw.ends_with([' ', '\t']);
        raw.push_str(if apart { "" } else { " " });
        raw.push_str(&written);
    }
    raw
}

/// A word with the blank before it, or with the blank after it if it is the first.
fn with_blank(raw: &str, place: &Range<usize>) -> Range<usize> {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let bytes = raw.as_bytes();
    if place.start > 0 && blank(bytes.get(place.start - 1)) {
        place.start - 1..place.end
    } else if blank(bytes.get(place.end)) {
        place.start..place.end + 1
    } else {
        place.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        machine::cmdline::words(text).map(str::to_owned).collect()
    }

    fn part(raw: &str, writing: TextEncoding) -> MergeSlot<'_> {
        MergeSlot { key: "k", raw, writing }
    }

    #[test]
    fn each_word_is_on_the_line_once() {
        for (raw, wanted, expected) in [
            ("", "a=1", "a=1"),
            ("quiet  ", "a=1", "quiet  a=1"),
            ("isolcpus=1 quiet", "isolcpus=1-2", "isolcpus=1-2 quiet"),
            ("isolcpus=1 x   isolcpus=2 y", "isolcpus=3", "isolcpus=3 x   y"),
            ("rcu-nocbs=1", "rcu_nocbs=1", "rcu_nocbs=1"),
            (
                "console=tty0 q",
                "console=ttyS0 console=tty0",
                "console=tty0 q console=ttyS0",
            ),
            ("q -- single", "a=1 b", "q a=1 b -- single"),
            ("a=1 q", "a=1", "a=1 q"),
            ("a=1 a=2", "a=2", "a=2"),
            ("x", "a=1 a=2", "x a=2"),
        ] {
            let merged = merge(
                &[part(raw, TextEncoding::Plain)],
                0,
                SlotChoice::InPlace,
                &words(wanted),
            );
            assert_eq!(merged[0].raw, expected, "{raw:?} + {wanted:?}");
            let (back, missing) = undo_swaps(&part(&merged[0].raw, TextEncoding::Plain), &merged[0].swaps);
            assert!(missing.is_empty());
            let (mut back, mut first) = (words(&back), words(raw));
            // A removed word is restored at the end.
            back.sort();
            first.sort();
            assert_eq!(back, first);
            let again = merge(
                &[part(&merged[0].raw, TextEncoding::Plain)],
                0,
                SlotChoice::InPlace,
                &words(wanted),
            );
            assert_eq!(again[0].raw, expected, "a second time changes nothing");
        }
    }

    #[test]
    fn an_unquoted_value_gets_quotes() {
        for (raw, expected) in [("", "\"a=1\""), ("quiet", "\"quiet a=1\""), ("a=0", "\"a=1\"")] {
            let merged = merge(
                &[part(raw, TextEncoding::Unquoted)],
                0,
                SlotChoice::InPlace,
                &words("a=1"),
            );
            assert_eq!(merged[0].raw, expected);
        }
    }

    #[test]
    fn words_changed_since_are_kept_and_reported() {
        let swaps = &merge(
            &[part("q a=0", TextEncoding::Plain)],
            0,
            SlotChoice::InPlace,
            &words("a=1 b=1"),
        )[0]
        .swaps;
        let (back, missing) = undo_swaps(&part("new q a=1 b=2 more", TextEncoding::Plain), swaps);
        assert_eq!((back.as_str(), missing), ("new q a=0 b=2 more", vec!["b=1".to_owned()]));
    }

    #[test]
    fn words_in_the_own_file_are_removed_from_other_files() {
        let parts = [
            part("isolcpus=1 q", TextEncoding::DoubleQuoted),
            part("$X", TextEncoding::DoubleQuoted),
        ];
        let merged = merge(&parts, 1, SlotChoice::NewWordSlot, &words("isolcpus=1-2"));
        assert_eq!(
            (merged[0].raw.as_str(), merged[1].raw.as_str()),
            ("q", "$X isolcpus=1-2")
        );
    }
}
