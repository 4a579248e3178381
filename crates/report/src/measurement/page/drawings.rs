//! Draws one kind of measurement: the distribution of its samples, the evenness of its period, and the time of the worst samples.

use super::pictures;
use crate::page::CPUS;
use crate::page::heat_map::{self, heat_map};
use crate::page::strip::{Strip, gaps};
use maud::{Markup, html};
use measure::{Measurement, MeasurementKind};

/// The drawings of a measurement.
pub(super) fn of(measurement: &Measurement) -> Markup {
    let heading = match measurement.kind {
        MeasurementKind::Latency | MeasurementKind::All => "Wake-up latency",
        MeasurementKind::Noise => "Noise",
    };
    html! {
        h2 { (heading) } "\n"
        (pictures::samples(measurement))
        (pictures::period(measurement))
        (over_time(measurement))
        @if measurement.kind == MeasurementKind::Noise { (strips(measurement)) }
    }
}

/// Where and when it was worst. It is drawn for a single CPU too: nothing else shows when wake-ups were late.
fn over_time(measurement: &Measurement) -> Markup {
    let more = measurement.threads.len().saturating_sub(heat_map::ROWS);
    html! {
        @if let Some(svg) = heat_map(measurement.kind, &measurement.threads) {
            h3 { "Over time" } "\n"
            figure {
                (svg)
                figcaption {
                    "One row for each CPU, with all of its samples."
                    @if more > 0 { " " (more) " more are in the tables." }
                }
            } "\n"
        }
    }
}

fn strips(measurement: &Measurement) -> Markup {
    let strip = |thread| Strip {
        class: "during",
        name: "measured",
        thread,
    };
    html! {
        @for thread in measurement.threads.iter().take(CPUS) {
            @if let Some(svg) = gaps(thread.cpu.0, &[strip(thread)]) {
                figure { (svg) figcaption { "CPU " (thread.cpu.0) ": when the gaps were, and how long." } } "\n"
            }
        }
    }
}
