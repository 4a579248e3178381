//! Properties of every line, every kernel and every machine.

use super::{KernelBuild, config, facts};
use machine::CpuSet;
use plan::boot_check::requested_cpus;
use plan::lint::{KernelFacts, MOST_BYTES, RULES, lint};
use plan::{BootPurpose, Level, Profile, boot_line};
use proptest::prelude::*;
use std::collections::BTreeSet;

const KERNELS: &[&str] = &[
    "4.9",
    "4.14.180",
    "4.15",
    "4.18.0-553.el8.x86_64",
    "4.19",
    "5.3.18-150300-default",
    "5.4",
    "5.5",
    "5.6",
    "5.8",
    "5.10.0-35-rt-amd64",
    "5.14.0-427.el9.x86_64",
    "5.15",
    "5.17",
    "5.18",
    "6.1.0-56-amd64",
    "6.4",
    "6.5",
    "6.12.117-rt-amd64",
    "6.13",
    "6.18",
    "7.0",
    "7.1",
    "7.2.13",
    "7.3-rc7",
];
const BUILT: &[KernelBuild] = &[
    KernelBuild::Unknown,
    KernelBuild::Full,
    KernelBuild::Realtime,
    KernelBuild::Plain,
];
const PROFILES: &[Profile] = &[Profile::Minimal, Profile::Balanced, Profile::Strict];

fn list(text: &str) -> CpuSet {
    CpuSet::parse_list(text).unwrap()
}

/// The line that `plan` suggests has neither errors nor warnings on its kernel, whatever the profile. There is a
/// warning only if the kernel supports nothing better.
#[test]
fn the_suggested_line_has_no_findings_on_its_kernel() {
    let mut seen = 0;
    for kernel in KERNELS {
        for &built in BUILT {
            for (possible, isolated) in [
                ("0-3", "2-3"),
                ("0-3", "1"),
                ("0-1", "1"),
                ("0-63", "1-31,33-63"),
                ("0,2,4-7", "4,6"),
            ] {
                for &profile in PROFILES {
                    let facts = facts(kernel, built, possible);
                    let (isolated, housekeeping) = (list(isolated), list(possible).minus(&list(isolated)));
                    let wish = BootPurpose {
                        isolated: &isolated,
                        housekeeping: &housekeeping,
                        profile,
                    };
                    let line = boot_line(&wish, &facts).line.unwrap();
                    let loud: Vec<_> = lint(&line, &facts)
                        .findings
                        .into_iter()
                        .filter(|finding| finding.level > Level::Info)
                        .collect();
                    assert!(loud.is_empty(), "{kernel} {built:?} {profile:?}: {line}: {loud:?}");
                    // A suggestion never weakens safety or security.
                    for price in [
                        "mitigations",
                        "mce",
                        "watchdog",
                        "nosoftlockup",
                        "audit",
                        "tsc=",
                        "sched_rt",
                    ] {
                        assert!(!line.contains(price), "{line}");
                    }
                    seen += 1;
                }
            }
        }
    }
    assert_eq!(seen, KERNELS.len() * BUILT.len() * 5 * PROFILES.len());
}

#[test]
fn the_suggested_line_depends_on_kernel_and_profile() {
    let suggest = |kernel: &str, built, profile| {
        let (isolated, housekeeping) = (list("2-3"), list("0-1"));
        let wish = BootPurpose {
            isolated: &isolated,
            housekeeping: &housekeeping,
            profile,
        };
        boot_line(&wish, &facts(kernel, built, "0-3")).line.unwrap()
    };
    use Profile::{Balanced, Minimal, Strict};
    for (kernel, built, profile, wanted) in [
        (
            "6.12",
            KernelBuild::Full,
            Minimal,
            "isolcpus=managed_irq,domain,2-3 rcu_nocbs=2-3 irqaffinity=0-1",
        ),
        (
            "6.12",
            KernelBuild::Full,
            Balanced,
            "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 irqaffinity=0-1",
        ),
        (
            "6.12",
            KernelBuild::Full,
            Strict,
            "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocb_poll skew_tick=1 irqaffinity=0-1",
        ),
        (
            "6.1",
            KernelBuild::Full,
            Strict,
            "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocb_poll skew_tick=1 workqueue.power_efficient=1 irqaffinity=0-1",
        ),
        (
            "4.14",
            KernelBuild::Full,
            Balanced,
            "isolcpus=2-3 nohz_full=2-3 irqaffinity=0-1",
        ),
        (
            "5.4",
            KernelBuild::Full,
            Balanced,
            "isolcpus=2-3 nohz_full=2-3 irqaffinity=0-1",
        ),
        (
            "6.6",
            KernelBuild::Plain,
            Balanced,
            "isolcpus=managed_irq,domain,2-3 irqaffinity=0-1",
        ),
        (
            "4.18.0-553.el8",
            KernelBuild::Full,
            Balanced,
            "isolcpus=2-3 nohz_full=2-3 irqaffinity=0-1",
        ),
    ] {
        assert_eq!(
            suggest(kernel, built, profile),
            wanted,
            "{kernel} {built:?} {profile:?}"
        );
    }
}

