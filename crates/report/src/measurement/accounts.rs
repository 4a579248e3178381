//! Formats the accounts of a measurement: that no sample was lost, the tool's own overhead, other counters, and how the programs
//! ended.

use super::{counter, thread};
use crate::report_text::ReportText;
use crate::style::{COLUMNS, counted, grouped, safe, wrap};
use crate::units::time;
use measure::programs::ProgramResult;
use measure::{CountResult, GapLabel, Measurement, MeasurementKind, ThreadResult};
use std::fmt::Write as _;

/// The results of a measurement besides its histograms: the accounts of each thread, and the exits of programs.
pub(crate) fn measured_text(text: &mut ReportText, measurement: &Measurement) {
    for thread in &measurement.threads {
        accounts(text, thread);
    }
    programs(text, &measurement.programs);
}

/// That nothing was lost, and further facts about a thread.
pub(super) fn accounts(text: &mut ReportText, thread: &ThreadResult) {
    writeln!(text, "{:>5} {}", thread.cpu.0, wrap(&account(thread), 6, COLUMNS));
    for line in lines(thread) {
        text.wrapped(6, 8, &line);
    }
}

/// How many samples were expected, recorded and missed, and what the sampler itself suffered.
pub(super) fn account(thread: &ThreadResult) -> String {
    let mut parts = vec![format!(
        "{} {} = {} recorded + {} missed",
        grouped(thread.expected),
        expected_name(thread.kind),
        grouped(thread.recorded),
        grouped(thread.missed)
    )];
    parts.extend(own(thread));
    parts.join("; ")
}

/// All facts about a thread besides its accounts, one line each, without indent.
pub(super) fn lines(thread: &ThreadResult) -> impl Iterator<Item = String> {
    let lines = [thread::lines(thread), counter::lines(thread), count_lines(thread)];
    lines.into_iter().flatten()
}

/// The name of the samples that a thread of this kind expects.
fn expected_name(kind: MeasurementKind) -> &'static str {
    match kind {
        MeasurementKind::Latency | MeasurementKind::All => "wake-ups expected",
        MeasurementKind::Noise => "gaps found",
    }
}

/// How the accompanying programs ended.
pub(super) fn programs(text: &mut ReportText, programs: &[ProgramResult]) {
    for program in programs {
        text.wrapped(2, 4, &format!("program {}", program_words(program)));
    }
}

/// `make: started 3 times; 2 ended well, 1 otherwise (exit status 2)`
pub(super) fn program_words(program: &ProgramResult) -> String {
    let mut text = format!(
        "{}: started {}; {} succeeded, {} did not",
        safe(&program.name),
        counted_u64(program.started, "time"),
        grouped(program.succeeded),
        grouped(program.failed)
    );
    if let Some(failure) = &program.last_failure {
        let _ = write!(text, " ({})", safe(failure));
    }
    if program.throttled {
        text.push_str("; it ended repeatedly right after its start, so it was started less often than configured");
    }
    text
}

/// The tool's own overhead, and the known overhead of the hypervisor.
fn own(thread: &ThreadResult) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(stolen) = thread.stolen_ns {
        parts.push(format!("{} used by others", time(stolen)));
    }
    let labels = thread.gaps.iter().flatten().filter_map(|gap| gap.label);
    let has = |label_text| labels.clone().any(|label| label == label_text);
    if let Some(own) = thread.own_ns.filter(|own| *own > 0) {
        let mut by = Vec::new();
        if let Some(count) = thread.own_wake_ups {
            by.push(counted_u64(count, "wake-up"));
        }
        if has(GapLabel::RtThrottling) {
            by.push("real-time throttling".to_owned());
        } else if by.is_empty() || has(GapLabel::FairServer) {
            by.push("the fair server".to_owned());
        }
        let by = by.join(", ");
        parts.push(format!("{} were caused by the tool itself ({by})", time(own)));
    }
    if let Some(steal) = thread.steal_ns.filter(|steal| *steal > 0) {
        parts.push(format!("{} used by the hypervisor, from /proc/stat", time(steal)));
    }
    match thread.own {
        None => parts.push("the overhead of the sampler itself is unknown".to_owned()),
        Some(own) if own.page_faults + own.involuntary_switches > 0 => {
            parts.push(format!(
                "the sampler had {} and was preempted {}",
                counted_u64(own.page_faults, "page fault"),
                counted_u64(own.involuntary_switches, "time")
            ));
        }
        Some(_) => {}
    }
    if let Some(turn) = thread.turn_ns_min {
        parts.push(format!("shortest loop {}", time(turn)));
    }
    parts
}

fn counted_u64(count: u64, noun: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

/// At most two lines without indent: the numbers, and the counters without one.
fn count_lines(thread: &ThreadResult) -> Vec<String> {
    let known: Vec<String> = thread.counts.iter().filter_map(count_text).collect();
    let unknown: Vec<String> = thread
        .counts
        .iter()
        .filter_map(|count| Some(format!("{}: {}", count_name(count), safe(count.why.as_deref()?))))
        .collect();
    let line = |what: &str, parts: &[String], between: &str| {
        (!parts.is_empty()).then(|| format!("{what} {}", parts.join(between)))
    };
    [line("counted:", &known, ", "), line("not known:", &unknown, "; ")]
        .into_iter()
        .flatten()
        .collect()
}

fn count_text(count: &CountResult) -> Option<String> {
    let number = count.count?;
    Some(match count.unit.as_str() {
        "ns" => format!("{} {}", count_name(count), time(number)),
        _ => format!("{} {}", count_name(count), grouped(number)),
    })
}

fn count_name(count: &CountResult) -> String {
    safe(&count.name).replace('_', " ")
}
