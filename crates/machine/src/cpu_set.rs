//! Represents sets of CPUs in the kernel's notations: lists (`0-3,8,0-31:2/8`) and hexadecimal masks (`ff,ffffffff`).
//!
//! A set knows nothing about the host: the width that `N`, `all` and mask printing need is an argument.

use crate::{CpuId, ParseError, units};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Borrow;
use std::fmt;

/// A set of CPU numbers. Prints itself as a kernel list (`0-2,5`; empty prints nothing).
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    // Invariant: neither the first nor the last word is zero, and an empty set skips none, so that equal sets are equal. A set
    // of one CPU takes one word, because a machine has a set for each core.
    words: Vec<u64>,
    /// The number of zero words before them.
    skipped: usize,
}

impl CpuSet {
    /// The largest CPU number that we accept: far above `CONFIG_NR_CPUS` of any distribution (8192), low enough that a
    /// malicious list cannot exhaust memory.
    pub const MAX_CPU: u32 = units::MAX_CPU;

    /// The empty set.
    #[must_use]
    pub const fn new() -> CpuSet {
        CpuSet {
            words: Vec::new(),
            skipped: 0,
        }
    }

    /// `first..=last`; empty when reversed.
    #[must_use]
    pub fn range(first: u32, last: u32) -> CpuSet {
        let mut set = CpuSet::new();
        set.insert_range(first, last.min(CpuSet::MAX_CPU));
        set
    }

    /// Sets the members from words: CPU `n` is bit `n % 64` of word `n / 64`, as in the affinity system calls. The
    /// existing allocation is reused.
    pub fn set_words(&mut self, words: &[u64]) {
        let is_used = |word: &u64| *word != 0;
        let end = words.iter().rposition(is_used).map_or(0, |last| last + 1);
        self.skipped = words.iter().position(is_used).unwrap_or(0);
        self.words.clear();
        self.words.extend_from_slice(&words[self.skipped..end]);
    }

    /// Parses the kernel's list grammar (`lib/bitmap-str.c`, `bitmap_parselist`): numbers, ranges, and groups
    /// `first-last:used/group`. It also accepts `first-last:2` for every second CPU, which the kernel refuses; we never print
    /// that form. White space around commas and at the ends is accepted, and so are the empty text and the kernel's `(null)`.
    /// The kernel also skips repeated commas; here they are errors, because they usually mean a missing number.
    ///
    /// # Errors
    /// Text that is not a list, a reversed range, a used count of 0 or above its group, a number above
    /// [`CpuSet::MAX_CPU`]. `N` and `all` need [`CpuSet::parse_list_of`].
    pub fn parse_list(text: &str) -> Result<CpuSet, ParseError> {
        parse_list(text, None)
    }

    /// As [`CpuSet::parse_list`]; `N` is the last of `possible` and `all` is `possible` (5.12 and later).
    ///
    /// # Errors
    /// As [`CpuSet::parse_list`].
    pub fn parse_list_of(text: &str, possible: &CpuSet) -> Result<CpuSet, ParseError> {
        parse_list(text, Some(possible))
    }

    /// Parses a mask: hexadecimal, with or without `0x`, in comma-separated groups of up to 32 bits.
    ///
    /// # Errors
    /// Text that is not a mask, or a bit above [`CpuSet::MAX_CPU`].
    pub fn parse_mask(text: &str) -> Result<CpuSet, ParseError> {
        let expected = "a CPU mask";
        let body = text.trim();
        let body = body
            .strip_prefix("0x")
            .or_else(|| body.strip_prefix("0X"))
            .unwrap_or(body);
        let mut set = CpuSet::new();
        let mut low_bit = 0_u32;
        let groups: Vec<&str> = body.split(',').collect();
        let lone = groups.len() == 1;
        for (place, group) in groups.iter().rev().enumerate() {
            let is_top = place + 1 == groups.len();
            if group.is_empty() || (!lone && (group.len() > 8 || (!is_top && group.len() != 8))) {
                return Err(parse_error(
                    text,
                    expected,
                    "groups between commas have 8 digits, the first 1 to 8",
                ));
            }
            for (digit_place, digit) in group.chars().rev().enumerate() {
                let Some(value) = digit.to_digit(16) else {
                    return Err(parse_error(
                        text,
                        expected,
                        "it contains a character that is not hexadecimal",
                    ));
                };
                for bit in 0..4 {
                    if value & (1 << bit) != 0 {
                        let cpu = low_bit + u32::try_from(digit_place).unwrap_or(u32::MAX / 8) * 4 + bit;
                        if cpu > CpuSet::MAX_CPU {
                            return Err(parse_error(text, expected, "it names a CPU above 65535"));
                        }
                        set.insert(CpuId(cpu));
                    }
                }
            }
            low_bit += 32;
        }
        Ok(set)
    }

