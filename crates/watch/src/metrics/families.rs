//! Defines the metric families and their lines. Names are a stable interface: existing ones keep name and meaning.

use super::{ActivityTotals, DaemonStats, FindingStart, MOST_FINDINGS, MetricsState};
use MetricType::{Counter, Gauge, Info};
use formats::exposition::{Exposition, ExpositionFormat, LabelSet, MetricType, seconds};
use machine::CpuId;
use machine::OrderBy;
use plan::Level;
use serde::Serialize;
use std::fmt::Display;

/// Writes the whole state, in one of the two formats.
#[must_use]
pub fn exposition(form: ExpositionFormat, known: &MetricsState, totals: &ActivityTotals, now_s: u64) -> String {
    let mut text = Exposition::new(form);
    about(&mut text, known);
    counted(&mut text, known, totals);
    findings(&mut text, known, now_s);
    if let Some(daemon) = &known.daemon {
        cost(&mut text, daemon);
    }
    if let Some(measured) = &known.measured {
        text.family(
            Info,
            "quietcore_measurement",
            "The measurement that the histograms describe.",
        );
        let started_at = measured.started_at.as_deref().unwrap_or_default();
        text.line(&LabelSet::default().with("started_at", started_at), 1);
        formats::histograms(&mut text, measured);
    }
    text.end()
}

fn about(text: &mut Exposition, known: &MetricsState) {
    text.family(Info, "quietcore_build", "Version of quietcore and of the kernel.");
    let labels = LabelSet::default()
        .with("version", &known.version)
        .with("kernel", &known.kernel);
    text.line(&labels, 1);
    text.family(
        Gauge,
        "quietcore_isolated_cpu",
        "Whether a CPU that should be isolated is isolated now (0 if nothing isolates it), and the source of that \
         intention.",
    );
    for one in &known.isolated {
        for cpu in one.cpus.iter() {
            let labels = of_cpu(cpu)
                .with("partition", &one.partition)
                .with("said_by", &known.source_text);
            text.line(&labels, u8::from(one.is_isolated));
        }
    }
}

fn counted(text: &mut Exposition, known: &MetricsState, totals: &ActivityTotals) {
    text.family(Gauge, "quietcore_cpu_online", "Whether an isolated CPU is online.");
    for cpu in known.cpus().iter() {
        let is_online = totals.cpus().any(|(one, total)| one == cpu && total.is_online);
        text.line(&of_cpu(cpu), u8::from(is_online));
    }
    text.family(
        Counter,
        "quietcore_interruptions",
        "Interruptions of an isolated CPU since boot, by class; a softirq counts in addition to the interrupt that \
         raised it.",
    );
    for (cpu, total) in totals.cpus() {
        for (class, count) in &total.classes {
            let labels = of_cpu(cpu).with("class", word(*class));
            text.line(&labels, count);
        }
    }
    let switches = || totals.cpus().filter_map(|(cpu, total)| Some((cpu, total.switches?)));
    if switches().next().is_some() {
        text.family(
            Counter,
            "quietcore_context_switches",
            "How often a task was scheduled on an isolated CPU since boot.",
        );
        switches().for_each(|(cpu, count)| text.line(&of_cpu(cpu), count));
    }
    let stolen = || totals.cpus().filter_map(|(cpu, total)| Some((cpu, total.steal_ns?)));
    if stolen().next().is_some() {
        text.family(
            Counter,
            "quietcore_steal_seconds",
            "Time that the hypervisor took from an isolated CPU since boot.",
        );
        stolen().for_each(|(cpu, ns)| text.line(&of_cpu(cpu), seconds(ns)));
    }
}

/// The open findings of check: how many, for how long, and the oldest ones.
fn findings(text: &mut Exposition, known: &MetricsState, now_s: u64) {
    if let Some(checked_s) = known.checked_s {
        single(
            text,
            Gauge,
            "quietcore_last_check_timestamp_seconds",
            "Time of the last check, complete or partial.",
            checked_s,
        );
    }
    let Some(lowest) = known.level else { return };
    let partitions = partitions(known);
    findings_by_level(text, known, &partitions, lowest);
    if known.since != FindingStart::Unknown {
        drift_ages(text, known, &partitions, now_s);
        oldest_findings(text, known);
    }
}

/// The partitions that are isolated or have findings, sorted.
fn partitions(known: &MetricsState) -> Vec<&str> {
    let isolated = known.isolated.iter().map(|one| one.partition.as_str());
    let with_findings = known.ledger.standing.iter().map(|one| one.partition.as_str());
    let mut partitions: Vec<&str> = isolated.chain(with_findings).collect();
    partitions.sort_unstable();
    partitions.dedup();
    partitions
}

