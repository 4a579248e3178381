//! Tests measurements that end early: by SIGKILL, by Ctrl-C, by a limit, when the clock is set, when a CPU goes
//! offline. The data is kept, and no process of the measurement keeps running.

use super::{accounts, first, has, measured};
use crate::records::GuestRecords;
use crate::verdict::ScenarioVerdict;

/// Runs last, because it undoes the isolation. Of the two processes, the one with the lower PID is the collector. Its
/// child takes the samples with signals blocked.
pub const SCRIPT: &str = "interrupt() { kill -INT $(pids_of quietcore | sort -n | head -n 1); }
quietcore measure latency --interval 10ms --for 300s --quiet --out /run/killed.json >/dev/null 2>&1 &
victim=$!
wait_recorded /run/killed.json
kill -KILL $victim
wait $victim
rec killed cat /run/killed.json
rec killed_read quietcore report /run/killed.json --json
rec killed_gone lab wait_for 10 sh -c '! grep -l sampler/ /proc/[0-9]*/task/*/comm'
(wait_recorded /run/stopped.json; interrupt) &
rec stopped quietcore measure latency --interval 10ms --for 300s --out /run/stopped.json --json
rec broke quietcore measure latency --interval 10ms --for 300s --break 1us --json
rec broke_noise quietcore measure noise --for 300s --break 20us --json
(wait_recorded /run/jump.json; date -s '2031-01-01 00:00:00' >/dev/null) &
rec jump quietcore measure latency --clock realtime --interval 10ms --for 300s --out /run/jump.json --json
rec undo quietcore undo --json
(wait_recorded /run/offline.json; echo 0 >/sys/devices/system/cpu/cpu3/online; sleep 1; interrupt) &
rec offline quietcore measure latency --cpus 2-3 --interval 10ms --for 300s --out /run/offline.json --json
wait
echo 1 >/sys/devices/system/cpu/cpu3/online
";

/// Checks the records of [`SCRIPT`].
pub fn check(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let killed = verdict.status(seen, "killed", 0).json();
    accounts("killed", &killed, verdict);
    verdict.equal("killed: complete", killed["complete"].as_bool(), Some(false));
    verdict.that(
        has(&killed, "still_measuring"),
        "killed: nothing shows that it continued",
    );
    verdict.status(seen, "killed_read", 0);
    verdict.status(seen, "killed_gone", 0);

    let stopped = verdict.status(seen, "stopped", 0).json();
    accounts("stopped", &stopped, verdict);
    verdict.equal("stopped: complete", stopped["complete"].as_bool(), Some(false));

    for (name, limit_ns) in [("broke", 1_000), ("broke_noise", 20_000)] {
        let result = verdict.status(seen, name, 1).json();
        accounts(name, &result, verdict);
        let value = result["broke"]["value_ns"].as_u64();
        verdict.that(
            value.is_some_and(|value| value >= limit_ns) && result["broke"]["cpu"] == 3,
            format!("{name}: {}", result["broke"]),
        );
        // The sample that ended the measurement is the last one, and the largest.
        verdict.equal(&format!("{name}: largest"), first(&result)["max_ns"].as_u64(), value);
    }

    let jump = verdict.status(seen, "jump", 1).json();
    accounts("jump", &jump, verdict);
    verdict.that(
        has(&jump, "clock_jumped"),
        format!("the clock was not reported: {}", jump["findings"]),
    );

    verdict.status(seen, "undo", 0);
    let offline = seen.get("offline").json();
    accounts("offline", &offline, verdict);
    verdict.equal("offline: measured CPUs", measured(&offline), vec![2, 3]);
    verdict.that(
        has(&offline, "cpu_went_offline"),
        format!("the CPU was not reported: {}", offline["findings"]),
    );
}
