//! Writes a measurement as one page: headline numbers, the histograms, gaps over time, every CPU's statistics, how programs
//! ended, and kernel counters during the measurement. Wake-ups and gaps measured together have separate sections.

mod drawings;
mod pictures;
mod tables;

use super::accounts::program_words;
use super::{not_representative, title};
use crate::bound::{Side, rounded};
use crate::page::escape::{html, unit};
use crate::page::picture::{SCRIPT, STYLE};
use crate::page::{self, CPUS};
use crate::residue::residue;
use crate::statistics::{per_second, stolen, tail, worst};
use crate::style::grouped;
use crate::units::{maybe_time, percent, rate, time};
use machine::{CpuSet, Nanos};
use measure::{Kind, Measurement};
use std::fmt::Write as _;

/// The page. All text of the machine is escaped; the whole result is embedded as JSON under the name `json_name`, to be
/// saved with one click.
#[must_use]
pub fn measurement_html(measurement: &Measurement, json_name: &str) -> String {
    let mut page = String::with_capacity(1 << 16);
    page::head(&mut page, &format!("quietcore: {}", cpus(measurement)), STYLE);
    header(&mut page, measurement);
    tiles(&mut page, measurement);
    let kinds = of_each_kind(measurement);
    for (place, one) in kinds.iter().enumerate() {
        page.push_str("<section>\n");
        drawings::of(&mut page, one);
        if place + 1 == kinds.len() {
            page.push_str(&page::notes(measurement.findings.iter(), &[]).into_string());
        }
        page.push_str("</section>\n");
    }
    for one in &kinds {
        let heading = match (kinds.len(), one.kind) {
            (1, _) => "Every CPU",
            (_, Kind::Noise) => "Gaps on every CPU",
            (_, Kind::Latency | Kind::All) => "Wake-ups on every CPU",
        };
        tables::of(&mut page, one, heading);
    }
    programs(&mut page, measurement);
    counters(&mut page, measurement);
    let first = [
        ("measured CPUs", cpus(measurement)),
        ("began", measurement.started_at.clone()),
    ];
    page.push_str(&page::environment(&measurement.environment, &first, &[]).into_string());
    let json = serde_json::to_vec(measurement).ok();
    page.push_str(
        &page::footer(&measurement.environment.tool_version, json_name, json.as_deref()).into_string(),
    );
    page::end(&mut page, SCRIPT);
    page
}

/// The threads of each kind separately; a measurement without threads keeps its intended kind.
fn of_each_kind(measurement: &Measurement) -> Vec<Measurement> {
    let mut kinds: Vec<Measurement> = [Kind::Latency, Kind::Noise]
        .into_iter()
        .map(|kind| {
            let mut one = measurement.clone();
            one.kind = kind;
            one.threads.retain(|thread| thread.kind == kind);
            one
        })
        .collect();
    if measurement.threads.is_empty() {
        kinds.retain(|one| measurement.kind == Kind::All || one.kind == measurement.kind);
    } else {
        kinds.retain(|one| !one.threads.is_empty());
    }
    kinds
}

/// How the accompanying programs ended.
fn programs(page: &mut String, measurement: &Measurement) {
    if measurement.programs.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>Programs that ran beside</h2>\n<ul>");
    for program in &measurement.programs {
        let _ = write!(page, "<li>{}</li>", unit(&program_words(program)));
    }
    page.push_str("</ul>\n</section>\n");
}

fn cpus(measurement: &Measurement) -> String {
    let cpus: CpuSet = measurement.threads.iter().map(|thread| thread.cpu).collect();
    format!("CPU {cpus}")
}

fn header(page: &mut String, measurement: &Measurement) {
    let environment = &measurement.environment;
    if environment.emulated {
        page.push_str(
            "<p class=\"stamp\" role=\"note\">Emulated processor. These times are those of the emulator and say \
             nothing about any machine.</p>\n",
        );
    }
    if let Some(line) = not_representative(measurement) {
        let _ = writeln!(page, "<p class=\"stamp\" role=\"note\">{}</p>", html(&line));
    }
    let model = environment.model_name.as_deref().unwrap_or("processor unknown");
    let release = environment.release.as_deref().map_or_else(
        || "kernel unknown".to_owned(),
        |release| format!("Linux {release}"),
    );
    let kind = match measurement.kind {
        Kind::Latency => "latency",
        Kind::All => "all",
        Kind::Noise => "noise",
    };
    let _ = write!(
        page,
        "<header>\n<div class=\"brand\"><b>quietcore measure {kind}</b><span>{}</span><span>{}</span><span>{}</span>\
         <time>{}</time></div>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n",
        html(&cpus(measurement)),
        html(model),
        html(&release),
        html(&measurement.started_at),
        unit(&headline(measurement)),
        unit(&title(measurement)),
    );
    if !measurement.complete {
        let note = match measurement.broke {
            Some(broke) => format!(
                "stopped after {}: CPU {} had {}, the limit was {}",
                time(measurement.duration_ns),
                broke.cpu,
                time(broke.value_ns),
                time(broke.limit_ns)
            ),
            None => format!(
                "interrupted: {} only, not the whole measurement",
                time(measurement.duration_ns)
            ),
        };
        let _ = writeln!(
            page,
            "<div class=\"badges\"><span class=\"badge care\">{}</span></div>",
            unit(&note)
        );
    }
    page.push_str("</header>\n");
}