#[test]
fn the_boot_cpu_is_left_out_and_reported() {
    let (isolated, housekeeping) = (list("2-3"), list("1"));
    let wish = BootPurpose {
        isolated: &isolated,
        housekeeping: &housekeeping,
        profile: Profile::Balanced,
    };
    let mut facts = facts("6.12", KernelBuild::Full, "0-3");
    facts.boot_cpu = Some(machine::CpuId(2));
    let suggested = boot_line(&wish, &facts);
    assert_eq!(
        suggested.line.as_deref(),
        Some("isolcpus=managed_irq,domain,3 nohz_full=3 irqaffinity=1")
    );
    assert!(
        suggested
            .findings
            .iter()
            .any(|finding| finding.id.as_str() == "boot-line-boot-cpu")
    );
}

#[test]
fn rule_ids_are_unique_and_well_formed() {
    let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), RULES.len());
    for rule in RULES {
        assert!(
            rule.id
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
            "{}",
            rule.id
        );
        assert!(rule.truth.len() > 20 && !rule.truth.ends_with('.'), "{}", rule.id);
    }
}

/// A command line of 4,000 characters causes no panic. The benchmarks measure how long it takes.
#[test]
fn long_lines_get_a_warning() {
    let words: String = (0..400).map(|n| format!("word{n}=x ")).collect();
    let lists: String = (0..1000).map(|n| format!("{n},")).collect();
    let facts = facts("6.12", KernelBuild::Full, "0-1023");
    for line in [
        words,
        format!("isolcpus={lists}"),
        "isolcpus=".repeat(500),
        "\"".repeat(4001),
        "isolcpus=0-65535:1/2,".repeat(200),
    ] {
        let verdict = lint(&line, &facts);
        assert!(
            verdict
                .findings
                .iter()
                .any(|finding| finding.id.as_str() == "line-too-long")
        );
    }
}

fn word() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "isolcpus",
        "nohz_full",
        "rcu_nocbs",
        "irqaffinity",
        "nohz",
        "workqueue.unbound_cpus",
        "kthread_cpus",
        "maxcpus",
        "nr_cpus",
        "tsc",
        "preempt",
        "cgroup_disable",
        "isolcpu",
        "mce",
        "idle",
        "hugepages",
        "quiet",
        "--",
        "isolcpus ",
        "=",
        "\"a",
    ]);
    let value = prop::sample::select(vec![
        "",
        "1",
        "2-3",
        "0-3",
        "N",
        "all",
        "1-N",
        "domain,2",
        "managed_irq,3",
        "nohz,2-3",
        "nohz,domain,1-2",
        "io_queue,3",
        "9",
        "off",
        "on",
        "full",
        "3,",
        ",3",
        "3-1",
        "0x3",
        "1-3:2",
        "1-3:1/2",
        "unstable",
        "cpuset",
        "cpuset,memory",
        "poll",
        "2–3",
        "\"2 3\"",
    ]);
    (name, value, any::<bool>()).prop_map(|(name, value, signed)| {
        if signed {
            format!("{name}={value}")
        } else {
            format!("{name} {value}")
        }
    })
}

