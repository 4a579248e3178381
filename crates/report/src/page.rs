//! Provides what all pages share. A page is one self-contained file: style and drawings embedded, no network. Its one script zooms
//! drawings and shows their values by keyboard; everything else works without it. The page also works on paper and on a phone,
//! in light and dark mode.

pub(crate) mod curves;
pub(crate) mod escape;
pub(crate) mod heat_map;
pub(crate) mod picture;
pub(crate) mod strip;

use self::escape::{html, percent};
use crate::inspect::preemption_name;
use measure::{Environment, Level as NoteLevel, Note};
use plan::Level;
use std::fmt::Write as _;

const STYLE: &str = include_str!("page/page.css");

/// Number of CPUs whose tables and strips are shown; the JSON contains all.
pub(crate) const CPUS: usize = 16;

/// Everything before the content, with the page's own style.
pub(crate) fn head(page: &mut String, title: &str, style: &str) {
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <style>\n{STYLE}{style}</style>\n</head>\n<body>\n<main>\n",
        html(title)
    );
}

/// Everything after the content, with the page's only script.
pub(crate) fn end(page: &mut String, script: &str) {
    let _ = writeln!(page, "<script>\n{script}</script>");
    page.push_str("</main>\n</body>\n</html>\n");
}

/// The page's generator, and all its numbers as a file to be saved with one click.
pub(crate) fn footer(page: &mut String, tool_version: &str, name: &str, json: Option<&[u8]>) {
    let _ = write!(page, "<footer>quietcore {}", html(tool_version));
    if let Some(json) = json {
        let _ = write!(
            page,
            " · <a class=\"download\" download=\"{}\" href=\"data:application/json;charset=utf-8,{}\">save all numbers of this page as JSON</a>",
            html(name),
            percent(json)
        );
    }
    page.push_str("</footer>\n");
}

/// Limits of the numbers, without duplicates.
pub(crate) fn notes<'a>(page: &mut String, notes: impl Iterator<Item = &'a Note>, mut said: Vec<&'a Note>) {
    for note in notes {
        if said.contains(&note) {
            continue;
        }
        said.push(note);
        let level = match note.level {
            NoteLevel::Error => Level::Error,
            NoteLevel::Warning => Level::Warning,
            NoteLevel::Info => Level::Info,
        };
        finding(page, level, &note.subject, &note.message, &note.fix);
    }
}

/// One finding with what to do about it.
pub(crate) fn finding(page: &mut String, level: Level, subject: &str, message: &str, fix: &str) {
    let class = match level {
        Level::Error => "bad",
        Level::Warning => "care",
        Level::Info => "small",
    };
    let _ = write!(
        page,
        "<div class=\"finding {class}\"><p><b>{}</b>: {}</p>",
        html(subject),
        html(message)
    );
    if !fix.is_empty() {
        let _ = write!(page, "<p class=\"fix\">{}</p>", html(fix));
    }
    page.push_str("</div>\n");
}

/// The machine, with the page's own facts before and after.
pub(crate) fn environment(
    page: &mut String,
    environment: &Environment,
    first: &[(&str, String)],
    last: &[(&str, String)],
) {
    page.push_str("<section>\n<h2>Where this was measured</h2>\n<dl class=\"facts\">");
    let known = facts(environment);
    for (name, value) in first.iter().chain(&known).chain(last) {
        let value = if value.is_empty() { "none" } else { value };
        let _ = write!(page, "<dt>{}</dt><dd>{}</dd>", html(name), html(value));
    }
    page.push_str("</dl>\n</section>\n");
}

/// The machine, as names and values; an empty value means "known to be none".
pub(crate) fn facts(environment: &Environment) -> Vec<(&'static str, String)> {
    let preemption = environment.preemption.map(|model| {
        let name = preemption_name(Some(model));
        name.trim_start_matches("preemption ").to_owned()
    });
    let guest = match &environment.hypervisor {
        None => "none seen".to_owned(),
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
        ("in partitions before", list(&environment.partitioned)),
        (
            "frequency governor",
            Some(governor.unwrap_or_else(|| "no frequency scaling seen".to_owned())),
        ),
        (
            "sched_rt_runtime_us",
            environment.sched_rt_runtime_us.map(|value| value.to_string()),
        ),
    ];
    let known =
        |(name, value): (&'static str, Option<String>)| (name, value.unwrap_or_else(|| "unknown".to_owned()));
    facts.map(known).to_vec()
}
