//! Checks whether the running machine has the boot line and the kernel that a boot of the study needs.

use crate::{Boot, Study};
use machine::CpuSet;
use machine::cmdline::{Parameter, parse_cmdline, same_name, words};
use std::time::Duration;

/// The state of the running machine.
#[derive(Clone, Copy, Debug)]
pub struct CurrentMachine<'a> {
    /// Its boot ID; `None` never equals a recorded one.
    pub boot_id: Option<&'a str>,
    /// Its boot line.
    pub line: &'a str,
    /// The release of its kernel; `None` never matches a required release.
    pub release: Option<&'a str>,
    /// The release that ran when the study started. Boots without a kernel name use it. `None` where every boot names one.
    pub own_kernel: Option<&'a str>,
    /// CPUs that are measured.
    pub cpus: &'a CpuSet,
    /// Time since the study started, restarts included.
    pub under_way_for: Duration,
}

impl Study {
    /// Why this boot line does not fit a boot of the study: a word is missing, or a word is present that only other boots
    /// have. `None` where it fits.
    #[must_use]
    pub fn wrong_line(&self, boot: usize, cpus: &CpuSet, line: &str) -> Option<String> {
        let boot_words = self.boots.get(boot)?.words_for(cpus);
        let there: Vec<&str> = words(line).collect();
        if let Some(missing) = boot_words.iter().find(|word| !there.contains(&word.as_str())) {
            return Some(format!("{missing} is not on the boot line"));
        }
        let name = |word: &str| Parameter::parse(word).name;
        let others = self.boots.iter().flat_map(|other| &other.words);
        let mut foreign = others.filter(|other| !boot_words.iter().any(|word| same_name(&name(word), &name(other))));
        let line = parse_cmdline(line);
        let found = foreign.find_map(|other| line.last(&name(other)))?;
        Some(format!(
            "{} is on the boot line, and belongs only to other boots of the study",
            found.name
        ))
    }

    /// Why the running machine does not fit a boot of the study; checks the line first, then the kernel. `None` where it
    /// fits.
    #[must_use]
    pub fn wrong_boot(&self, boot: usize, here: &CurrentMachine) -> Option<String> {
        let line = self.wrong_line(boot, here.cpus, here.line);
        line.or_else(|| self.wrong_kernel(boot, here.own_kernel, here.release))
    }

    /// Why the running kernel is not the kernel of a boot. A boot without a kernel name needs the machine's own, where it is
    /// known.
    fn wrong_kernel(&self, boot: usize, own: Option<&str>, running: Option<&str>) -> Option<String> {
        let named = self.boots.get(boot)?.kernel.as_deref();
        let required = named.or(own)?;
        match running {
            Some(running) if running == required => None,
            Some(running) => Some(format!("kernel {running} is running instead of {required}")),
            None => Some(format!(
                "it is unknown which kernel is running; it should be {required}"
            )),
        }
    }

    /// Whether another boot of the study names this release and this boot does not. A result would then belong to other
    /// cells.
    #[must_use]
    pub fn is_kernel_of_another(&self, boot: usize, release: &str) -> bool {
        let is_named = |boot: &Boot| boot.kernel.as_deref() == Some(release);
        let own = self.boots.get(boot);
        own.is_some_and(|own| own.kernel.is_some() && !is_named(own)) && self.boots.iter().any(is_named)
    }
}
