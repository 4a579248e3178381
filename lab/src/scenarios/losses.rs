//! Uses trace buffers that are too small for a storm of known size: the kernel's lost events are counted and reported
//! for each CPU, and the remaining events blame no thread wrongly.

use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::truth::TruthTable;
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Runs on a kernel that does not report the senders of interrupts, and on the newest.
pub const SCENARIO: Scenario = Scenario {
    name: "losses",
    about: "events that did not fit into the kernel's buffers are counted, and no program is blamed for them",
    cells: || {
        vec![
            ScenarioCell::new(K6_1, CgroupLayout::V2).within(420),
            ScenarioCell::new(K7, CgroupLayout::V2).within(420),
        ]
    },
    script,
    check,
};

/// Bytes that two threads pass on CPU 2 during the recording. Each causes at least two switches.
const HANDED: u64 = 3_000;

/// The recorder is stopped during the storm, so only one buffer of it is left on any machine. Then three kinds of
/// culprits run while two threads switch back and forth: one that runs on the CPU itself, one that sends interrupts,
/// and one that is woken there.
fn script(_: &ScenarioCell) -> String {
    format!(
        "cat >/tmp/unread <<'END'
kill -STOP $PPID
lab-guest exchange 2 {HANDED}
kill -CONT $PPID
END
rec small quietcore trace record --cpus 2 -e sched/sched_switch --buffer 8 -o /tmp/small.dat --json -- sh /tmp/unread
rec said quietcore trace record --cpus 2 -e sched/sched_switch --buffer 8 -o /tmp/said.dat -- sh /tmp/unread
rec longest quietcore trace longest-run /tmp/small.dat
rec large quietcore trace record --cpus 2 -e sched/sched_switch --buffer 8192 -o /tmp/large.dat --json -- lab-guest exchange 2 {HANDED}
(while [ ! -e /tmp/over ]; do lab-guest exchange 2 300; sleep 0.2; done) &
rec truth lab-guest truth --buffer 8 --only fifo,munmap,resched --cpus 2 --other 0 --alone yes --count 5 --mixtures 0 --apart-ms 150 --slack-us 110000 --out /tmp/table
rec text quietcore blame --cpus 2 --for 3s --buffer 8
touch /tmp/over
wait
rec table cat /tmp/table
rec instances ls /sys/kernel/tracing/instances
"
    )
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    // An incomplete recording is not a success.
    let small = verdict.status(seen, "small", 1);
    let (recorded, lost) = of_cpu(&small.json());
    verdict.that(
        lost > 0,
        format!("{HANDED} bytes do not fit into 8 KiB: {recorded} recorded"),
    );
    verdict.that(
        recorded + lost >= 2 * HANDED,
        format!("{recorded} switches recorded and {lost} lost are all that there were"),
    );
    verdict.that(
        small.stderr.contains(&format!("{lost} events did not fit")),
        format!("the number is reported: {}", small.stderr),
    );
    let output = verdict.status(seen, "said", 1);
    verdict.that(
        output.stderr.contains("events did not fit into the kernel's buffers"),
        format!("it is reported: {}", output.stderr),
    );
    let longest = seen.get("longest");
    verdict.that(
        format!("{}{}", longest.stdout, longest.stderr).contains("lost"),
        format!(
            "the reader of the file is notified: {}{}",
            longest.stdout, longest.stderr
        ),
    );
    let (recorded, lost) = of_cpu(&verdict.status(seen, "large", 0).json());
    verdict.equal("lost where there is room", lost, 0);
    verdict.that(
        recorded >= 2 * HANDED,
        format!("all switches are recorded where there is room: {recorded}"),
    );

    let table: Option<TruthTable> = serde_json::from_value(seen.get("table").json()).ok();
    let Some(table) = table else {
        verdict.that(false, format!("there is no table: {}", seen.get("truth").stderr));
        return;
    };
    let sum = table.sum();
    verdict.that(
        table.lost_events > 0,
        "the storm does not fit into the buffers of blame",
    );
    verdict.equal("disturbances that failed", table.failed(), 0);
    verdict.equal("wrong names that are said to be traced", sum.wrong, Vec::new());
    let text = verdict.status(seen, "text", 0).text().to_owned();
    verdict.that(
        text.contains("events lost: names may be missing"),
        format!("blame says that events are missing: {text}"),
    );
    verdict.equal("instances left", seen.get("instances").text().to_owned(), String::new());
    verdict.note(format!("\n{}", table.text()));
}

/// Events of CPU 2 that were recorded, and that were lost.
fn of_cpu(report: &Value) -> (u64, u64) {
    let rows = report["cpus"].as_array().map(Vec::as_slice).unwrap_or_default();
    let row = rows.iter().find(|row| row["cpu"].as_u64() == Some(2));
    let number = |name: &str| row.and_then(|row| row[name].as_u64()).unwrap_or(0);
    (number("recorded"), number("lost"))
}
