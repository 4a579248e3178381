//! A sampler that is ready to run but gets no CPU is waited for, and distinguished from one that is not ready.

use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs on a kernel that throttles real-time tasks, and on one with a fair server. Neither gives any time to a
/// real-time sampler.
pub const SCENARIO: Scenario = Scenario {
    name: "starving",
    about: "measure waits for a sampler that others keep from its CPU, and says who does when it gives up",
    cells: || {
        vec![
            ScenarioCell::new(K6_1, CgroupLayout::V2).within(300),
            ScenarioCell::new(K7, CgroupLayout::V2).within(300),
        ]
    },
    script,
    check,
};

/// The first spinner ends after the start-up limit of an unblocked sampler, the second does not end. The kernel work
/// that replaces the boot clock source can wait behind a spinner, and then runs during the measurement.
fn script(_: &ScenarioCell) -> String {
    "rec clock lab wait_for 60 sh -c '! grep -q early /sys/devices/system/clocksource/clocksource0/current_clocksource'
lab-guest spin 1 fifo:50 25 >/run/spun &
spinner=$!
rec before lab wait_for 60 grep -q ' 50 1 ' /proc/$spinner/stat
rec waited quietcore measure latency --cpus 1 --policy fifo:1 --interval 10ms --for 200ms --json
rec spun cat /run/spun
wait $spinner
lab-guest spin 1 fifo:50 3600 >/dev/null &
spinner=$!
rec again lab wait_for 60 grep -q ' 50 1 ' /proc/$spinner/stat
rec starved quietcore measure latency --cpus 1 --policy fifo:1 --interval 10ms --for 200ms --json
kill -KILL $spinner
rec left lab wait_for 10 sh -c '! grep -l sampler/ /proc/[0-9]*/task/*/comm'
"
    .to_owned()
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.status(seen, "clock", 0);
    verdict.status(seen, "before", 0);
    let waited = verdict.status(seen, "waited", 0).json();
    verdict.that(
        waited["threads"][0]["recorded"]
            .as_u64()
            .is_some_and(|recorded| recorded > 0),
        format!("it measured when the other left: {}", waited["threads"][0]["recorded"]),
    );
    verdict.that(seen.get("spun").text().contains("ran_ns"), "the other had left by then");
    verdict.status(seen, "again", 0);
    let starved = verdict.status(seen, "starved", 4).stderr;
    for part in ["were ready to run for", "real-time task that never sleeps"] {
        verdict.that(starved.contains(part), format!("{part}: {starved}"));
    }
    verdict.status(seen, "left", 0);
    verdict.note(starved);
}
