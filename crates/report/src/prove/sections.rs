//! Writes the sections of the page.

use super::statistics::{measured_cpus, merged, of, of_cpu};
use super::{ProvePhase, ProveRecord, ProveStep, Residue, StepOutcome};
use crate::measurement::policy_text;
use crate::page::curves::Curve;
use crate::page::picture::{Picture, common, picture};
use crate::page::strip::{Strip, gaps};
use crate::page::text::unit;
use crate::page::{self, CPUS, findings, notes};
use crate::prediction::left_text;
use crate::prediction::page::section as prediction_section;
use crate::statistics::{stolen, worst};
use crate::style::{counted, grouped, safe};
use crate::units::{rate, time};
use machine::Nanos;
use maud::{Markup, html};
use measure::{Measurement, MeasurementKind, Note};
use std::collections::BTreeMap;

pub(super) fn latency(story: &ProveRecord) -> Markup {
    let axis = "how late the thread woke up";
    measured(story, MeasurementKind::Latency, "Wake-up latency", axis, |result| {
        let thread = result.threads.first();
        let period = thread
            .and_then(|thread| thread.interval_ns)
            .map_or_else(|| "periodically".to_owned(), |ns| format!("every {}", time(ns)));
        let policy = thread.map_or_else(String::new, |thread| format!(" ({})", policy_text(thread)));
        format!(
            "A thread{policy} wakes {period} and records how late it was, for {}.",
            time(result.duration_ns)
        )
    })
}

pub(super) fn noise(story: &ProveRecord) -> Markup {
    let axis = "how long the program was stopped";
    measured(story, MeasurementKind::Noise, "Noise", axis, |result| {
        let thread = result.threads.first();
        let policy = thread.map_or_else(String::new, |thread| format!(" ({})", policy_text(thread)));
        let threshold = thread.and_then(|thread| thread.threshold_ns);
        let threshold = threshold.map_or_else(String::new, |ns| format!(" of {} or more", time(ns)));
        format!(
            "A thread{policy} reads the clock in a loop without sleeping. Every gap{threshold} is time when something \
             else used the CPU; measured for {}.",
            time(result.duration_ns)
        )
    })
}

fn measured(
    story: &ProveRecord,
    kind: MeasurementKind,
    title: &str,
    axis: &str,
    how: impl Fn(&Measurement) -> String,
) -> Markup {
    let before = of(story.before.as_ref(), kind);
    let during = of(story.during.as_ref(), kind);
    let Some(any) = during.or(before) else {
        return Markup::default();
    };
    let cpus = measured_cpus(story, kind);
    let shown = &cpus[..cpus.len().min(CPUS)];
    let strips_of = if kind == MeasurementKind::Noise { shown } else { &[] };
    let above: Vec<&Note> = match kind {
        MeasurementKind::Latency | MeasurementKind::All => Vec::new(),
        MeasurementKind::Noise => notes_of(story, MeasurementKind::Latency).collect(),
    };
    html! {
        section { "\n"
            h2 { (title) } "\n"
            p.note { (unit(&how(any))) } "\n"
            div.pair { "\n"
                div { "\n"
                    (drawing(story, kind, title, axis))
                    @for cpu in strips_of {
                        @if let Some(svg) = gaps(*cpu, &strips(story, *cpu)) {
                            figure { (svg) figcaption { "CPU " (cpu) ": when the gaps were, and how long." } }
                        }
                    }
                } "\n"
                div {
                    @for cpu in shown { (table(story, kind, *cpu)) }
                    (more_in_json(cpus.len()))
                } "\n"
            } "\n"
            @if kind == MeasurementKind::Latency && !story.emulated { (bound(any)) }
            (notes(notes_of(story, kind), &above))
        } "\n"
    }
}

/// How many of these CPUs are not shown.
fn more_in_json(cpus: usize) -> Markup {
    html! {
        @if cpus > CPUS { p.note { (counted(cpus - CPUS, "CPU")) " more are in the JSON." } }
    }
}

