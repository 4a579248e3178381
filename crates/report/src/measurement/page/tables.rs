//! Writes the statistics of every CPU: its samples, and in separate rows the same wake-ups by their schedule and their period;
//! then its accounts and what the run proves.

use crate::measurement::accounts::{due, lines, own};
use crate::page::CPUS;
use crate::page::escape::unit;
use crate::style::{counted, grouped};
use crate::units::{maybe_mean, maybe_time};
use measure::{Distribution, Measurement, ThreadResult};
use std::fmt::Write as _;

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

/// Writes the tables of a measurement into the page.
pub(super) fn of(page: &mut String, measurement: &Measurement, heading: &str) {
    let _ = write!(
        page,
        "<section>\n<h2>{heading}</h2>\n<div class=\"scroll\"><table><thead><tr><th scope=\"col\">CPU</th>"
    );
    for head in HEADS {
        let _ = write!(page, "<th scope=\"col\" class=\"n\">{head}</th>");
    }
    page.push_str("</tr></thead><tbody>");
    for thread in measurement.threads.iter().take(CPUS) {
        let cpu = thread.cpu.0;
        row(page, &cpu.to_string(), samples(thread));
        if let Some(schedule) = &thread.schedule {
            row(page, &format!("{cpu}, all that were due"), values(schedule));
        }
        if let Some(jitter) = &thread.jitter {
            row(page, &format!("{cpu}, period off by"), values(&jitter.distance));
        }
    }
    page.push_str("</tbody></table></div>\n<ul>");
    for thread in measurement.threads.iter().take(CPUS) {
        let mut words = vec![format!(
            "{} {} = {} recorded + {} missed",
            grouped(thread.expected),
            due(thread.kind),
            grouped(thread.recorded),
            grouped(thread.missed)
        )];
        words.extend(own(thread));
        let _ = write!(page, "<li>CPU {}: {}", thread.cpu.0, unit(&words.join("; ")));
        for line in lines(thread) {
            let _ = write!(page, "<br>{}", unit(&line));
        }
        page.push_str("</li>");
    }
    page.push_str("</ul>\n");
    if let Some(more) = measurement.threads.len().checked_sub(CPUS + 1) {
        let _ = writeln!(
            page,
            "<p class=\"note\">{} more are in the JSON.</p>",
            counted(more + 1, "CPU")
        );
    }
    page.push_str("</section>\n");
}

fn row(page: &mut String, name: &str, values: [String; 10]) {
    let _ = write!(page, "<tr><th scope=\"row\">{name}</th>");
    for value in values {
        let _ = write!(page, "<td class=\"n\">{}</td>", unit(&value));
    }
    page.push_str("</tr>");
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
