//! Reads the kernel itself: release, preemption model, configuration, boot line.

use crate::cmdline::MOST_LINE;
use crate::reading::RootReader;
use crate::{Cmdline, parse_cmdline};
use root::Root;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The running kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// `/proc/sys/kernel/osrelease`.
    pub release: Option<String>,
    /// Major and minor number taken from the release.
    pub version: Option<(u32, u32)>,
    /// The preemption model.
    pub preemption: Option<Preemption>,
    /// The boot line.
    pub cmdline: Option<Cmdline>,
    /// Configuration (`CONFIG_X` -> `y`, `m`, text), from `/proc/config.gz` or `/boot/config-RELEASE`; `None` if
    /// neither exists. An option that is not set has no entry.
    pub config: Option<Arc<BTreeMap<String, String>>>,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: Option<String>,
    /// The active word of `/sys/kernel/security/lockdown`.
    pub lockdown: Option<String>,
    /// `/proc/sys/kernel/sched_rt_runtime_us`; -1 is unlimited.
    pub sched_rt_runtime_us: Option<i64>,
    /// The current clock source.
    pub clocksource: Option<String>,
}

/// Preemption model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Preemption {
    /// Server.
    None,
    /// Desktop.
    Voluntary,
    /// Low-latency desktop.
    Full,
    /// 6.13 and later.
    Lazy,
    /// `PREEMPT_RT`.
    Rt,
}

/// Reads version, preemption model, build options and boot line.
pub(crate) fn read(reader: &RootReader) -> Kernel {
    let release = reader
        .value("/proc/sys/kernel/osrelease")
        .or_else(|| release_of(reader));
    let cmdline = reader
        .text_at_most("/proc/cmdline", MOST_LINE)
        .map(|text| parse_cmdline(&text));
    let config = read_config(reader, release.as_deref()).map(Arc::new);
    Kernel {
        version: release.as_deref().and_then(parse_version),
        preemption: read_preemption(reader, config.as_deref(), cmdline.as_ref()),
        cmdline,
        config,
        boot_id: reader.value("/proc/sys/kernel/random/boot_id"),
        lockdown: reader
            .value("/sys/kernel/security/lockdown")
            .and_then(|text| marked(&text, '[', ']')),
        sched_rt_runtime_us: reader.number("/proc/sys/kernel/sched_rt_runtime_us"),
        clocksource: reader.value("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        release,
    }
}

impl Kernel {
    /// As [`since`], for this kernel.
    #[must_use]
    pub fn since(&self, required: (u32, u32)) -> Option<bool> {
        since(self.release.as_deref(), self.version, required)
    }

    /// Whether it is known not to support `isolcpus=managed_irq`, which was added in 5.6 (`kernel/sched/isolation.c`).
    #[must_use]
    pub fn lacks_managed_irq(&self) -> bool {
        self.since((5, 6)) == Some(false)
    }

    /// Whether it is older than every supported kernel.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        self.version.is_some_and(|version| version < OLDEST)
    }
}

/// The oldest kernel whose files and defaults are known here.
pub const OLDEST: (u32, u32) = (4, 14);

/// Whether a kernel has at least the features of this version; `None` if unknown, also for old version numbers of
/// distributions that backport features.
#[must_use]
pub fn since(release: Option<&str>, own: Option<(u32, u32)>, required: (u32, u32)) -> Option<bool> {
    let release = release.unwrap_or_default();
    // Red Hat, SUSE and NVIDIA keep a version number for years.
    let ports_back = [".el", "-default", "-tegra"].iter().any(|part| release.contains(part));
    match own {
        Some(own) if own >= required => Some(true),
        Some(_) if ports_back => None,
        Some(_) => Some(false),
        None => None,
    }
}

/// The release of the kernel of a machine, without reading the rest of it.
#[must_use]
pub fn release(root: &Root) -> Option<String> {
    let reader = RootReader::new(root);
    reader
        .value("/proc/sys/kernel/osrelease")
        .or_else(|| release_of(&reader))
}

