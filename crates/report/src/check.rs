//! Formats `check`: the intended state, the findings, the evidence and the verdict, as text, JSON and JUnit.

use crate::KnobDetail;
use crate::report_text::{ReportText, counted_levels, level_mark};
use crate::style::{Style, safe};
use check::{CheckFinding, CheckResult, CheckVerdict, IntendedIsolation, Intention, IsolationMeans, LAYERS, LayerName};
use machine::CpuSet;
use plan::{Level, Profile};
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
struct CheckDocument<'a> {
    schema: &'static str,
    origin: &'static str,
    verdict: CheckVerdict,
    intention: IntentionJson<'a>,
    window_ns: Option<u64>,
    findings: &'a [CheckFinding],
    ignored: &'a [CheckFinding],
    unused: &'a [String],
    unseen: &'a [String],
    unread: &'a [String],
    mended: &'a [String],
}

#[derive(Serialize)]
struct IntentionJson<'a> {
    source: check::IntentionSource,
    partitions: Vec<PartitionJson<'a>>,
}

#[derive(Serialize)]
struct PartitionJson<'a> {
    name: &'a str,
    cpus: &'a CpuSet,
    profile: Profile,
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

/// Evidence lines printed per finding; the rest is only counted.
const MAX_EVIDENCE: usize = 3;

/// Formats a check for a terminal.
#[must_use]
pub fn check_text(checked: &CheckOutput, length: KnobDetail, style: Style) -> String {
    let mut text = ReportText::new(style);
    for isolation in &checked.intention.isolations {
        let line = match isolation.means {
            IsolationMeans::Nothing => format!(
                "CPU {} is not isolated: no partition, cpuset or boot parameter keeps anything away (CPUs from {})",
                isolation.intent.cpus,
                checked.intention.source.text()
            ),
            _ => format!(
                "CPU {}: {}, said by {}",
                isolation.intent.cpus,
                means(isolation),
                checked.intention.source.text()
            ),
        };
        text.wrapped(0, 2, &safe(&line));
    }
    if !checked.repairs.is_empty() {
        text.heading("Mended");
    }
    for line in checked.repairs {
        text.wrapped(2, 4, &safe(line));
    }
    for layer in LAYERS.iter().map(|layer| Some(layer.name)).chain([None]) {
        let of_layer: Vec<&CheckFinding> = checked
            .judged
            .findings
            .iter()
            .filter(|one| one.layer == layer)
            .collect();
        if of_layer.is_empty() {
            continue;
        }
        text.heading(layer.map_or("the machine", LayerName::as_str));
        of_layer.iter().for_each(|one| finding(&mut text, one, length));
    }
    writeln!(text);
    let unused = |pattern| format!("--ignore {pattern} ignored nothing: no finding has this id and subject");
    let unused = checked.judged.unused.iter().map(unused);
    let unseen = checked.judged.unseen.iter().map(|why| format!("not seen: {why}"));
    let unread = checked.unread.iter().map(|why| format!("not read: {why}"));
    for line in unused.chain(unseen).chain(unread) {
        text.wrapped(0, 2, &safe(&line));
    }
    text.wrapped(0, 2, &verdict(checked));
    text.into_string()
}

fn means(isolation: &IntendedIsolation) -> String {
    let profile = format!("{:?}", isolation.intent.profile).to_lowercase();
    match &isolation.means {
        IsolationMeans::Partition => format!("partition {} ({profile})", isolation.intent.name),
        IsolationMeans::Missing => format!("partition {} ({profile}), which is NOT in force", isolation.intent.name),
        IsolationMeans::BootLine => "isolated by the boot line".to_owned(),
        IsolationMeans::Cpuset(set) => format!("isolated by the cpuset {set}"),
        IsolationMeans::Slices => {
            "kept free by systemd's AllowedCPUs of system.slice, user.slice and init.scope".to_owned()
        }
        IsolationMeans::Tuned => "kept free by TuneD".to_owned(),
        IsolationMeans::Nothing => "not isolated".to_owned(),
    }
}

fn finding(text: &mut ReportText, one: &CheckFinding, length: KnobDetail) {
    let says = format!(
        "[{}] {}: {}",
        one.finding.id,
        safe(&one.finding.subject),
        safe(&one.finding.message)
    );
    text.marked(level_mark(one.finding.level), 2, 11, &says);
    let is_short = length == KnobDetail::Short;
    let shown = match (is_short, one.finding.level) {
        (false, _) => one.evidence.len(),
        (true, Level::Info) => 0,
        (true, _) => MAX_EVIDENCE,
    };
    for line in one.evidence.iter().take(shown) {
        text.wrapped(11, 13, &safe(line));
    }
    if shown > 0 && one.evidence.len() > shown {
        writeln!(text, "           and {} more (-v)", one.evidence.len() - shown);
    }
    if !is_short || one.finding.level > Level::Info {
        text.fix(&one.finding.fix);
    }
}

fn verdict(checked: &CheckOutput) -> String {
    let levels = checked.judged.findings.iter().map(|one| one.finding.level);
    let cpus = checked.intention.cpus();
    let looked = match checked.window_ns {
        Some(window) => format!(", looked at for {:.1} s", window as f64 / 1e9),
        None => String::new(),
    };
    let ignored = match checked.judged.ignored.len() {
        0 => String::new(),
        count => format!(", {count} ignored"),
    };
    let counts = format!("{}{ignored}", counted_levels(levels, "note"));
    match (checked.judged.verdict, checked.intention.isolations.is_empty()) {
        (_, true) => "Nothing is isolated here, so there is nothing to check.".to_owned(),
        (CheckVerdict::Quiet, _) => {
            format!("CPU {cpus} is quiet{looked}: what is promised is there ({counts}).")
        }
        (CheckVerdict::Noisy, _) if !checked.intention.not_isolated().is_empty() => {
            let open = checked.intention.not_isolated();
            let rest = match cpus.minus(&open) {
                rest if rest.is_empty() => String::new(),
                rest => format!("; CPU {rest} is isolated"),
            };
            format!("CPU {open} is NOT ISOLATED{rest}{looked} ({counts}).")
        }
        (CheckVerdict::Noisy, _) => {
            format!("CPU {cpus} is NOISY{looked}: something that is promised is absent ({counts}).")
        }
        (CheckVerdict::Unknown, _) => {
            format!("CPU {cpus}: nothing is seen to be wrong, and not everything could be seen ({counts}).")
        }
    }
}
