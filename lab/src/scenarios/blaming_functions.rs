//! Tests `blame --functions` and `--hwlat`: kernel tracers explain more where they exist, and the report has the same
//! form where they do not. All changed settings are restored, even after SIGKILL.

use crate::kernels::{K6_1, K6_12_RT};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Runs on a kernel with all these tracers, and on one where function_graph is available only in the shared top-level
/// trace.
pub const SCENARIO: Scenario = Scenario {
    name: "blaming_functions",
    about: "blame --functions names the functions of the longest gaps; settings of tracers come back, also after SIGKILL",
    cells: || {
        vec![
            ScenarioCell::new(K6_12_RT, CgroupLayout::V2).within(300),
            ScenarioCell::new(K6_1, CgroupLayout::V2).within(300),
        ]
    },
    script,
    check,
};

/// The tick of the watched CPU disturbs it. The call depth is limited, because an emulator with traced functions has
/// little time left for anything else. The former settings differ from every default.
fn script(_: &ScenarioCell) -> String {
    "cd /sys/kernel/tracing
echo 7 >tracing_thresh
echo 3 >max_graph_depth
cd /
settings() { (cd /sys/kernel/tracing; rec $1 head -n1 current_tracer tracing_cpumask trace_clock tracing_on tracing_thresh max_graph_depth hwlat_detector/mode); rec $1-instances ls /sys/kernel/tracing/instances; rec $1-room cat /sys/kernel/tracing/per_cpu/cpu2/buffer_size_kb; }
rec means cat /sys/kernel/tracing/buffer_size_kb
rec available cat /sys/kernel/tracing/available_tracers
settings before
rec functions quietcore blame --cpus 2 --for 3s --functions --depth 4 --json
settings between
quietcore blame --cpus 2 --for 60s --functions --depth 2 >/dev/null 2>&1 &
victim=$!
wait_for 90 sh -c 'cat /sys/kernel/tracing/current_tracer /sys/kernel/tracing/instances/*/current_tracer | grep -q function_graph'
settings during
kill -9 $victim
rec undo quietcore undo
settings after
rec hwlat quietcore blame --cpus 2 --for 1s --hwlat 4s --json
settings looked
echo blk >/sys/kernel/tracing/current_tracer
rec foreign quietcore blame --cpus 2 --for 1s --functions --depth 2 --json
rec foreign-tracer cat /sys/kernel/tracing/current_tracer
"
    .to_owned()
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let is_shared = cell.kernel == K6_1;
    let result = verdict.status(seen, "functions", 0);
    let answer = result.json();
    let functions = &answer["functions"];
    verdict.equal("by", functions["by"].as_str(), Some("function_graph"));
    let gaps = functions["gaps"].as_array().cloned().unwrap_or_default();
    let number = |of: &Value, name: &str| of[name].as_u64().unwrap_or(0);
    verdict.that(!gaps.is_empty(), "gaps are reported");
    let lost_of = functions["lost_of"].as_array().cloned().unwrap_or_default();
    verdict.equal(
        "lost records of each CPU together",
        lost_of.iter().map(|of| number(of, "lost")).sum::<u64>(),
        number(functions, "lost"),
    );
    let mut reported_ns = 0;
    for gap in &gaps {
        let (in_functions, whole) = (number(gap, "in_functions_ns"), number(gap, "duration_ns"));
        verdict.that(
            in_functions <= whole,
            format!("{in_functions} of {whole} ns are in functions"),
        );
        reported_ns += in_functions;
    }
    // The shared buffer is small, and an emulator reads it late. If no function is reported, lost events explain it.
    verdict.that(
        reported_ns > 0 || (is_shared && number(functions, "lost") > 0),
        format!("functions have time: {functions}"),
    );
    verdict.that(
        is_shared || functions.to_string().contains("hrtimer_interrupt"),
        format!("the functions of the tick are among them: {functions}"),
    );
    let before = seen.get("before").stdout;
    verdict.that(
        before.contains("\n7\n") && before.contains("\n3\n"),
        "settings were made",
    );
    for name in ["between", "after", "looked"] {
        verdict.equal(&format!("settings {name}"), seen.get(name).stdout, before.clone());
        let instances = seen.get(&format!("{name}-instances")).stdout;
        verdict.equal(&format!("instances {name}"), instances, String::new());
    }
    let during = seen.get("during").stdout;
    verdict.equal(
        "the shared trace is used meanwhile",
        during.contains("function_graph"),
        is_shared,
    );
    verdict.that(during != before, "what all share is changed meanwhile");
    let unused = seen.get("before-room").stdout;
    let means = seen.get("means").stdout;
    let room = |name: &str| seen.get(&format!("{name}-room")).stdout;
    verdict.that(
        is_size(&room("during"), if is_shared { "16384" } else { &unused }),
        format!("the shared buffer of CPU 2 meanwhile: {} KiB", room("during")),
    );
    for name in ["between", "after"] {
        verdict.that(
            is_size(&room(name), &unused) || is_size(&room(name), first_use(&means)),
            format!("the shared buffer of CPU 2 {name}: {} KiB, of {means}", room(name)),
        );
    }
    verdict.status(seen, "undo", 0);
    // An emulator continuously takes time from its guest.
    let hwlat = verdict.status(seen, "hwlat", 0).json()["hwlat"].clone();
    verdict.equal("hwlat", hwlat["by"].as_str(), (!is_shared).then_some("hwlat"));
    match is_shared {
        true => verdict.that(
            hwlat["why"].to_string().contains("CONFIG_HWLAT_TRACER"),
            format!("the option is named: {hwlat}"),
        ),
        false => verdict.that(
            number(&hwlat["cpus"][0], "samples") > 0 && number(&hwlat["cpus"][0], "cpu") == 2,
            format!("time that an emulator takes is seen: {hwlat}"),
        ),
    }
    let foreign = verdict.status(seen, "foreign", 0).json();
    let by = foreign["functions"]["by"].as_str();
    verdict.equal("beside a tracer of somebody", by.is_some(), !is_shared);
    verdict.equal(
        "his tracer",
        seen.get("foreign-tracer").text().to_owned(),
        "blk".to_owned(),
    );
    verdict.note(format!("functions: {functions}"));
}

/// The size of an unused shared trace after its first use: `7 (expanded: 1408)`. Whether the buffer expands depends on
/// the kernel: on 6.1, setting the size of any instance leaves the shared trace unchanged.
fn first_use(means: &str) -> &str {
    let means = means.trim();
    match means.split_once(" (expanded: ") {
        Some((_, then)) => then.trim_end_matches(')'),
        None => means,
    }
}

/// Whether a buffer has the expected size. Buffers consist of whole pages, of 4 KiB here.
fn is_size(kib: &str, expected: &str) -> bool {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let more = number(kib).zip(number(expected));
    more.and_then(|(kib, expected_kib)| kib.checked_sub(expected_kib))
        .is_some_and(|more| more < 4)
}
