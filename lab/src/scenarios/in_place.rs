//! The cgroup of a program becomes the partition where it is, and keeps its limits; it may end before the partition. Kernels
//! without such partitions make one beside it, and say so.

use super::sigkill_anywhere::swept;
use crate::kernels::{K6_1, K6_12_RT, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs on kernels with and without partitions below ordinary cgroups.
pub const SCENARIO: Scenario = Scenario {
    name: "in_place",
    about: "the cgroup of a program becomes the partition where it is, and an ordinary cgroup again",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    [
        (K6_1, CgroupLayout::V1),
        (K6_1, CgroupLayout::V2),
        (K6_12_RT, CgroupLayout::V2),
        (K7, CgroupLayout::V2),
    ]
    .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).within(600))
    .to_vec()
}

fn has_remote_partitions(cell: &ScenarioCell) -> bool {
    cell.kernel.id != K6_1.id
}

/// Makes a service with a limit, whose processes are in a cgroup inside, as those of a container are.
const SERVICES: &str = r#"
slice=$m/machine.slice/a.slice
start() {
    mkdir -p $slice/vm.scope/inner $slice/other.scope
    lab-guest sleepers 2 inside >/tmp/inside
    for pid in $(cat /tmp/inside); do echo $pid >$slice/vm.scope/inner/cgroup.procs; done
    lab-guest sleepers 1 beside >/tmp/beside
    cat /tmp/beside >$slice/other.scope/cgroup.procs
}
inside() { cut -d' ' -f1 /tmp/inside; }
pinned() { cut -d' ' -f2 /tmp/inside; }
"#;

const SCRIPT: &str = r#"
if [ -e $m/cgroup.subtree_control ]; then
    for dir in $m $m/machine.slice $slice; do mkdir -p $dir; echo +memory >$dir/cgroup.subtree_control; done
fi
start
[ ! -e $slice/vm.scope/memory.max ] || echo 100M >$slice/vm.scope/memory.max
taskset -p 1 $(pinned) >/dev/null
state before
rec none quietcore apply --cpus 2-3 --in-place unit:none.service
rec root quietcore plan --cpus 2-3 --in-place pid:1
rec manual quietcore apply --cpus 2-3 --in-place manual
state refused
same same_refused before refused
rec plan quietcore plan --cpus 2-3 --in-place cgroup:/machine.slice/a.slice/vm.scope --json
rec apply quietcore apply --cpus 2-3 --partition vm --in-place cgroup:/machine.slice/a.slice/vm.scope --json
"#;

