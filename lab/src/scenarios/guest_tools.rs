//! Tests the guest's own program, on which all scenarios rely.

use crate::kernels::{K5_10, K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs on the oldest kernel, with cgroup v1, and on the newest.
pub const SCENARIO: Scenario = Scenario {
    name: "guest_tools",
    about: "sleepers, spinners, state dumps and the kill injector do what scenarios believe",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    vec![
        ScenarioCell::new(K5_10, CgroupLayout::V1),
        ScenarioCell::new(K6_1, CgroupLayout::V1),
        ScenarioCell::new(K7, CgroupLayout::V2),
    ]
}

/// The directory of `lab-guest victim` after a kill at the entry of its first, second, ... call. The calls are: mkdir,
/// open and write a, open and write b, rename a to c, open and write d.
const LEFT: &[&str] = &["", "", "a=", "a=1", "a=1 b=", "a=1 b=2", "b=2 c=1", "b=2 c=1 d="];

fn script(_: &ScenarioCell) -> String {
    "show='cd /tmp/d 2>/dev/null && for f in *; do [ -f $f ] && printf \"%s=%s \" $f \"$(cat $f)\"; done'
rec sleepers lab-guest sleepers 5 'a (b) c'
rec sleeping sh -c 'grep -lF \"(a (b) c)\" /proc/[0-9]*/stat | wc -l'
lab-guest threads 3 'lab thread' &
sleep 0.5
rec threads sh -c 'cat /proc/'$!'/task/*/comm | grep -c \"lab thread\"'
lab-guest hold 2 &
sleep 0.3
rec who_2 lab-guest who 2
rec who_1 lab-guest who 1
rec on lab-guest on 0,2
rec spin lab-guest spin 3 fifo:10 1
(sleep 1; touch /tmp/stop) &
rec storm lab-guest storm /tmp/stop 20
rec count lab-guest killat count entry -- lab-guest victim /tmp/d
rec whole sh -c \"$show\"
for n in 1 2 3 4 5 6 7 8; do
    rm -rf /tmp/d
    rec entry$n lab-guest killat $n entry -- lab-guest victim /tmp/d
    rec left$n sh -c \"$show\"
done
rm -rf /tmp/d
rec exit3 lab-guest killat 3 exit -- lab-guest victim /tmp/d
rec exit3_left sh -c \"$show\"
lab-guest state >/tmp/one
rec state wc -l /tmp/one
sleep 1
lab-guest state >/tmp/two
rec same lab-guest diff /tmp/one /tmp/two
echo 3 >/proc/irq/default_smp_affinity
lab-guest state >/tmp/three
rec changed lab-guest diff /tmp/one /tmp/three
"
    .to_owned()
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let pids = verdict.status(seen, "sleepers", 0);
    verdict.equal("sleepers", pids.text().split(' ').count(), 5);
    verdict.equal("processes with the name", seen.get("sleeping").text(), "5");
    verdict.equal("threads with the name", seen.get("threads").text(), "3");
    let (on_2, on_1) = (seen.get("who_2").stdout, seen.get("who_1").stdout);
    verdict.that(on_2.contains("\"lab hold\""), "a task pinned to 2 is seen there");
    verdict.that(
        !on_1.contains("\"lab hold\"") && on_1.contains("\"a (b) c\""),
        "and not on 1, unlike sleepers",
    );
    verdict.equal("asked for 0,2", seen.get("on").text(), "0,2");
    let spin = verdict.status(seen, "spin", 0).json();
    verdict.that(
        spin["cpu"] == 3 && spin["rounds"].as_u64() > Some(1000),
        format!("spinner: {spin}"),
    );
    let storm = verdict.status(seen, "storm", 0);
    verdict.that(
        storm.text().parse::<u32>().is_ok_and(|born| born > 20),
        format!("storm: {}", storm.text()),
    );
    let count = verdict.status(seen, "count", 0).json();
    verdict.that(
        count["calls"] == LEFT.len() && count["status"] == 0,
        format!("calls of the victim: {count}"),
    );
    verdict.equal("left by a whole run", seen.get("whole").text(), "b=2 c=1 d=3");
    for (place, left) in LEFT.iter().enumerate() {
        let n = place + 1;
        let killed = verdict.status(seen, &format!("entry{n}"), 0).json();
        verdict.that(
            killed["calls"] == n && killed["status"] == 137,
            format!("kill at {n}: {killed}"),
        );
        verdict.equal(
            &format!("left after a kill at {n}"),
            seen.get(&format!("left{n}")).text(),
            left,
        );
    }
    verdict.equal(
        "left after a kill at the exit of 3",
        seen.get("exit3_left").text(),
        "a=1",
    );
    let lines = seen
        .get("state")
        .text()
        .split(' ')
        .next()
        .and_then(|count| count.parse::<u32>().ok());
    verdict.that(lines > Some(100), format!("lines of a state: {lines:?}"));
    let same = verdict.status(seen, "same", 0);
    verdict.equal("nothing changed", same.text(), "");
    let changed = verdict.status(seen, "changed", 1);
    verdict.that(
        changed.text().contains("default_smp_affinity") && changed.text().lines().count() == 1,
        format!("one change is seen: {}", changed.text()),
    );
}
