//! Finds the senders of interrupts on a kernel without events for them, by kprobes. Afterwards the list of kprobes is
//! as before, including the probe of another program, also when `blame` was killed.

use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::truth::{DisturbanceResult as Told, TruthTable};
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Runs on a kernel without such events, and on one that has them and needs no kprobes.
pub const SCENARIO: Scenario = Scenario {
    name: "senders",
    about: "who interrupts a CPU is named by kprobes where events are missing; they go, also after SIGKILL, and no others do",
    cells: || {
        vec![
            ScenarioCell::new(K6_1, CgroupLayout::V2).within(560),
            ScenarioCell::new(K7, CgroupLayout::V2).within(560),
        ]
    },
    script,
    check,
};

/// The kinds of disturbances.
const ONLY: [&str; 3] = ["resched", "membarrier", "perf-read"];

fn script(_: &ScenarioCell) -> String {
    format!(
        "list=/sys/kernel/tracing/kprobe_events
echo 'p:kprobes/of_somebody do_sys_openat2' >>$list
echo 1 >/sys/kernel/tracing/events/kprobes/of_somebody/enable
ours() {{ grep -q 1 /sys/kernel/tracing/instances/quietcore-*/tracing_on; }}
rec before cat $list
rec truth lab-guest truth --only {} --cpus 2 --other 0 --count 2 --mixtures 0 --apart-ms 150 --slack-us 110000 --out /tmp/table
rec table cat /tmp/table
rec ended cat $list
quietcore blame --cpus 2 --for 60s >/dev/null 2>&1 &
wait_for 60 ours
rec during cat $list
kill -9 $!
rec killed cat $list
rec without quietcore --json blame --cpus 2 --for 1s --no-kprobes
rec swept cat $list
quietcore blame --cpus 2 --for 5s --no-kprobes >/dev/null 2>&1 &
wait_for 60 ours
rec forbidden cat $list
wait $!
rec record quietcore --json trace record --for 1s --out /tmp/trace.dat
rec report sh -c 'quietcore trace report /tmp/trace.dat | grep -c calls_one:'
rec recorded cat $list
quietcore --json blame --cpus 2 --for 20s >/tmp/collided.json 2>/tmp/collided &
wait_for 60 ours
rec tried lab-guest collide 0 3 1 10
wait $!
rec collided cat /tmp/collided.json
rec said cat /tmp/collided
rec enabled cat /sys/kernel/tracing/events/kprobes/of_somebody/enable
rec instances ls /sys/kernel/tracing/instances
",
        ONLY.join(",")
    )
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let has_events = cell.kernel != K6_1;
    let table: Option<TruthTable> = serde_json::from_value(seen.get("table").json()).ok();
    verdict.that(
        table.is_some(),
        format!("there is a table: {}", seen.get("truth").stderr),
    );
    for row in table.iter().flat_map(|table| &table.rows) {
        match &row.cell {
            Told::Ran(counts) => verdict.equal(
                &format!("{}: right class, right culprit, wrong", row.name),
                (counts.class, counts.culprit, counts.wrong_traced),
                (counts.injected, counts.injected, 0),
            ),
            Told::Impossible(why) | Told::Failed(why) => verdict.that(false, format!("{}: {why}", row.name)),
        }
    }
    let kprobe_count = table.as_ref().map_or(0, |table| table.kprobes.len());
    verdict.equal("kprobes stood", kprobe_count > 0, !has_events);
    let before = verdict.status(seen, "before", 0).stdout;
    verdict.equal("probes before", before.lines().count(), 1);
    for name in ["ended", "swept", "forbidden", "recorded"] {
        verdict.equal(
            &format!("list when it is {name}"),
            seen.get(name).stdout,
            before.clone(),
        );
    }
    for name in ["during", "killed"] {
        let list = seen.get(name).stdout;
        verdict.that(
            list.contains(before.trim()),
            format!("{name}: the stranger's stays: {list}"),
        );
        verdict.equal(
            &format!("{name}: ours stand"),
            list.contains("p:quietcore_"),
            !has_events,
        );
    }
    let by = |name: &str| -> Value { seen.get(name).json()["senders"]["by"].clone() };
    let (without, record) = match has_events {
        true => ("events", "events"),
        false => ("nobody", "kprobes"),
    };
    verdict.status(seen, "without", 0);
    verdict.equal("senders without kprobes", by("without"), Value::from(without));
    verdict.equal("senders of a record", by("record"), Value::from(record));
    if !has_events {
        let lines = seen.get("report").text().parse().unwrap_or(0);
        verdict.that(lines > 0, format!("the record has {lines} of their events"));
    }
    verdict.status(seen, "tried", 0);
    let collided = seen.get("collided").json()["senders"].clone();
    let missed: u64 = collided["probes"].as_array().map_or(0, |probes| {
        probes.iter().filter_map(|probe| probe["missed"].as_u64()).sum()
    });
    verdict.equal(
        &format!(
            "probes that meet each other miss calls ({missed} in {} tries)",
            seen.get("tried").text()
        ),
        missed > 0,
        !has_events,
    );
    verdict.equal(
        "and that is said",
        seen.get("said")
            .stdout
            .contains(&format!("{missed} calls of these functions were lost")),
        !has_events,
    );
    verdict.note(format!("met: {collided}"));
    verdict.equal(
        "the stranger's is on",
        seen.get("enabled").text().to_owned(),
        "1".to_owned(),
    );
    verdict.equal("instances left", seen.get("instances").text().to_owned(), String::new());
    verdict.note(table.map_or_else(String::new, |table| format!("\n{}", table.text())));
}
