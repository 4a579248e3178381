//! Writes the statistics of every CPU: its samples, and in separate rows the same wake-ups by their schedule and their period;
//! then its accounts and what the run proves.

use crate::measurement::accounts::{account, lines};
use crate::page::CPUS;
use crate::page::text::unit;
use crate::style::counted;
use crate::units::{maybe_mean, maybe_time};
use maud::{Markup, html};
use measure::{Measurement, ThreadResult};

const HEADS: [&str; 10] = [
    "smallest",
    "mean",
    "deviation",
    "median",
    "90 %",
    "99 %",
    "99.9 %",
    "99.99 %",
    "99.999 %",
    "largest",
];

/// The cells of a row, from the statistics of a thread or a distribution.
macro_rules! cells {
    ($of:expr) => {
        [
            maybe_time($of.min_ns),
            maybe_mean($of.mean_ns),
            maybe_mean($of.stddev_ns),
            maybe_time($of.p50_ns),
            maybe_time($of.p90_ns),
            maybe_time($of.p99_ns),
            maybe_time($of.p999_ns),
            maybe_time($of.p9999_ns),
            maybe_time($of.p99999_ns),
            maybe_time($of.max_ns),
        ]
    };
}

/// The tables of a measurement.
pub(super) fn of(measurement: &Measurement, heading: &str) -> Markup {
    let more = measurement.threads.len().saturating_sub(CPUS);
    let shown = || measurement.threads.iter().take(CPUS);
    html! {
        section { "\n"
            h2 { (heading) } "\n"
            div.scroll { table {
                thead { tr {
                    th scope="col" { "CPU" }
                    @for head in HEADS { th.n scope="col" { (head) } }
                } }
                tbody { @for thread in shown() { (rows(thread)) } }
            } } "\n"
            ul { @for thread in shown() { (item(thread)) } } "\n"
            @if more > 0 { p.note { (counted(more, "CPU")) " more are in the JSON." } "\n" }
        } "\n"
    }
}

fn rows(thread: &ThreadResult) -> Markup {
    let cpu = thread.cpu.0;
    html! {
        (row(&cpu.to_string(), &cells!(thread)))
        @if let Some(schedule) = &thread.schedule { (row(&format!("{cpu}, all expected"), &cells!(schedule))) }
        @if let Some(jitter) = &thread.jitter { (row(&format!("{cpu}, period deviation"), &cells!(jitter.distance))) }
    }
}

fn row(name: &str, values: &[String; 10]) -> Markup {
    html! {
        tr { th scope="row" { (name) } @for value in values { td.n { (unit(value)) } } }
    }
}

fn item(thread: &ThreadResult) -> Markup {
    html! {
        li {
            "CPU " (thread.cpu.0) ": " (unit(&account(thread)))
            @for line in lines(thread) { br; (unit(&line)) }
        }
    }
}
