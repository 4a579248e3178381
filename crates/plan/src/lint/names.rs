//! Rules about words that no kernel accepts: misspelled names, names of other tools, sysctls without their prefix.
//!
//! The kernel does not report them, or lists them among the words that it passes to init (`init/main.c`,
//! `unknown_bootoption`): it takes a word with a dot for a parameter of a module that is not loaded yet.

use super::Check::EachWord;
use super::line::{BootWord, LISTS, LintedLine};
use super::repair::LineEdit;
use super::{LintHit, LintRule, rule};
use crate::KNOBS;
use crate::Level::Warning;
use crate::parameters::{ParameterReader, parameter, parameters};
use crate::settings::settings;
use machine::{CpuSet, same_name};

pub(super) const MISSPELLED: LintRule = rule(
    "misspelled-parameter",
    Warning,
    "no kernel has this parameter; it goes to init and has no effect",
    "correct the name",
    EachWord(|line, place, word| {
        let name = unknown(word)?;
        let value = word.parameter.value.as_deref();
        let meant = meant_list(name).filter(|_| value.is_some());
        let meant = meant.or_else(|| meant_word(name))?;
        let right = match value {
            Some(value) => format!("{meant}={value}"),
            None => meant.to_owned(),
        };
        Some(instead(line, place, meant, right).because(format!("{name} looks like {meant}")))
    }),
);

pub(super) const FOREIGN: LintRule = rule(
    "foreign-parameter",
    Warning,
    "the kernel has no parameter of this name and ignores it",
    "write the kernel's own parameter",
    EachWord(|line, place, word| {
        let name = unknown(word)?;
        let row = FOREIGN_NAMES.iter().find(|row| same_name(row.name, name))?;
        let hit = match row.value.of(line, word) {
            Some(value) => instead(line, place, row.means, format!("{}{value}", row.means)),
            None => word.hit().fix(format!("write {}", row.means)),
        };
        Some(hit.because(row.origin))
    }),
);

pub(super) const SYSCTL: LintRule = rule(
    "sysctl-as-parameter",
    Warning,
    "a sysctl is not a boot parameter by itself: the kernel sets nothing",
    "write sysctl.NAME=VALUE, which kernels support since 5.8, or set it at run time",
    EachWord(|line, place, word| {
        let name = sysctl(unknown(word)?)?;
        let value = word.parameter.value.as_ref()?;
        let right = format!("sysctl.{name}={value}");
        let hit = word.hit();
        Some(match line.facts.since((5, 8)) {
            Some(true) => hit.fix(format!("write {right}")).edit(LineEdit::Set(place, right)),
            _ => hit.fix(format!(
                "write {right} if the kernel is 5.8 or later; otherwise write {value} to /proc/sys/{} at run time",
                name.replace('.', "/")
            )),
        })
    }),
);

/// The name of a word that no table contains.
fn unknown<'a>(word: &'a BootWord) -> Option<&'a str> {
    parameter(word.name()).is_none().then(|| word.name())
}

/// A hit that suggests another word. If the line already has that parameter, this word is removed: the correctly
/// spelled one counts.
fn instead(line: &LintedLine, place: usize, meant: &str, right: String) -> LintHit {
    let raw = line.words.get(place).map_or("", |word| word.raw);
    if line.has(meant) {
        return LintHit::on(raw)
            .fix(format!("remove it: {meant} is on the line"))
            .drop([place]);
    }
    LintHit::on(raw)
        .fix(format!("write {right}"))
        .edit(LineEdit::Set(place, right))
}

/// Maximum difference between two names in letters; a swapped pair counts as two.
const APART: usize = 2;

/// Minimum length of a name that is recognized with one wrong letter.
const LONG: usize = 9;

/// Names one letter away from a parameter of the table that mean something else.
const NEIGHBOURS: &[&str] = &["slub_nomerge", "spectre_v1"];

/// The letters by which names are compared.
fn letters(name: &str) -> String {
    name.chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '.')
        .collect::<String>()
        .to_ascii_lowercase()
}

/// The kernel parameter that a long name with one wrong letter stands for.
fn meant_word(name: &str) -> Option<&'static str> {
    let written = letters(name);
    if NEIGHBOURS.iter().any(|own| same_name(own, name)) {
        return None;
    }
    parameters()
        .filter(|row| row.reader == ParameterReader::Kernel)
        .map(|row| (letters(row.name), row.name))
        .filter(|(own, _)| own.len() >= LONG && own.len().abs_diff(written.len()) <= 1)
        .find(|(own, _)| strsim::levenshtein(own, &written) == 1)
        .map(|(_, own)| own)
}

/// The list parameter that a misspelled one stands for.
fn meant_list(name: &str) -> Option<&'static str> {
    let written = letters(name);
    if written.len() < 6 {
        return None;
    }
    LISTS
        .iter()
        .copied()
        .filter(|list| list.contains('.') == name.contains('.') && !same_name(list, name))
        .map(|list| (strsim::levenshtein(&letters(list), &written), list))
        .filter(|(apart, _)| *apart <= APART)
        .min()
        .map(|(_, list)| list)
}

