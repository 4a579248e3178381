//! Moves single threads with cgroup v2: into a threaded partition while the rest of their process is outside, and back.

use super::sigkill_anywhere::swept;
use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Before 6.2 moving into a cgroup resets pins and gives tasks of the root the isolated CPUs. Later kernels keep pins.
pub const SCENARIO: Scenario = Scenario {
    name: "threads",
    about: "single threads of processes in slices are where they should be on v2, at work too, and undo brings all home",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    [K6_1, K7]
        .map(|kernel| ScenarioCell::new(kernel, CgroupLayout::V2).within(240))
        .to_vec()
}

/// `slice/app` has a process with an unpinned thread, one that is pinned to CPU 1, and one more. `slice/busy` has a
/// process whose threads compute.
fn script(_: &ScenarioCell) -> String {
    r#"cd /sys/fs/cgroup
for word in +memory +pids; do echo $word >cgroup.subtree_control; done
mkdir slice; echo +memory >slice/cgroup.subtree_control; mkdir slice/app slice/busy
lab-guest threads 3 'lab io' & p=$!
lab-guest threads 2 'lab own' & q=$!
lab-guest busy 'lab busy' & b=$!
echo $p >slice/app/cgroup.procs
echo $b >slice/busy/cgroup.procs
sleep 1
set -- $(ls /proc/$p/task); one=$2 two=$3 pinned=$4
set -- $(ls /proc/$b/task); worker=$2 other=$3
taskset -p 2 $pinned >/dev/null
cat >/bin/where <<EOF
#!/bin/sh
for tid in $p $one $two $pinned; do
    echo "\$(cut -d: -f3 /proc/\$tid/cgroup) \$(grep Cpus_allowed_list /proc/\$tid/status | cut -f2)"
done
EOF
cat >/bin/cpus <<'EOF'
#!/bin/sh
for n in 1 2 3 4 5 6 7 8; do sed 's/.*) //' /proc/$1/stat | cut -d' ' -f37; sleep 0.1; done | sort -u | tr '\n' ' '
EOF
chmod +x /bin/where /bin/cpus
state before
rec before where
rec apply quietcore apply --cpus 2-3 -q
rec one quietcore move --tid $one --json
rec one_in where
rec pinned quietcore move --tid $pinned -q
rec two_in where
rec type cat quietcore-rt/cgroup.type quietcore-rt/cpuset.cpus.partition
rec threads sh -c "sort -n quietcore-rt/cgroup.threads | xargs echo; echo $one $pinned"
rec history quietcore history
rec inspect quietcore inspect
rec one_out quietcore move --tid $one --back -q
rec one_is_out where
rec pinned_out quietcore move --tid $pinned --back -q
rec all_out where
rec name quietcore move --thread 'lab busy' --cpus 3 --dry-run
rec worker quietcore move --tid $worker --cpus 3 --policy fifo:50 -q
rec works cpus $worker
rec works_beside cpus $other
echo 200000000 >slice/memory.max
rec limits quietcore move --tid $one
rec limits_where where
rec limits_asked quietcore move --tid $one --out-of-limits
rec partrt quietcore partrt move $two rt
rec net quietcore apply --partition net --cpus 1 --threaded -q
rec net_in quietcore move --tid $two --into net -q
rec both where
rec undo_net quietcore undo --partition net -q
rec net_gone where
rec resize quietcore apply --resize --cpus 3 -q
rec resized where
rec undo quietcore undo -q
rec undone where
echo max >slice/memory.max
state after
same same before after

rec apply2 quietcore apply --cpus 2-3 -q
rec whole quietcore move --pid $q -q
rec populated quietcore move --tid $one
rec anew quietcore apply --resize --threaded --partition rt --cpus 2-3 -q
rec one_more quietcore move --tid $one -q
rec anew_where where
kill $p
sleep 0.2
rec undo2 quietcore undo -q
rec undo2_left sh -c 'ls -d quietcore* 2>/dev/null; true'

lab-guest threads 1 'lab io' & p=$!
echo $p >slice/app/cgroup.procs
sleep 0.5
set -- $(ls /proc/$p/task); one=$2
rec sweep lab-guest sweep entry 3 2 -- quietcore move --tid $one --cpus 3 -q -- \
    quietcore undo -q -- quietcore apply --cpus 3 --profile minimal -q
cat >/tmp/divided <<END
quietcore apply --cpus 3 --profile minimal -q && quietcore move --tid $one --cpus 3 -q
END
rec sweep_out lab-guest sweep entry 4 3 -- quietcore move --thread 'lab io' --back -q -- quietcore undo -q -- sh /tmp/divided
rec sweep_undo lab-guest sweep-undo entry 23 8 -- sh /tmp/divided -- quietcore undo -q
"#
    .to_owned()
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in [
        "apply",
        "one",
        "pinned",
        "one_out",
        "pinned_out",
        "name",
        "worker",
        "limits_asked",
        "partrt",
        "net",
        "net_in",
        "undo_net",
        "resize",
        "undo",
        "apply2",
        "whole",
        "anew",
        "one_more",
        "undo2",
        "history",
        "inspect",
    ] {
        verdict.status(seen, name, 0);
    }
    for (name, line) in [
        (
            "apply",
            "CPU 2-3 is isolated as partition rt; everything else runs on CPU 0-1.",
        ),
        ("undo_net", "Partition net is undone; still active: rt."),
        (
            "resize",
            "CPU 3 is isolated as partition rt; everything else runs on CPU 0-2.",
        ),
        ("undo", "Everything is as it was before, except for one note."),
    ] {
        verdict.equal(&format!("{name} -q"), seen.get(name).text(), line);
    }
    places(seen, verdict);
    let moved = seen.get("one").json();
    let findings = moved["findings"].to_string();
    verdict.that(
        findings.contains("process-waits-outside") && findings.contains("/slice/app"),
        format!("the price is said: {findings}"),
    );
    let threads = seen.get("threads");
    let lines: Vec<&str> = threads.stdout.lines().collect();
    verdict.that(
        lines.len() == 2 && lines.first() == lines.last(),
        format!("cgroup.threads lists both: {lines:?}"),
    );
    verdict.equal("type and partition", seen.get("type").text(), "threaded\nisolated");
    verdict.equal("CPU of the thread at work", seen.get("works").text(), "3");
    let beside = seen.get("works_beside").text().to_owned();
    verdict.that(
        !beside.is_empty() && beside.split_whitespace().all(|cpu| matches!(cpu, "0" | "1")),
        format!("CPUs of the thread beside it: {beside}"),
    );
    let limits = verdict.status(seen, "limits", 5);
    verdict.that(
        limits.stdout.contains("memory.max") && limits.stdout.contains("--out-of-limits"),
        format!("a limit is a reason: {}", limits.stdout),
    );
    let populated = verdict.status(seen, "populated", 5);
    verdict.that(
        populated
            .stdout
            .contains("quietcore apply --resize --threaded --partition rt --cpus 2-3"),
        format!("the way is said: {}", populated.stdout),
    );
    let same = verdict.status(seen, "same", 0);
    verdict.equal("state after undo", same.text(), "");
    verdict.equal("sets after undo", seen.get("undo2_left").text(), "");
    for (name, least) in [("sweep", 3), ("sweep_out", 2), ("sweep_undo", 2)] {
        swept(seen, name, least, verdict);
    }
}

