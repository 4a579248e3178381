//! Injects faults while a partition is active: programs that spin and fork, recycled PIDs, devices that vanish and
//! return, values changed by others, read-only file systems, two concurrent quietcore processes, hostile links,
//! signals.

use super::bad_input::refused;
use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1, and on the newest kernel locked down.
pub const SCENARIO: Scenario = Scenario {
    name: "faults",
    about: "spinners, forks, recycled numbers, vanishing devices, drift, read-only files, pairs, links, signals: undo is exact",
    cells,
    script,
    check,
};

/// A disk controller whose queues the kernel manages, and one that is removed temporarily.
const DEVICES: GuestShape = GuestShape {
    modules: &["nvme", "ahci"],
    devices: &[
        "-blockdev",
        "null-co,node-name=n0,size=67108864",
        "-device",
        "nvme,drive=n0,serial=1",
    ],
    ..USUAL
};

/// The same, with kernel lockdown: nothing may change the running kernel.
const LOCKED: GuestShape = GuestShape {
    boot: "lockdown=confidentiality",
    ..DEVICES
};

fn cells() -> Vec<ScenarioCell> {
    vec![
        ScenarioCell::new(K6_1, CgroupLayout::V1).on(DEVICES).within(600),
        ScenarioCell::new(K7, CgroupLayout::V2).on(LOCKED).within(600),
    ]
}

/// Each part ends with `same_PART`, a comparison with the state before it.
fn script(_: &ScenarioCell) -> String {
    [PROGRAMS, DEVICE, DRIFT, READ_ONLY, PAIRS, LINKS, SIGNALS].concat()
}

const PARTS: &[&str] = &[
    "spinner",
    "children",
    "recycled",
    "device",
    "drift",
    "read_only",
    "run_read_only",
    "pairs",
    "links",
    "signals",
];

