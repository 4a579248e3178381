//! Shows reports of kernel tracers on the page: the functions of the longest gaps as tables with a bar for each, and the
//! findings of hwlat as sentences.

use crate::blame_tracers::{functions_note, hwlat_lines, seconds, way};
use crate::page::text::unit;
use crate::style::{counted, grouped, safe};
use crate::units::time;
use ::blame::{FunctionsReport, GapFunctions, HwlatReport};
use maud::{Markup, html};

/// Width of a bar for a whole gap, in the picture's units.
const BAR: u64 = 1_000;

/// The functions of the gaps of all CPUs.
pub(super) fn functions(report: &FunctionsReport) -> Markup {
    let class = |line: &str| match report.lost > 0 && line.starts_with(' ') {
        true => "bad",
        false => "note",
    };
    html! {
        section { "\n"
            h2 { "Time in kernel functions" } "\n"
            @for line in functions_note(report).lines() { p class=(class(line)) { (safe(line.trim())) } "\n" }
            @for gap in &report.gaps { (table(gap)) }
        } "\n"
    }
}

fn table(gap: &GapFunctions) -> Markup {
    html! {
        div.scroll { table.functions {
            caption {
                "CPU " (gap.cpu) ": a gap of " (unit(&time(gap.duration_ns))) ", of which functions took "
                (unit(&time(gap.in_functions_ns))) " " span.small { "at " (seconds(gap.start_ns)) " s of the trace" }
            }
            thead { tr {
                th scope="col" { "function" } th scope="col" { "called by" } th scope="col" { "share of the gap" }
                th.n scope="col" { "own time" } th.n scope="col" { "calls" }
            } }
            tbody { "\n"
                @for function in &gap.functions {
                    tr {
                        th scope="row" { code { (safe(&function.name)) } }
                        td { code { (safe(way(&function.way).trim_start_matches(" < "))) } }
                        td { (bar(function.net_ns, gap.duration_ns)) }
                        td.n { (unit(&time(function.net_ns))) } td.n { (grouped(function.calls)) }
                    } "\n"
                }
                @if gap.functions.is_empty() { tr { td colspan="5" { "it contains no traced function" } } "\n" }
                @if gap.left_out > 0 {
                    tr {
                        th scope="row" { (counted(gap.left_out, "other function")) }
                        td {} td { (bar(gap.left_out_ns, gap.duration_ns)) }
                        td.n { (unit(&time(gap.left_out_ns))) } td {}
                    } "\n"
                }
            }
        } } "\n"
    }
}

/// A bar in proportion to the share.
fn bar(net_ns: u64, all_ns: u64) -> Markup {
    let part = u128::from(net_ns) * u128::from(BAR) / u128::from(all_ns.max(1));
    html! {
        svg.share viewBox={ "0 0 " (BAR) " 80" } preserveAspectRatio="none" aria-hidden="true" {
            rect.strip width=(BAR) height="80" {}
            rect.task width=(part.min(u128::from(BAR))) height="80" {}
        }
    }
}

/// The findings of hwlat.
pub(super) fn hwlat(report: &HwlatReport) -> Markup {
    html! {
        section { "\n"
            h2 { "Whether the hardware takes CPU time" } "\n"
            @for line in hwlat_lines(report) { p { (unit(&line)) } "\n" }
        } "\n"
    }
}
