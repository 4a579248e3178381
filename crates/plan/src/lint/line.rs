//! Parses a boot line as the kernel does, once for all rules.

use super::LintHit;
use super::cpu_list::isolcpus;
pub(crate) use super::cpu_list::{Isolcpus, is_empty_list, parse_cpus, uses_words};
use super::facts::KernelFacts;
use super::occurrence::{first_counts, is_stored, obeyed};
use crate::Level;
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

/// A parameter with values; none means any.
pub(crate) type KnownWord = (&'static str, &'static [&'static str]);

/// One word of the line.
#[derive(Clone, Debug)]
pub(crate) struct BootWord<'a> {
    /// The original text.
    pub raw: &'a str,
    /// As the kernel parses it.
    pub parameter: Parameter,
}

impl BootWord<'_> {
    /// The value, empty without one.
    pub fn value(&self) -> &str {
        self.parameter.value.as_deref().unwrap_or_default()
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.parameter.name
    }

    /// Whether the value is a CPU list.
    pub fn takes_list(&self) -> bool {
        LISTS.iter().any(|name| same_name(name, self.name()))
    }

    /// A finding about this word.
    pub fn hit(&self) -> LintHit {
        LintHit::on(self.raw)
    }
}

/// A boot line with the facts it is checked against.
pub(crate) struct LintedLine<'a> {
    /// The original text.
    pub text: &'a str,
    /// Its words, including those after `--`.
    pub words: Vec<BootWord<'a>>,
    /// The number of words that belong to the kernel.
    pub kernel_word_count: usize,
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
    /// The facts it is checked against.
    pub facts: &'a KernelFacts,
}

impl<'a> LintedLine<'a> {
    pub fn new(text: &'a str, facts: &'a KernelFacts) -> LintedLine<'a> {
        let words: Vec<BootWord> = cmdline::words(text.trim_end_matches(['\n', '\0']))
            .map(|raw| BootWord {
                raw,
                parameter: Parameter::parse(raw),
            })
            .collect();
        let ours = words
            .iter()
            .position(|word| word.parameter.ends_the_kernels_part())
            .unwrap_or(words.len());
        let mut line = LintedLine {
            text,
            words,
            kernel_word_count: ours,
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
        let obeyed = obeyed(&line.isolcpus, facts);
        let with = |flag: &str| {
            let flagged = obeyed.iter().filter(|one| one.has(flag));
            CpuSet::union(flagged.filter_map(|one| one.cpus.as_ref()))
        };
        let (domain, managed, nohz) = (with("domain"), with("managed_irq"), with("nohz"));
        let nohz_full = line.cpus("nohz_full").unwrap_or_default();
        LintedLine {
            domain,
            managed,
            nohz,
            nohz_full,
            ..line
        }
    }

    /// The kernel's words with their indexes.
    pub fn kernel(&self) -> impl Iterator<Item = (usize, &BootWord<'a>)> {
        self.words.iter().enumerate().take(self.kernel_word_count)
    }

    /// Every occurrence of a parameter.
    pub fn all<'b>(&'b self, name: &'b str) -> impl Iterator<Item = (usize, &'b BootWord<'a>)> + 'b {
        self.kernel().filter(move |(_, word)| same_name(word.name(), name))
    }

    /// The last occurrence, which counts for most parameters.
    pub fn last(&self, name: &str) -> Option<(usize, &BootWord<'a>)> {
        self.kernel().filter(|(_, word)| same_name(word.name(), name)).last()
    }

    /// Whether the parameter is present.
    pub fn has(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    /// The last occurrence, if it has one of these values.
    pub fn is(&self, name: &str, values: &[&str]) -> Option<(usize, &BootWord<'a>)> {
        self.last(name).filter(|(_, word)| values.contains(&word.value()))
    }

    /// The last occurrence of each of these parameters that has one of its values.
    pub fn found<'b>(&'b self, words: &'b [KnownWord]) -> impl Iterator<Item = (usize, &'b BootWord<'a>)> + 'b {
        words.iter().filter_map(|(name, values)| match values {
            [] => self.last(name),
            values => self.is(name, values),
        })
    }

    /// The level of what this version introduced: an error before it, information if the version is unknown.
    pub fn before(&self, version: (u32, u32)) -> Option<Level> {
        match self.facts.since(version) {
            Some(true) => None,
            Some(false) => Some(Level::Error),
            None => Some(Level::Info),
        }
    }

    /// The occurrence that counts: the last one; for `nohz_full=` the first one from 4.15 on.
    pub fn counting(&self, name: &str) -> Option<(usize, &BootWord<'a>)> {
        match same_name(name, "nohz_full") {
            true => self.nohz_full_word(),
            false => self.last(name),
        }
    }

    /// The `nohz_full=` that counts. If the kernel does not store one, the next one may count.
    fn nohz_full_word(&self) -> Option<(usize, &BootWord<'a>)> {
        if !first_counts(self.facts) {
            return self.last("nohz_full");
        }
        self.all("nohz_full")
            .find(|(_, word)| is_stored(word.value(), self.facts))
            .or_else(|| self.last("nohz_full"))
    }

    /// The CPUs of a list parameter, if it is present and parses.
    pub fn cpus(&self, name: &str) -> Option<CpuSet> {
        let (_, word) = self.counting(name)?;
        parse_cpus(word.value(), self.facts).ok()
    }

    /// Whether a list parameter is present and the occurrence that counts names no CPU.
    pub fn is_empty_list(&self, name: &str) -> bool {
        self.counting(name)
            .is_some_and(|(_, word)| word.parameter.value.as_deref().is_some_and(is_empty_list))
    }

    /// CPUs that are isolated in any way that keeps other work off them.
    pub fn isolated(&self) -> CpuSet {
        self.domain.or(&self.nohz_full).or(&self.nohz).or(&self.managed)
    }

    /// Which of these CPUs the line isolates, and which do their work: the others of these, or all others if none is
    /// left. `None` if the line isolates none of them.
    pub fn isolated_among(&self, cpus: &CpuSet) -> Option<(CpuSet, CpuSet)> {
        let isolated = self.undisturbed();
        let both = cpus.and(&isolated);
        let rest = match (&self.facts.possible, cpus.minus(&isolated)) {
            (Some(possible), rest) if rest.is_empty() => possible.minus(&isolated),
            (_, rest) => rest,
        };
        (!both.is_empty()).then_some((both, rest))
    }

    /// CPUs without scheduler domains or whose tick should stop.
    pub fn undisturbed(&self) -> CpuSet {
        self.domain.or(&self.tickless())
    }

    /// CPUs whose tick should stop.
    pub fn tickless(&self) -> CpuSet {
        self.nohz_full.or(&self.nohz)
    }

    /// The indexes of every occurrence of a parameter, for an edit.
    pub fn places(&self, name: &str) -> Vec<usize> {
        self.all(name).map(|(place, _)| place).collect()
    }
}