const REMOTE: &str = r#"
rec partition cat $slice/vm.scope/cpuset.cpus.partition $slice/cpuset.cpus.exclusive
rec inside grep Cpus_allowed_list /proc/$(inside)/status
rec beside grep Cpus_allowed_list /proc/$(cat /tmp/beside)/status
rec limit cat $slice/vm.scope/memory.max
rec place cat /proc/$(inside)/cgroup
rec check quietcore check --for 1s --json
echo member >$slice/vm.scope/cpuset.cpus.partition
echo >$m/machine.slice/cpuset.cpus.exclusive
rec fix quietcore check --fix --for 1s --json
rec fixed cat $slice/vm.scope/cpuset.cpus.partition $m/machine.slice/cpuset.cpus.exclusive
rec owner quietcore apply --cpus 1 --partition x --in-place cgroup:/machine.slice/a.slice/other.scope --with owner=1000
rec stranger quietcore run --partition vm -- true
rec moved_in quietcore move --pid $(cat /tmp/beside) --into vm --json
rec pin quietcore move --pid $(inside) --into vm --cpus 3 --json
rec pin_place sh -c "cat /proc/$(inside)/cgroup; grep Cpus_allowed_list /proc/$(inside)/status"
rec nested quietcore apply --cpus 1 --partition nested --in-place cgroup:/machine.slice/a.slice/vm.scope/inner
rec second quietcore apply --cpus 1 --partition other --in-place pid:$(cat /tmp/beside) --json
rec lists cat $slice/cpuset.cpus.exclusive $m/machine.slice/cpuset.cpus.exclusive $slice/other.scope/cpuset.cpus.partition
rec undo_one quietcore undo --partition vm
rec lists_after cat $slice/cpuset.cpus.exclusive $slice/other.scope/cpuset.cpus.partition $slice/vm.scope/cpuset.cpus.partition
rec undo_two quietcore undo --partition other
state after
same same before after
rec resized_first quietcore apply --cpus 3 --partition vm --in-place cgroup:/machine.slice/a.slice/vm.scope
rec resized quietcore apply --cpus 2-3 --partition vm --resize
rec resized_to cat $slice/vm.scope/cpuset.cpus.partition $slice/vm.scope/cpuset.cpus.exclusive /proc/$(inside)/cgroup
rec resized_undo quietcore undo
state resized
same same_resized before resized
rec first quietcore apply --cpus 1 --partition plain --quiet
rec beside_plain quietcore apply --cpus 3 --partition vm --in-place cgroup:/machine.slice/a.slice/vm.scope --quiet
rec undo_in_place quietcore undo --partition vm
rec above_plain cat $slice/cgroup.subtree_control
rec beside_again quietcore apply --cpus 3 --partition vm --in-place cgroup:/machine.slice/a.slice/vm.scope --quiet
rec undo_plain quietcore undo --partition plain
rec undo_last quietcore undo
state mixed
same same_mixed before mixed
rec plain quietcore apply --cpus 2-3 --quiet
rec run sh -c "echo \$\$ >$slice/other.scope/cgroup.procs; exec quietcore run --in-place -- sh -c 'cat /proc/self/cgroup; grep Cpus_allowed_list /proc/self/status'"
rec run_again sh -c "echo \$\$ >$slice/other.scope/cgroup.procs; exec quietcore run --in-place --cpus 3 -- grep Cpus_allowed_list /proc/self/status"
rmdir $slice/other.scope 2>/dev/null || { for pid in $(cat $slice/other.scope/cgroup.procs); do echo $pid >$m/cgroup.procs; done; rmdir $slice/other.scope; }
mkdir $slice/other.scope
rec run_ended sh -c "echo \$\$ >$slice/other.scope/cgroup.procs; exec quietcore run -- true"
rec run_restarted sh -c "echo \$\$ >$slice/other.scope/cgroup.procs; exec quietcore run --in-place -- sh -c 'grep Cpus_allowed_list /proc/self/status; cat $slice/other.scope/cpuset.cpus.partition'"
rec run_bad quietcore run --in-place --cpus 0 -- true
rec run_undo quietcore undo
cat /tmp/beside >$slice/other.scope/cgroup.procs
rec plain_again quietcore apply --cpus 2-3 --quiet
rec move quietcore move --in-place --pid $(inside) --json
rec move_place sh -c "cat /proc/$(inside)/cgroup; cat $slice/vm.scope/inner/cpuset.cpus.partition"
rec move_undo quietcore undo
state handed
same same_handed before handed
rec sweep lab-guest sweep entry 23 5 -- quietcore apply --cpus 3 --in-place cgroup:/machine.slice/a.slice/vm.scope --quiet -- quietcore undo --quiet
rec sweep_undo lab-guest sweep-undo entry 19 2 -- quietcore apply --cpus 3 --in-place cgroup:/machine.slice/a.slice/vm.scope --quiet -- quietcore undo --quiet
rec last quietcore apply --cpus 2-3 --partition vm --in-place cgroup:/machine.slice/a.slice/vm.scope --quiet
kill -9 $(cat /tmp/inside)
wait_for 30 rmdir $slice/vm.scope/inner
rmdir $slice/vm.scope
rec gone_check quietcore check --json
rec gone_undo quietcore undo --json
start
echo 100M >$slice/vm.scope/memory.max
state gone
same same_gone before gone
"#;

const BESIDE: &str = r#"
rec beside_undo quietcore undo
rec plain quietcore apply --cpus 2-3 --quiet
rec run quietcore run --in-place -- grep Cpus_allowed_list /proc/self/status
rec run_undo quietcore undo
state after
same same before after
"#;