/// The answer, in one or two sentences.
fn headline(measurement: &Measurement) -> String {
    let kinds = of_each_kind(measurement);
    let sentences: Vec<String> = kinds.iter().map(sentence).collect();
    sentences.join(" ")
}

fn sentence(measurement: &Measurement) -> String {
    match (measurement.kind, worst(measurement)) {
        (Kind::Latency | Kind::All, Some(worst)) => format!("The latest wake-up came {} late.", Nanos(worst)),
        (Kind::Latency | Kind::All, None) => "No wake-up was recorded.".to_owned(),
        (Kind::Noise, Some(worst)) => format!(
            "The program was stopped for {} at most.",
            rounded(worst, Side::Upper)
        ),
        (Kind::Noise, None) => "The program was never stopped.".to_owned(),
    }
}

fn tiles(page: &mut String, measurement: &Measurement) {
    let kinds = of_each_kind(measurement);
    let tiles = kinds.iter().flat_map(tiles_of);
    page.push_str("<dl class=\"tiles\">\n");
    for (what, value) in tiles {
        let _ = writeln!(
            page,
            "<div class=\"tile\"><dt>{}</dt><dd class=\"during\">{}</dd></div>",
            html(what),
            unit(&value)
        );
    }
    page.push_str("</dl>\n");
}

fn tiles_of(measurement: &Measurement) -> Vec<(&'static str, String)> {
    let sum = |each: fn(&measure::ThreadResult) -> u64| -> u64 { measurement.threads.iter().map(each).sum() };
    match measurement.kind {
        Kind::Latency | Kind::All => vec![
            ("worst wake-up", maybe_time(worst(measurement))),
            (
                "99.9 % of wake-ups within",
                tail(measurement).map_or_else(|| "-".to_owned(), |ns| rounded(ns, Side::Upper).to_string()),
            ),
            ("wake-ups recorded", grouped(sum(|thread| thread.recorded))),
            ("wake-ups missed", grouped(sum(|thread| thread.missed))),
        ],
        Kind::Noise => vec![
            ("longest gap in a busy loop", maybe_time(worst(measurement))),
            (
                "gaps per second",
                per_second(measurement).map_or_else(|| "-".to_owned(), rate),
            ),
            (
                "CPU time taken by others",
                stolen(measurement).map_or_else(|| "-".to_owned(), percent),
            ),
        ],
    }
}

/// Kernel counters of these CPUs while the samplers ran.
fn counters(page: &mut String, measurement: &Measurement) {
    let Some(activity) = &measurement.activity else {
        return;
    };
    let cpus: CpuSet = measurement.threads.iter().map(|thread| thread.cpu).collect();
    page.push_str("<section>\n<h2>What arrived meanwhile</h2>\n<p class=\"note\">Counted by the kernel while the samplers ran.</p>\n");
    for cpu in residue(None, activity, &cpus).iter().take(CPUS) {
        let rows: Vec<_> = cpu.rows.iter().filter(|row| row.count > 0).collect();
        let _ = write!(page, "<h3>CPU {}</h3>", cpu.cpu);
        if rows.is_empty() {
            page.push_str("<p>Nothing that the kernel counts.</p>\n");
            continue;
        }
        page.push_str(
            "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">what</th><th scope=\"col\" class=\"n\">per second</th>\
             <th scope=\"col\" class=\"n\">count</th><th scope=\"col\">what would stop it</th></tr></thead><tbody>",
        );
        for row in rows {
            let _ = write!(
                page,
                "<tr><th scope=\"row\">{} <code>{}</code></th><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
                html(&row.what),
                html(&row.name),
                rate(row.per_second),
                grouped(row.count),
                html(&row.cure)
            );
        }
        page.push_str("</tbody></table></div>\n");
    }
    page.push_str("</section>\n");
}