fn sound_word() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity"]);
    let list = prop::sample::select(vec!["", "", ",", "1", "3", "2-3"]);
    let flags = prop::sample::select(vec!["", "", "domain,", "managed_irq,", "nohz,domain,"]);
    (name, flags, list).prop_map(|(name, flags, list)| {
        let flags = if name == "isolcpus" { flags } else { "" };
        format!("{name}={flags}{list}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// The suggested line has no error left that its words can cause. Its own suggestion is the same line.
    #[test]
    fn the_suggested_line_has_no_errors_and_is_stable(
        words in prop::collection::vec(word(), 0..7),
        kernel in prop::sample::select(KERNELS),
        built in prop::sample::select(BUILT),
        possible in prop::sample::select(vec!["", "0-3", "0-7", "0"]),
    ) {
        let facts = facts(kernel, built, possible);
        let line = words.join(" ");
        let verdict = lint(&line, &facts);
        let again = lint(&verdict.suggested, &facts);
        let errors: Vec<_> = again.findings.iter().filter(|finding| finding.level == Level::Error).collect();
        prop_assert!(errors.is_empty(), "{} -> {}: {:?}", line, verdict.suggested, errors);
        prop_assert_eq!(&again.suggested, &verdict.suggested, "from {}", line);
    }

    /// The suggestion for a line in the kernel's syntax never isolates more CPUs than the line. An empty list disables
    /// isolation, and an overridden list has no effect.
    #[test]
    fn no_suggestion_isolates_more_than_the_line(
        words in prop::collection::vec(sound_word(), 0..5),
        kernel in prop::sample::select(KERNELS),
        built in prop::sample::select(BUILT),
    ) {
        let facts = facts(kernel, built, "0-3");
        let line = words.join(" ");
        let suggested = lint(&line, &facts).suggested;
        let (requested, found) = (requested_cpus(&line, &facts), requested_cpus(&suggested, &facts));
        prop_assert!(found.is_subset(&requested), "{} on {} -> {}", line, kernel, suggested);
        // An empty `isolcpus=` at the end disables all of them.
        if words.iter().rfind(|word| word.starts_with("isolcpus=")).is_some_and(|word| word == "isolcpus=") {
            // The rule is about domains; `managed_irq` alone is a different flag.
            let domains = |word: &&str| word.starts_with("isolcpus=") && (word.contains("domain") || !word.contains("managed_irq"));
            let mut left = suggested.split(' ').filter(domains);
            prop_assert!(left.all(|word| !word.contains(|letter: char| letter.is_ascii_digit())), "{} on {} -> {}", line, kernel, suggested);
        }
    }

    /// Without known facts, a line of valid words has no errors.
    #[test]
    fn unknown_facts_never_cause_errors(cpu in 1_u32..64, flags in prop::sample::select(vec!["", "domain,", "managed_irq,domain,", "managed_irq,"])) {
        let line = format!("isolcpus={flags}{cpu} nohz_full={cpu} rcu_nocbs={cpu} irqaffinity=0 workqueue.unbound_cpus=0 preempt=lazy");
        let verdict = lint(&line, &KernelFacts::default());
        prop_assert!(verdict.findings.iter().all(|finding| finding.level != Level::Error), "{:?}", verdict.findings);
        prop_assert!(config(KernelBuild::Unknown).is_none());
    }

    /// No text causes a panic, and no level is above that of its rule.
    #[test]
    fn no_text_causes_a_panic_or_a_level_above_its_rule(text in "\\PC{0,200}") {
        for finding in lint(&text, &KernelFacts::default()).findings {
            let rule = plan::lint::RULES.iter().find(|rule| rule.id == finding.id.as_str()).unwrap();
            prop_assert!(finding.level <= rule.level, "{}", finding.id);
        }
    }
}

#[test]
fn each_conflicting_occurrence_is_reported_once() {
    let facts = KernelFacts::of_release("6.12.0").unwrap();
    let count = 200;
    let verdict = lint(&"isolcpus=1 isolcpus=2 ".repeat(count), &facts);
    let clashes = verdict
        .findings
        .iter()
        .filter(|finding| finding.id.as_str() == "isolcpus-twice");
    assert_eq!(clashes.count(), 2 * count - 1);
    let verdict = lint("isolcpus=1 isolcpus=2 isolcpus=nohz,3 isolcpus=3", &facts);
    let clashes: Vec<_> = verdict
        .findings
        .iter()
        .filter(|finding| finding.id.as_str() == "isolcpus-twice")
        .collect();
    assert_eq!(clashes.len(), 2, "{clashes:?}");
}

#[test]
fn a_line_that_exceeds_every_limit_gets_only_that_finding() {
    let facts = KernelFacts::of_release("6.12.0").unwrap();
    let line = "isolcpus=1-3 nohz_full=9-7 ".repeat(MOST_BYTES / 27 + 1);
    let verdict = lint(line.trim(), &facts);
    let ids: Vec<&str> = verdict.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["line-too-long"]);
    assert_eq!(verdict.suggested, line.trim());
}
