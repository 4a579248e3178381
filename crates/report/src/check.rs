//! Formats `check`: the intended state, the findings, the evidence and the verdict, as text, JSON and JUnit.

use crate::KnobDetail;
use crate::finding_blocks::{EvidencedFinding, finding_blocks};
use crate::report_text::{ReportText, counted_levels};
use crate::style::{Style, TextRole, counted, safe};
use check::{
    CheckFinding, CheckResult, CheckVerdict, IntendedIsolation, Intention, IntentionSource, IsolationMeans, LAYERS,
    LayerName,
};
use machine::CpuSet;
use plan::{FindingId, Level, Profile};
use serde::Serialize;

/// The schema of the document.
pub const CHECK_SCHEMA: &str = "quietcore.check/1";

/// The complete result of `check`.
pub struct CheckOutput<'a> {
    /// `live` or `captured`.
    pub origin: &'static str,
    /// The intended state.
    pub intention: &'a Intention,
    /// The findings.
    pub judged: &'a CheckResult,
    /// The observation time, in nanoseconds; `None` if nothing was counted.
    pub window_ns: Option<u64>,
    /// What could not be read, one line each.
    pub unread: &'a [String],
    /// What `--fix` did, one line each.
    pub repairs: &'a [String],
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct CheckDocument<'a> {
    schema: &'static str,
    /// Whether the machine is the running one or a captured one.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["live", "captured"])))]
    origin: &'static str,
    /// Whether the CPUs are as quiet as promised.
    verdict: CheckVerdict,
    /// What is intended, and where that is written.
    intention: IntentionJson<'a>,
    /// The observation time; `None` if nothing was counted.
    window_ns: Option<u64>,
    /// Findings that count, worst first.
    findings: &'a [CheckFinding],
    /// Findings that the user ignores.
    ignored: &'a [CheckFinding],
    /// Ignore patterns for a single subject that match no finding.
    unused: &'a [String],
    /// Why not everything could be checked, one line each.
    unseen: &'a [String],
    /// Files that could not be read, one line each.
    unread: &'a [String],
    /// What `--fix` repaired, one line each.
    mended: &'a [String],
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct IntentionJson<'a> {
    /// Where the CPUs come from.
    source: IntentionSource,
    /// What is to be isolated.
    partitions: Vec<PartitionJson<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PartitionJson<'a> {
    /// Name of the partition.
    name: &'a str,
    /// Its CPUs.
    cpus: &'a CpuSet,
    /// The profile that they are compared with.
    profile: Profile,
    /// What isolates them.
    means: &'a IsolationMeans,
}

/// The JSON document `quietcore.check/1`.
#[must_use]
pub fn check_json<'a>(checked: &'a CheckOutput<'a>) -> impl Serialize + 'a {
    let partition = |isolation: &'a IntendedIsolation| PartitionJson {
        name: isolation.intent.name.as_str(),
        cpus: &isolation.intent.cpus,
        profile: isolation.intent.profile,
        means: &isolation.means,
    };
    CheckDocument {
        schema: CHECK_SCHEMA,
        origin: checked.origin,
        verdict: checked.judged.verdict,
        intention: IntentionJson {
            source: checked.intention.source,
            partitions: checked.intention.isolations.iter().map(partition).collect(),
        },
        window_ns: checked.window_ns,
        findings: &checked.judged.findings,
        ignored: &checked.judged.ignored,
        unused: &checked.judged.unused,
        unseen: &checked.judged.unseen,
        unread: checked.unread,
        mended: checked.repairs,
    }
}

/// Formats a check for a terminal: the verdict, what needs attention, and what to do next.
#[must_use]
pub fn check_text(checked: &CheckOutput, detail: KnobDetail, style: Style) -> String {
    let mut text = ReportText::new(style);
    let (role, line) = verdict(checked);
    text.wrapped_as(role, 0, 2, &line);
    for isolation in &checked.intention.isolations {
        let source = source(checked.intention.source);
        let line = match isolation.means {
            IsolationMeans::Nothing => format!(
                "CPU {} is not isolated: no partition, cpuset or boot parameter isolates it (CPUs from {source})",
                isolation.intent.cpus
            ),
            _ => format!("CPU {}: {} (from {source})", isolation.intent.cpus, means(isolation)),
        };
        text.wrapped(2, 4, &safe(&line));
    }
    if !checked.repairs.is_empty() {
        text.heading("Repaired");
    }
    for line in checked.repairs {
        text.wrapped(2, 4, &safe(line));
    }
    for layer in LAYERS.iter().map(|layer| Some(layer.name)).chain([None]) {
        let of_layer = checked.judged.findings.iter().filter(|one| one.layer == layer);
        let shown: Vec<EvidencedFinding> = of_layer
            .filter(|one| detail == KnobDetail::Whole || one.finding.level > Level::Info)
            .map(|one| EvidencedFinding {
                finding: &one.finding,
                evidence: &one.evidence,
            })
            .collect();
        if !shown.is_empty() {
            text.heading(layer.map_or("the machine", LayerName::as_str));
            finding_blocks(&mut text, &shown, detail);
        }
    }
    gaps(&mut text, checked);
    next(&mut text, checked, detail);
    text.into_string()
}

