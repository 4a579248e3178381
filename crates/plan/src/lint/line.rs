//! A boot line as the kernel's parsers take it, worked out once for all rules.

use super::facts::Facts;
use super::repeated;
use machine::{CpuSet, Parameter, cmdline, same_name};

/// Parameters whose value is a CPU list.
pub(crate) const LISTS: &[&str] = &[
    "isolcpus",
    "nohz_full",
    "rcu_nocbs",
    "irqaffinity",
    "workqueue.unbound_cpus",
    "kthread_cpus",
];

/// One word of the line.
#[derive(Clone, Debug)]
pub(crate) struct Word<'a> {
    /// As written.
    pub raw: &'a str,
    /// As the kernel reads it.
    pub parameter: Parameter,
}

impl Word<'_> {
    /// The value, empty without one.
    pub fn value(&self) -> &str {
        self.parameter.value.as_deref().unwrap_or_default()
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.parameter.name
    }
}

/// One `isolcpus=` (`kernel/sched/isolation.c`, `housekeeping_isolcpus_setup`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Isolcpus {
    /// Which word.
    pub word: usize,
    /// Known flags in front of the list.
    pub flags: Vec<String>,
    /// Words in front of the list that are no known flag.
    pub strange: Vec<String>,
    /// The rest.
    pub list: String,
    /// Its CPUs, where it parses.
    pub cpus: Option<CpuSet>,
}

impl Isolcpus {
    /// Whether it isolates in this way. Without any flag it is `domain`.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own == flag) || (flag == "domain" && self.flags.is_empty())
    }

    /// The word with other flags or another list. `domain` alone is not spelled out: every kernel knows it so.
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

    /// Whether its list is there and names no CPU: `isolcpus=`, or commas alone.
    pub fn is_empty(&self) -> bool {
        self.strange.is_empty() && is_empty_list(&self.list)
    }

    /// Whether another occurrence says the same: what contradicts one of them contradicts both.
    pub fn is_like(&self, other: &Isolcpus) -> bool {
        self.flags == other.flags && self.cpus == other.cpus && self.is_empty() == other.is_empty()
    }

    /// The flags as text.
    pub fn flags(&self) -> Vec<&str> {
        self.flags.iter().map(String::as_str).collect()
    }
}

/// A boot line with the facts that it is judged against.
pub(crate) struct Line<'a> {
    /// As given.
    pub text: &'a str,
    /// Its words, also those behind `--`.
    pub words: Vec<Word<'a>>,
    /// How many of the words belong to the kernel.
    pub ours: usize,
    /// Every `isolcpus=`.
    pub isolcpus: Vec<Isolcpus>,
    /// CPUs without scheduler domains.
    pub domain: CpuSet,
    /// CPUs that managed interrupts avoid.
    pub managed: CpuSet,
    /// CPUs of `isolcpus=nohz,`.
    pub nohz: CpuSet,
    /// CPUs of `nohz_full=`.
    pub nohz_full: CpuSet,
    /// What it is judged against.
    pub facts: &'a Facts,
}

