//! Writes the report as one self-contained page: style and drawings embedded, no network. It also works on paper and on a phone,
//! in light and dark mode.

use super::statistics::headlines;
use super::{ProveRecord, StepOutcome};
use super::{changes, sections};
use crate::page;
use crate::page::picture::{SCRIPT, STYLE};
use crate::page::text::unit;
use crate::style::safe;
use maud::{Markup, html};

/// The page. The whole report is embedded as JSON, to be saved with one click.
#[must_use]
pub fn prove_html(story: &ProveRecord) -> String {
    let json = story.json().ok();
    let content = html! {
        (header(story))
        (tiles(story))
        (sections::latency(story))
        (sections::noise(story))
        (sections::residue(story))
        (sections::prediction(story))
        (sections::could_not(story))
        (changes::changes(story))
        (sections::steps(story))
        (sections::environment(story))
        (page::footer(&story.tool_version, "prove.json", json.as_deref()))
    };
    page::page(&format!("quietcore: CPU {}", story.cpus), STYLE, SCRIPT, &content)
}

fn header(story: &ProveRecord) -> Markup {
    let cpus = format!("CPU {}", story.cpus);
    let (head, rest) = first_sentence(&story.verdict);
    html! {
        @if story.emulated {
            p.stamp role="note" {
                "Emulated processor. Actions and counters are real; every time is that of the emulator and shows \
                 nothing "
                "about a real machine. There is no verdict about latency."
            } "\n"
        }
        header { "\n"
            (page::brand("quietcore prove", &cpus, &story.environment, &story.started_at))
            h1 { (unit(head)) } "\n"
            @if !rest.is_empty() { p.lead { (unit(rest)) } "\n" }
            div.badges {
                @for (class, text) in badges(story) { span class={ "badge " (class) } { (text) } }
            } "\n"
        } "\n"
    }
}

/// The class and the text of each badge.
fn badges(story: &ProveRecord) -> Vec<(&'static str, String)> {
    let mut badges = Vec::new();
    let mut badge = |class, text: &str| badges.push((class, text.to_owned()));
    if story.isolated.is_empty() {
        badge("care", "not isolated");
    } else {
        badge("good", &format!("CPU {} was isolated", story.isolated));
    }
    match &story.restored {
        Some(restored) if restored.equal => badge("good", "everything undone"),
        Some(_) => badge("bad", "NOT everything undone"),
        None => badge("care", "nothing to undo"),
    }
    if story.steps.iter().any(|step| step.outcome == StepOutcome::Failed) {
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
    badges
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

fn tiles(story: &ProveRecord) -> Markup {
    let lines = headlines(story);
    let missing = if story.during.is_none() { " missing" } else { "" };
    html! {
        @if lines.is_empty() {
            section { h2 { "Nothing was measured" } p { "The sections below show why." } } "\n"
        } @else {
            dl.tiles { "\n"
                @for line in lines {
                    div class={ "tile" (missing) } {
                        dt { (safe(&line.what)) }
                        dd.during { span.small { "isolated" } br; (unit(&line.during)) }
                        dd.before { "before: " (unit(&line.before)) }
                    } "\n"
                }
            } "\n"
        }
    }
}
