//! Formats a measurement as text: one table, one small histogram per CPU, and the limits of the numbers.

mod accounts;
mod bars;
mod counter;
mod page;
mod thread;

pub(crate) use accounts::measured_text;
pub use page::measurement_html;

use self::accounts::{accounts, programs};
use crate::report_text::ReportText;
use crate::statistics::stolen_percent;
use crate::style::{Style, TextRole, grouped, safe};
use crate::units::{maybe_mean, maybe_time, percent, time};
use machine::Policy;
use measure::{Measurement, MeasurementKind, ThreadResult, condition_words};

/// Whether to draw histograms below the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Histograms {
    /// They are.
    #[default]
    Drawn,
    /// Only the table.
    Left,
}

/// The screen of a measurement.
#[must_use]
pub fn measurement_text(measurement: &Measurement, histograms: Histograms, style: Style) -> String {
    let mut text = ReportText::new(style);
    text.painted(TextRole::Head, &title(measurement));
    if !measurement.complete {
        let note = match measurement.broke {
            Some(broke) => format!(
                "STOPPED after {}: CPU {} had {}, the limit was {}",
                time(measurement.duration_ns),
                broke.cpu,
                time(broke.value_ns),
                time(broke.limit_ns)
            ),
            None => format!(
                "INTERRUPTED: these are the results of {}, not of the whole measurement",
                time(measurement.duration_ns)
            ),
        };
        text.painted(TextRole::Bad, &note);
    }
    if let Some(line) = not_representative(measurement) {
        text.wrapped_as(TextRole::Bad, 0, 2, &line);
    }
    let environment = &measurement.environment;
    let release = environment
        .release
        .as_deref()
        .map_or("kernel unknown".to_owned(), |release| {
            format!("Linux {}", safe(release))
        });
    let preemption = crate::inspect::preemption_name(environment.preemption);
    let guest = environment
        .hypervisor
        .as_deref()
        .map_or_else(String::new, |name| format!(" · guest of {}", safe(name)));
    text.painted(TextRole::Quiet, &format!("{release} · {preemption}{guest}"));
    writeln!(text);
    table(&mut text, measurement);
    programs(&mut text, &measurement.programs);
    if histograms == Histograms::Drawn {
        for thread in &measurement.threads {
            bars::of_thread(&mut text, thread);
        }
    }
    text.notes(&measurement.findings);
    if environment.emulated {
        let note = "EMULATED PROCESSOR: these times are those of the emulator and show nothing about a real machine";
        writeln!(text);
        text.painted(TextRole::Bad, note);
    }
    text.into_string()
}

/// Why a measurement does not represent the machine, in a few words each; `None` if no such reason was found.
fn not_representative(measurement: &Measurement) -> Option<String> {
    if measurement.not_representative.is_empty() {
        return None;
    }
    let words: Vec<String> = measurement
        .not_representative
        .iter()
        .map(|id| safe(condition_words(id).unwrap_or(id)).to_string())
        .collect();
    Some(format!("NOT REPRESENTATIVE OF THIS MACHINE: {}", words.join("; ")))
}

/// What was measured, in one line.
fn title(measurement: &Measurement) -> String {
    let first = measurement.threads.first();
    let policy = first.map_or_else(String::new, |thread| format!(", {}", policy_text(thread)));
    let policy = match measurement.method {
        Some(method) => format!(", by the kernel's {} tracer{policy}", method.tracer()),
        None => policy,
    };
    match measurement.kind {
        MeasurementKind::Latency | MeasurementKind::All => {
            let period = first
                .and_then(|thread| thread.interval_ns)
                .map_or_else(String::new, |period| format!(" every {}", time(period)));
            let (name, beside) = match measurement.kind {
                MeasurementKind::All => ("Latency and noise", " above one that never sleeps"),
                _ => ("Wake-up latency", ""),
            };
            format!(
                "{name}: a thread that wakes{period}{beside}, {}{policy}",
                time(measurement.duration_ns)
            )
        }
        MeasurementKind::Noise => {
            let threshold = first.and_then(|thread| thread.threshold_ns);
            let threshold = threshold.map_or_else(String::new, |threshold| {
                format!(", gaps of {} and more", time(threshold))
            });
            format!(
                "Noise: a thread that never sleeps{threshold}, {}{policy}",
                time(measurement.duration_ns)
            )
        }
    }
}

pub(crate) fn policy_text(thread: &ThreadResult) -> String {
    let name = match thread.policy {
        Policy::Other => "ordinary task",
        Policy::Fifo => "SCHED_FIFO",
        Policy::Rr => "SCHED_RR",
        Policy::Batch => "SCHED_BATCH",
        Policy::Idle => "SCHED_IDLE",
        Policy::Deadline => "SCHED_DEADLINE",
        Policy::Ext => "SCHED_EXT",
        Policy::Unknown => "policy unknown",
    };
    if thread.priority > 0 {
        format!("{name} {}", thread.priority)
    } else {
        name.to_owned()
    }
}

/// One table per kind of thread.
fn table(text: &mut ReportText, measurement: &Measurement) {
    let tables = [MeasurementKind::Latency, MeasurementKind::Noise].map(|kind| {
        let threads = measurement.threads.iter().filter(|thread| thread.kind == kind);
        (kind, threads.collect::<Vec<_>>())
    });
    let mut tables = tables.to_vec();
    tables.retain(|(_, threads)| !threads.is_empty());
    if tables.is_empty() {
        tables.push((measurement.kind, Vec::new()));
    }
    for (place, (kind, threads)) in tables.iter().enumerate() {
        if place > 0 {
            writeln!(text);
        }
        table_of(text, *kind, threads);
    }
}

fn table_of(text: &mut ReportText, kind: MeasurementKind, threads: &[&ThreadResult]) {
    let last = match kind {
        MeasurementKind::Latency | MeasurementKind::All => "missed",
        MeasurementKind::Noise => "stolen",
    };
    let head = format!(
        "{:>5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {last}",
        "CPU", "min", "mean", "p50", "p99", "p99.9", "max",
    );
    text.painted(TextRole::Quiet, &head);
    for thread in threads {
        let last = match kind {
            MeasurementKind::Latency | MeasurementKind::All => grouped(thread.missed),
            MeasurementKind::Noise => stolen_percent(thread).map_or_else(|| "-".to_owned(), percent),
        };
        writeln!(
            text,
            "{:>5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {last}",
            thread.cpu.0,
            maybe_time(thread.min_ns),
            maybe_mean(thread.mean_ns),
            maybe_time(thread.p50_ns),
            maybe_time(thread.p99_ns),
            maybe_time(thread.p999_ns),
            maybe_time(thread.max_ns),
        );
    }
    for thread in threads {
        accounts(text, thread);
    }
}