fn strips(story: &ProveRecord, cpu: u32) -> Vec<Strip<'_>> {
    let phases = [
        ("before", "before", story.before.as_ref()),
        ("during", "isolated", story.during.as_ref()),
    ];
    let strip = |(class, name, phase)| {
        let mut threads = of(phase, MeasurementKind::Noise)?.threads.iter();
        let thread = threads.find(|thread| thread.cpu.0 == cpu)?;
        Some(Strip { class, name, thread })
    };
    phases.into_iter().filter_map(strip).collect()
}

/// Both phases overlaid, each with all its measured CPUs together.
fn drawing(story: &ProveRecord, kind: MeasurementKind, title: &str, axis: &str) -> Markup {
    let id = match kind {
        MeasurementKind::Latency => "latency",
        MeasurementKind::All => "both",
        MeasurementKind::Noise => "noise",
    };
    // In the colours of the two phases on the whole page.
    let phases = [(1, "before", &story.before), (0, "isolated", &story.during)];
    let curve = |(number, name, phase): (usize, &str, &Option<ProvePhase>)| {
        let result = of(phase.as_ref(), kind)?;
        let load = phase.as_ref().map(|phase| phase.load.as_str());
        Some(Curve {
            number,
            name: name.to_owned(),
            note: format!("(load: {})", load.unwrap_or_default()),
            histogram: merged(result),
            worst_ns: worst(result),
        })
    };
    let curves: Vec<Curve> = phases.into_iter().filter_map(curve).collect();
    let legend = match measured_cpus(story, kind).len() {
        0 | 1 => "Each phase",
        _ => "Each phase, all measured CPUs together",
    };
    picture(&Picture {
        id,
        title: &format!("{title}: the share of all samples of each phase, all measured CPUs together, by length"),
        axis,
        legend,
        curves: &curves,
        common_ns: common(&curves),
    })
}

fn table(story: &ProveRecord, kind: MeasurementKind, cpu: u32) -> Markup {
    html! {
        div.scroll { table {
            caption { "CPU " (cpu) }
            thead { tr {
                th scope="col" {} th scope="col" class="n before" { "before" } th scope="col" class="n during" { "isolated" }
            } }
            tbody {
                @for line in of_cpu(story, kind, cpu) {
                    tr { th scope="row" { (safe(&line.what)) } td.n { (unit(&line.before)) } td.n { (unit(&line.during)) } }
                }
            }
        } }
    }
}

/// What this many samples prove: with none beyond the largest, the rule of three bounds the frequency of larger ones.
fn bound(result: &Measurement) -> Markup {
    let samples: u64 = result.threads.iter().map(|thread| thread.recorded).sum();
    html! {
        @if samples >= 3 {
            p.note {
                "What this proves: after " (grouped(samples)) " wake-ups, a longer latency that occurs once in "
                (grouped(samples / 3)) " wake-ups or less often may have been missed (95\u{a0}% confidence). "
                "A longer run proves more."
            }
        }
    }
}

fn notes_of(story: &ProveRecord, kind: MeasurementKind) -> impl Iterator<Item = &Note> {
    let phases = [story.before.as_ref(), story.during.as_ref()];
    phases
        .into_iter()
        .filter_map(move |phase| of(phase, kind))
        .flat_map(|result| &result.findings)
}

pub(super) fn residue(story: &ProveRecord) -> Markup {
    html! {
        @if !story.residue.is_empty() {
            section { "\n"
                h2 { "What still arrived" } "\n"
                p.note { "Counted by the kernel while the busy loop ran." } "\n"
                @for residue in story.residue.iter().take(CPUS) { (one_residue(residue)) }
                (more_in_json(story.residue.len()))
            } "\n"
        }
    }
}

