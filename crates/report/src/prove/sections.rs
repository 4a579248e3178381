//! Writes the sections of the page.

use super::statistics::{measured_cpus, merged, of, of_cpu};
use super::{Entry, Outcome, Phase, Residue, Story};
use crate::measurement::policy_text;
use crate::page::curves::Curve;
use crate::page::escape::{html, unit};
use crate::page::picture::{Picture, common, picture};
use crate::page::strip::{Strip, gaps};
use crate::page::{self, CPUS, finding, notes};
use crate::plan::{by_knob, company};
use crate::statistics::worst;
use crate::style::{counted, grouped};
use crate::units::{rate, time};
use machine::Nanos;
use measure::{Kind, Measurement, Note};
use plan::KNOBS;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(super) fn latency(page: &mut String, story: &Story) {
    let axis = "how late the thread woke up";
    measured(page, story, Kind::Latency, "Wake-up latency", axis, |result| {
        let thread = result.threads.first();
        let period = thread
            .and_then(|thread| thread.interval_ns)
            .map_or_else(|| "periodically".to_owned(), |ns| format!("every {}", time(ns)));
        let policy = thread.map_or_else(String::new, |thread| format!(" ({})", policy_text(thread)));
        format!(
            "A thread{policy} asks to be woken {period} and notes how late that was, for {}.",
            time(result.duration_ns)
        )
    });
}

pub(super) fn noise(page: &mut String, story: &Story) {
    let axis = "how long the program was stopped";
    measured(page, story, Kind::Noise, "Noise", axis, |result| {
        let thread = result.threads.first();
        let policy = thread.map_or_else(String::new, |thread| format!(" ({})", policy_text(thread)));
        let threshold = thread.and_then(|thread| thread.threshold_ns);
        let threshold = threshold.map_or_else(String::new, |ns| format!(" of {} or more", time(ns)));
        format!(
            "A thread{policy} reads the clock in a loop without ever sleeping. Every gap{threshold} is time that something else had the CPU; watched for {}.",
            time(result.duration_ns)
        )
    });
}

fn measured(
    page: &mut String,
    story: &Story,
    kind: Kind,
    title: &str,
    axis: &str,
    how: impl Fn(&Measurement) -> String,
) {
    let before = of(story.before.as_ref(), kind);
    let during = of(story.during.as_ref(), kind);
    let Some(any) = during.or(before) else { return };
    let _ = write!(
        page,
        "<section>\n<h2>{}</h2>\n<p class=\"note\">{}</p>\n",
        html(title),
        unit(&how(any))
    );
    page.push_str("<div class=\"pair\">\n<div>\n");
    drawing(page, story, kind, title, axis);
    let cpus = measured_cpus(story, kind);
    if kind == Kind::Noise {
        for cpu in cpus.iter().take(CPUS) {
            if let Some(svg) = gaps(*cpu, &strips(story, *cpu)) {
                let _ = write!(
                    page,
                    "<figure>{svg}<figcaption>CPU {cpu}: when the gaps were, and how long.</figcaption></figure>"
                );
            }
        }
    }
    page.push_str("</div>\n<div>");
    for cpu in cpus.iter().take(CPUS) {
        table(page, story, kind, *cpu);
    }
    if cpus.len() > CPUS {
        let _ = write!(
            page,
            "<p class=\"note\">{} more are in the JSON.</p>",
            counted(cpus.len() - CPUS, "CPU")
        );
    }
    page.push_str("</div>\n</div>\n");
    if kind == Kind::Latency && !story.emulated {
        bound(page, during.or(before));
    }
    let said: Vec<&Note> = match kind {
        Kind::Latency | Kind::All => Vec::new(),
        Kind::Noise => notes_of(story, Kind::Latency).collect(),
    };
    notes(page, notes_of(story, kind), said);
    page.push_str("</section>\n");
}

fn strips(story: &Story, cpu: u32) -> Vec<Strip<'_>> {
    let phases = [
        ("before", "before", story.before.as_ref()),
        ("during", "isolated", story.during.as_ref()),
    ];
    let strip = |(class, name, phase)| {
        let mut threads = of(phase, Kind::Noise)?.threads.iter();
        let thread = threads.find(|thread| thread.cpu.0 == cpu)?;
        Some(Strip { class, name, thread })
    };
    phases.into_iter().filter_map(strip).collect()
}