/// Checks cgroup and mask of the leader, of two threads, and of the thread that is pinned to CPU 1.
fn places(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    const ORIGINAL_PLACES: &str = "/slice/app 0-3,/slice/app 0-3,/slice/app 0-3,/slice/app 1";
    const REMAINING_PLACES: &str = "/slice/app 0-1,/slice/app 0-1,/slice/app 0-1,/slice/app 1";
    for (name, expected) in [
        ("before", ORIGINAL_PLACES),
        ("one_in", "/ 0-1,/quietcore-rt 2-3,/ 0-1,/ 1"),
        ("two_in", "/ 0-1,/quietcore-rt 2-3,/ 0-1,/quietcore-rt 2-3"),
        ("one_is_out", "/ 0-1,/ 0-1,/ 0-1,/quietcore-rt 2-3"),
        ("all_out", REMAINING_PLACES),
        ("limits_where", REMAINING_PLACES),
        ("both", "/ 0,/quietcore-rt 2-3,/quietcore-net 1,/ 0"),
        ("net_gone", "/ 0-1,/quietcore-rt 2-3,/ 0-1,/ 1"),
        ("resized", "/ 0-2,/quietcore-rt 3,/ 0-2,/ 1"),
        ("undone", ORIGINAL_PLACES),
        ("anew_where", "/ 0-1,/quietcore-rt 2-3,/ 0-1,/ 1"),
    ] {
        let found = seen.get(name).text().replace('\n', ",");
        verdict.equal(name, found, expected.to_owned());
    }
}