/// Major and minor number of a release (`6.18.44-rt3` gives 6 and 18).
#[must_use]
pub fn parse_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let (major, minor) = (numbers.next()?, numbers.next()?);
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Parses a kernel configuration. Options that are not set have no entry; quotes around text are removed.
#[must_use]
pub fn parse_config(text: &str) -> BTreeMap<String, String> {
    let mut options = BTreeMap::new();
    for line in text.lines() {
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        if name.starts_with("CONFIG_") && value != "n" {
            let text = value
                .strip_prefix('"')
                .and_then(|inner| inner.strip_suffix('"'))
                .unwrap_or(value);
            options.insert(name.to_owned(), text.to_owned());
        }
    }
    options
}

/// Derives the preemption model from the words in `/proc/version` (`init/Makefile`, `preempt-flag`). `PREEMPT_RT` is
/// conclusive, and so is a plain `PREEMPT` before 6.13 (from then on it means "full or lazy"). `PREEMPT_DYNAMIC` and no
/// word at all are not.
#[must_use]
pub fn parse_preemption_words(version: &str, number: Option<(u32, u32)>) -> Option<Preemption> {
    let words: Vec<&str> = version.split_whitespace().collect();
    let place = words.iter().position(|word| word.starts_with("PREEMPT"))?;
    match (words[place], words.get(place + 1)) {
        ("PREEMPT_RT", _) | ("PREEMPT", Some(&"RT")) => Some(Preemption::Rt),
        ("PREEMPT", _) if number.is_some_and(|number| number < (6, 13)) => Some(Preemption::Full),
        _ => None,
    }
}

fn release_of(reader: &RootReader) -> Option<String> {
    let version = reader.value("/proc/version")?;
    version
        .strip_prefix("Linux version ")?
        .split_whitespace()
        .next()
        .map(str::to_owned)
}

fn read_config(reader: &RootReader, release: Option<&str>) -> Option<BTreeMap<String, String>> {
    let from_boot = || reader.text(&format!("/boot/config-{}", release?));
    let text = reader.inflated("/proc/config.gz").or_else(from_boot)?;
    Some(parse_config(&text))
}

/// From the most to the least reliable source: files of the running kernel, its version text, then the boot line and
/// the configuration that it started with.
fn read_preemption(
    reader: &RootReader,
    config: Option<&BTreeMap<String, String>>,
    cmdline: Option<&Cmdline>,
) -> Option<Preemption> {
    if reader.value("/sys/kernel/realtime").as_deref() == Some("1") {
        return Some(Preemption::Rt);
    }
    let version = reader.value("/proc/version").unwrap_or_default();
    let number = version.strip_prefix("Linux version ").and_then(parse_version);
    let by_words = parse_preemption_words(&version, number);
    if by_words == Some(Preemption::Rt) {
        return by_words;
    }
    let by_file = reader.value("/sys/kernel/debug/sched/preempt");
    if let Some(word) = by_file.and_then(|text| marked(&text, '(', ')')) {
        return preemption_word(&word);
    }
    let is_set = |option: &str| config.is_some_and(|config| config.get(option).is_some_and(|value| value == "y"));
    if is_set("CONFIG_PREEMPT_RT") || is_set("CONFIG_PREEMPT_RT_FULL") {
        return Some(Preemption::Rt);
    }
    let is_dynamic = version.contains("PREEMPT_DYNAMIC") || is_set("CONFIG_PREEMPT_DYNAMIC");
    if is_dynamic {
        let requested = cmdline
            .and_then(|line| line.last("preempt"))
            .and_then(|one| one.value.as_deref());
        // A word that the kernel does not know leaves the configured model active.
        if let Some(model) = requested.and_then(preemption_word) {
            return Some(model);
        }
    }
    let by_config = [
        ("CONFIG_PREEMPT_NONE", Preemption::None),
        ("CONFIG_PREEMPT_VOLUNTARY", Preemption::Voluntary),
        ("CONFIG_PREEMPT_LAZY", Preemption::Lazy),
        ("CONFIG_PREEMPT", Preemption::Full),
    ];
    by_config
        .into_iter()
        .find(|(option, _)| is_set(option))
        .map(|(_, model)| model)
        .or(by_words)
}