fn findings_by_level(text: &mut Exposition, known: &MetricsState, partitions: &[&str], lowest: Level) {
    text.family(
        Gauge,
        "quietcore_check_findings",
        "Open findings of check, by partition and level.",
    );
    for partition in partitions {
        for level in [Level::Error, Level::Warning, Level::Info] {
            if level < lowest {
                continue;
            }
            let own = known
                .ledger
                .standing
                .iter()
                .filter(|one| one.partition == **partition && one.level == level);
            let labels = LabelSet::default()
                .with("partition", partition)
                .with("level", word(level));
            text.line(&labels, own.count());
        }
    }
}

fn drift_ages(text: &mut Exposition, known: &MetricsState, partitions: &[&str], now_s: u64) {
    text.family(
        Gauge,
        "quietcore_drift_age_seconds",
        "How long the oldest finding of level error has been open in a partition; 0 without one.",
    );
    for partition in partitions {
        let age_s = known.ledger.drift_age_s(partition, now_s).unwrap_or(0);
        text.line(&LabelSet::default().with("partition", partition), age_s);
    }
}

fn oldest_findings(text: &mut Exposition, known: &MetricsState) {
    let standing = &known.ledger.standing;
    let mut oldest: Vec<_> = standing.iter().collect();
    oldest.order_by_key(|one| one.since_s);
    text.family(
        Gauge,
        "quietcore_check_finding_since_timestamp_seconds",
        "Time since which a finding has been open, for the oldest ones.",
    );
    for one in oldest.iter().take(MOST_FINDINGS) {
        let labels = LabelSet::default()
            .with("id", &one.id)
            .with("subject", &one.subject)
            .with("partition", &one.partition)
            .with("level", word(one.level));
        text.line(&labels, one.since_s);
    }
    let unlisted = standing.len().saturating_sub(MOST_FINDINGS) as u64;
    single(
        text,
        Gauge,
        "quietcore_check_findings_unlisted",
        "Findings without their own line, because there are too many.",
        unlisted.saturating_add(known.ledger.more),
    );
}

/// Not under the standard names (`process_cpu_seconds_total`): in a textfile they would be those of `node_exporter` itself.
fn cost(text: &mut Exposition, daemon: &DaemonStats) {
    let none = LabelSet::default();
    single(
        text,
        Gauge,
        "quietcore_daemon_start_timestamp_seconds",
        "Start time of the daemon.",
        daemon.started_s,
    );
    single(
        text,
        Counter,
        "quietcore_daemon_cpu_seconds",
        "CPU time used by the daemon.",
        seconds(daemon.cpu_ns),
    );
    if let Some(bytes) = daemon.resident_bytes {
        single(
            text,
            Gauge,
            "quietcore_daemon_resident_memory_bytes",
            "Memory used by the daemon.",
            bytes,
        );
    }
    for (name, help, count) in [
        (
            "quietcore_daemon_questions",
            "How often layers of check ran.",
            daemon.questions,
        ),
        (
            "quietcore_daemon_events_dropped",
            "How often a kernel source lost events; the daemon then checks everything.",
            daemon.lost,
        ),
        (
            "quietcore_daemon_log_lines_lost",
            "Lines that could not be written to the log.",
            daemon.log_lines_lost,
        ),
    ] {
        single(text, Counter, name, help, count);
    }
    single(
        text,
        Gauge,
        "quietcore_configuration_valid",
        "Whether /etc/quietcore.toml is valid now; if not, the last valid content is used.",
        u8::from(daemon.configuration_error.is_none()),
    );
    text.family(
        Gauge,
        "quietcore_daemon_source_up",
        "Whether a kernel source of events works; periodic checks replace one that does not.",
    );
    for (name, is_up) in &daemon.sources {
        text.line(&none.clone().with("source", name), u8::from(*is_up));
    }
}

/// A family of one line without labels.
fn single(text: &mut Exposition, sort: MetricType, name: &str, help: &str, value: impl Display) {
    text.family(sort, name, help);
    text.line(&LabelSet::default(), value);
}

fn of_cpu(cpu: CpuId) -> LabelSet {
    LabelSet::default().with("cpu", cpu)
}

/// The JSON spelling of a class or a level.
fn word(value: impl Serialize) -> String {
    // Both are plain strings there.
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
