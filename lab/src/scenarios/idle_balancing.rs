//! A CPU that was idle when its partition was created does not balance for other CPUs afterwards.
//!
//! Without a scheduling domain it would never leave the kernel's list of idle CPUs (`nohz.idle_cpus_mask`), and every
//! busy CPU would send it function calls; see `apply::busy::BusyLoops`.

use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::verdict::ScenarioVerdict;

/// Runs with the kernels and layouts that differ in how a CPU leaves its domains.
pub const SCENARIO: Scenario = Scenario {
    name: "idle_balancing",
    about: "a CPU that idled while its partition was made is never asked to balance, however busy the others are",
    cells,
    script,
    check,
};

/// Number of partitions. Which of them is affected is random: a tick may find the CPU busy while the partition is
/// created.
const ROUNDS: usize = 5;

fn cells() -> Vec<ScenarioCell> {
    ScenarioCell::of_each_kind().map(|cell| cell.within(240)).to_vec()
}

const SCRIPT: &str = r#"softirqs() { awk '/SCHED/{print $5}' /proc/softirqs; }
load() { for i in 1 2 3 4 5 6; do taskset -c 0-2 sh -c 'while :; do :; done' & done; }
unload() { kill $(jobs -p); wait; }
asked=
busy=
for round in $(seq $ROUNDS); do
    sleep 2
    rec apply$round quietcore apply --cpus 3 --quiet
    load
    sleep 1
    before=$(softirqs); others=$(awk '/SCHED/{print $2}' /proc/softirqs)
    sleep 2
    asked="$asked $(($(softirqs) - before))"
    busy="$busy $(($(awk '/SCHED/{print $2}' /proc/softirqs) - others))"
    unload
    rec undo$round quietcore undo --quiet
done
note asked $asked
note busy $busy
"#;

fn script(_: &ScenarioCell) -> String {
    SCRIPT.replace("$ROUNDS", &ROUNDS.to_string())
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for round in 1..=ROUNDS {
        verdict.status(seen, &format!("apply{round}"), 0);
        verdict.status(seen, &format!("undo{round}"), 0);
    }
    let numbers = |name: &str| -> Vec<u64> {
        let record = seen.get(name);
        let words = record.text().split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let busy = numbers("busy");
    verdict.that(
        busy.len() == ROUNDS && busy.iter().all(|count| *count > 10),
        format!("CPU 0 balances meanwhile: {busy:?}"),
    );
    verdict.equal("SCHED softirqs on CPU 3", numbers("asked"), vec![0; ROUNDS]);
}
