//! Shows a prediction as a section of a page.

use super::{RANGE_NOTE, change_remarks, is_effective, limits, per_second, prediction_verdict, range};
use crate::blame::combined;
use crate::page::text::unit;
use crate::style::safe;
use crate::units::{rate, time};
use maud::{Markup, html};
use predict::{GapSummary, PredictedChange, Prediction};

/// What each change would gain. The note follows the first paragraph.
pub(crate) fn section(prediction: &Prediction, note: &Markup) -> Markup {
    html! {
        section { "\n"
            h2 { "What each change would gain" } "\n"
            p.note {
                (unit(prediction_verdict(prediction).trim_end()))
                ". " (RANGE_NOTE)
            } "\n"
            (note)
            @for limit in limits(prediction) { p.care { (limit) } "\n" }
            div.scroll { table {
                thead { tr {
                    th scope="col" { "change" } th.n scope="col" { "stolen/s" } th.n scope="col" { "range" }
                    th.n scope="col" { "gaps/s" } th.n scope="col" { "longest" } th scope="col" { "command" }
                } }
                tbody { "\n"
                    tr { th scope="row" { "no change" } (numbers(&(&prediction.now).into())) td {} } "\n"
                    @for change in prediction.changes.iter().filter(|change| is_effective(change)) {
                        (row(change)) "\n"
                    }
                }
            } } "\n"
        } "\n"
    }
}

fn row(change: &PredictedChange) -> Markup {
    let remarks = change_remarks(change);
    html! {
        tr {
            th scope="row" {
                (safe(&change.change.name))
                @if !remarks.is_empty() { br; span.small { (unit(&remarks)) } }
            }
            (numbers(&(&change.outcome).into()))
            td {
                @for command in combined(change.change.commands.iter().map(String::as_str)) {
                    code { (safe(&command)) } br;
                }
            }
        }
    }
}

fn numbers(gaps: &GapSummary) -> Markup {
    html! {
        td.n { (unit(&per_second(gaps.stolen_ns_per_s.value))) }
        td.n { (unit(&range(gaps.stolen_ns_per_s))) }
        td.n { (rate(gaps.gaps_per_s.value)) }
        td.n { (unit(&time(gaps.longest_ns))) }
    }
}
