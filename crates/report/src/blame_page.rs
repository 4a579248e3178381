//! Writes the answer of `blame` as one page: what took the CPU and what would stop it, when it happened, and drawings of the
//! longest gaps with everything that had the CPU in them.

mod drawing;
mod overview;
mod tracers;

use crate::blame::{cures, is_timed, per_million, share};
use crate::blame_picture::{longest_of, note};
use crate::blame_tracers::Tracers;
use crate::culprit::by;
use crate::page::text::unit;
use crate::style::{counted, grouped, safe};
use crate::units::time;
use crate::{page, prediction};
use ::blame::{BlameResult, Confidence, CpuAnswer, Interruption};
use maud::{Markup, html};
use measure::Environment;
use predict::Prediction;

const STYLE: &str = include_str!("blame_page/blame_page.css");
/// Keyboard access to the marks of the drawings.
const SCRIPT: &str = include_str!("blame_page/readout.js");

/// Number of table rows; the JSON contains all.
const ROWS: usize = 24;
/// Number of gaps drawn.
const DRAWN: usize = 12;

/// What the page shows.
#[derive(Clone, Copy)]
pub struct BlamePage<'a> {
    /// The answer.
    pub answer: &'a BlameResult,
    /// Reports of kernel tracers.
    pub tracers: Tracers<'a>,
    /// What changes would gain.
    pub prediction: Option<&'a Prediction>,
    /// The machine.
    pub environment: &'a Environment,
    /// The JSON of the answer, to be saved with one click.
    pub json: Option<&'a [u8]>,
    /// Its file name.
    pub json_name: &'a str,
}

/// The page.
#[must_use]
pub fn blame_html(page: &BlamePage) -> String {
    let BlamePage {
        answer, environment, ..
    } = *page;
    let cpus: Vec<String> = answer.cpus.iter().map(|cpu| cpu.cpu.to_string()).collect();
    let cpus = format!("CPU {}", cpus.join(","));
    let release = environment.release.as_deref().unwrap_or("kernel unknown");
    let content = html! {
        @if environment.emulated {
            p.stamp role="note" {
                "Emulated processor. These times are those of the emulator and show nothing about a real machine."
            } "\n"
        }
        header { "\n"
            div.brand { b { "quietcore blame" } span { (cpus) } span { "Linux " (safe(release)) } } "\n"
            @for cpu in &answer.cpus { h1 { (unit(&headline(cpu))) } "\n" }
        } "\n"
        @for cpu in &answer.cpus { (section(cpu)) }
        @if let Some(prediction) = page.prediction { (prediction::page::section(prediction, &Markup::default())) }
        @if let Some(report) = page.tracers.functions { (tracers::functions(report)) }
        @if let Some(report) = page.tracers.hwlat { (tracers::hwlat(report)) }
        (page::environment(environment, &[("requested CPUs", cpus.clone())], &[]))
        (page::footer(&environment.tool_version, page.json_name, page.json))
    };
    page::page(&format!("quietcore blame: {cpus}"), STYLE, SCRIPT, &content)
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

fn section(cpu: &CpuAnswer) -> Markup {
    html! {
        (page::tiles(tiles(cpu)))
        section { "\n"
            h2 { "What used CPU " (cpu.cpu) } "\n"
            @if cpu.lost_events > 0 {
                p.bad {
                    (counted(cpu.lost_events as usize, "event")) " lost: names may be missing."
                } "\n"
            }
            (table(cpu))
        } "\n"
        (cure_list(cpu))
        @if !cpu.stories.is_empty() { (gaps(cpu)) }
    }
}

fn tiles(cpu: &CpuAnswer) -> [(&'static str, String); 5] {
    [
        ("stolen", per_million(cpu.stolen_ns, cpu.duration_ns)),
        ("explained", time(cpu.explained_ns)),
        ("unexplained", time(cpu.unexplained_ns)),
        ("gaps", grouped(cpu.gaps)),
        (
            "longest gap-free run",
            cpu.longest_run_ns.map_or_else(|| "?".to_owned(), time),
        ),
    ]
}

/// All gaps over time, and the longest of them in detail.
fn gaps(cpu: &CpuAnswer) -> Markup {
    html! {
        section { "\n"
            h2 { "When the time was lost" } "\n"
            (overview::overview(cpu))
        } "\n"
        section { "\n"
            h2 { "The longest gaps" } "\n"
            p.note { (safe(&note(cpu))) } "\n"
            p.note {
                "The lower rows show threads, the upper rows what interrupts them. A name is shown if there is room; \
                 every piece shows its name under the "
                "pointer" span.keys hidden { " or with the arrow keys" } ", and the buttons zoom."
            } "\n"
            @for (place, story) in longest_of(cpu, DRAWN).iter().enumerate() { (drawing::gap(cpu, story, place)) }
        } "\n"
    }
}

fn table(cpu: &CpuAnswer) -> Markup {
    let more = cpu.interruptions.len().saturating_sub(ROWS);
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "interruption" } th scope="col" { "caused by" } th.n scope="col" { "share" }
                th.n scope="col" { "time" } th.n scope="col" { "count" } th.n scope="col" { "longest" }
            } }
            tbody { "\n"
                @for one in cpu.interruptions.iter().take(ROWS) { (row(one, cpu)) "\n" }
            }
        } } "\n"
        @if more > 0 { p.note { "and " (counted(more, "row")) ", only in the JSON" } "\n" }
    }
}

fn row(row: &Interruption, cpu: &CpuAnswer) -> Markup {
    let [share, total, longest] = match is_timed(row) {
        false => ["?".to_owned(), "?".to_owned(), "?".to_owned()],
        true => [
            format!("{:.1} %", share(row.total_ns, cpu).unwrap_or(0.0)),
            unit(&time(row.total_ns)),
            unit(&time(row.max_ns)),
        ],
    };
    html! {
        tr {
            th scope="row" { i class={ "k " (drawing::kind(row)) } {} (safe(&row.name)) (confidence(row)) }
            td { @if let Some(culprit) = &row.culprit { (safe(&by(culprit))) } }
            td.n { (share) } td.n { (total) } td.n { (grouped(row.count)) } td.n { (longest) }
        }
    }
}

fn confidence(row: &Interruption) -> Markup {
    html! {
        @match row.confidence {
            Confidence::Traced => {}
            Confidence::Counted => { " " span.small { "counted" } }
            Confidence::Inferred => { " " span.small { "inferred" } }
        }
    }
}

fn cure_list(cpu: &CpuAnswer) -> Markup {
    let cures = cures(cpu.interruptions.iter().take(ROWS));
    if cures.is_empty() {
        return Markup::default();
    }
    let share = |ns| share(ns, cpu).map_or("-".to_owned(), |share| format!("{share:.1} %"));
    html! {
        section { "\n"
            h2 { "What would stop it" } "\n"
            div.scroll { table {
                thead { tr { th.n scope="col" { "share" } th scope="col" { "cure" } th scope="col" { "of" } } }
                tbody { "\n"
                    @for cure in cures {
                        tr {
                            td.n { (share(cure.total_ns)) }
                            td {
                                @if cure.fix.starts_with("quietcore ") {
                                    code { (safe(cure.fix)) } br; span.small { (safe(cure.why)) }
                                } @else {
                                    (safe(cure.fix))
                                }
                            }
                            td { (safe(&cure.of())) }
                        } "\n"
                    }
                }
            } } "\n"
        } "\n"
    }
}
