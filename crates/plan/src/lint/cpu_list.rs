//! Parses the CPU lists of a boot line as the kernel does: that of `isolcpus=` with its flags, and plain ones.

use super::facts::KernelFacts;
use machine::CpuSet;

/// One `isolcpus=` (`kernel/sched/isolation.c`, `housekeeping_isolcpus_setup`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Isolcpus {
    /// Its word index.
    pub word: usize,
    /// Known flags in front of the list.
    pub flags: Vec<String>,
    /// Words in front of the list that are not known flags.
    pub strange: Vec<String>,
    /// The rest.
    pub list: String,
    /// Its CPUs, if it parses.
    pub cpus: Option<CpuSet>,
}

impl Isolcpus {
    /// Whether it isolates in this way. Without any flag it means `domain`.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own == flag) || (flag == "domain" && self.flags.is_empty())
    }

    /// The word with other flags or another list. `domain` alone is not written out: every kernel assumes it.
    pub fn with(&self, flags: &[&str], list: &str) -> String {
        if flags.is_empty() || flags == ["domain"] {
            format!("isolcpus={list}")
        } else {
            format!("isolcpus={},{list}", flags.join(","))
        }
    }

    /// The word without one flag.
    pub fn without(&self, flag: &str) -> String {
        let flags: Vec<&str> = self.flags().into_iter().filter(|own| *own != flag).collect();
        self.with(&flags, &self.list)
    }

    /// Whether its list is present and names no CPU: `isolcpus=`, or commas alone.
    pub fn is_empty(&self) -> bool {
        self.strange.is_empty() && is_empty_list(&self.list)
    }

    /// Whether another occurrence is equivalent: what contradicts one of them contradicts both.
    pub fn is_like(&self, other: &Isolcpus) -> bool {
        self.flags == other.flags && self.cpus == other.cpus && self.is_empty() == other.is_empty()
    }

    /// The flags as text.
    pub fn flags(&self) -> Vec<&str> {
        self.flags.iter().map(String::as_str).collect()
    }
}

/// One `isolcpus=` with this value.
pub(super) fn isolcpus(word: usize, value: &str, facts: &KernelFacts) -> Isolcpus {
    let mut parts = value.split(',').peekable();
    let mut found = Isolcpus {
        word,
        ..Isolcpus::default()
    };
    let is_flag = |part: &&str| part.starts_with(|first: char| first.is_ascii_alphabetic());
    while let Some(part) = parts.next_if(is_flag) {
        let known = matches!(part, "nohz" | "domain" | "managed_irq");
        let list = if known { &mut found.flags } else { &mut found.strange };
        list.push(part.to_owned());
    }
    found.list = parts.collect::<Vec<&str>>().join(",");
    found.cpus = parse_cpus(&found.list, facts).ok().filter(|cpus| !cpus.is_empty());
    found
}

/// Parses a CPU list as the kernel's `bitmap_parselist` does; the error describes what is wrong with it.
///
/// Unlike [`CpuSet::parse_list`] it skips repeated commas, and requires a `/` in `0-31:1/2`. An empty list is valid and
/// names no CPU.
pub(crate) fn parse_cpus(text: &str, facts: &KernelFacts) -> Result<CpuSet, String> {
    let parts: Vec<&str> = text.split(',').filter(|part| !part.trim().is_empty()).collect();
    if parts.is_empty() {
        return Ok(CpuSet::new());
    }
    if text.starts_with("0x") || text.starts_with("0X") {
        return Err(format!(
            "{text} is a mask, and the parameter takes a list such as 2-3,8"
        ));
    }
    if let Some(part) = parts.iter().find(|part| part.contains(':') && !part.contains('/')) {
        return Err(format!(
            "{part} lacks its group size: the kernel wants first-last:used/group"
        ));
    }
    let joined = parts.join(",");
    let parsed = match &facts.possible {
        Some(possible) => CpuSet::parse_list_of(&joined, possible),
        None => CpuSet::parse_list(&joined),
    };
    parsed.map_err(|error| error.why)
}

/// Whether a list names no CPU: nothing, or commas alone.
pub(crate) fn is_empty_list(list: &str) -> bool {
    list.split(',').all(|part| part.trim().is_empty())
}

/// Whether a list uses `N` or `all`, which kernels know since 5.12.
pub(crate) fn uses_words(list: &str) -> bool {
    list.split([',', '-', ':', '/'])
        .any(|part| part == "N" || part.eq_ignore_ascii_case("all"))
}