/// What could not be checked.
fn gaps(text: &mut ReportText, checked: &CheckOutput) {
    let unused = |pattern| format!("--ignore {pattern} matched nothing: no finding has this id and subject");
    let unused = checked.judged.unused.iter().map(unused);
    let unseen = checked.judged.unseen.iter().map(|why| format!("not checked: {why}"));
    let unread = checked.unread.iter().map(|why| format!("not read: {why}"));
    for (place, line) in unused.chain(unseen).chain(unread).enumerate() {
        if place == 0 {
            writeln!(text);
        }
        text.wrapped(0, 2, &safe(&line));
    }
}

/// What to type next.
fn next(text: &mut ReportText, checked: &CheckOutput, detail: KnobDetail) {
    let findings = &checked.judged.findings;
    let repairable = findings.iter().filter(|one| one.mend.is_some()).count();
    let notes = findings.iter().filter(|one| one.finding.level == Level::Info).count();
    let mut steps = match checked.origin {
        "live" => isolating_steps(checked),
        _ => Vec::new(),
    };
    if steps.is_empty() && repairable > 0 && checked.origin == "live" {
        steps.push(format!(
            "`quietcore check --fix` repairs {}",
            counted(repairable, "finding")
        ));
    }
    if detail == KnobDetail::Short && notes > 0 {
        steps.push(format!("-v shows {} and all evidence", counted(notes, "note")));
    }
    if !steps.is_empty() {
        writeln!(text);
        text.wrapped(0, 2, &format!("Next: {}.", steps.join("; ")));
    }
}

/// The commands that isolate the partitions that are missing; none where `apply` would refuse.
fn isolating_steps(checked: &CheckOutput) -> Vec<String> {
    let findings = || checked.judged.findings.iter().map(|one| &one.finding);
    if findings().any(|one| one.id == FindingId::PLAN_REFUSED) {
        return Vec::new();
    }
    let missing =
        findings().filter(|one| one.id == FindingId::PARTITION_MISSING && one.fix.starts_with("`quietcore apply"));
    let mut steps: Vec<String> = missing.map(|one| one.fix.clone()).collect();
    steps.dedup();
    steps
}

/// The verdict in one line, which is all that `--quiet` prints.
#[must_use]
pub fn check_verdict(checked: &CheckOutput) -> String {
    format!("{}\n", verdict(checked).1)
}

/// Where the CPUs come from. The metrics have an older text of it as a label.
fn source(source: IntentionSource) -> &'static str {
    match source {
        IntentionSource::CommandLine => "--cpus",
        IntentionSource::Declared => "/etc/quietcore.toml",
        IntentionSource::Journal => "the journal",
        IntentionSource::BootLine => "the kernel command line",
        IntentionSource::Cpuset => "an exclusive cpuset",
        IntentionSource::Slices => "systemd's AllowedCPUs",
        IntentionSource::Tuned => "TuneD's variables",
        IntentionSource::Nobody => "no source",
    }
}

/// What isolates these CPUs, in words.
pub(crate) fn means(isolation: &IntendedIsolation) -> String {
    let profile = format!("{:?}", isolation.intent.profile).to_lowercase();
    match &isolation.means {
        IsolationMeans::Partition => format!("partition {}, profile {profile}", isolation.intent.name),
        IsolationMeans::Missing => format!("partition {}, profile {profile}, NOT active", isolation.intent.name),
        IsolationMeans::BootLine => "isolated by the kernel command line".to_owned(),
        IsolationMeans::Cpuset(set) => format!("isolated by the cpuset {set}"),
        IsolationMeans::Slices => {
            "isolated by systemd's AllowedCPUs of system.slice, user.slice and init.scope".to_owned()
        }
        IsolationMeans::Tuned => "isolated by TuneD".to_owned(),
        IsolationMeans::Nothing => "not isolated".to_owned(),
    }
}

fn verdict(checked: &CheckOutput) -> (TextRole, String) {
    let levels = checked.judged.findings.iter().map(|one| one.finding.level);
    let cpus = checked.intention.cpus();
    let window = match checked.window_ns {
        Some(window) => format!(", measured for {:.1} s", window as f64 / 1e9),
        None => String::new(),
    };
    let ignored = match checked.judged.ignored.len() {
        0 => String::new(),
        count => format!(", {count} ignored"),
    };
    let counts = format!("{}{ignored}", counted_levels(levels, "note"));
    match (checked.judged.verdict, checked.intention.isolations.is_empty()) {
        (_, true) if !checked.intention.unseen.is_empty() => (
            TextRole::Warning,
            "What is isolated here is not known, because not everything could be read.".to_owned(),
        ),
        (_, true) => (
            TextRole::Warning,
            "No CPU is isolated here, so there is nothing to check.".to_owned(),
        ),
        (CheckVerdict::Quiet, _) => (TextRole::Good, format!("CPU {cpus} is quiet{window} ({counts}).")),
        (CheckVerdict::Noisy, _) if !checked.intention.not_isolated().is_empty() => {
            let open = checked.intention.not_isolated();
            let rest = match cpus.minus(&open) {
                rest if rest.is_empty() => String::new(),
                rest => format!("; CPU {rest} is isolated"),
            };
            (
                TextRole::Bad,
                format!("CPU {open} is NOT ISOLATED{rest}{window} ({counts})."),
            )
        }
        (CheckVerdict::Noisy, _) => (TextRole::Bad, format!("CPU {cpus} is NOISY{window} ({counts}).")),
        (CheckVerdict::Unknown, _) => (
            TextRole::Warning,
            format!("CPU {cpus}: no fault was found, but not everything could be checked ({counts})."),
        ),
    }
}
