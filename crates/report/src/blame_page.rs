//! Writes the answer of `blame` as one page: what took the CPU and what would stop it, when it happened, and drawings of the
//! longest gaps with everything that had the CPU in them.

mod drawing;
mod overview;
mod tracers;

use crate::blame::{cures, is_timed, per_million, share};
use crate::blame_picture::{longest_of, note};
use crate::blame_tracers::Tracers;
use crate::culprit::by;
use crate::page;
use crate::page::escape::{html, unit};
use crate::style::{counted, grouped};
use crate::units::time;
use ::blame::{Answer, Confidence, CpuAnswer, Interruption};
use measure::Environment;
use std::fmt::Write as _;

const STYLE: &str = include_str!("blame_page/blame_page.css");
/// Keyboard access to the marks of the drawings.
const SCRIPT: &str = include_str!("blame_page/told.js");

/// Number of table rows; the JSON contains all.
const ROWS: usize = 24;
/// Number of gaps drawn.
const DRAWN: usize = 12;

/// The page, including reports of kernel tracers. All text of the machine is escaped; the JSON of the answer is embedded under
/// the name `json_name`, to be saved with one click.
#[must_use]
pub fn blame_html(
    answer: &Answer,
    tracers: Tracers,
    environment: &Environment,
    json: Option<&[u8]>,
    json_name: &str,
) -> String {
    let mut page = String::with_capacity(1 << 16);
    let cpus: Vec<String> = answer.cpus.iter().map(|cpu| cpu.cpu.to_string()).collect();
    let cpus = format!("CPU {}", cpus.join(","));
    page::head(&mut page, &format!("quietcore blame: {cpus}"), STYLE);
    if environment.emulated {
        page.push_str(
            "<p class=\"stamp\" role=\"note\">Emulated processor. These times are those of the emulator and say nothing \
             about any machine.</p>\n",
        );
    }
    let release = environment.release.as_deref().unwrap_or("kernel unknown");
    let _ = write!(
        page,
        "<header>\n<div class=\"brand\"><b>quietcore blame</b><span>{}</span><span>Linux {}</span></div>\n",
        html(&cpus),
        html(release)
    );
    for cpu in &answer.cpus {
        let _ = writeln!(page, "<h1>{}</h1>", unit(&headline(cpu)));
    }
    page.push_str("</header>\n");
    for cpu in &answer.cpus {
        section(&mut page, cpu);
    }
    if let Some(told) = tracers.functions {
        tracers::functions(&mut page, told);
    }
    if let Some(told) = tracers.hwlat {
        tracers::hwlat(&mut page, told);
    }
    page.push_str(&page::environment(environment, &[("asked about", cpus)], &[]).into_string());
    page.push_str(&page::footer(&environment.tool_version, json_name, json).into_string());
    page::end(&mut page, SCRIPT);
    page
}

/// The answer, in one sentence.
fn headline(cpu: &CpuAnswer) -> String {
    let most = cpu
        .interruptions
        .first()
        .map_or(String::new(), |row| format!(", most of it by {}", row.name));
    format!(
        "CPU {} lost {} of {}{most}.",
        cpu.cpu,
        time(cpu.stolen_ns),
        time(cpu.duration_ns)
    )
}

