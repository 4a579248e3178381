//! A measurement for people: one table, one small histogram per CPU, and what the numbers cannot tell.

mod bars;
mod conditions;
mod counter;
mod counts;
mod page;
mod thread;

pub use page::measurement_html;

use crate::style::{COLUMNS, Role, Style, counted, grouped, safe, wrap};
use crate::units::{maybe_mean, maybe_time, percent, time};
use machine::Policy;
use measure::programs::ProgramResult;
use measure::{GapLabel, Kind, Level, Measurement, Note, ThreadResult};
use std::fmt::Write as _;

/// Whether histograms are drawn below the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Histograms {
    /// They are.
    #[default]
    Drawn,
    /// The table must do.
    Left,
}

/// The screen of a measurement.
#[must_use]
pub fn measurement_text(measurement: &Measurement, histograms: Histograms, style: Style) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", style.paint(Role::Head, &title(measurement)));
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
                "INTERRUPTED: this is what {} brought, not the whole measurement",
                time(measurement.duration_ns)
            ),
        };
        let _ = writeln!(text, "{}", style.paint(Role::Bad, &note));
    }
    if let Some(line) = conditions::line(measurement) {
        let _ = writeln!(text, "{}", style.paint(Role::Bad, &wrap(&line, 2, COLUMNS)));
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
    let _ = writeln!(
        text,
        "{}\n",
        style.paint(Role::Quiet, &format!("{release} · {preemption}{guest}"))
    );
    text.push_str(&table(measurement, style));
    text.push_str(&programs(&measurement.programs));
    if histograms == Histograms::Drawn {
        for thread in &measurement.threads {
            text.push_str(&bars::of_thread(thread, style));
        }
    }
    text.push_str(&notes_text(&measurement.findings, style));
    if environment.emulated {
        let note =
            "EMULATED PROCESSOR: these times are those of the emulator and say nothing about any machine";
        let _ = writeln!(text, "\n{}", style.paint(Role::Bad, note));
    }
    text
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
        Kind::Latency | Kind::All => {
            let period = first
                .and_then(|thread| thread.interval_ns)
                .map_or_else(String::new, |period| format!(" every {}", time(period)));
            let (name, beside) = match measurement.kind {
                Kind::All => ("Latency and noise", " above one that never sleeps"),
                _ => ("Wake-up latency", ""),
            };
            format!(
                "{name}: a thread that wakes{period}{beside}, {}{policy}",
                time(measurement.duration_ns)
            )
        }
        Kind::Noise => {
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

/// Share of the window that others had, in percent; `None` where nothing was counted.
pub(crate) fn stolen_percent(thread: &ThreadResult) -> Option<f64> {
    let stolen = thread.stolen_ns?;
    #[allow(clippy::cast_precision_loss)]
    (thread.duration_ns > 0).then(|| stolen as f64 * 100.0 / thread.duration_ns as f64)
}

/// One table per kind of thread.
fn table(measurement: &Measurement, style: Style) -> String {
    let of = |kind: Kind| {
        measurement
            .threads
            .iter()
            .filter(move |thread| thread.kind == kind)
    };
    let kinds = [Kind::Latency, Kind::Noise];
    let present = kinds.into_iter().filter(|&kind| of(kind).next().is_some());
    let tables: Vec<String> = present
        .map(|kind| table_of(kind, &of(kind).collect::<Vec<_>>(), style))
        .collect();
    match (tables.is_empty(), measurement.kind) {
        (true, Kind::Noise) => table_of(Kind::Noise, &[], style),
        (true, _) => table_of(Kind::Latency, &[], style),
        (false, _) => tables.join("\n"),
    }
}

fn table_of(kind: Kind, threads: &[&ThreadResult], style: Style) -> String {
    let mut text = String::new();
    let last = match kind {
        Kind::Latency | Kind::All => "missed",
        Kind::Noise => "stolen",
    };
    let head = format!(
        "{:>5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {last}",
        "CPU", "min", "mean", "p50", "p99", "p99.9", "max",
    );
    let _ = writeln!(text, "{}", style.paint(Role::Quiet, &head));
    for thread in threads {
        let last = match kind {
            Kind::Latency | Kind::All => grouped(thread.missed),
            Kind::Noise => stolen_percent(thread).map_or_else(|| "-".to_owned(), percent),
        };
        let _ = writeln!(
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
        text.push_str(&accounts(thread));
    }
    text
}

/// What a whole measurement found besides its histograms: each thread's accounts, and what became of programs.
pub(crate) fn measured_text(measurement: &Measurement) -> String {
    let mut text: String = measurement.threads.iter().map(accounts).collect();
    text.push_str(&programs(&measurement.programs));
    text
}

/// That nothing was lost, and everything else that is to be said of a thread.
fn accounts(thread: &ThreadResult) -> String {
    let mut text = String::new();
    let what = due(thread.kind);
    let mut parts = vec![format!(
        "{} {what} = {} recorded + {} missed",
        grouped(thread.expected),
        grouped(thread.recorded),
        grouped(thread.missed)
    )];
    parts.extend(own(thread));
    let _ = writeln!(
        text,
        "{:>5} {}",
        thread.cpu.0,
        wrap(&parts.join("; "), 6, COLUMNS)
    );
    for line in lines(thread) {
        let _ = writeln!(text, "      {}", wrap(&line, 8, COLUMNS));
    }
    text
}

/// Everything that is to be said of a thread besides its accounts, one line each, without indent.
fn lines(thread: &ThreadResult) -> impl Iterator<Item = String> {
    let lines = [
        thread::lines(thread),
        counter::lines(thread),
        counts::lines(thread),
    ];
    lines.into_iter().flatten()
}

/// What a thread of this kind expects.
fn due(kind: Kind) -> &'static str {
    match kind {
        Kind::Latency | Kind::All => "wake-ups due",
        Kind::Noise => "gaps seen",
    }
}

/// What became of the programs that ran beside.
fn programs(programs: &[ProgramResult]) -> String {
    let mut text = String::new();
    for program in programs {
        let line = format!("program {}", program_words(program));
        let _ = writeln!(text, "  {}", wrap(&line, 4, COLUMNS));
    }
    text
}

/// `make: started 3 times; 2 ended well, 1 otherwise (exit status 2)`
fn program_words(program: &ProgramResult) -> String {
    let mut text = format!(
        "{}: started {}; {} ended well, {} otherwise",
        safe(&program.name),
        counted_u64(program.started, "time"),
        grouped(program.succeeded),
        grouped(program.failed)
    );
    if let Some(failure) = &program.last_failure {
        let _ = write!(text, " ({})", safe(failure));
    }
    if program.throttled {
        text.push_str("; it ended at once again and again, so it was started less often than asked for");
    }
    text
}

/// What the tool did to itself, and what the hypervisor is known to have taken.
fn own(thread: &ThreadResult) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(stolen) = thread.stolen_ns {
        parts.push(format!("{} taken by others", time(stolen)));
    }
    let labels = thread.gaps.iter().flatten().filter_map(|gap| gap.label);
    let has = |wanted| labels.clone().any(|label| label == wanted);
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
        parts.push(format!("{} are the tool's own doing ({by})", time(own)));
    }
    if let Some(steal) = thread.steal_ns.filter(|steal| *steal > 0) {
        parts.push(format!("{} taken by the hypervisor, by /proc/stat", time(steal)));
    }
    match thread.own {
        None => parts.push("what the sampler itself suffered is unknown".to_owned()),
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
        parts.push(format!("shortest turn {}", time(turn)));
    }
    parts
}

fn counted_u64(count: u64, noun: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

/// Notes of a measurement with what to do about them.
pub(crate) fn notes_text(notes: &[Note], style: Style) -> String {
    let mut text = String::new();
    for note in notes {
        let (name, role) = match note.level {
            Level::Error => ("error", Role::Bad),
            Level::Warning => ("warning", Role::Care),
            Level::Info => ("info", Role::Quiet),
        };
        let message = wrap(
            &format!("{}: {}", safe(&note.subject), safe(&note.message)),
            11,
            COLUMNS,
        );
        let _ = write!(
            text,
            "\n  {}{:gap$}{message}",
            style.paint(role, name),
            "",
            gap = 9 - name.len()
        );
        if !note.fix.is_empty() {
            let _ = write!(
                text,
                "\n           {}",
                wrap(&format!("-> {}", safe(&note.fix)), 14, COLUMNS)
            );
        }
    }
    if !notes.is_empty() {
        text.push('\n');
    }
    text
}
