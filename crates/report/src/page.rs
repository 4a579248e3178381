//! Provides what all pages share. A page is one self-contained file: style and drawings embedded, no network. Its one script zooms
//! drawings and shows their values by keyboard; everything else works without it. The page also works on paper and on a phone,
//! in light and dark mode.

pub(crate) mod curves;
pub(crate) mod heat_map;
pub(crate) mod picture;
pub(crate) mod strip;
pub(crate) mod text;

use self::text::{percent, unit};
use crate::inspect::preemption_name;
use crate::report_text::note_level;
use crate::style::safe;
use maud::{Markup, PreEscaped, html};
use measure::{Environment, Note};
use plan::{Finding, Level};

const STYLE: &str = include_str!("page/page.css");

/// Number of CPUs whose tables and strips are shown; the JSON contains all.
pub(crate) const CPUS: usize = 16;

/// The page: its title, its own style and script (constants, which are not escaped), and its content.
pub(crate) fn page(title: &str, style: &'static str, script: &'static str, content: &Markup) -> String {
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" { "\n"
            head { "\n"
                meta charset="utf-8"; "\n"
                meta name="viewport" content="width=device-width, initial-scale=1"; "\n"
                meta name="color-scheme" content="light dark"; "\n"
                title { (safe(title)) } "\n"
                style { "\n" (PreEscaped(STYLE)) (PreEscaped(style)) } "\n"
            } "\n"
            body { "\n"
                main { "\n"
                    (content)
                    script { "\n" (PreEscaped(script)) } "\n"
                } "\n"
            } "\n"
        } "\n"
    };
    page.into_string()
}

/// The line above the headline: the command, its CPUs, the machine, and when it began.
pub(crate) fn brand(command: &str, cpus: &str, environment: &Environment, started_at: &str) -> Markup {
    let model = environment.model_name.as_deref().unwrap_or("processor unknown");
    let release = environment
        .release
        .as_deref()
        .map_or_else(|| "kernel unknown".to_owned(), |release| format!("Linux {release}"));
    html! {
        div.brand {
            b { (command) } span { (cpus) } span { (safe(model)) } span { (safe(&release)) } time { (safe(started_at)) }
        } "\n"
    }
}

/// The most important numbers, large.
pub(crate) fn tiles(numbers: impl IntoIterator<Item = (&'static str, String)>) -> Markup {
    html! {
        dl.tiles { "\n"
            @for (what, value) in numbers {
                div.tile { dt { (what) } dd.during { (unit(&value)) } } "\n"
            }
        } "\n"
    }
}

/// The page's generator, and all its numbers as a file to be saved with one click.
pub(crate) fn footer(tool_version: &str, name: &str, json: Option<&[u8]>) -> Markup {
    html! {
        footer {
            "quietcore " (safe(tool_version))
            @if let Some(json) = json {
                " · "
                a.download download=(safe(name)) href={ "data:application/json;charset=utf-8," (percent(json)) } {
                    "save all numbers of this page as JSON"
                }
            }
        } "\n"
    }
}

/// Limits of the numbers, without duplicates and without those in `shown`.
pub(crate) fn notes<'a>(notes: impl Iterator<Item = &'a Note>, shown: &[&Note]) -> Markup {
    let mut new: Vec<&Note> = Vec::new();
    for note in notes {
        if !shown.contains(&note) && !new.contains(&note) {
            new.push(note);
        }
    }
    html! {
        @for note in new { (finding(note_level(note), &note.subject, &note.message, &note.fix)) }
    }
}

/// One finding with what to do about it.
fn finding(level: Level, subject: &str, message: &str, fix: &str) -> Markup {
    let class = match level {
        Level::Error => "bad",
        Level::Warning => "care",
        Level::Info => "small",
    };
    html! {
        div class={ "finding " (class) } {
            p { b { (safe(subject)) } ": " (safe(message)) }
            @if !fix.is_empty() { p.fix { (safe(fix)) } }
        } "\n"
    }
}

/// All of them, with what to do about each.
pub(crate) fn findings(all: &[Finding]) -> Markup {
    html! {
        @for one in all { (finding(one.level, &one.subject, &one.message, &one.fix)) }
    }
}

/// Names and values; an empty value means "known to be none".
pub(crate) fn list<'a>(facts: impl Iterator<Item = (&'a str, &'a str)>) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in facts {
                dt { (safe(name)) }
                dd { @if value.is_empty() { "none" } @else { (safe(value)) } }
            }
        }
    }
}

/// The machine, with the page's own facts before and after.
pub(crate) fn environment(environment: &Environment, first: &[(&str, String)], last: &[(&str, String)]) -> Markup {
    let known = facts(environment);
    let all = first.iter().chain(&known).chain(last);
    html! {
        section { "\n"
            h2 { "Where this was measured" } "\n"
            (list(all.map(|(name, value)| (*name, value.as_str())))) "\n"
        } "\n"
    }
}

/// The machine, as names and values; an empty value means "known to be none".
pub(crate) fn facts(environment: &Environment) -> Vec<(&'static str, String)> {
    let preemption = environment.preemption.map(|model| {
        let name = preemption_name(Some(model));
        name.trim_start_matches("preemption ").to_owned()
    });
    let guest = match &environment.hypervisor {
        None => "none found".to_owned(),
        Some(name) => format!("guest of {name}"),
    };
    let governor = environment.governor.clone();
    let list = |set: &Option<machine::CpuSet>| set.as_ref().map(ToString::to_string);
    let facts = [
        ("processor", environment.model_name.clone()),
        ("kernel", environment.release.clone()),
        ("preemption", preemption),
        ("boot line", environment.cmdline.clone()),
        ("hypervisor", Some(guest)),
        ("clock source", environment.clocksource.clone()),
        ("CPUs online", Some(environment.online.to_string())),
        ("isolated at boot", list(&environment.boot_isolated)),
        ("nohz_full", list(&environment.nohz_full)),
        ("in partitions at the start", list(&environment.partitioned)),
        (
            "frequency governor",
            Some(governor.unwrap_or_else(|| "no frequency scaling found".to_owned())),
        ),
        (
            "sched_rt_runtime_us",
            environment.sched_rt_runtime_us.map(|value| value.to_string()),
        ),
    ];
    let known = |(name, value): (&'static str, Option<String>)| (name, value.unwrap_or_else(|| "unknown".to_owned()));
    facts.map(known).to_vec()
}