fn one_residue(residue: &Residue) -> Markup {
    let mut by_why: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for thread in &residue.threads {
        by_why.entry(&thread.why).or_default().push(&thread.comm);
    }
    by_why.values_mut().for_each(|names| names.sort_unstable());
    html! {
        h3 { "CPU " (residue.cpu) }
        (counters(residue))
        @if !residue.interrupts.is_empty() {
            p { "Interrupts that could not be moved:" }
            ul {
                @for irq in &residue.interrupts {
                    li { (irq.irq) " " code { (safe(&irq.name)) } ": " (safe(&irq.why)) }
                }
            }
        }
        @if !by_why.is_empty() {
            p { "Threads that could not be moved:" }
            ul {
                @for (why, names) in by_why {
                    li {
                        (safe(why)) ": "
                        @for (place, name) in names.iter().enumerate() {
                            @if place > 0 { ", " }
                            code { (safe(name)) }
                        }
                    }
                }
            }
        }
        "\n"
    }
}

/// What arrived on one CPU, before and while it was isolated.
fn counters(residue: &Residue) -> Markup {
    let rows: Vec<_> = residue.rows.iter().filter(|row| row.count > 0).collect();
    if rows.is_empty() {
        return html! { p { "No event that the kernel counts." } };
    }
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "what" }
                th scope="col" class="n before" { "before, per second" }
                th scope="col" class="n during" { "isolated, per second" }
                th.n scope="col" { "count" }
                th scope="col" { "what would stop it" }
            } }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" { (safe(&row.what)) " " code { (safe(&row.name)) } }
                        td.n { (row.per_second_before.map_or_else(|| "-".to_owned(), rate)) }
                        td.n { (rate(row.per_second)) }
                        td.n { (grouped(row.count)) }
                        td { (safe(&row.cure)) }
                    }
                }
            }
        } }
    }
}

/// What each change would gain, and what was then measured.
pub(super) fn prediction(story: &ProveRecord) -> Markup {
    let measured = of(story.during.as_ref(), MeasurementKind::Noise);
    let measured = measured.and_then(|result| stolen(result).zip(worst(result)));
    let origin = html! {
        p.note {
            "Watched before the isolation, with the load of that phase."
            @if let Some(left) = &story.predicted_isolation { " Predicted for this isolation: " (unit(&left_text(left))) "." }
            @if let Some((percent, longest_ns)) = measured {
                " Measured while isolated, without a trace: "
                (unit(&time((percent * 1e7).round() as u64))) " of each second stolen, longest gap "
                (unit(&time(longest_ns))) "."
            }
        } "\n"
    };
    html! {
        @if let Some(prediction) = &story.prediction { (prediction_section(prediction, &origin)) }
    }
}

pub(super) fn could_not(story: &ProveRecord) -> Markup {
    html! {
        @if !story.could_not.is_empty() {
            section { "\n"
                h2 { "What could not be done, and what it needs" } "\n"
                (findings(&story.could_not))
            } "\n"
        }
    }
}

pub(super) fn steps(story: &ProveRecord) -> Markup {
    if story.steps.is_empty() && story.restored.is_none() {
        return Markup::default();
    }
    html! {
        section { "\n"
            h2 { "What was done and undone" } "\n"
            @match &story.restored {
                Some(restored) if restored.equal => { p.good { b { "Everything is as it was before." } } }
                Some(restored) => {
                    p.bad { b { "Not everything is as it was before:" } }
                    ul { @for difference in &restored.differences { li { (safe(difference)) } } }
                }
                None => { p { "Nothing was changed, so there is nothing to undo." } }
            }
            ol.steps { @for one in &story.steps { (step(one)) } } "\n"
        } "\n"
    }
}

fn step(step: &ProveStep) -> Markup {
    let (class, word) = match step.outcome {
        StepOutcome::Done => ("good", "done"),
        StepOutcome::Failed => ("bad", "failed"),
        StepOutcome::Skipped => ("care", "skipped"),
    };
    html! {
        li {
            span class=(class) { (word) }
            span.small { (unit(&Nanos(step.duration_ns).to_string())) }
            span { b { (safe(&step.name)) } " " (safe(&step.detail)) }
        }
    }
}

pub(super) fn environment(story: &ProveRecord) -> Markup {
    let cpus = match story.cpus_why.as_str() {
        "" => story.cpus.to_string(),
        why => format!("{} ({why})", story.cpus),
    };
    let first = ("CPU under test", cpus);
    let last = ("exit status", story.exit_status.to_string());
    page::environment(&story.environment, &[first], &[last])
}
