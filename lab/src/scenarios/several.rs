//! Tests two named partitions: each is created and removed without disturbing the other, even when the tool is killed.

use super::apply_undo::movable;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2.
pub const SCENARIO: Scenario = Scenario {
    name: "several",
    about: "CPU 3 and CPU 2 are two partitions; either can go first, also by SIGKILL, and the other stays as it is",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    ScenarioCell::of_each_kind().map(|cell| cell.within(700)).to_vec()
}

/// At the end one partition grows and shrinks with programs inside. `state only_X` is the state with partition X alone,
/// applied on a freshly booted machine.
fn script(_: &ScenarioCell) -> String {
    "export LAB_STATE_LEAVES=/run/quietcore/journal
populate
q() { quietcore \"$@\" --quiet; }
state before
q apply --cpus 3
state only_rt
q undo
q apply --partition fast --cpus 2
state only_fast
q undo
state middle
same same_middle before middle
rec rt quietcore apply --cpus 3 --json
quietcore run -- lab-guest sleepers 2 inside >/tmp/inside
rec inside_before lab masks_of inside
rec fast quietcore apply --partition fast --cpus 2 --json
rec taken quietcore apply --partition third --cpus 2 --json
rec rename quietcore apply --partition fast --cpus 1 --json
rec who_3 lab-guest who 3
rec who_2 lab-guest who 2
rec left_2 lab left_on 2
rec run quietcore run --partition fast -- sh -c 'grep Cpus_allowed_list /proc/self/status'
rec inside_both lab masks_of inside
rec history quietcore history --json
rec fast_goes quietcore undo --partition fast --json
rec inside_after lab masks_of inside
kill $(cat /tmp/inside)
sleep 1
state rt_left
same same_rt only_rt rt_left
q apply --partition fast --cpus 2
rec rt_goes quietcore undo --partition rt --json
state fast_left
same same_fast only_fast fast_left
rec sweep_apply lab-guest sweep entry 17 2 -- quietcore apply --cpus 3 --quiet -- quietcore undo --partition rt --quiet
rec sweep_undo lab-guest sweep-undo entry 15 3 -- sh -c 'quietcore undo --all --quiet; quietcore apply --cpus 3 --quiet; quietcore apply --cpus 2 --partition fast --quiet' -- quietcore undo --partition rt --quiet
q apply --cpus 3
q undo --partition fast
rec opens_check lab-guest opens /run/quietcore/journal /sys/devices/system/cpu/possible -- quietcore check --for 1s --quiet
echo f > /proc/irq/default_smp_affinity
rec opens_fix lab-guest opens /run/quietcore/journal /sys/devices/system/cpu/possible -- quietcore check --fix --for 0s --quiet
cat /proc/irq/default_smp_affinity > /tmp/fixed
rec opens_apply lab-guest opens /run/quietcore/journal /sys/devices/system/cpu/possible -- quietcore apply --partition third --cpus 1 --quiet
rec fixed cat /tmp/fixed
rec all quietcore undo --all --json
q apply --cpus 2-3
quietcore run -- lab-guest sleepers 2 tenant >/tmp/tenant
quietcore run --cpus 3 --policy fifo:7 -- lab-guest sleepers 1 owner >/tmp/owner
rec grown quietcore apply --resize --cpus 1-3 --json
rec tenants_grown lab masks_of tenant
rec owner_grown lab masks_of owner
rec owner_policy cut -d' ' -f41 /proc/$(cat /tmp/owner)/stat
rec who_grown lab-guest who 1
rec shrunk quietcore apply --resize --cpus 2 --json
q apply --partition fast --cpus 1
rec too_far quietcore apply --resize --cpus 1-2 --json
rec tenants_shrunk lab masks_of tenant
rec owner_shrunk lab masks_of owner
kill $(cat /tmp/tenant /tmp/owner)
sleep 1
q undo --all
state after
same same before after
rec journal ls /run/quietcore/journal
"
    .to_owned()
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.status(seen, "rt", 0);
    let fast = verdict.status(seen, "fast", 0).json();
    verdict.equal("housekeeping", fast["housekeeping"].as_str(), Some("0-1"));
    for name in ["taken", "rename"] {
        verdict.status(seen, name, 5);
    }
    for name in ["who_3", "who_2"] {
        let tasks = movable(&verdict.status(seen, name, 0).stdout);
        let strangers: Vec<&String> = tasks.iter().filter(|task| !task.contains("inside")).collect();
        verdict.that(strangers.is_empty(), format!("{name}: {strangers:?}"));
    }
    let left = verdict.status(seen, "left_2", 0);
    verdict.that(
        !left.stdout.contains("movable"),
        format!("interrupts on CPU 2: {}", left.text()),
    );
    let run = verdict.status(seen, "run", 0);
    verdict.that(
        run.stdout.trim_end().ends_with("\t2"),
        format!("run in fast: {}", run.text()),
    );
    for name in ["inside_before", "inside_both", "inside_after"] {
        let masks = seen.get(name).text().split_whitespace().collect::<Vec<_>>().join(" ");
        verdict.equal(name, masks.as_str(), "2 Cpus_allowed_list: 3");
    }
    let undone = verdict.status(seen, "fast_goes", 0).json();
    verdict.equal(
        "still in force",
        undone["still_in_force"].to_string().as_str(),
        "[\"rt\"]",
    );
    verdict.status(seen, "rt_goes", 0);
    // A command reads the machine and the journal once. `--fix` reads the machine again after its changes.
    for (name, machine) in [("opens_check", 1), ("opens_fix", 2), ("opens_apply", 1)] {
        let counted = verdict.status(seen, name, 0).stdout.clone();
        let files = [
            (1, "/run/quietcore/journal"),
            (machine, "/sys/devices/system/cpu/possible"),
        ];
        for (reads, file) in files {
            let is_right = counted.lines().any(|line| line == format!("{reads} {file}"));
            verdict.that(is_right, format!("{name}, {reads} reads: {counted}"));
        }
    }
    verdict.equal("default_smp_affinity after --fix", seen.get("fixed").text().trim(), "7");
    verdict.status(seen, "all", 0);
    for name in ["same_middle", "same_rt", "same_fast", "same"] {
        let same = seen.get(name);
        verdict.equal(name, same.text(), "");
    }
    for name in ["grown", "shrunk"] {
        let resized = verdict.status(seen, name, 0).json();
        let findings = resized["findings"].as_array().into_iter().flatten();
        let errors: Vec<_> = findings.filter(|finding| finding["level"] == "error").collect();
        verdict.that(errors.is_empty(), format!("{name}: {errors:?}"));
    }
    verdict.status(seen, "too_far", 5);
    for (name, expected) in [
        ("tenants_grown", "2 Cpus_allowed_list: 1-3"),
        ("owner_grown", "1 Cpus_allowed_list: 3"),
        ("owner_policy", "1"),
        ("tenants_shrunk", "2 Cpus_allowed_list: 2"),
        ("owner_shrunk", "1 Cpus_allowed_list: 2"),
    ] {
        let output = seen.get(name).text().split_whitespace().collect::<Vec<_>>().join(" ");
        verdict.equal(name, output.as_str(), expected);
    }
    let strangers = movable(&verdict.status(seen, "who_grown", 0).stdout);
    let strangers: Vec<&String> = strangers.iter().filter(|task| !task.contains("tenant")).collect();
    verdict.that(
        strangers.is_empty(),
        format!("on CPU 1 after it was added: {strangers:?}"),
    );
    for name in ["sweep_apply", "sweep_undo"] {
        let swept = verdict.status(seen, name, 0).json();
        let number = |field: &str| swept[field].as_u64().unwrap_or(0);
        let (tried, restored) = (number("tried"), number("restored"));
        verdict.that(tried >= 3, format!("{name}: {tried} kills were tried"));
        verdict.equal(&format!("{name}: states restored"), restored, tried);
        for failure in swept["failures"].as_array().into_iter().flatten().take(3) {
            verdict.that(false, format!("{name}: {failure}"));
        }
        verdict.note(format!("{name} {restored} of {tried}"));
    }
    verdict.that(seen.get("journal").status != 0, "no journal is left");
}