fn script(cell: &ScenarioCell) -> String {
    let mount = match cell.layout {
        CgroupLayout::V2 => "/sys/fs/cgroup",
        _ => "/sys/fs/cgroup/cpuset",
    };
    let rest = if has_remote_partitions(cell) { REMOTE } else { BESIDE };
    let start = "export LAB_STATE_LEAVES=/run/quietcore/journal\npopulate\n";
    // On cgroup v1 a cpuset needs CPUs before it takes a process.
    let services = match cell.layout {
        CgroupLayout::V2 => SERVICES.to_owned(),
        _ => SERVICES.replace(
            "    lab-guest sleepers 2",
            "    for dir in $m/machine.slice $slice $slice/vm.scope $slice/vm.scope/inner $slice/other.scope; do
        cat $m/cpuset.cpus >$dir/cpuset.cpus; cat $m/cpuset.mems >$dir/cpuset.mems
    done
    lab-guest sleepers 2",
        ),
    };
    format!("{start}m={mount}\n{services}{SCRIPT}{rest}")
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let root = if has_remote_partitions(cell) { 2 } else { 0 };
    for (name, status) in [("none", 4), ("manual", 2), ("root", root)] {
        verdict.status(seen, name, status);
    }
    verdict.status(seen, "same_refused", 0);
    verdict.status(seen, "plan", 0);
    let applied = verdict.status(seen, "apply", 0).json();
    let findings = applied["findings"].as_array().cloned().unwrap_or_default();
    let finding = findings.iter().find(|one| one["id"] == "partition-in-place");
    verdict.equal("a finding", finding.is_some(), !has_remote_partitions(cell));
    match has_remote_partitions(cell) {
        true => check_in_place(seen, verdict),
        false => {
            for name in ["beside_undo", "plain", "run", "run_undo"] {
                verdict.status(seen, name, 0);
            }
            verdict.equal("run", seen.get("run").text(), "Cpus_allowed_list:\t2-3");
        }
    }
    verdict.status(seen, "same", 0);
}

/// Texts that the records have to contain in full.
const SHOWN: [(&str, &str); 15] = [
    ("partition", "isolated\n2-3"),
    ("inside", "Cpus_allowed_list:\t2-3"),
    ("beside", "Cpus_allowed_list:\t0-1"),
    ("limit", "104857600"),
    ("fixed", "isolated\n2-3"),
    ("place", "0::/machine.slice/a.slice/vm.scope/inner"),
    (
        "pin_place",
        "0::/machine.slice/a.slice/vm.scope/inner\nCpus_allowed_list:\t3",
    ),
    ("lists", "1-3\n1-3\nisolated"),
    ("lists_after", "1\nisolated\nmember"),
    ("resized_to", "isolated\n2-3\n0::/machine.slice/a.slice/vm.scope/inner"),
    ("run", "0::/machine.slice/a.slice/other.scope\nCpus_allowed_list:\t2-3"),
    ("above_plain", "memory"),
    ("run_restarted", "Cpus_allowed_list:\t2-3\nisolated"),
    ("run_again", "Cpus_allowed_list:\t3"),
    ("move_place", "0::/machine.slice/a.slice/vm.scope/inner\nisolated"),
];

fn check_in_place(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, text) in SHOWN {
        verdict.equal(name, seen.get(name).text(), text);
    }
    let check = seen.get("check").json();
    let errors = check["findings"]
        .as_array()
        .map_or(1, |all| all.iter().filter(|one| one["level"] == "error").count());
    verdict.equal("errors of check", errors, 0);
    for (name, status) in [
        ("stranger", 125),
        ("owner", 4),
        ("nested", 4),
        ("pin", 0),
        ("second", 0),
        ("undo_one", 0),
        ("undo_two", 0),
        ("undo_in_place", 0),
        ("undo_plain", 0),
        ("undo_last", 0),
        ("same_mixed", 0),
        ("run_ended", 125),
        ("run_bad", 125),
        ("resized", 0),
        ("run_undo", 0),
        ("move", 0),
        ("move_undo", 0),
        ("same_resized", 0),
        ("same_handed", 0),
        ("gone_undo", 0),
        ("same_gone", 0),
    ] {
        verdict.status(seen, name, status);
    }
    let left = seen.get("moved_in").json();
    verdict.equal("strangers stay outside", &left["left"], &1.into());
    let gone = seen.get("gone_check").json();
    let missing = gone["findings"].as_array().is_some_and(|all| {
        all.iter()
            .any(|one| one["id"] == "partition-missing" && one["message"].to_string().contains("its program has ended"))
    });
    verdict.that(missing, format!("check of an ended program: {}", gone["findings"]));
    for (name, least) in [("sweep", 3), ("sweep_undo", 3)] {
        swept(seen, name, least, verdict);
    }
}