fn section(page: &mut String, cpu: &CpuAnswer) {
    let longest = longest_of(cpu, DRAWN);
    page.push_str("<dl class=\"tiles\">\n");
    for (what, value) in [
        ("stolen", per_million(cpu.stolen_ns, cpu.duration_ns)),
        ("explained", time(cpu.explained_ns)),
        ("unexplained", time(cpu.unexplained_ns)),
        ("gaps", grouped(cpu.gaps)),
        (
            "longest run without one",
            cpu.longest_run_ns.map_or_else(|| "?".to_owned(), time),
        ),
    ] {
        let _ = writeln!(
            page,
            "<div class=\"tile\"><dt>{what}</dt><dd class=\"during\">{}</dd></div>",
            unit(&value)
        );
    }
    page.push_str("</dl>\n");
    let _ = writeln!(page, "<section>\n<h2>Who took CPU {}</h2>", cpu.cpu);
    if cpu.lost_events > 0 {
        let _ = writeln!(
            page,
            "<p class=\"bad\">{} did not fit into the trace buffer: names may be missing.</p>",
            counted(cpu.lost_events as usize, "event")
        );
    }
    table(page, cpu);
    page.push_str("</section>\n");
    cure_list(page, cpu);
    if !cpu.stories.is_empty() {
        let _ = writeln!(page, "<section>\n<h2>When it was taken</h2>");
        overview::overview(page, cpu);
        page.push_str("</section>\n<section>\n<h2>The longest gaps</h2>\n");
        let _ = writeln!(page, "<p class=\"note\">{}</p>", html(&note(cpu)));
        page.push_str(
            "<p class=\"note\">Threads below, what interrupts them above. A name stands where it fits; every piece tells its \
             own under the pointer<span class=\"keys\" hidden> or by the arrow keys</span>, and the buttons magnify.</p>\n",
        );
        for (place, story) in longest.iter().enumerate() {
            drawing::gap(page, cpu, story, place);
        }
        page.push_str("</section>\n");
    }
}

fn table(page: &mut String, cpu: &CpuAnswer) {
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">who</th><th scope=\"col\">caused by</th>\
         <th scope=\"col\" class=\"n\">share</th><th scope=\"col\" class=\"n\">time</th><th scope=\"col\" class=\"n\">count</th>\
         <th scope=\"col\" class=\"n\">longest</th></tr></thead><tbody>\n",
    );
    for row in cpu.interruptions.iter().take(ROWS) {
        let [share, total, longest] = match is_timed(row) {
            false => ["?".to_owned(), "?".to_owned(), "?".to_owned()],
            true => [
                format!("{:.1} %", share(row.total_ns, cpu).unwrap_or(0.0)),
                unit(&time(row.total_ns)),
                unit(&time(row.max_ns)),
            ],
        };
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\"><i class=\"k {}\"></i>{}{}</th><td>{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            drawing::kind(row),
            html(&row.name),
            sure(row),
            row.culprit
                .as_ref()
                .map_or(String::new(), |culprit| html(&by(culprit))),
            share,
            total,
            grouped(row.count),
            longest
        );
    }
    page.push_str("</tbody></table></div>\n");
    let more = cpu.interruptions.len().saturating_sub(ROWS);
    if more > 0 {
        let _ = writeln!(
            page,
            "<p class=\"note\">and {}, which the JSON holds</p>",
            counted(more, "row")
        );
    }
}

const fn sure(row: &Interruption) -> &'static str {
    match row.confidence {
        Confidence::Traced => "",
        Confidence::Counted => " <span class=\"small\">counted</span>",
        Confidence::Inferred => " <span class=\"small\">inferred</span>",
    }
}

fn cure_list(page: &mut String, cpu: &CpuAnswer) {
    let cures = cures(cpu.interruptions.iter().take(ROWS));
    if cures.is_empty() {
        return;
    }
    page.push_str(
        "<section>\n<h2>What would stop it</h2>\n<div class=\"scroll\"><table><thead><tr><th scope=\"col\" class=\"n\">share</th>\
         <th scope=\"col\">cure</th><th scope=\"col\">of</th></tr></thead><tbody>\n",
    );
    for cure in cures {
        let share = share(cure.total_ns, cpu).map_or("-".to_owned(), |share| format!("{share:.1} %"));
        let text = match cure.fix.starts_with("quietcore ") {
            true => format!(
                "<code>{}</code><br><span class=\"small\">{}</span>",
                html(cure.fix),
                html(cure.why)
            ),
            false => html(cure.fix),
        };
        let _ = writeln!(
            page,
            "<tr><td class=\"n\">{share}</td><td>{text}</td><td>{}</td></tr>",
            html(&cure.of())
        );
    }
    page.push_str("</tbody></table></div>\n</section>\n");
}