    /// The mask as the kernel prints it on a machine with `width` CPUs: all groups, with 8 digits each.
    #[must_use]
    pub fn to_mask(&self, width: u32) -> String {
        let top = self.last().map_or(0, |cpu| cpu.0 + 1).max(width).max(1);
        let groups = top.div_ceil(32);
        let mut text = String::new();
        for group in (0..groups).rev() {
            let word = self.word(group as usize / 2);
            let bits = (word >> (group % 2 * 32)) as u32;
            if group + 1 == groups {
                // The kernel prints only as many digits as the top group has CPUs.
                let digits = ((top - 1) % 32 / 4 + 1) as usize;
                text.push_str(&format!("{bits:0digits$x}"));
            } else {
                text.push_str(&format!(",{bits:08x}"));
            }
        }
        text
    }

    /// Adds a CPU.
    pub fn insert(&mut self, cpu: CpuId) {
        let place = cpu.0 as usize / 64;
        self.cover(place, place);
        self.words[place - self.skipped] |= 1 << (cpu.0 % 64);
    }

    /// Adds `first..=last` by words: a text with many wide ranges must not cost one step per CPU.
    fn insert_range(&mut self, first: u32, last: u32) {
        if first > last {
            return;
        }
        let (low, high) = (first as usize / 64, last as usize / 64);
        self.cover(low, high);
        let from = u64::MAX << (first % 64);
        let to = u64::MAX >> (63 - last % 64);
        let inside = low - self.skipped..=high - self.skipped;
        for (place, word) in (low..).zip(&mut self.words[inside]) {
            let mut bits = u64::MAX;
            if place == low {
                bits &= from;
            }
            if place == high {
                bits &= to;
            }
            *word |= bits;
        }
    }

    /// Makes room for these words. The caller sets bits in both.
    fn cover(&mut self, low: usize, high: usize) {
        if self.words.is_empty() {
            self.skipped = low;
        }
        if low < self.skipped {
            let mut words = vec![0; self.skipped - low];
            words.append(&mut self.words);
            (self.words, self.skipped) = (words, low);
        }
        if high >= self.end() {
            self.words.resize(high + 1 - self.skipped, 0);
        }
    }

    /// The word with this number; 0 outside.
    fn word(&self, place: usize) -> u64 {
        let inside = place.checked_sub(self.skipped);
        inside.and_then(|place| self.words.get(place)).copied().unwrap_or(0)
    }

    /// The number after the last word.
    fn end(&self) -> usize {
        self.skipped + self.words.len()
    }

    /// Whether the CPU is a member.
    #[must_use]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.word(cpu.0 as usize / 64) & (1 << (cpu.0 % 64)) != 0
    }

    /// Members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.words.iter().enumerate().flat_map(|(place, &word)| {
            let place = place + self.skipped;
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(CpuId(place as u32 * 64 + bit))
            })
        })
    }

    /// The members as bits: CPU `n` is bit `n % 64` of word `n / 64`; no trailing zero words.
    #[must_use]
    pub fn words(&self) -> Vec<u64> {
        (0..self.end()).map(|place| self.word(place)).collect()
    }

    /// Number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Lowest member.
    #[must_use]
    pub fn first(&self) -> Option<CpuId> {
        self.iter().next()
    }

    /// Highest member.
    #[must_use]
    pub fn last(&self) -> Option<CpuId> {
        let word = self.words.last()?;
        Some(CpuId((self.end() as u32 - 1) * 64 + 63 - word.leading_zeros()))
    }

    /// Members of both.
    #[must_use]
    pub fn and(&self, other: &CpuSet) -> CpuSet {
        self.zip(other, |a, b| a & b)
    }

    /// Members of either.
    #[must_use]
    pub fn or(&self, other: &CpuSet) -> CpuSet {
        self.zip(other, |a, b| a | b)
    }

    /// Members of any of these sets.
    #[must_use]
    pub fn union(sets: impl IntoIterator<Item: Borrow<CpuSet>>) -> CpuSet {
        sets.into_iter().fold(CpuSet::new(), |all, set| all.or(set.borrow()))
    }

    /// Members of this set that are not in the other.
    #[must_use]
    pub fn minus(&self, other: &CpuSet) -> CpuSet {
        self.zip(other, |a, b| a & !b)
    }

    /// Whether the two share a member.
    #[must_use]
    pub fn intersects(&self, other: &CpuSet) -> bool {
        let mut both = self.skipped.max(other.skipped)..self.end().min(other.end());
        both.any(|place| self.word(place) & other.word(place) != 0)
    }

    /// Whether every member is also in the other.
    #[must_use]
    pub fn is_subset(&self, other: &CpuSet) -> bool {
        let mut own = self.skipped..self.end();
        own.all(|place| self.word(place) & !other.word(place) == 0)
    }

    fn zip(&self, other: &CpuSet, join: fn(u64, u64) -> u64) -> CpuSet {
        let word = |place: usize| join(self.word(place), other.word(place));
        let mut places = self.skipped.min(other.skipped)..self.end().max(other.end());
        let is_used = |place: &usize| word(*place) != 0;
        match (places.clone().find(is_used), places.rfind(is_used)) {
            (Some(first), Some(last)) => CpuSet {
                words: (first..=last).map(word).collect(),
                skipped: first,
            },
            _ => CpuSet::new(),
        }
    }
}