/// Both phases overlaid, each with all its measured CPUs together.
fn drawing(page: &mut String, story: &Story, kind: Kind, title: &str, axis: &str) {
    let id = match kind {
        Kind::Latency => "latency",
        Kind::All => "both",
        Kind::Noise => "noise",
    };
    // In the colours of the two phases on the whole page.
    let phases = [(1, "before", &story.before), (0, "isolated", &story.during)];
    let curve = |(number, name, phase): (usize, &str, &Option<Phase>)| {
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
    picture(
        page,
        &Picture {
            id,
            title: &format!(
                "{title}: the share of all samples of each phase, all measured CPUs together, by length"
            ),
            axis,
            legend,
            curves: &curves,
            common_ns: common(&curves),
        },
    );
}

fn table(page: &mut String, story: &Story, kind: Kind, cpu: u32) {
    let _ = write!(
        page,
        "<div class=\"scroll\"><table><caption>CPU {cpu}</caption><thead><tr><th scope=\"col\"></th>\
         <th scope=\"col\" class=\"n before\">before</th><th scope=\"col\" class=\"n during\">isolated</th></tr></thead><tbody>"
    );
    for line in of_cpu(story, kind, cpu) {
        let _ = write!(
            page,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            html(&line.what),
            unit(&line.before),
            unit(&line.during)
        );
    }
    page.push_str("</tbody></table></div>");
}

/// What this many samples prove: with none beyond the largest, the rule of three bounds the frequency of larger ones.
fn bound(page: &mut String, result: Option<&Measurement>) {
    let samples: u64 = result
        .iter()
        .flat_map(|result| &result.threads)
        .map(|thread| thread.recorded)
        .sum();
    if samples >= 3 {
        let _ = write!(
            page,
            "<p class=\"note\">What this proves: after {} wake-ups, something worse that happens once in {} wake-ups or \
             more rarely may still have been missed (95&nbsp;% confidence). A longer run proves more.</p>",
            grouped(samples),
            grouped(samples / 3)
        );
    }
}

fn notes_of(story: &Story, kind: Kind) -> impl Iterator<Item = &Note> {
    let phases = [story.before.as_ref(), story.during.as_ref()];
    phases
        .into_iter()
        .filter_map(move |phase| of(phase, kind))
        .flat_map(|result| &result.findings)
}

pub(super) fn residue(page: &mut String, story: &Story) {
    if story.residue.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>What still arrived</h2>\n<p class=\"note\">Counted by the kernel while the busy loop ran.</p>\n");
    for residue in story.residue.iter().take(CPUS) {
        one_residue(page, residue);
    }
    if story.residue.len() > CPUS {
        let _ = write!(
            page,
            "<p class=\"note\">{} more are in the JSON.</p>",
            counted(story.residue.len() - CPUS, "CPU")
        );
    }
    page.push_str("</section>\n");
}

fn one_residue(page: &mut String, residue: &Residue) {
    let rows: Vec<_> = residue.rows.iter().filter(|row| row.count > 0).collect();
    let _ = write!(page, "<h3>CPU {}</h3>", residue.cpu);
    if rows.is_empty() {
        page.push_str("<p>Nothing that the kernel counts.</p>");
    } else {
        page.push_str(
            "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">what</th><th scope=\"col\" class=\"n before\">before, per second</th>\
             <th scope=\"col\" class=\"n during\">isolated, per second</th><th scope=\"col\" class=\"n\">count</th><th scope=\"col\">what would stop it</th></tr></thead><tbody>",
        );
        for row in rows {
            let before = row.per_second_before.map_or_else(|| "-".to_owned(), rate);
            let _ = write!(
                page,
                "<tr><th scope=\"row\">{} <code>{}</code></th><td class=\"n\">{before}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
                html(&row.what),
                html(&row.name),
                rate(row.per_second),
                grouped(row.count),
                html(&row.cure)
            );
        }
        page.push_str("</tbody></table></div>");
    }
    if !residue.interrupts.is_empty() {
        page.push_str("<p>Interrupts that could not be moved:</p><ul>");
        for irq in &residue.interrupts {
            let _ = write!(
                page,
                "<li>{} <code>{}</code>: {}</li>",
                irq.irq,
                html(&irq.name),
                html(&irq.why)
            );
        }
        page.push_str("</ul>");
    }
    if !residue.threads.is_empty() {
        let mut by_why: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for thread in &residue.threads {
            by_why.entry(&thread.why).or_default().push(&thread.comm);
        }
        page.push_str("<p>Threads that could not be moved:</p><ul>");
        for (why, mut names) in by_why {
            names.sort_unstable();
            let names: Vec<String> = names
                .iter()
                .map(|name| format!("<code>{}</code>", html(name)))
                .collect();
            let _ = write!(page, "<li>{}: {}</li>", html(why), names.join(", "));
        }
        page.push_str("</ul>");
    }
    page.push('\n');
}

pub(super) fn could_not(page: &mut String, story: &Story) {
    if story.could_not.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>What could not be done, and what would be needed</h2>\n");
    for item in &story.could_not {
        finding(page, item.level, &item.subject, &item.message, &item.fix);
    }
    page.push_str("</section>\n");
}

