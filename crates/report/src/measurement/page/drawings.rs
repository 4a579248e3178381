//! Draws one kind of measurement: the distribution of its samples, the evenness of its period, and the time of the worst samples.

use super::pictures;
use crate::page::CPUS;
use crate::page::heat_map::{self, heat_map};
use crate::page::strip::{Strip, gaps};
use measure::{Kind, Measurement};
use std::fmt::Write as _;

/// Writes the drawings of a measurement into the page.
pub(super) fn of(page: &mut String, measurement: &Measurement) {
    let heading = match measurement.kind {
        Kind::Latency | Kind::All => "Wake-up latency",
        Kind::Noise => "Noise",
    };
    let _ = writeln!(page, "<h2>{heading}</h2>");
    pictures::samples(page, measurement);
    pictures::period(page, measurement);
    over_time(page, measurement);
    if measurement.kind == Kind::Noise {
        strips(page, measurement);
    }
}

/// Where and when it was worst. It is drawn for a single CPU too: nothing else shows when wake-ups were late.
fn over_time(page: &mut String, measurement: &Measurement) {
    let Some(svg) = heat_map(measurement.kind, &measurement.threads).map(maud::Markup::into_string) else {
        return;
    };
    let rest = match measurement.threads.len().saturating_sub(heat_map::ROWS) {
        0 => String::new(),
        more => format!(" {more} more are in the tables."),
    };
    let _ = writeln!(
        page,
        "<h3>Over time</h3>\n<figure>{svg}<figcaption>A row for each CPU, with all of its samples.{rest}</figcaption></figure>"
    );
}

fn strips(page: &mut String, measurement: &Measurement) {
    for thread in measurement.threads.iter().take(CPUS) {
        let cpu = thread.cpu.0;
        let strip = Strip {
            class: "during",
            name: "measured",
            thread,
        };
        if let Some(svg) = gaps(cpu, &[strip]).map(maud::Markup::into_string) {
            let _ = writeln!(
                page,
                "<figure>{svg}<figcaption>CPU {cpu}: when the gaps were, and how long.</figcaption></figure>"
            );
        }
    }
}
