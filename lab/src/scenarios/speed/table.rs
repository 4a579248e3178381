//! Formats the measured times as a table.

use super::{CROWDS, ROUNDS, peers};
use crate::records::GuestRecords;
use crate::scenario::ScenarioCell;

/// One row for each tool, then one for each size.
pub(super) fn text(cell: &ScenarioCell, seen: &GuestRecords) -> String {
    let seconds = |name: &str| seen.get(name).ms as f64 / 1e3;
    let looped = |name: &str| seen.get(name).json()["us"].as_f64().unwrap_or(0.0) / 1e6;
    let best = |name: &str, of: &dyn Fn(&str) -> f64| {
        let all = (1..=ROUNDS).map(|round| of(&format!("{name}{round}")));
        all.fold(f64::INFINITY, f64::min)
    };
    let left = |name: &str| {
        let found = seen.get(name).json();
        let all = found["user"].as_u64().zip(found["kernel"].as_u64());
        let count = all.map_or_else(|| "?".to_owned(), |(user, kernel)| (user + kernel).to_string());
        let kthreadd = if found["kthreadd"] == true { "+kthreadd" } else { "" };
        format!("{count}{kthreadd}")
    };
    let mib = |name: &str| format!("{:.1}", seen.get(name).peak_kib as f64 / 1024.0);
    let (bare, careful) = (best("bare", &looped), best("careful", &looped));
    let mut text = format!(
        "\n{:<22}{:>9}{:>9}{:>12}{:>16}{:>11}{:>16}{:>9}\n",
        "10,000 tasks", "quiet s", "of bare", "of careful", "left behind", "forking s", "left behind", "MiB"
    );
    let mut row = |name: &str, quiet: f64, cells: [String; 4]| {
        let [left_quiet, forking, left_forking, memory] = cells;
        text.push_str(&format!(
            "{name:<22}{quiet:>9.2}{:>9.2}{:>12.2}{left_quiet:>16}{forking:>11}{left_forking:>16}{memory:>9}\n",
            quiet / bare,
            quiet / careful
        ));
    };
    let none = || "-".to_owned();
    let storm = |name: &str| format!("{:.2}", seconds(&format!("storm-{name}")));
    row(
        "bare loop",
        bare,
        [none(), storm("bare"), left("storm-bare-left"), none()],
    );
    // The loop is timed from inside. Every other row includes the start and the end of the process.
    let alone = [none(), none(), none(), none()];
    row("  its whole process", best("bare", &seconds), alone.clone());
    row("careful loop", careful, alone.clone());
    row("  its whole process", best("careful", &seconds), alone);
    row(
        "quietcore apply",
        best("apply", &seconds),
        [
            left("apply1-left"),
            storm("quietcore"),
            left("storm-quietcore-left"),
            mib("apply1"),
        ],
    );
    for peer in peers(cell) {
        let name = peer.name;
        row(
            name,
            seconds(name),
            [
                left(&format!("{name}-left")),
                storm(name),
                left(&format!("storm-{name}-left")),
                mib(name),
            ],
        );
    }
    text.push_str(&format!(
        "undo {:.2} s ({} MiB; bare loop {:.2} s), plan {:.2} s ({} MiB), check {:.2} s ({} MiB), start of the program {:.2} s\n",
        best("undo", &seconds),
        mib("undo1"),
        best("bare-undo", &looped),
        best("plan", &seconds),
        mib("plan1"),
        best("check", &seconds),
        mib("check1"),
        seconds("start"),
    ));
    for (size, _) in CROWDS {
        let name = |what: &str| format!("{size}-{what}");
        text.push_str(&format!(
            "{} tasks: bare loop {:.2} s, apply {:.2} s ({} MiB, {} left behind), undo {:.2} s ({} MiB)\n",
            seen.get(&name("left")).json()["tasks"],
            looped(&name("bare")),
            seconds(&name("apply")),
            mib(&name("apply")),
            left(&name("left")),
            seconds(&name("undo")),
            mib(&name("undo")),
        ));
    }
    text
}