const PROGRAMS: &str = "populate
q() { quietcore \"$@\" --quiet; }
begin() { state before; }
end() { state after; same same_$1 before after; }

begin
runtime=$(cat /proc/sys/kernel/sched_rt_runtime_us)
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
rec spinner_apply quietcore apply --cpus 3 --quiet
quietcore run --cpus 3 -- lab-guest spin 3 fifo:99 300 >/dev/null & spinner=$!
wait_for 60 sh -c \"lab places_of lab-guest | grep -q ' 99 1'\"
rec spinner_undo quietcore undo
rec spinner_now lab places_of lab-guest
kill -9 $spinner
echo $runtime >/proc/sys/kernel/sched_rt_runtime_us
end spinner

begin
q apply --cpus 3
quietcore run -- sh -c 'for n in 1 2 3; do (sleep 77 & sleep 78 & wait) & done; wait' &
wait_for 30 sh -c '[ $(pidof sleep | wc -w) -ge 6 ]'
rec children_inside lab masks_of sleep
rec children_undo quietcore undo --quiet
rec children_now lab masks_of sleep
killall sleep
sleep 0.5
end children

lab-guest hold 3 & held=$!
sleep 0.5
begin
q apply --cpus 3
rec recycled_before grep Cpus_allowed_list /proc/$held/status
kill $held
wait $held 2>/dev/null
for n in 1 2 3 4 5 6 7 8 9; do
    echo $((held - 1)) >/proc/sys/kernel/ns_last_pid
    sleep 79 & newborn=$!
    [ $newborn = $held ] && break
done
note recycled $newborn $held
taskset -p 2 $newborn >/dev/null
rec recycled_undo quietcore undo --quiet
rec recycled_now grep Cpus_allowed_list /proc/$newborn/status
kill $newborn
sleep 0.5
end recycled
";

const DEVICE: &str = "
begin
controller=$(basename $(ls -d /sys/bus/pci/drivers/ahci/0000:*))
rec device_apply quietcore apply --cpus 3 --json
echo $controller >/sys/bus/pci/drivers/ahci/unbind
rec device_gone sh -c '! grep ahci /proc/interrupts'
rec device_undo quietcore undo
echo $controller >/sys/bus/pci/drivers/ahci/bind
q apply --cpus 3
echo $controller >/sys/bus/pci/drivers/ahci/unbind
echo $controller >/sys/bus/pci/drivers/ahci/bind
rec device_back grep ahci /proc/interrupts
rec device_undo_back quietcore undo --quiet
end device
";

const DRIFT: &str = "
begin
q apply --cpus 3
echo 5 >/proc/sys/vm/compaction_proactiveness
echo 3 >/proc/irq/default_smp_affinity
rec drift_again quietcore apply --cpus 3
rec drift_undo quietcore undo --json
rec drift_left cat /proc/sys/vm/compaction_proactiveness /proc/irq/default_smp_affinity
rec drift_force quietcore undo --force --quiet
end drift
";

const READ_ONLY: &str = "
begin
mount -o remount,ro /sys
mount -o remount,ro /proc
rec read_only_apply quietcore apply --cpus 3 --json
mount -o remount,rw /sys
mount -o remount,rw /proc
rec read_only_first quietcore undo --quiet
q apply --cpus 3
mount -o remount,ro /sys
mount -o remount,ro /proc
rec read_only_undo quietcore undo
mount -o remount,rw /sys
mount -o remount,rw /proc
rec read_only_again quietcore undo --quiet
end read_only

begin
mount -o remount,ro /run
rec run_read_only_apply quietcore apply --cpus 3
mount -o remount,rw /run
q apply --cpus 3
mount -o remount,ro /run
rec run_read_only_undo quietcore undo
mount -o remount,rw /run
rec run_read_only_again quietcore undo --quiet
end run_read_only
";

/// Records the statuses of both commands, and what is active afterwards.
const PAIRS: &str = "
pair() { # NAME FIRST SECOND
    sh -c \"quietcore $2 --quiet\" 2>/dev/null & first=$!
    sh -c \"quietcore $3 --quiet\" 2>/dev/null & second=$!
    wait $first; first=$?
    wait $second; second=$?
    note pair_$1 $(for status in $first $second; do echo $status; done | sort)
}
begin
pair applies 'apply --cpus 3' 'apply --cpus 2'
pair undoes undo 'undo --all'
rec pair_nothing quietcore undo
pair same 'apply --cpus 3' 'apply --cpus 3'
pair crossed 'undo' 'apply --cpus 3'
q undo --all
end pairs
";

const LINKS: &str = "
begin
mkdir /tmp/theirs
rm -rf /run/quietcore
ln -s /tmp/theirs /run/quietcore
rec link_dir_apply quietcore apply --cpus 3
rec link_dir_undo quietcore undo
rm /run/quietcore
q apply --cpus 3
mv /run/quietcore/journal /tmp/kept
ln -s /tmp/kept /run/quietcore/journal
rec link_journal_undo quietcore undo
rec link_journal_apply quietcore apply --cpus 2
rm /run/quietcore/journal
mv /tmp/kept /run/quietcore/journal
rm -rf /run/quietcore/history
ln -s /tmp/theirs /run/quietcore/history
rec link_history_undo quietcore undo
rm /run/quietcore/history
rec link_undo quietcore undo --quiet
rm -f /run/quietcore/.lock
ln -s /tmp/theirs/lock /run/quietcore/.lock
rec link_lock quietcore apply --cpus 3
rm /run/quietcore/.lock
chmod 777 /run/quietcore
rec link_mode quietcore apply --cpus 3
chmod 700 /run/quietcore
rec link_name quietcore undo --partition ../x
rec link_set quietcore cset set -c 3 ../x
rec link_theirs sh -c 'ls -A /tmp/theirs'
end links
";

const SIGNALS: &str = "
begin
for signal in TERM INT HUP; do
    for time in 0.1 0.4 0.9; do
        quietcore apply --cpus 3 --quiet 2>/dev/null & worker=$!
        sleep $time
        kill -$signal $worker 2>/dev/null
        wait $worker
        case $? in
            0|1|130|143|129) ;;
            *) note signal_$signal$time $? ;;
        esac
        # Nothing, or all of it: `undo` never has to finish something.
        grep -q . /run/quietcore/journal 2>/dev/null && note signal_left_$signal$time $(quietcore history | tail -1)
        q undo
    done
done
for time in 0.1 0.4 0.9; do
    q apply --cpus 3
    quietcore undo --quiet & worker=$!
    sleep $time
    kill -TERM $worker 2>/dev/null
    wait $worker
    grep -q . /run/quietcore/journal 2>/dev/null && note signal_left_undo$time $(quietcore history | tail -1)
    q undo
done
rec signal_nothing quietcore undo
(quietcore apply --cpus 3; echo $? >/tmp/status) | true
note signal_pipe $(cat /tmp/status)
(quietcore undo; echo $? >/tmp/status) | true
note signal_pipe_undo $(cat /tmp/status)
end signals
";

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for part in PARTS {
        let name = format!("same_{part}");
        let record = seen.get(&name);
        // Objects that the driver recreates have new numbers. The interrupt thread and its files are created with it.
        let changed: Vec<&str> = record
            .stdout
            .lines()
            .filter(|line| *part != "device" || !(line.ends_with("is new") || line.ends_with("is gone")))
            .collect();
        verdict.that(
            matches!(record.status, 0 | 1) && changed.is_empty(),
            format!("{name}: {changed:?}"),
        );
    }
    programs(seen, verdict);
    devices_and_values(cell, seen, verdict);
    others(seen, verdict);
}

