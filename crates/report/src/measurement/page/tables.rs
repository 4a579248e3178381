//! Writes the statistics of every CPU: its samples, and in separate rows the same wake-ups by their schedule and their period;
//! then its accounts and what the run proves.

use crate::measurement::accounts::{expected_name, lines, own};
use crate::page::CPUS;
use crate::page::text::unit;
use crate::style::{counted, grouped};
use crate::units::{maybe_mean, maybe_time};
use maud::{Markup, html};
use measure::{Distribution, Measurement, ThreadResult};

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
            ul { @for thread in shown() { (account(thread)) } } "\n"
            @if more > 0 { p.note { (counted(more, "CPU")) " more are in the JSON." } "\n" }
        } "\n"
    }
}

fn rows(thread: &ThreadResult) -> Markup {
    let cpu = thread.cpu.0;
    html! {
        (row(&cpu.to_string(), &samples(thread)))
        @if let Some(schedule) = &thread.schedule { (row(&format!("{cpu}, all expected"), &values(schedule))) }
        @if let Some(jitter) = &thread.jitter { (row(&format!("{cpu}, period off by"), &values(&jitter.distance))) }
    }
}

fn row(name: &str, values: &[String; 10]) -> Markup {
    html! {
        tr { th scope="row" { (name) } @for value in values { td.n { (unit(value)) } } }
    }
}

fn account(thread: &ThreadResult) -> Markup {
    let mut words = vec![format!(
        "{} {} = {} recorded + {} missed",
        grouped(thread.expected),
        expected_name(thread.kind),
        grouped(thread.recorded),
        grouped(thread.missed)
    )];
    words.extend(own(thread));
    html! {
        li {
            "CPU " (thread.cpu.0) ": " (unit(&words.join("; ")))
            @for line in lines(thread) { br; (unit(&line)) }
        }
    }
}

fn samples(thread: &ThreadResult) -> [String; 10] {
    [
        maybe_time(thread.min_ns),
        maybe_mean(thread.mean_ns),
        maybe_mean(thread.stddev_ns),
        maybe_time(thread.p50_ns),
        maybe_time(thread.p90_ns),
        maybe_time(thread.p99_ns),
        maybe_time(thread.p999_ns),
        maybe_time(thread.p9999_ns),
        maybe_time(thread.p99999_ns),
        maybe_time(thread.max_ns),
    ]
}

fn values(one: &Distribution) -> [String; 10] {
    [
        maybe_time(one.min_ns),
        maybe_mean(one.mean_ns),
        maybe_mean(one.stddev_ns),
        maybe_time(one.p50_ns),
        maybe_time(one.p90_ns),
        maybe_time(one.p99_ns),
        maybe_time(one.p999_ns),
        maybe_time(one.p9999_ns),
        maybe_time(one.p99999_ns),
        maybe_time(one.max_ns),
    ]
}
