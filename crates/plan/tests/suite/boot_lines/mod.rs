//! Command lines in real use and invalid ones, checked by all rules, and properties of every line, kernel and machine.

mod damaged;
mod field;
mod guides;
mod machines;
mod properties;
mod public;
mod reported;
mod suggested;

use plan::Level;
use plan::lint::{KernelFacts, LintResult, lint};
use std::collections::BTreeSet;

/// The configuration of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KernelBuild {
    /// Unknown.
    Unknown,
    /// All features.
    Full,
    /// Real-time, with all features.
    Realtime,
    /// `CPU_ISOLATION` but neither `NO_HZ_FULL` nor `RCU_NOCB_CPU`.
    Plain,
}

/// A line and its expected findings.
struct LintCase {
    /// The source of the line.
    from: &'static str,
    kernel: &'static str,
    built: KernelBuild,
    possible: &'static str,
    line: &'static str,
    /// The ids of all errors (with `!`) and warnings, in any order.
    loud: &'static [&'static str],
    /// The ids of other findings that must be present.
    quiet: &'static [&'static str],
    /// Why this is correct.
    because: &'static str,
}

fn config(built: KernelBuild) -> Option<std::collections::BTreeMap<String, String>> {
    let options: &[&str] = match built {
        KernelBuild::Unknown => return None,
        KernelBuild::Full => &["NO_HZ_FULL", "RCU_NOCB_CPU", "CPU_ISOLATION", "PREEMPT_DYNAMIC"],
        KernelBuild::Realtime => &["NO_HZ_FULL", "RCU_NOCB_CPU", "CPU_ISOLATION", "PREEMPT_RT"],
        KernelBuild::Plain => &["CPU_ISOLATION"],
    };
    let set = |option: &&str| (format!("CONFIG_{option}"), "y".to_owned());
    Some(options.iter().map(set).collect())
}

fn facts(kernel: &str, built: KernelBuild, possible: &str) -> KernelFacts {
    let mut facts = KernelFacts::of_release(kernel).unwrap();
    if let Some(config) = config(built) {
        facts = facts.with_config(config);
    }
    if !possible.is_empty() {
        facts.possible = Some(machine::CpuSet::parse_list(possible).unwrap());
    }
    facts
}

fn ids(verdict: &LintResult, wanted: impl Fn(Level) -> bool) -> BTreeSet<String> {
    let found = verdict.findings.iter().filter(|finding| wanted(finding.level));
    found
        .map(|finding| {
            if finding.level == Level::Error {
                format!("!{}", finding.id)
            } else {
                finding.id.to_string()
            }
        })
        .collect()
}

/// Collects every difference of a table, so that one run shows all of them.
fn check(cases: &[LintCase]) {
    let mut wrong = String::new();
    for case in cases {
        let verdict = lint(case.line, &facts(case.kernel, case.built, case.possible));
        let loud = ids(&verdict, |level| level > Level::Info);
        let quiet = ids(&verdict, |level| level == Level::Info);
        let wanted: BTreeSet<String> = case.loud.iter().map(|id| (*id).to_owned()).collect();
        let missing: Vec<&&str> = case.quiet.iter().filter(|id| !quiet.contains(**id)).collect();
        if loud != wanted || !missing.is_empty() {
            wrong.push_str(&format!(
                "\n{} on {}: {}\n  found  {loud:?}\n  wanted {wanted:?} ({})\n  quiet {quiet:?} without {missing:?}\n",
                case.from, case.kernel, case.line, case.because
            ));
        }
        let again = lint(&verdict.suggested, &facts(case.kernel, case.built, case.possible));
        let left = ids(&again, |level| level == Level::Error);
        if !left.is_empty() {
            wrong.push_str(&format!(
                "\n{}: suggested `{}` has {left:?}\n",
                case.from, verdict.suggested
            ));
        }
        assert!(case.because.len() > 7, "{} is not argued", case.line);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_tables_have_enough_real_lines() {
    assert!(guides::CASES.len() + field::CASES.len() >= 60);
}

/// A rule that no line breaks is useless. Rules that need a live kernel or facts of a machine have separate tests.
#[test]
fn every_rule_has_a_line_that_breaks_it() {
    const ELSEWHERE: &[&str] = &[
        "kernel-did-not-know",
        "kernel-complained",
        "not-in-force",
        "kernel-log-unreadable",
        "smt-sibling-shared",
        "isolcpus-sched-ext",
        "line-too-long",
        "isolcpus-unsupported",
    ];
    let mut seen: BTreeSet<String> = ELSEWHERE.iter().map(|id| (*id).to_owned()).collect();
    let all = guides::CASES.iter().chain(field::CASES).chain(damaged::CASES);
    for case in all.chain(reported::CASES) {
        let verdict = lint(case.line, &facts(case.kernel, case.built, case.possible));
        seen.extend(verdict.findings.into_iter().map(|finding| finding.id.to_string()));
    }
    seen.extend(public::ids());
    let unseen: Vec<&str> = plan::lint::RULES
        .iter()
        .map(|rule| rule.id)
        .filter(|id| !seen.contains(*id))
        .collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}
