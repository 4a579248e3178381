//! Writes the changes of an isolation, by what they are about.

use super::{JournalEntry, ProveRecord};
use crate::page::findings;
use crate::plan::{by_knob, shared_owners};
use crate::style::{counted, safe};
use machine::MapEntries;
use maud::{Markup, html};
use plan::{Change, KNOBS};
use std::collections::BTreeMap;

/// Number of changes of one kind up to which they are shown at once.
const OPEN: usize = 12;

/// The entries of the journal by their change.
type Entries<'a> = BTreeMap<&'a str, &'a JournalEntry>;

/// The changes with their outcome; a plan that was not carried out is still informative.
pub(super) fn changes(story: &ProveRecord) -> Markup {
    let Some(plan) = &story.plan else {
        return Markup::default();
    };
    let entries = story.entries.iter();
    let entries: Entries = entries.map(|entry| (entry.change.as_str(), entry)).into_map();
    let (title, how) = match story.entries.is_empty() {
        true => ("Planned changes", "None of them was made."),
        false => ("Changes", "Every change was recorded in the journal first."),
    };
    html! {
        section { "\n"
            h2 { (title) } "\n"
            p.note {
                "Partition " code { (safe(&plan.partition)) } ": CPU " (plan.isolated) " isolated"
                @if let Some(why) = shared_owners(plan) { " but NOT exclusive (" (safe(&why)) ")" }
                ", CPU " (plan.housekeeping) " runs everything else. " (how)
            } "\n"
            @for (name, changes) in by_knob(plan) { (of_knob(name, &changes, &entries)) }
            @if let Some(line) = &plan.boot_line {
                h3 { "What only a reboot could add" }
                p { "The tick, RCU callbacks and managed interrupts, with these parameters on the boot line:" }
                p { code { (safe(line)) } }
            }
            (findings(&plan.findings))
        } "\n"
    }
}

fn of_knob(name: &str, changes: &[&Change], entries: &Entries) -> Markup {
    let what = KNOBS.iter().find(|knob| knob.name == name).map_or("", |knob| knob.what);
    html! {
        details open[changes.len() <= OPEN] {
            summary { (safe(&name.replace('_', " "))) " " small { (counted(changes.len(), "change")) } }
            p.note { (safe(what)) }
            div.scroll { table.changes {
                thead { tr {
                    th scope="col" { "where" } th scope="col" { "before → after" } th scope="col" { "because" }
                    th scope="col" { "undo" }
                    @if !entries.is_empty() { th scope="col" { "outcome" } }
                } }
                tbody { @for change in changes { (row(change, entries)) } }
            } }
        } "\n"
    }
}

fn row(change: &Change, entries: &Entries) -> Markup {
    let entry = entries.get(change.id.as_str());
    html! {
        tr {
            th scope="row" { code { (safe(&change.target)) } }
            td {
                @match &change.before {
                    None => { span.small { "nothing" } }
                    Some(before) => { code { (safe(before.trim())) } }
                }
                span.arrow { "→" } code { (safe(change.after.trim())) }
            }
            td { (safe(&change.why)) }
            td { (safe(&change.undo)) }
            @if !entries.is_empty() {
                td { @match entry { Some(entry) => { (safe(&entry.outcome)) } None => { "not recorded" } } }
            }
        }
    }
}
