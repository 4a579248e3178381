//! Writes a measurement as one page: headline numbers, the histograms, gaps over time, every CPU's statistics, how programs
//! ended, and kernel counters during the measurement. Wake-ups and gaps measured together have separate sections.

mod drawings;
mod pictures;
mod tables;

use super::accounts::program_words;
use super::{not_representative, title};
use crate::bound::{BoundSide, rounded};
use crate::page::picture::{SCRIPT, STYLE};
use crate::page::text::unit;
use crate::page::{self, CPUS};
use crate::residue::{Residue, residue};
use crate::statistics::{per_second, stolen, tail, worst};
use crate::style::{grouped, safe};
use crate::units::{maybe_time, percent, rate, time};
use machine::{CpuSet, Nanos};
use maud::{Markup, html};
use measure::{Measurement, MeasurementKind};

/// The page. The whole result is embedded as JSON under the name `json_name`, to be saved with one click.
#[must_use]
pub fn measurement_html(measurement: &Measurement, json_name: &str) -> String {
    let environment = &measurement.environment;
    let kinds = of_each_kind(measurement);
    let facts = [
        ("measured CPUs", cpus(measurement)),
        ("began", measurement.started_at.clone()),
    ];
    let json = serde_json::to_vec(measurement).ok();
    let content = html! {
        (header(measurement))
        (page::tiles(kinds.iter().flat_map(tiles_of)))
        @for (place, one) in kinds.iter().enumerate() {
            section { "\n"
                (drawings::of(one))
                @if place + 1 == kinds.len() { (page::notes(measurement.findings.iter(), &[])) }
            } "\n"
        }
        @for one in &kinds { (tables::of(one, heading(one.kind, kinds.len()))) }
        (programs(measurement))
        (counters(measurement))
        (page::environment(environment, &facts, &[]))
        (page::footer(&environment.tool_version, json_name, json.as_deref()))
    };
    page::page(&format!("quietcore: {}", cpus(measurement)), STYLE, SCRIPT, &content)
}

/// The heading of the tables of one of several kinds.
const fn heading(kind: MeasurementKind, kinds: usize) -> &'static str {
    match (kinds, kind) {
        (1, _) => "Every CPU",
        (_, MeasurementKind::Noise) => "Gaps on every CPU",
        (_, MeasurementKind::Latency | MeasurementKind::All) => "Wake-ups on every CPU",
    }
}

/// The threads of each kind separately; a measurement without threads keeps its intended kind.
fn of_each_kind(measurement: &Measurement) -> Vec<Measurement> {
    let mut kinds: Vec<Measurement> = [MeasurementKind::Latency, MeasurementKind::Noise]
        .into_iter()
        .map(|kind| {
            let mut one = measurement.clone();
            one.kind = kind;
            one.threads.retain(|thread| thread.kind == kind);
            one
        })
        .collect();
    if measurement.threads.is_empty() {
        kinds.retain(|one| measurement.kind == MeasurementKind::All || one.kind == measurement.kind);
    } else {
        kinds.retain(|one| !one.threads.is_empty());
    }
    kinds
}

/// How the accompanying programs ended.
fn programs(measurement: &Measurement) -> Markup {
    html! {
        @if !measurement.programs.is_empty() {
            section { "\n"
                h2 { "Programs that ran during the measurement" } "\n"
                ul { @for program in &measurement.programs { li { (unit(&program_words(program))) } } } "\n"
            } "\n"
        }
    }
}

fn cpus(measurement: &Measurement) -> String {
    let cpus: CpuSet = measurement.threads.iter().map(|thread| thread.cpu).collect();
    format!("CPU {cpus}")
}

fn header(measurement: &Measurement) -> Markup {
    let environment = &measurement.environment;
    let command = match measurement.kind {
        MeasurementKind::Latency => "quietcore measure latency",
        MeasurementKind::All => "quietcore measure all",
        MeasurementKind::Noise => "quietcore measure noise",
    };
    html! {
        @if environment.emulated {
            p.stamp role="note" {
                "Emulated processor. These times are those of the emulator and show nothing about a real machine."
            } "\n"
        }
        @if let Some(line) = not_representative(measurement) { p.stamp role="note" { (safe(&line)) } "\n" }
        header { "\n"
            (page::brand(command, &cpus(measurement), environment, &measurement.started_at))
            h1 { (unit(&headline(measurement))) } "\n"
            p.lead { (unit(&title(measurement))) } "\n"
            @if !measurement.complete {
                div.badges { span class="badge care" { (unit(&end(measurement))) } } "\n"
            }
        } "\n"
    }
}