pub(super) fn changes(page: &mut String, story: &Story) {
    const OPEN: usize = 12;
    let Some(plan) = &story.plan else { return };
    let entries: BTreeMap<&str, &Entry> = story
        .entries
        .iter()
        .map(|entry| (entry.change.as_str(), entry))
        .collect();
    // A plan that was not carried out is still informative.
    let (title, how) = match story.entries.is_empty() {
        true => ("What would have been changed", "Nothing of it was done."),
        false => (
            "What was changed",
            "Every change was written to the journal first.",
        ),
    };
    let outcome_head = if entries.is_empty() {
        ""
    } else {
        "<th scope=\"col\">outcome</th>"
    };
    let company = company(plan).map_or_else(String::new, |why| format!(" but NOT alone ({})", html(&why)));
    let _ = write!(
        page,
        "<section>\n<h2>{title}</h2>\n<p class=\"note\">Partition <code>{}</code>: CPU {} set apart{company}, CPU {} keeps everything else. {how}</p>\n",
        html(&plan.partition),
        html(&plan.isolated.to_string()),
        html(&plan.housekeeping.to_string())
    );
    for (name, changes) in by_knob(plan) {
        let open = if changes.len() <= OPEN { " open" } else { "" };
        let what = KNOBS
            .iter()
            .find(|knob| knob.name == name)
            .map_or("", |knob| knob.what);
        let _ = write!(
            page,
            "<details{open}><summary>{} <small>{}</small></summary><p class=\"note\">{}</p><div class=\"scroll\"><table class=\"changes\"><thead><tr>\
             <th scope=\"col\">where</th><th scope=\"col\">before → after</th><th scope=\"col\">because</th>\
             <th scope=\"col\">undo</th>{outcome_head}</tr></thead><tbody>",
            html(&name.replace('_', " ")),
            counted(changes.len(), "change"),
            html(what)
        );
        for change in changes {
            let before = change.before.as_deref().map_or_else(
                || "<span class=\"small\">nothing</span>".to_owned(),
                |text| format!("<code>{}</code>", html(text.trim())),
            );
            let outcome = match (entries.is_empty(), entries.get(change.id.as_str())) {
                (true, _) => String::new(),
                (false, Some(entry)) => format!("<td>{}</td>", html(&entry.outcome)),
                (false, None) => "<td>not recorded</td>".to_owned(),
            };
            let _ = write!(
                page,
                "<tr><th scope=\"row\"><code>{}</code></th><td>{before}<span class=\"arrow\">→</span><code>{}</code></td><td>{}</td><td>{}</td>{outcome}</tr>",
                html(&change.target),
                html(change.after.trim()),
                html(&change.why),
                html(&change.undo)
            );
        }
        page.push_str("</tbody></table></div></details>\n");
    }
    if let Some(line) = &plan.boot_line {
        let _ = write!(
            page,
            "<h3>What only a reboot could add</h3><p>Tick, RCU callbacks and kernel-managed interrupts, with these words on the boot line:</p><p><code>{}</code></p>",
            html(line)
        );
    }
    for item in &plan.findings {
        finding(page, item.level, &item.subject, &item.message, &item.fix);
    }
    page.push_str("</section>\n");
}

pub(super) fn steps(page: &mut String, story: &Story) {
    if story.steps.is_empty() && story.restored.is_none() {
        return;
    }
    page.push_str("<section>\n<h2>What was done, and put back</h2>\n");
    match &story.restored {
        Some(restored) if restored.equal => {
            page.push_str("<p class=\"good\"><b>Everything is as it was before.</b></p>");
        }
        Some(restored) => {
            page.push_str("<p class=\"bad\"><b>Not everything is as it was before:</b></p><ul>");
            for difference in &restored.differences {
                let _ = write!(page, "<li>{}</li>", html(difference));
            }
            page.push_str("</ul>");
        }
        None => page.push_str("<p>Nothing was changed that would have to be put back.</p>"),
    }
    page.push_str("<ol class=\"steps\">");
    for step in &story.steps {
        let (class, word) = match step.outcome {
            Outcome::Done => ("good", "done"),
            Outcome::Failed => ("bad", "failed"),
            Outcome::Skipped => ("care", "skipped"),
        };
        let _ = write!(
            page,
            "<li><span class=\"{class}\">{word}</span><span class=\"small\">{}</span><span><b>{}</b> {}</span></li>",
            unit(&Nanos(step.duration_ns).to_string()),
            html(&step.name),
            html(&step.detail)
        );
    }
    page.push_str("</ol>\n</section>\n");
}

pub(super) fn environment(page: &mut String, story: &Story) {
    let first = ("CPU under test", format!("{} ({})", story.cpus, story.cpus_why));
    let last = ("exit status", story.exit_status.to_string());
    page::environment(page, &story.environment, &[first], &[last]);
}
