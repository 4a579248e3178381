//! A program that is started repeatedly in a partition does not fill the journal, which is in memory until the next
//! boot.

use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2.
pub const SCENARIO: Scenario = Scenario {
    name: "journal_size",
    about: "hundreds of short runs leave a journal of bounded size; the tasks that still run are undone from it",
    cells: || {
        vec![
            ScenarioCell::new(K6_1, CgroupLayout::V1).within(400),
            ScenarioCell::new(K7, CgroupLayout::V2).within(400),
        ]
    },
    script,
    check,
};

/// Number of short runs, four times the interval between two searches of the journal. `STEP` is the number of runs
/// between two size checks.
const RUNS: usize = 600;
const STEP: usize = 20;

/// Maximum number of records that the runs may add: two for each of the moves after which the journal is searched
/// (`MOVES` in crates/apply/src/ended_moves.rs).
const MOST_RECORDS: usize = 2 * 128;

/// One program keeps running: `undo` needs the record of its move.
fn script(_: &ScenarioCell) -> String {
    format!(
        "state before
rec apply quietcore apply --cpus 3
quietcore run -q -- sleep 10000 & stays=$!
wait_for 30 grep -q $stays /run/quietcore/journal
sleep 1
note first $(wc -lc </run/quietcore/journal)
began=$(cut -d. -f1 /proc/uptime)
run=0
while [ $run -lt {RUNS} ]; do
    quietcore run -q -- true || echo $run >>/tmp/failed
    run=$((run + 1))
    [ $((run % {STEP})) -ne 0 ] || wc -lc </run/quietcore/journal >>/tmp/sizes
done
note seconds $(($(cut -d. -f1 /proc/uptime) - began))
rec failed ls /tmp/failed
rec sizes cat /tmp/sizes
rec stays lab-guest listhas $(grep Cpus_allowed_list /proc/$stays/status | cut -f2) 3
rec undo quietcore undo
rec gone ls /run/quietcore/journal
kill $stays
wait $stays
state after
same same before after
"
    )
}

/// Records and bytes, as `wc` prints them.
fn sizes(text: &str) -> Vec<(usize, usize)> {
    let number = |word: Option<&str>| word.and_then(|word| word.parse().ok());
    let one = |line: &str| {
        let mut words = line.split_whitespace();
        Some((number(words.next())?, number(words.next())?))
    };
    text.lines().filter_map(one).collect()
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["apply", "stays", "undo"] {
        verdict.status(seen, name, 0);
    }
    verdict.that(seen.get("failed").status != 0, "every run succeeds");
    let first = sizes(&seen.get("first").stdout);
    let later = sizes(&seen.get("sizes").stdout);
    verdict.equal("times that the journal was looked at", later.len(), RUNS / STEP);
    let records = later.iter().map(|(records, _)| *records).max().unwrap_or(0);
    let before = first.first().map_or(0, |(records, _)| *records);
    verdict.that(
        before > 0 && records <= before + MOST_RECORDS,
        format!("the journal had {before} records before the runs and at most {records} beside them"),
    );
    let bytes = later.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    verdict.note(format!(
        "{RUNS} runs in {} s: at most {records} records, {bytes} bytes",
        seen.get("seconds").text()
    ));
    verdict.that(seen.get("gone").status != 0, "undo leaves no journal");
    let same = verdict.status(seen, "same", 0);
    verdict.equal("state", same.text(), "");
}
