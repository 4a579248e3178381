//! The last line of `check`: what to type next.

use check::{CheckFinding, CheckResult, CheckVerdict, Intention, IntentionSource};
use plan::{FindingId, Level};
use report::{CheckOutput, KnobDetail, Style, check_text};

/// The last line, of a check of a machine of this origin with these findings and fixes.
fn next(origin: &'static str, findings: &[(FindingId, &str)]) -> String {
    let intention = Intention {
        source: IntentionSource::CommandLine,
        isolations: Vec::new(),
        unseen: Vec::new(),
    };
    let findings = findings.iter().enumerate();
    let judged = CheckResult {
        verdict: CheckVerdict::Noisy,
        findings: findings
            .map(|(place, (id, fix))| CheckFinding::new(Level::Error, *id, place.to_string(), "words").fix(*fix))
            .collect(),
        ignored: Vec::new(),
        unused: Vec::new(),
        unseen: Vec::new(),
        fails: true,
    };
    let checked = CheckOutput {
        origin,
        intention: &intention,
        judged: &judged,
        window_ns: None,
        unread: &[],
        repairs: &[],
    };
    let text = check_text(&checked, KnobDetail::Short, Style::Plain);
    text.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_missing_partition_is_isolated_next() {
    let missing = (FindingId::PARTITION_MISSING, "`quietcore apply --cpus 3`");
    let unmounted = (FindingId::PARTITION_MISSING, "`quietcore check --fix`");
    let refused = (FindingId::PLAN_REFUSED, "isolate fewer CPUs");
    let step = "Next: `quietcore apply --cpus 3`.";
    assert_eq!(next("live", &[missing]), step);
    assert_eq!(next("live", &[missing, missing]), step);
    for (origin, findings) in [
        ("captured", vec![missing]),
        ("live", vec![missing, refused]),
        ("live", vec![unmounted]),
    ] {
        let last = next(origin, &findings);
        assert!(!last.starts_with("Next:"), "{origin} {findings:?}: {last}");
    }
}