impl<'a> Line<'a> {
    pub fn new(text: &'a str, facts: &'a Facts) -> Line<'a> {
        let words: Vec<Word> = cmdline::words(text.trim_end_matches(['\n', '\0']))
            .map(|raw| Word {
                raw,
                parameter: Parameter::parse(raw),
            })
            .collect();
        let ours = words
            .iter()
            .position(|word| word.parameter.ends_the_kernels_part())
            .unwrap_or(words.len());
        let mut line = Line {
            text,
            words,
            ours,
            isolcpus: Vec::new(),
            domain: CpuSet::new(),
            managed: CpuSet::new(),
            nohz: CpuSet::new(),
            nohz_full: CpuSet::new(),
            facts,
        };
        line.isolcpus = line
            .all("isolcpus")
            .map(|(place, word)| isolcpus(place, word.value(), facts))
            .collect();
        let obeyed = repeated::obeyed(&line.isolcpus, facts);
        let with = |flag: &str| {
            obeyed
                .iter()
                .filter(|one| one.has(flag))
                .filter_map(|one| one.cpus.as_ref())
                .fold(CpuSet::new(), |all, cpus| all.or(cpus))
        };
        let (domain, managed, nohz) = (with("domain"), with("managed_irq"), with("nohz"));
        let nohz_full = line.cpus("nohz_full").unwrap_or_default();
        Line {
            domain,
            managed,
            nohz,
            nohz_full,
            ..line
        }
    }

    /// The kernel's words with their places.
    pub fn kernel(&self) -> impl Iterator<Item = (usize, &Word<'a>)> {
        self.words.iter().enumerate().take(self.ours)
    }

    /// Every occurrence of a parameter.
    pub fn all<'b>(&'b self, name: &'b str) -> impl Iterator<Item = (usize, &'b Word<'a>)> + 'b {
        self.kernel()
            .filter(move |(_, word)| same_name(word.name(), name))
    }

    /// The last occurrence, which counts for most parameters.
    pub fn last(&self, name: &str) -> Option<(usize, &Word<'a>)> {
        self.kernel()
            .filter(|(_, word)| same_name(word.name(), name))
            .last()
    }

    /// Whether the parameter is there.
    pub fn has(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    /// The last occurrence, if it has one of these values.
    pub fn is(&self, name: &str, values: &[&str]) -> Option<(usize, &Word<'a>)> {
        self.last(name).filter(|(_, word)| values.contains(&word.value()))
    }

    /// The occurrence that counts: the last one, of `nohz_full=` the first one from 4.15 on.
    pub fn counting(&self, name: &str) -> Option<(usize, &Word<'a>)> {
        match same_name(name, "nohz_full") {
            true => repeated::nohz_full(self),
            false => self.last(name),
        }
    }

    /// The CPUs of a list parameter, where it is there and parses.
    pub fn cpus(&self, name: &str) -> Option<CpuSet> {
        let (_, word) = self.counting(name)?;
        parse_cpus(word.value(), self.facts).ok()
    }

    /// Whether a list parameter is there and the occurrence that counts names no CPU.
    pub fn is_empty_list(&self, name: &str) -> bool {
        self.counting(name)
            .is_some_and(|(_, word)| word.parameter.value.as_deref().is_some_and(is_empty_list))
    }

    /// CPUs that are isolated in any way that keeps other work away from them.
    pub fn isolated(&self) -> CpuSet {
        self.domain.or(&self.nohz_full).or(&self.nohz).or(&self.managed)
    }

    /// Which of these CPUs the line isolates, and which stand in for them: the others of these, or all others where none is left.
    /// `None` where it isolates none of them.
    pub fn isolated_among(&self, cpus: &CpuSet) -> Option<(CpuSet, CpuSet)> {
        let isolated = self.domain.or(&self.tickless());
        let both = cpus.and(&isolated);
        let rest = match (&self.facts.possible, cpus.minus(&isolated)) {
            (Some(possible), rest) if rest.is_empty() => possible.minus(&isolated),
            (_, rest) => rest,
        };
        (!both.is_empty()).then_some((both, rest))
    }

    /// CPUs whose tick is to stop.
    pub fn tickless(&self) -> CpuSet {
        self.nohz_full.or(&self.nohz)
    }

    /// The words of every occurrence of a parameter, as an edit needs them.
    pub fn places(&self, name: &str) -> Vec<usize> {
        self.all(name).map(|(place, _)| place).collect()
    }
}

fn isolcpus(word: usize, value: &str, facts: &Facts) -> Isolcpus {
    let mut parts = value.split(',').peekable();
    let mut found = Isolcpus {
        word,
        ..Isolcpus::default()
    };
    let is_flag = |part: &&str| part.starts_with(|first: char| first.is_ascii_alphabetic());
    while let Some(part) = parts.next_if(is_flag) {
        let known = matches!(part, "nohz" | "domain" | "managed_irq");
        let list = if known {
            &mut found.flags
        } else {
            &mut found.strange
        };
        list.push(part.to_owned());
    }
    found.list = parts.collect::<Vec<&str>>().join(",");
    found.cpus = parse_cpus(&found.list, facts)
        .ok()
        .filter(|cpus| !cpus.is_empty());
    found
}

/// A CPU list as the kernel's `bitmap_parselist` takes it; the error says what is wrong with it.
///
/// Other than [`CpuSet::parse_list`] it skips repeated commas, and wants a `/` in `0-31:1/2`. An empty list is valid and
/// names no CPU.
pub(crate) fn parse_cpus(text: &str, facts: &Facts) -> Result<CpuSet, String> {
    let parts: Vec<&str> = text.split(',').filter(|part| !part.trim().is_empty()).collect();
    if parts.is_empty() {
        return Ok(CpuSet::new());
    }
    if text.starts_with("0x") || text.starts_with("0X") {
        return Err(format!(
            "{text} is a mask, and the parameter takes a list such as 2-3,8"
        ));
    }
    if let Some(part) = parts
        .iter()
        .find(|part| part.contains(':') && !part.contains('/'))
    {
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
