//! Combines one parameter with all that is known about it, and defines how a family of parameters is checked.

use super::{BootEvidence, CheckAnswer, CountWindow, CpuCounts, Truth};
use crate::lint::{LISTS, LintedLine, is_empty_list, parse_cpus};
use crate::parameters::ParameterRow;
use crate::{Finding, Level};
use machine::{CpuSet, Parameter, same_name};

/// One parameter to check, with everything that the check needs.
pub(crate) struct ParameterCase<'a> {
    /// As written.
    pub raw: &'a str,
    /// As the kernel reads it.
    pub parameter: &'a Parameter,
    /// What `explain` knows about it.
    pub row: Option<&'static ParameterRow>,
    /// Its family.
    pub family: Option<&'static ParameterFamily>,
    /// What is known.
    pub evidence: &'a BootEvidence<'a>,
    /// The running line.
    pub line: &'a LintedLine<'a>,
    /// What the rules object to.
    pub findings: &'a [Finding],
}

impl ParameterCase<'_> {
    /// The value, empty without one.
    pub fn value(&self) -> &str {
        self.parameter.value.as_deref().unwrap_or_default()
    }

    /// Its CPU list; `None` if it does not parse.
    pub fn cpus(&self) -> Option<CpuSet> {
        parse_cpus(self.value(), self.evidence.facts).ok()
    }

    /// The kernel's messages about its line; `None` if they cannot be known.
    pub fn messages(&self) -> Option<&[String]> {
        let outcome = self.evidence.facts.outcome.as_ref()?;
        outcome.messages.as_deref()
    }

    /// The first message that contains all of these parts.
    pub fn message(&self, part: &str) -> Option<&str> {
        let messages = self.messages().unwrap_or_default();
        messages.iter().map(|text| text.trim()).find(|text| text.contains(part))
    }

    /// The error of the rule with this id about it.
    pub fn error(&self, id: &str) -> Option<&Finding> {
        let mut errors = self.findings.iter();
        errors.find(|one| one.id.as_str() == id && one.level == Level::Error)
    }

    /// Why the kernel did not accept all of the requested CPUs.
    pub fn why_missing(&self, missing: &CpuSet) -> String {
        let facts = self.evidence.facts;
        let strange = facts.possible.as_ref().map(|possible| missing.minus(possible));
        if let Some(strange) = strange.filter(|cpus| !cpus.is_empty()) {
            return format!(": CPU {strange} does not exist here");
        }
        if missing.contains(facts.boot_cpu()) {
            return format!(
                ": the kernel boots on CPU {}, which keeps time for all CPUs",
                facts.boot_cpu()
            );
        }
        String::new()
    }

    /// Whether it is a list parameter with an empty list.
    fn names_no_cpu(&self) -> bool {
        let name = &self.parameter.name;
        // `irqaffinity=` leaves the boot CPU, which is observable.
        let is_list = LISTS.iter().any(|list| same_name(list, name)) && !same_name("irqaffinity", name);
        is_list && self.parameter.value.as_deref().is_some_and(is_empty_list)
    }

    /// Whether its effect is present.
    pub fn works(&self) -> CheckAnswer {
        let defeats = self.family.map(|family| family.defeated_by).unwrap_or_default();
        if let Some(finding) = defeats.iter().find_map(|id| self.error(id)) {
            return CheckAnswer::no(finding.message.clone());
        }
        if self.names_no_cpu() {
            return CheckAnswer::unseen("its list is empty: it names no CPU");
        }
        let answer = match self.family {
            Some(family) => (family.works)(self),
            None => CheckAnswer::unseen("no file or counter shows its effect"),
        };
        // A captured moment proves nothing about later behaviour.
        match (answer.truth, self.evidence.machine.is_captured()) {
            (Truth::Yes, true) => CheckAnswer::unknown(format!(
                "a captured machine cannot show that it works; captured was: {}",
                answer.because
            )),
            _ => answer,
        }
    }

    /// The counts on some CPUs.
    ///
    /// # Errors
    /// Why nothing was counted.
    pub fn counted(&self, cpus: &CpuSet) -> Result<(u64, Vec<&CpuCounts>), &str> {
        match &self.evidence.window {
            CountWindow::Counted { duration_ns, cpus: all } => {
                Ok((*duration_ns, all.iter().filter(|one| cpus.contains(one.cpu)).collect()))
            }
            CountWindow::Nothing { why } => Err(why),
        }
    }
}

/// Parameters that are checked in the same way.
pub(crate) struct ParameterFamily {
    /// Their names.
    pub names: &'static [&'static str],
    /// Parts of messages with which the kernel refuses them.
    pub complaints: &'static [&'static str],
    /// Rules about boot lines whose error means that the parameters are accepted but have no effect.
    pub defeated_by: &'static [&'static str],
    /// Whether the kernel shows that it accepted the parameter; `None` if only its messages can show that.
    pub acceptance: fn(&ParameterCase) -> Option<CheckAnswer>,
    /// Whether its effect is present.
    pub works: fn(&ParameterCase) -> CheckAnswer,
}

/// A duration as readable text.
pub(crate) fn seconds(duration_ns: u64) -> String {
    format!("{}.{} s", duration_ns / 1_000_000_000, duration_ns / 100_000_000 % 10)
}
