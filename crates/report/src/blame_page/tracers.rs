//! Shows reports of kernel tracers on the page: the functions of the longest gaps as tables with a bar for each, and the
//! findings of hwlat as sentences.

use crate::blame_tracers::{functions_note, hwlat_lines, seconds, way};
use crate::page::escape::{html, unit};
use crate::style::{counted, grouped};
use crate::units::time;
use ::blame::{FunctionsReport, GapFunctions, HwlatReport};
use std::fmt::Write as _;

/// Width of a bar for a whole gap, in the picture's units.
const BAR: u64 = 1_000;

/// The functions of the gaps of all CPUs.
pub(super) fn functions(page: &mut String, told: &FunctionsReport) {
    page.push_str("<section>\n<h2>In which functions of the kernel the time went</h2>\n");
    for line in functions_note(told).lines() {
        let class = match told.lost > 0 && line.starts_with(' ') {
            true => "bad",
            false => "note",
        };
        let _ = writeln!(page, "<p class=\"{class}\">{}</p>", html(line.trim()));
    }
    for gap in &told.gaps {
        table(page, gap);
    }
    page.push_str("</section>\n");
}

fn table(page: &mut String, gap: &GapFunctions) {
    let _ = writeln!(
        page,
        "<div class=\"scroll\"><table class=\"functions\"><caption>CPU {}: a gap of {}, of which functions had {} \
         <span class=\"small\">at {} s of the trace</span></caption>\
         <thead><tr><th scope=\"col\">function</th><th scope=\"col\">called by</th><th scope=\"col\">share of the gap</th>\
         <th scope=\"col\" class=\"n\">own time</th><th scope=\"col\" class=\"n\">calls</th></tr></thead><tbody>",
        gap.cpu,
        unit(&time(gap.duration_ns)),
        unit(&time(gap.in_functions_ns)),
        seconds(gap.start_ns)
    );
    for function in &gap.functions {
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\"><code>{}</code></th><td><code>{}</code></td><td>{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td></tr>",
            html(&function.name),
            html(way(&function.way).trim_start_matches(" < ")),
            bar(function.net_ns, gap.duration_ns),
            unit(&time(function.net_ns)),
            grouped(function.calls)
        );
    }
    if gap.functions.is_empty() {
        page.push_str("<tr><td colspan=\"5\">no function was traced in it</td></tr>\n");
    }
    if gap.left_out > 0 {
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}</th><td></td><td>{}</td><td class=\"n\">{}</td><td></td></tr>",
            counted(gap.left_out, "other function"),
            bar(gap.left_out_ns, gap.duration_ns),
            unit(&time(gap.left_out_ns))
        );
    }
    page.push_str("</tbody></table></div>\n");
}

/// A bar in proportion to the share.
fn bar(net_ns: u64, whole_ns: u64) -> String {
    let part = u128::from(net_ns) * u128::from(BAR) / u128::from(whole_ns.max(1));
    format!(
        "<svg class=\"share\" viewBox=\"0 0 {BAR} 80\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"strip\" width=\"{BAR}\" height=\"80\"/><rect class=\"task\" width=\"{}\" height=\"80\"/></svg>",
        part.min(u128::from(BAR))
    )
}

/// The findings of hwlat.
pub(super) fn hwlat(page: &mut String, told: &HwlatReport) {
    page.push_str("<section>\n<h2>Whether the hardware takes time</h2>\n");
    for line in hwlat_lines(told) {
        let _ = writeln!(page, "<p>{}</p>", unit(&line));
    }
    page.push_str("</section>\n");
}