fn preemption_word(word: &str) -> Option<Preemption> {
    match word {
        "none" => Some(Preemption::None),
        "voluntary" => Some(Preemption::Voluntary),
        "full" => Some(Preemption::Full),
        "lazy" => Some(Preemption::Lazy),
        _ => None,
    }
}

/// The word between two marks: `[none] integrity`, `none (full)`.
fn marked(text: &str, open: char, close: char) -> Option<String> {
    let (_, after) = text.split_once(open)?;
    after.split_once(close).map(|(word, _)| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_with_distribution_backports_are_not_trusted() {
        let kernel = |release: &str| Kernel {
            version: parse_version(release),
            release: Some(release.to_owned()),
            ..Kernel::default()
        };
        for (release, since, lacks, unsupported) in [
            ("5.6.0", Some(true), false, false),
            ("5.4.0-26-generic", Some(false), true, false),
            ("4.18.0-553.el8.x86_64", None, false, false),
            ("4.14.0", Some(false), true, false),
            ("4.13.16", Some(false), true, true),
            ("3.10.0-1160.el7.x86_64", None, false, true),
        ] {
            let kernel = kernel(release);
            assert_eq!(kernel.since((5, 6)), since, "{release}");
            assert_eq!(kernel.lacks_managed_irq(), lacks, "{release}");
            assert_eq!(kernel.is_unsupported(), unsupported, "{release}");
        }
        assert!(!Kernel::default().is_unsupported() && !Kernel::default().lacks_managed_irq());
    }

    #[test]
    fn kernel_versions_are_parsed() {
        let check = |release: &str, expected| assert_eq!(parse_version(release), expected, "of {release}");
        check("6.18.44-fc-v669", Some((6, 18)));
        check("4.14.0", Some((4, 14)));
        check("7.3-rc7", Some((7, 3)));
        check("6", None);
        check("x.1", None);
    }

    #[test]
    fn the_preemption_model_is_read_from_the_version_text() {
        let check = |words: &str, number, expected| {
            let text = format!("Linux version 1.2.3 (gcc) #1 SMP {words} Debian 6.1.1 (2024-01-01)");
            assert_eq!(
                parse_preemption_words(&text, Some(number)),
                expected,
                "of {words} in {number:?}"
            );
        };
        check("PREEMPT_RT", (6, 1), Some(Preemption::Rt));
        check("PREEMPT RT", (4, 19), Some(Preemption::Rt));
        check("PREEMPT", (5, 10), Some(Preemption::Full));
        check("PREEMPT", (6, 18), None);
        check("PREEMPT_DYNAMIC", (6, 18), None);
        check("PREEMPT_LAZY", (7, 1), None);
        check("", (6, 1), None);
    }

    #[test]
    fn kernel_configurations_are_parsed() {
        let config =
            parse_config("# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_C=\"x y\"\nCONFIG_D=n\nbad\nCONFIG_E=\"\"\n");
        let found: Vec<(&str, &str)> = config
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(found, [("CONFIG_B", "y"), ("CONFIG_C", "x y"), ("CONFIG_E", "")]);
    }

    #[test]
    fn the_marked_word_of_a_choice_is_found() {
        assert_eq!(
            marked("none [integrity] confidentiality", '[', ']').as_deref(),
            Some("integrity")
        );
        assert_eq!(marked("none voluntary (full)", '(', ')').as_deref(), Some("full"));
        assert_eq!(marked("none", '(', ')'), None);
        assert_eq!(marked("none (", '(', ')'), None);
    }
}
