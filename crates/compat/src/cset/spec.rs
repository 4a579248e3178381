//! Parses CPUSPEC, MEMSPEC and PIDSPEC: plain lists of numbers and ranges.

use super::CsetError;
use machine::{CpuId, CpuSet};
use std::collections::BTreeSet;

/// A CPUSPEC on a machine whose highest CPU is `last`.
///
/// # Errors
/// Characters other than digits, commas and dashes, invalid groups, CPUs that do not exist.
pub fn cpus(spec: &str, last: u32) -> Result<CpuSet, CsetError> {
    let set = numbers("CPUSPEC", spec)?;
    match set.last() {
        Some(CpuId(highest)) if highest > last => Err(CsetError::failed(format!(
            "CPUSPEC \"{spec}\" specifies higher max({highest}) than available({last})"
        ))),
        _ => Ok(set),
    }
}

/// A MEMSPEC.
///
/// # Errors
/// As for [`cpus`]; the kernel checks whether the nodes exist.
pub fn mems(spec: &str) -> Result<CpuSet, CsetError> {
    numbers("MEMSPEC", spec)
}

fn numbers(what: &str, spec: &str) -> Result<CpuSet, CsetError> {
    let is_plain = |letter: &char| letter.is_ascii_digit() || matches!(letter, ',' | '-');
    if let Some(letter) = spec.chars().find(|letter| !is_plain(letter)) {
        return Err(CsetError::failed(format!(
            "{what} \"{spec}\" contains invalid charaters: {letter}"
        )));
    }
    let mut all = CpuSet::new();
    for group in spec.split(',') {
        let bad = || CsetError::failed(format!("{what} \"{spec}\" has bad group \"{group}\""));
        all = all.or(&CpuSet::parse_list(group).map_err(|_| bad())?);
    }
    Ok(all)
}

/// The PIDs in a PIDSPEC: all single numbers, and from each range those that exist.
///
/// # Errors
/// A group that is not a number or a range of numbers.
pub fn pids(spec: &str, existing: &BTreeSet<u32>) -> Result<Vec<u32>, CsetError> {
    let mut pids = Vec::new();
    for group in spec.split(',').filter(|group| !group.is_empty()) {
        let bad = || CsetError::failed(format!("pidspec={spec} has bad group={group}"));
        let number = |text: &str| text.parse::<u32>().map_err(|_| bad());
        match group.split_once('-') {
            None => pids.push(number(group)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                // `BTreeSet::range` panics on an invalid range.
                if first <= last {
                    pids.extend(existing.range(first..=last));
                }
            }
        }
    }
    Ok(pids)
}

/// Whether a word can only be a PIDSPEC.
pub fn is_pids(word: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_digit() || matches!(letter, ',' | '-');
    word.starts_with(|first: char| first.is_ascii_digit()) && word.chars().all(is_plain)
}

/// CPUs or nodes as a hexadecimal mask without leading zeros.
pub fn hex(set: &CpuSet) -> String {
    let mask = set.to_mask(set.last().map_or(1, |last| last.0 + 1));
    let short = mask.trim_start_matches(['0', ',']);
    if short.is_empty() { "0" } else { short }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_of(refused: CsetError) -> String {
        match refused {
            CsetError::Failed { what, .. } => what,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn cpu_lists_are_parsed_or_refused_as_by_cset() {
        assert_eq!(cpus("0,3,5-7", 7).unwrap().to_string(), "0,3,5-7");
        let table = [
            ("a", "CPUSPEC \"a\" contains invalid charaters: a"),
            ("1,x5", "CPUSPEC \"1,x5\" contains invalid charaters: x"),
            ("0-15:2", "CPUSPEC \"0-15:2\" contains invalid charaters: :"),
            ("99", "CPUSPEC \"99\" specifies higher max(99) than available(7)"),
            ("1-", "CPUSPEC \"1-\" has bad group \"1-\""),
            ("3-1", "CPUSPEC \"3-1\" has bad group \"3-1\""),
        ];
        for (spec, words) in table {
            assert_eq!(message_of(cpus(spec, 7).unwrap_err()), words);
        }
        assert_eq!(
            message_of(mems("z").unwrap_err()),
            "MEMSPEC \"z\" contains invalid charaters: z"
        );
    }

    #[test]
    fn cpu_masks_are_printed_in_groups_of_32_bits() {
        for (list, mask) in [
            ("2-3", "c"),
            ("0", "1"),
            ("0-40", "1ff,ffffffff"),
            ("", "0"),
            ("63", "80000000,00000000"),
        ] {
            assert_eq!(hex(&CpuSet::parse_list(list).unwrap()), mask);
        }
    }

    #[test]
    fn task_numbers_and_ranges_are_parsed() {
        let odd: BTreeSet<u32> = (1..1000).step_by(2).collect();
        assert_eq!(pids("1,2,600-605", &odd).unwrap(), [1, 2, 601, 603, 605]);
        assert_eq!(pids("5-1", &odd).unwrap(), [0; 0]);
        assert_eq!(pids("997-4294967295,7", &odd).unwrap(), [997, 999, 7]);
        assert_eq!(
            message_of(pids("1-x", &odd).unwrap_err()),
            "pidspec=1-x has bad group=1-x"
        );
        assert!(is_pids("1,2-3") && !is_pids("bash") && !is_pids("1x") && !is_pids(""));
    }
}
