//! A measurement as one page: headline numbers, the histogram, gaps over time, every CPU's statistics, what the
//! kernel counted meanwhile.

use super::{maybe_mean, maybe_time, own, percent, time, title};
use crate::page::chart::{Series, histograms};
use crate::page::escape::{html, unit};
use crate::page::parts::{self, CPUS};
use crate::page::strip::{Strip, gaps};
use crate::prove::{merged, per_second, rate, residue, stolen, tail, worst};
use crate::style::{counted, grouped};
use machine::{CpuSet, Nanos};
use measure::{Kind, Measurement};
use std::fmt::Write as _;

/// The page. All text of the machine is escaped; the whole result is inside as JSON under the name `json_name`, to be
/// saved with one click.
#[must_use]
pub fn measurement_html(measurement: &Measurement, json_name: &str) -> String {
    let mut page = String::with_capacity(1 << 16);
    parts::head(&mut page, &format!("quietcore: {}", cpus(measurement)));
    header(&mut page, measurement);
    tiles(&mut page, measurement);
    drawings(&mut page, measurement);
    statistics(&mut page, measurement);
    counters(&mut page, measurement);
    let first = [
        ("measured CPUs", cpus(measurement)),
        ("began", measurement.started_at.clone()),
    ];
    parts::environment(&mut page, &measurement.environment, &first, &[]);
    let json = serde_json::to_vec(measurement).ok();
    parts::footer(
        &mut page,
        &measurement.environment.tool_version,
        json_name,
        json.as_deref(),
    );
    parts::end(&mut page);
    page
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
    if let Some(line) = super::conditions::line(measurement) {
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
        let note = format!(
            "interrupted: {} only, not the whole measurement",
            time(measurement.duration_ns)
        );
        let _ = writeln!(
            page,
            "<div class=\"badges\"><span class=\"badge care\">{}</span></div>",
            unit(&note)
        );
    }
    page.push_str("</header>\n");
}

/// The answer in one sentence.
fn headline(measurement: &Measurement) -> String {
    let worst = worst(measurement).map(|worst| Nanos(worst).to_string());
    match (measurement.kind, worst) {
        (Kind::Latency | Kind::All, Some(worst)) => format!("The latest wake-up came {worst} late."),
        (Kind::Latency | Kind::All, None) => "No wake-up was recorded.".to_owned(),
        (Kind::Noise, Some(worst)) => format!("The program was stopped for {worst} at most."),
        (Kind::Noise, None) => "The program was never stopped.".to_owned(),
    }
}

fn tiles(page: &mut String, measurement: &Measurement) {
    let sum = |each: fn(&measure::ThreadResult) -> u64| -> u64 { measurement.threads.iter().map(each).sum() };
    let tiles = match measurement.kind {
        Kind::Latency | Kind::All => vec![
            ("worst wake-up", maybe_time(worst(measurement))),
            ("99.9 % of wake-ups within", maybe_time(tail(measurement))),
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
    };
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

fn drawings(page: &mut String, measurement: &Measurement) {
    let (heading, axis) = match measurement.kind {
        Kind::Latency | Kind::All => ("Wake-up latency", "how late the thread woke up"),
        Kind::Noise => ("Noise", "how long the program was stopped"),
    };
    let _ = writeln!(page, "<section>\n<h2>{heading}</h2>");
    let histogram = merged(measurement);
    let worst = worst(measurement);
    let series = [Series {
        class: "during",
        name: "measured",
        histogram: &histogram,
        worst,
    }];
    let description = format!(
        "Histogram on logarithmic axes, all measured CPUs together; largest {}",
        maybe_time(worst)
    );
    match histograms("samples", heading, &description, axis, &series) {
        Some(svg) => {
            let _ = writeln!(
                page,
                "<figure>{svg}<figcaption>All measured CPUs together; both axes are logarithmic.</figcaption></figure>"
            );
        }
        None => page.push_str("<p>No sample was recorded: there is nothing to draw.</p>\n"),
    }
    if measurement.kind == Kind::Noise {
        for thread in measurement.threads.iter().take(CPUS) {
            let cpu = thread.cpu.0;
            let strip = Strip {
                class: "during",
                name: "measured",
                thread,
            };
            if let Some(svg) = gaps(cpu, &[strip]) {
                let _ = writeln!(
                    page,
                    "<figure>{svg}<figcaption>CPU {cpu}: when the gaps were, and how long.</figcaption></figure>"
                );
            }
        }
    }
    parts::notes(page, measurement.findings.iter(), Vec::new());
    page.push_str("</section>\n");
}

fn statistics(page: &mut String, measurement: &Measurement) {
    page.push_str(
        "<section>\n<h2>Every CPU</h2>\n<div class=\"scroll\"><table><thead><tr><th scope=\"col\">CPU</th>",
    );
    for head in ["smallest", "mean", "median", "99 %", "99.9 %", "largest"] {
        let _ = write!(page, "<th scope=\"col\" class=\"n\">{head}</th>");
    }
    page.push_str("</tr></thead><tbody>");
    for thread in measurement.threads.iter().take(CPUS) {
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", thread.cpu.0);
        for value in [
            maybe_time(thread.min_ns),
            maybe_mean(thread.mean_ns),
            maybe_time(thread.p50_ns),
            maybe_time(thread.p99_ns),
            maybe_time(thread.p999_ns),
            maybe_time(thread.max_ns),
        ] {
            let _ = write!(page, "<td class=\"n\">{}</td>", unit(&value));
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>\n");
    let what = match measurement.kind {
        Kind::Latency | Kind::All => "wake-ups due",
        Kind::Noise => "gaps seen",
    };
    page.push_str("<ul>");
    for thread in measurement.threads.iter().take(CPUS) {
        let mut words = vec![format!(
            "{} {what} = {} recorded + {} missed",
            grouped(thread.expected),
            grouped(thread.recorded),
            grouped(thread.missed)
        )];
        words.extend(own(thread));
        words.extend(super::counter::lines(thread));
        words.extend(super::counts::lines(thread));
        let _ = write!(page, "<li>CPU {}: {}</li>", thread.cpu.0, unit(&words.join("; ")));
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

/// What the kernel counted on these CPUs while the samplers ran.
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