/// As the words from CPU 0 on, one after the other. The set that skips more has a zero where the other has its first word.
impl Ord for CpuSet {
    fn cmp(&self, other: &CpuSet) -> std::cmp::Ordering {
        if self.is_empty() || other.is_empty() {
            return self.words.len().cmp(&other.words.len());
        }
        let first = other.skipped.cmp(&self.skipped);
        first.then_with(|| self.words.cmp(&other.words))
    }
}

impl PartialOrd for CpuSet {
    fn partial_cmp(&self, other: &CpuSet) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

fn parse_list(text: &str, possible: Option<&CpuSet>) -> Result<CpuSet, ParseError> {
    let mut set = CpuSet::new();
    let body = text.trim();
    if body.is_empty() || body == "(null)" {
        return Ok(set);
    }
    for part in body.split(',').map(str::trim) {
        if part == "all" {
            match possible {
                Some(all) => set = set.or(all),
                None => return Err(list_error(text, "`all` needs to know the machine's CPUs")),
            }
            continue;
        }
        let (span, group) = match part.split_once(':') {
            Some((span, group)) => (span, Some(group)),
            None => (part, None),
        };
        let (first, last) = match span.split_once('-') {
            Some((first, last)) => (cpu_number(text, first, possible)?, cpu_number(text, last, possible)?),
            None if group.is_some() => {
                return Err(list_error(text, "a `:` must follow a range such as 0-31"));
            }
            None => {
                let cpu = cpu_number(text, span, possible)?;
                (cpu, cpu)
            }
        };
        if first > last {
            return Err(list_error(text, &format!("the range {first}-{last} is reversed")));
        }
        let (used, size) = match group {
            None => (1, 1),
            Some(group) => match group.split_once('/') {
                Some((used, size)) => (plain_number(text, used)?, plain_number(text, size)?),
                None => (1, plain_number(text, group)?),
            },
        };
        if used == 0 || size == 0 || used > size {
            return Err(list_error(text, "in first-last:used/group, used must be 1 to group"));
        }
        if used == size {
            set.insert_range(first, last);
            continue;
        }
        let mut start = first;
        while start <= last {
            set.insert_range(start, last.min(start + used - 1));
            start += size;
        }
    }
    Ok(set)
}

fn cpu_number(text: &str, number: &str, possible: Option<&CpuSet>) -> Result<u32, ParseError> {
    if number == "N" {
        return possible
            .and_then(CpuSet::last)
            .map(|cpu| cpu.0)
            .ok_or_else(|| list_error(text, "`N` needs to know the machine's CPUs"));
    }
    plain_number(text, number)
}

fn plain_number(text: &str, number: &str) -> Result<u32, ParseError> {
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(list_error(text, &format!("`{}` is not a CPU number", shorten(number))));
    }
    match number.parse::<u32>() {
        Ok(value) if value <= CpuSet::MAX_CPU => Ok(value),
        _ => Err(list_error(
            text,
            &format!("{} is above the highest CPU number, 65535", shorten(number)),
        )),
    }
}

fn list_error(text: &str, why: &str) -> ParseError {
    parse_error(text, "a CPU list", why)
}

fn parse_error(text: &str, expected: &'static str, why: &str) -> ParseError {
    ParseError {
        text: shorten(text),
        expected,
        why: why.to_owned(),
    }
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        return text.trim_end().to_owned();
    }
    let head: String = text.chars().take(57).collect();
    format!("{head}...")
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> CpuSet {
        let mut set = CpuSet::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut members = self.iter().map(|cpu| cpu.0).peekable();
        let mut comma = "";
        while let Some(first) = members.next() {
            let mut last = first;
            while members.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for CpuSet {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CpuSet".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "CPUs as the kernel lists them, ascending: `0,2-3`; empty for no CPU.",
            "type": "string",
            "pattern": "^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$",
        })
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CpuSet, D::Error> {
        let text = String::deserialize(deserializer)?;
        CpuSet::parse_list(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
