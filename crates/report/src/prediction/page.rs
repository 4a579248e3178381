//! Shows a prediction as a section of a page.

use super::{is_effective, per_second, prediction_verdict, range, remarks};
use crate::blame::combined;
use crate::page::text::unit;
use crate::style::safe;
use crate::units::{rate, time};
use maud::{Markup, html};
use predict::{Outcome, PredictedChange, Prediction};

/// What each change would gain.
pub(crate) fn section(prediction: &Prediction) -> Markup {
    html! {
        section { "\n"
            h2 { "What each change would gain" } "\n"
            p.note {
                (unit(prediction_verdict(prediction).trim_end()))
                ". With the same load, another watch of this length lies in the range in nine of ten cases."
            } "\n"
            div.scroll { table {
                thead { tr {
                    th scope="col" { "change" } th.n scope="col" { "stolen/s" } th.n scope="col" { "range" }
                    th.n scope="col" { "gaps/s" } th.n scope="col" { "longest" } th scope="col" { "command" }
                } }
                tbody { "\n"
                    tr { th scope="row" { "no change" } (numbers(&prediction.now)) td {} } "\n"
                    @for change in prediction.changes.iter().filter(|change| is_effective(change)) {
                        (row(change)) "\n"
                    }
                }
            } } "\n"
        } "\n"
    }
}

fn row(change: &PredictedChange) -> Markup {
    let remarks = remarks(change);
    html! {
        tr {
            th scope="row" {
                (safe(&change.change.name))
                @if !remarks.is_empty() { br; span.small { (unit(&remarks)) } }
            }
            (numbers(&change.outcome))
            td {
                @for command in combined(change.change.commands.iter().map(String::as_str)) {
                    code { (safe(&command)) } br;
                }
            }
        }
    }
}

fn numbers(outcome: &Outcome) -> Markup {
    let gaps = outcome.gap_rates.first().map_or(0.0, |gaps| gaps.per_s.value);
    html! {
        td.n { (unit(&per_second(outcome.stolen_ns_per_s.value))) }
        td.n { (unit(&range(outcome.stolen_ns_per_s))) }
        td.n { (rate(gaps)) }
        td.n { (unit(&time(outcome.longest_ns))) }
    }
}