/// The dotted name of a sysctl that is written without the `sysctl.` prefix: its last part alone, or all of it.
fn sysctl(name: &str) -> Option<String> {
    // A boot parameter of this name exists as well (`kernel/watchdog.c`).
    if name == "watchdog_thresh" {
        return None;
    }
    let dotted = name.replace('/', ".");
    if dotted.starts_with("kernel.") || dotted.starts_with("vm.") {
        return Some(dotted);
    }
    let knobs = KNOBS.iter().flat_map(|knob| knob.files.iter().copied());
    knobs
        .chain(settings().map(|row| row.path))
        .filter_map(|path| path.strip_prefix("/proc/sys/"))
        .map(|path| path.replace('/', "."))
        .find(|path| *path == dotted || path.rsplit('.').next() == Some(name))
}

/// A name that looks like a boot parameter but is not one.
struct ForeignName {
    name: &'static str,
    /// Where the name comes from.
    origin: &'static str,
    /// The kernel's name for the same thing.
    means: &'static str,
    value: ValueConversion,
}

/// How its value is converted to the kernel's parameter.
enum ValueConversion {
    /// Unchanged.
    Same,
    /// There is none, and the word isolates CPUs: the user decides.
    Bare,
    /// A mask becomes a list, which kernels accept since 6.6.
    Mask,
}

impl ValueConversion {
    /// The value with its `=`; `None` if it cannot be converted.
    fn of(&self, line: &LintedLine, word: &BootWord) -> Option<String> {
        match self {
            ValueConversion::Same => word.parameter.value.as_ref().map(|value| format!("={value}")),
            ValueConversion::Bare => None,
            ValueConversion::Mask => {
                let cpus = CpuSet::parse_mask(word.value()).ok()?;
                let known = line.facts.since((6, 6)) == Some(true) && !cpus.is_empty();
                known.then(|| format!("={cpus}"))
            }
        }
    }
}

const FOREIGN_NAMES: &[ForeignName] = &[
    ForeignName {
        name: "isolated_cpus",
        origin: "the kernel's own name is isolcpus",
        means: "isolcpus",
        value: ValueConversion::Same,
    },
    ForeignName {
        name: "isolated_cores",
        origin: "isolated_cores is a variable of TuneD's profiles",
        means: "isolcpus",
        value: ValueConversion::Same,
    },
    ForeignName {
        name: "CPUAffinity",
        origin: "CPUAffinity= is a line of systemd's system.conf",
        means: "systemd.cpu_affinity",
        value: ValueConversion::Same,
    },
    ForeignName {
        name: "noht",
        origin: "current kernels disable the second threads with nosmt",
        means: "nosmt",
        value: ValueConversion::Bare,
    },
    ForeignName {
        name: "workqueue.cpumask",
        origin: "cpumask is a file in /sys/devices/virtual/workqueue; the boot parameter accepts a list and needs \
             kernel 6.6",
        means: "workqueue.unbound_cpus",
        value: ValueConversion::Mask,
    },
    ForeignName {
        name: "processor_idle.max_cstate",
        origin: "the driver's file is called processor_idle, its module processor",
        means: "processor.max_cstate",
        value: ValueConversion::Same,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::parameters;

    #[test]
    fn no_kernel_parameter_counts_as_misspelled_or_foreign() {
        // From `Documentation/admin-guide/kernel-parameters.txt`: names similar to those that isolate.
        const KNOWN: &[&str] = &[
            "maxcpus",
            "nr_cpus",
            "possible_cpus",
            "additional_cpus",
            "cpu0_hotplug",
            "isapnp",
            "irqfixup",
            "irqpoll",
            "noirqdebug",
            "nohibernate",
            "nohugeiomap",
            "kthread_prio",
            "rcu_nocb_poll",
            "nosmap",
            "nosmep",
            "nosync",
            "noautogroup",
            "relax_domain_level",
            "watchdog_thresh",
            "net.ifnames",
            "workqueue.watchdog_thresh",
            "workqueue.power_efficient",
            "workqueue.debug_force_rr_cpu",
            "workqueue.default_affinity_scope",
            "slub_nomerge",
            "acpi_irq_balance",
            "spectre_v2_user",
            "hugetlb_cma",
            "softlockup_panic",
            "hardlockup_all_cpu_backtrace",
            "sysctl.kernel.timer_migration",
        ];
        for name in parameters().map(|row| row.name).chain(KNOWN.iter().copied()) {
            let meant = meant_list(name).or_else(|| meant_word(name));
            assert!(meant.is_none() || parameter(name).is_some(), "{name}: {meant:?}");
            assert!(FOREIGN_NAMES.iter().all(|row| row.name != name), "{name}");
        }
        for name in KNOWN {
            assert_eq!(sysctl(name), None, "{name}");
        }
    }

    #[test]
    fn list_parameters_differ_by_more_than_a_misspelling() {
        let plain = |name: &str| name.replace(['_', '-'], "");
        for (place, one) in LISTS.iter().enumerate() {
            for other in &LISTS[place + 1..] {
                let apart = strsim::levenshtein(&plain(one), &plain(other));
                assert!(apart > 2 * APART, "{one} {other}");
            }
        }
    }

    #[test]
    fn sysctls_get_their_full_name() {
        for (name, full) in [
            ("timer_migration", Some("kernel.timer_migration")),
            ("sched_rt_runtime_us", Some("kernel.sched_rt_runtime_us")),
            ("stat_interval", Some("vm.stat_interval")),
            ("kernel.timer_migration", Some("kernel.timer_migration")),
            ("kernel/timer_migration", Some("kernel.timer_migration")),
            ("vm.swappiness", Some("vm.swappiness")),
            ("net.ifnames", None),
            ("quiet", None),
        ] {
            assert_eq!(sysctl(name).as_deref(), full, "{name}");
        }
    }
}
