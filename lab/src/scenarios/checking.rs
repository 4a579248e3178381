//! Damages isolation step by step after `apply`, as other programs and users do. `check` must report each breakage, and
//! `check --fix` must repair it. `undo` then restores the state before `apply`.

pub(super) mod breakages;

use super::knobs::{DISK, DISTURBED};
use crate::kernels::{K6_1, K6_12_RT, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape};
use crate::verdict::ScenarioVerdict;
use breakages::{BREAKAGES, Breakage};

/// Runs with cgroup v1 and v2, on a real-time kernel and on the newest.
pub const SCENARIO: Scenario = Scenario {
    name: "checking",
    about: "what is broken after apply is found by check with the right finding, repaired by check --fix, and undo \
         is exact",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    [
        (K6_1, CgroupLayout::V1),
        (K7, CgroupLayout::V2),
        (K6_12_RT, CgroupLayout::V2),
    ]
    .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).on(QUIET_START).within(900))
    .to_vec()
}

/// On a loaded host the emulated timer fires too late for the kernel's timer test, which then panics.
pub(super) const QUIET_START: GuestShape = GuestShape {
    boot: "no_timer_check",
    ..DISK
};

/// Explicitly requested in addition to `strict`, so that more settings can be damaged.
const APPLY_OPTIONS: &str = "--cpus 3 --profile strict --with check_interval --with sched_rt_runtime_us \
                      --with pm_qos_resume_latency_us=n/a --with watchdog";

/// Breakages for a guest. Writing to the deadline servers of a CPU makes 6.12 print a warning
/// (`kernel/sched/deadline.c`), so these are skipped there.
pub(super) fn of(cell: &ScenarioCell) -> impl Iterator<Item = &'static Breakage> {
    let spared = cell.kernel == K6_12_RT;
    BREAKAGES
        .iter()
        .filter(move |one| !(spared && one.name == "fair_server"))
}

/// Options of `apply`: include the deadline servers of a CPU where the kernel supports it.
pub(super) fn apply_options(cell: &ScenarioCell) -> String {
    let servers = match cell.kernel == K6_12_RT {
        true => "",
        false => " --with fair_server --with ext_server",
    };
    format!("{APPLY_OPTIONS}{servers}")
}

/// Prepares a guest where every intended value differs from the actual one, with a foreign thread.
pub(super) fn set_up() -> String {
    format!("{DISTURBED}sleeper=$(lab-guest sleepers 1 stranger)\nstate before\n")
}

/// Minimum number of breakages that are possible on every kernel.
pub(super) const LEAST: usize = 30;

fn script(cell: &ScenarioCell) -> String {
    let mut script = set_up();
    script.push_str("rec nothing quietcore check --for 0s --json\n");
    script.push_str(&format!("rec apply quietcore apply {} --json\n", apply_options(cell)));
    script.push_str(
        "rec whole quietcore check --for 0s --json
rec looked quietcore check --for 2s --json
rec unknown_id quietcore check --ignore no-such-finding
",
    );
    for one in of(cell) {
        let Breakage { name, command, .. } = one;
        script.push_str(&format!(
            "if ( {command} ) 2>/dev/null; then
    note {name}_there yes
    rec {name}_found quietcore check --for 0s --json
    rec {name}_fixed quietcore check --fix --for 0s --json
else
    note {name}_there no
fi
"
        ));
    }
    script.push_str(
        "echo 3 >/proc/irq/$irq/smp_affinity_list
rec ignored quietcore check --for 0s --ignore irq-here --json
rec junit quietcore check --for 0s --junit /tmp/check.xml
rec junit_text cat /tmp/check.xml
rec last_fix quietcore check --fix --for 0s --json
[ -d /sys/fs/cgroup/cpuset/intruder ] && rmdir /sys/fs/cgroup/cpuset/intruder
[ -d /sys/fs/cgroup/intruder ] && rmdir /sys/fs/cgroup/intruder
rec undo quietcore undo --json
state after
same same_undo before after
",
    );
    script
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.equal("nothing isolated", seen.get("nothing").status, 1);
    verdict.that(
        has(seen, "nothing", "nothing-isolated", ""),
        "nothing-isolated is reported before apply",
    );
    verdict.status(seen, "apply", 0);
    verdict.status(seen, "whole", 4);
    verdict.equal("errors after apply", errors(seen, "whole"), Vec::<String>::new());
    verdict.equal(
        "errors while it is looked at",
        errors(seen, "looked"),
        Vec::<String>::new(),
    );
    verdict.status(seen, "looked", 0);
    verdict.equal("quiet", seen.get("looked").json()["verdict"].clone(), "quiet".into());
    verdict.status(seen, "unknown_id", 2);
    let there: Vec<&Breakage> = of(cell)
        .filter(|one| seen.get(&format!("{}_there", one.name)).text() == "yes")
        .collect();
    verdict.that(
        there.len() >= LEAST,
        format!("only {} breakages could be made", there.len()),
    );
    verdict.note(format!("{} breakages", there.len()));
    for one in there {
        broken(seen, one, verdict);
    }
    verdict.equal("what is ignored decides nothing", seen.get("ignored").status, 4);
    verdict.equal("not ignored in the JUnit report", seen.get("junit").status, 1);
    let junit = seen.get("junit_text").stdout;
    verdict.that(junit.contains("<failure type=\"irq-here\""), format!("JUnit: {junit}"));
    verdict.status(seen, "undo", 0);
    // An interrupt thread follows the CPU where its interrupt last fired. `undo` cannot restore that.
    let record = seen.get("same_undo");
    let changed: Vec<&str> = record
        .stdout
        .lines()
        .filter(|line| !(line.starts_with("kthread ") && line.contains(": \"irq/")))
        .collect();
    verdict.that(
        matches!(record.status, 0 | 1) && changed.is_empty(),
        format!("undo: {changed:?} {}", record.stderr),
    );
}

/// Checks one breakage: `check` reports its finding, `--fix` repairs it, and no other error is left.
fn broken(seen: &GuestRecords, one: &Breakage, verdict: &mut ScenarioVerdict) {
    let (found, fixed) = (format!("{}_found", one.name), format!("{}_fixed", one.name));
    verdict.equal(&found, seen.get(&found).status, 1);
    verdict.that(
        has(seen, &found, one.id, one.subject),
        format!(
            "{}: no {} of {} in {:?}",
            one.name,
            one.id,
            one.subject,
            errors(seen, &found)
        ),
    );
    verdict.equal(&format!("{fixed}: errors"), errors(seen, &fixed), Vec::<String>::new());
    let repair_count = seen.get(&fixed).json()["mended"].as_array().map_or(0, Vec::len);
    verdict.that(
        repair_count > 0,
        format!("{fixed}: nothing was repaired: {}", seen.get(&fixed).stderr),
    );
}

fn has(seen: &GuestRecords, record: &str, id: &str, subject: &str) -> bool {
    let json = seen.get(record).json();
    let findings = json["findings"].as_array().cloned().unwrap_or_default();
    findings
        .iter()
        .any(|one| one["id"] == id && one["subject"].as_str().is_some_and(|text| text.contains(subject)))
}

/// Findings of level error, as `id subject`.
fn errors(seen: &GuestRecords, record: &str) -> Vec<String> {
    let json = seen.get(record).json();
    let Some(findings) = json["findings"].as_array() else {
        return vec![format!("{record} is no JSON: {}", seen.get(record).stderr)];
    };
    let wrong = findings.iter().filter(|one| one["level"] == "error");
    wrong
        .map(|one| format!("{} {} {}", one["id"], one["subject"], one["message"]))
        .collect()
}