/// Why the measurement ended early.
fn end(measurement: &Measurement) -> String {
    match measurement.broke {
        Some(broke) => format!(
            "stopped after {}: CPU {} had {}, the limit was {}",
            time(measurement.duration_ns),
            broke.cpu,
            time(broke.value_ns),
            time(broke.limit_ns)
        ),
        None => format!(
            "interrupted: {} only, not the whole measurement",
            time(measurement.duration_ns)
        ),
    }
}

/// The answer, in one or two sentences.
fn headline(measurement: &Measurement) -> String {
    let kinds = of_each_kind(measurement);
    let sentences: Vec<String> = kinds.iter().map(sentence).collect();
    sentences.join(" ")
}

fn sentence(measurement: &Measurement) -> String {
    match (measurement.kind, worst(measurement)) {
        (MeasurementKind::Latency | MeasurementKind::All, Some(worst)) => {
            format!("The latest wake-up was {} late.", Nanos(worst))
        }
        (MeasurementKind::Latency | MeasurementKind::All, None) => "No wake-up was recorded.".to_owned(),
        (MeasurementKind::Noise, Some(worst)) => format!(
            "The program was stopped for at most {}.",
            rounded(worst, BoundSide::Upper)
        ),
        (MeasurementKind::Noise, None) => "The program was never stopped.".to_owned(),
    }
}

fn tiles_of(measurement: &Measurement) -> Vec<(&'static str, String)> {
    let sum = |each: fn(&measure::ThreadResult) -> u64| -> u64 { measurement.threads.iter().map(each).sum() };
    match measurement.kind {
        MeasurementKind::Latency | MeasurementKind::All => vec![
            ("worst wake-up", maybe_time(worst(measurement))),
            (
                "99.9 % of wake-ups within",
                tail(measurement).map_or_else(|| "-".to_owned(), |ns| rounded(ns, BoundSide::Upper).to_string()),
            ),
            ("wake-ups recorded", grouped(sum(|thread| thread.recorded))),
            ("wake-ups missed", grouped(sum(|thread| thread.missed))),
        ],
        MeasurementKind::Noise => vec![
            ("longest gap in a busy loop", maybe_time(worst(measurement))),
            (
                "gaps per second",
                per_second(measurement).map_or_else(|| "-".to_owned(), rate),
            ),
            (
                "CPU time used by others",
                stolen(measurement).map_or_else(|| "-".to_owned(), percent),
            ),
        ],
    }
}

/// Kernel counters of these CPUs while the samplers ran.
fn counters(measurement: &Measurement) -> Markup {
    let Some(activity) = &measurement.activity else {
        return Markup::default();
    };
    let cpus: CpuSet = measurement.threads.iter().map(|thread| thread.cpu).collect();
    html! {
        section { "\n"
            h2 { "What arrived during the measurement" } "\n"
            p.note { "Counted by the kernel while the samplers ran." } "\n"
            @for cpu in residue(None, activity, &cpus).iter().take(CPUS) { (counted(cpu)) }
        } "\n"
    }
}

/// What arrived on one CPU.
fn counted(cpu: &Residue) -> Markup {
    let rows: Vec<_> = cpu.rows.iter().filter(|row| row.count > 0).collect();
    html! {
        h3 { "CPU " (cpu.cpu) }
        @if rows.is_empty() {
            p { "No event that the kernel counts." } "\n"
        } @else {
            div.scroll { table {
                thead { tr {
                    th scope="col" { "what" } th.n scope="col" { "per second" } th.n scope="col" { "count" }
                    th scope="col" { "what would stop it" }
                } }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" { (safe(&row.what)) " " code { (safe(&row.name)) } }
                            td.n { (rate(row.per_second)) } td.n { (grouped(row.count)) } td { (safe(&row.cure)) }
                        }
                    }
                }
            } } "\n"
        }
    }
}