fn programs(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["spinner_apply", "spinner_undo", "children_undo", "recycled_undo"] {
        verdict.status(seen, name, 0);
    }
    let undo_output = &seen.get("spinner_undo").stdout;
    verdict.that(
        undo_output.contains("was spinning with policy fifo:99"),
        format!("undo says who spun: {undo_output}"),
    );
    let words = |name: &str| {
        let record = seen.get(name);
        record.text().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let now = words("spinner_now");
    verdict.that(
        now.ends_with(" / 0 0") && !now.contains(" 99 1"),
        format!("the spinner is home, and no longer in the way: {now}"),
    );
    verdict.equal(
        "children inside",
        words("children_inside").as_str(),
        "6 Cpus_allowed_list: 3",
    );
    verdict.equal(
        "children after undo",
        words("children_now").as_str(),
        "6 Cpus_allowed_list: 0-3",
    );
    let numbers = words("recycled");
    let (newborn, held) = numbers.split_once(' ').unwrap_or_default();
    verdict.equal("the number was given again", newborn, held);
    let was = words("recycled_before");
    verdict.that(was.ends_with(": 0-2"), format!("evacuated, it had {was}"));
    verdict.equal(
        "who has the number now keeps its mask",
        words("recycled_now").as_str(),
        "Cpus_allowed_list: 1",
    );
}

fn devices_and_values(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["device_gone", "device_undo", "device_back", "device_undo_back"] {
        verdict.status(seen, name, 0);
    }
    let applied = verdict.status(seen, "device_apply", 0).json();
    let entries = applied["entries"].as_array().cloned().unwrap_or_default();
    let refused_irqs = entries.iter().filter(|entry| {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        text("change").starts_with("irq_affinity/") && text("outcome").starts_with("refused")
    });
    // 7.2 reports in advance which interrupts the kernel manages, so quietcore does not try to move them.
    verdict.that(
        refused_irqs.count() > 0 || cell.kernel == K7,
        "an interrupt refused to move",
    );
    let undo_output = &seen.get("device_undo").stdout;
    verdict.that(
        undo_output.contains("no longer exists, so nothing was restored"),
        undo_output.clone(),
    );

    verdict.status(seen, "drift_again", 5);
    let undone = verdict.status(seen, "drift_undo", 5).json();
    let drift = undone["drift"].as_array().map_or(0, Vec::len);
    verdict.equal("drift named", drift, 2);
    verdict.equal("drift left", seen.get("drift_left").text(), "5\n3");
    verdict.status(seen, "drift_force", 0);

    verdict.status(seen, "read_only_apply", 0);
    verdict.status(seen, "read_only_first", 0);
    verdict.status(seen, "read_only_undo", 5);
    verdict.status(seen, "read_only_again", 0);
    refused(seen, "run_read_only_apply", &[4], verdict);
    refused(seen, "run_read_only_undo", &[4], verdict);
    verdict.status(seen, "run_read_only_again", 0);
}

fn others(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    // The second process waits for the lock. On a slow machine it gives up after ten seconds with status 5.
    for (pair, expected) in [
        ("applies", &["0 5"][..]),
        ("undoes", &["0 0", "0 5"]),
        ("same", &["0 0", "0 5"]),
        ("crossed", &["0 0", "0 5"]),
    ] {
        let name = format!("pair_{pair}");
        let statuses = seen.get(&name);
        verdict.that(
            expected.contains(&statuses.text()),
            format!("{name}: exit statuses {}", statuses.text()),
        );
    }
    verdict.status(seen, "pair_nothing", 0);
    for (name, status) in [
        ("link_dir_apply", 4),
        ("link_dir_undo", 4),
        ("link_journal_undo", 4),
        ("link_journal_apply", 4),
        ("link_history_undo", 4),
        ("link_lock", 5),
        ("link_mode", 4),
        ("link_name", 2),
    ] {
        refused(seen, name, &[status], verdict);
    }
    verdict.status(seen, "link_set", 2);
    verdict.status(seen, "link_undo", 0);
    verdict.equal("nothing was written through links", seen.get("link_theirs").text(), "");
    verdict.status(seen, "signal_nothing", 0);
    verdict.equal("a closed pipe under apply", seen.get("signal_pipe").text(), "0");
    verdict.equal("a closed pipe under undo", seen.get("signal_pipe_undo").text(), "0");
    let strange: Vec<String> = seen
        .names()
        .filter(|name| name.starts_with("signal_left_"))
        .filter(|name| seen.get(name).text().contains("unfinished"))
        .map(ToString::to_string)
        .collect();
    verdict.that(strange.is_empty(), format!("half done after a signal: {strange:?}"));
    let ends: Vec<String> = ["TERM", "INT", "HUP"]
        .iter()
        .flat_map(|signal| ["0.1", "0.4", "0.9"].map(|time| format!("signal_{signal}{time}")))
        .filter(|name| seen.names().any(|seen| seen == name))
        .collect();
    verdict.that(ends.is_empty(), format!("strange statuses: {ends:?}"));
}
