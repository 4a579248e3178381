//! Writes the report as one self-contained page: style and drawings embedded, no network. It also works on paper and on a phone,
//! in light and dark mode.

use super::sections;
use super::statistics::headlines;
use super::{Outcome, Story};
use crate::page;
use crate::page::escape::{html, unit};
use crate::page::picture::{SCRIPT, STYLE};
use std::fmt::Write as _;

/// The page. All text of the machine is escaped; the whole report is embedded as JSON, to be saved with one click.
#[must_use]
pub fn prove_html(story: &Story) -> String {
    let mut page = String::with_capacity(1 << 17);
    let title = format!("quietcore: CPU {}", story.cpus);
    page::head(&mut page, &title, STYLE);
    header(&mut page, story);
    tiles(&mut page, story);
    sections::latency(&mut page, story);
    sections::noise(&mut page, story);
    sections::residue(&mut page, story);
    sections::could_not(&mut page, story);
    sections::changes(&mut page, story);
    sections::steps(&mut page, story);
    sections::environment(&mut page, story);
    footer(&mut page, story);
    page::end(&mut page, SCRIPT);
    page
}

fn header(page: &mut String, story: &Story) {
    if story.emulated {
        page.push_str(
            "<p class=\"stamp\" role=\"note\">Emulated processor. What was done and what was counted is real; \
             every time is the emulator’s and says nothing about a machine. There is no verdict about latency.</p>\n",
        );
    }
    let environment = &story.environment;
    let model = environment.model_name.as_deref().unwrap_or("processor unknown");
    let release = environment.release.as_deref().map_or_else(
        || "kernel unknown".to_owned(),
        |release| format!("Linux {release}"),
    );
    let _ = write!(
        page,
        "<header>\n<div class=\"brand\"><b>quietcore prove</b><span>CPU {}</span><span>{}</span><span>{}</span><time>{}</time></div>\n",
        html(&story.cpus.to_string()),
        html(model),
        html(&release),
        html(&story.started_at)
    );
    let (head, rest) = first_sentence(&story.verdict);
    let _ = writeln!(page, "<h1>{}</h1>", unit(head));
    if !rest.is_empty() {
        let _ = writeln!(page, "<p class=\"lead\">{}</p>", unit(rest));
    }
    page.push_str("<div class=\"badges\">");
    let mut badge = |class: &str, text: &str| {
        let _ = write!(page, "<span class=\"badge {class}\">{}</span>", html(text));
    };
    if story.isolated.is_empty() {
        badge("care", "not isolated");
    } else {
        badge("good", &format!("CPU {} was isolated", story.isolated));
    }
    match &story.restored {
        Some(restored) if restored.equal => badge("good", "everything put back"),
        Some(_) => badge("bad", "NOT everything put back"),
        None => badge("care", "nothing to put back"),
    }
    if story.steps.iter().any(|step| step.outcome == Outcome::Failed) {
        badge("bad", "a step failed");
    }
    let results = [&story.before, &story.during].into_iter().flatten();
    if results
        .flat_map(|phase| [&phase.latency, &phase.noise])
        .flatten()
        .any(|result| !result.complete)
    {
        badge("care", "a measurement was interrupted");
    }
    page.push_str("</div>\n</header>\n");
}

/// The headline and what follows it.
fn first_sentence(verdict: &str) -> (&str, &str) {
    match verdict.find(['.', '!']).map(|end| end + 1) {
        Some(_) if verdict.find(". ").is_none() => (verdict, ""),
        _ => verdict
            .split_once(". ")
            .map_or((verdict, ""), |(head, rest)| (head, rest.trim())),
    }
}

fn tiles(page: &mut String, story: &Story) {
    let lines = headlines(story);
    if lines.is_empty() {
        page.push_str("<section><h2>Nothing was measured</h2><p>The sections below say why.</p></section>\n");
        return;
    }
    page.push_str("<dl class=\"tiles\">\n");
    for line in lines {
        let missing = if story.during.is_none() { " missing" } else { "" };
        let _ = writeln!(
            page,
            "<div class=\"tile{missing}\"><dt>{}</dt><dd class=\"during\"><span class=\"small\">isolated</span><br>{}</dd>\
             <dd class=\"before\">before: {}</dd></div>",
            html(&line.what),
            unit(&line.during),
            unit(&line.before)
        );
    }
    page.push_str("</dl>\n");
}

fn footer(page: &mut String, story: &Story) {
    let json = story.json().ok();
    page::footer(page, &story.tool_version, "prove.json", json.as_deref());
}
