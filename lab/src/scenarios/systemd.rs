//! Runs with a real systemd as init: the partition survives what systemd does to its cgroups, and is removed without
//! residue.
//!
//! Without the slice that `apply` asks systemd to start, systemd removes the cpuset controller from the root at the
//! first `daemon-reload`, and the kernel destroys the partition. The script first shows that manually.

use super::apply_undo::movable;
use crate::kernels::{K6_1, K7, LabKernel};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs with systemd 252 on 6.1, and with the newest systemd on the newest kernel.
pub const SCENARIO: Scenario = Scenario {
    name: "systemd",
    about: "with systemd as init a partition outlives reloads, units and logins, and goes without a trace",
    cells,
    script,
    check,
};

/// A guest with enough memory for an initramfs that contains systemd.
const ROOMY: GuestShape = GuestShape {
    memory_mib: 512,
    ..USUAL
};

/// The kernel whose guest also tests the guard. One of the two is enough.
const WITH_GUARD: LabKernel = K6_1;

/// The cells of scenarios with systemd.
pub(super) fn cells() -> Vec<ScenarioCell> {
    [K6_1, K7].map(systemd_guest).into()
}

/// A guest with systemd as init.
pub(super) fn systemd_guest(kernel: LabKernel) -> ScenarioCell {
    ScenarioCell::new(kernel, CgroupLayout::V2)
        .on(ROOMY)
        .within(400)
        .under_systemd()
}

const TOOLS: &str = "c=/sys/fs/cgroup
export LAB_STATE_LEAVES=/run/quietcore/journal
isolated=$c/quietcore-rt/cpuset.cpus.partition
look() {
    note \"$1\" \"$(cat $isolated 2>/dev/null || echo gone), runs on $(grep Cpus_allowed_list /proc/$spin/status 2>/dev/null | cut -f2)\"
}
traces() { { find /run/systemd /etc/systemd -type f; find $c -maxdepth 2 -type d; } | grep -v -e /units/ | sort; }
# same_as_before NAME: nothing is left, in the state or as a file of systemd.
same_as_before() {
    state now
    same \"same_$1\" before now
    traces >/tmp/traces_now
    rec \"traces_$1\" diff /tmp/traces_before /tmp/traces_now
}
lab-guest sleepers 3 >/dev/null
lab-guest hold 1 &
lab-guest hold 3 &
sleep 1
state before
traces >/tmp/traces_before
";

const STAYS: &str = "echo +cpuset >$c/cgroup.subtree_control
mkdir $c/by_hand
systemctl daemon-reload
sleep 0.5
rec by_hand ls $c/by_hand/cpuset.cpus
rmdir $c/by_hand
state before
rec version systemctl --version
rec plan quietcore plan --cpus 3 --profile minimal --json
rec apply quietcore apply --cpus 3 --profile minimal --json
quietcore run --cpus 3 -- lab-guest spin - other:0 900 >/dev/null &
spin=$!
note spinner $spin
wait_for 60 grep -q Cpus_allowed_list:.3$ /proc/$spin/status
look applied
rec again quietcore apply --cpus 3 --profile minimal --json
systemctl daemon-reload
look reloaded
systemd-run --quiet --unit=one -p AllowedCPUs=0-1 /bin/sleep 900
look started
rec one cat $c/system.slice/one.service/cpuset.cpus.effective
systemctl stop one
look stopped
systemctl set-property --runtime user.slice AllowedCPUs=0-2
look other_property
systemd-run --quiet --scope --unit=session-7 --slice=user-1000.slice /bin/sleep 0.2
look login
systemctl daemon-reexec
sleep 1
look reexecuted
rec who lab-guest who 3
systemctl revert user.slice
systemctl stop user.slice
kill $spin
rec undo quietcore undo --json
same_as_before undo
";

const GUARD: &str = "rec killed_apply lab-guest sweep entry 23 5 -- quietcore apply --cpus 3 --profile minimal --quiet -- quietcore undo --quiet
rec killed_undo lab-guest sweep-undo entry 15 4 -- quietcore apply --cpus 3 --profile minimal --quiet -- quietcore undo --quiet
systemd-run --quiet --scope --unit=session-8 --slice=user-1000.slice sh -c 'quietcore apply --cpus 3 --profile minimal --confirm-within 15s --quiet; sleep 900' &
wait_for 90 grep -q event...applied /run/quietcore/journal
systemctl stop session-8.scope
look logged_out
for dir in /proc/[0-9]*; do
    tr '\\0' ' ' 2>/dev/null <$dir/cmdline | grep -q ' guard --token' || continue
    note guard $(grep Cpus_allowed_list $dir/status | cut -f2) $(cat $dir/cgroup)
done
wait_for 90 [ ! -e /run/quietcore/journal ]
systemctl stop user.slice
same_as_before guard
";

const UNITS: &str = "printf '[[partition]]\\ncpus = \"3\"\\nprofile = \"minimal\"\\n' >/etc/quietcore.toml
rec install quietcore apply --install-unit --json
sleep 1
rec start systemctl start quietcore.service
look unit_started
systemctl daemon-reload
look unit_reloaded
rec stop systemctl stop quietcore.service
rec again_up systemctl start quietcore.service
rec undo_all quietcore undo --all --json
rec left ls /etc/quietcore.toml /etc/systemd/system/quietcore.service
systemctl stop quietcore.service
systemctl daemon-reload
rm -rf /etc/systemd/system/multi-user.target.wants
same_as_before units
rec export quietcore plan --cpus 3 --profile minimal --format systemd --out /tmp/export
cp -r /tmp/export/etc/. /etc/
systemctl daemon-reload
sleep 1
state before
traces >/tmp/traces_before
rec export_start systemctl start quietcore-rt.service
look exported
rec slices sh -c 'cat /sys/fs/cgroup/system.slice/cpuset.cpus'
systemctl daemon-reload
look exported_reloaded
rec export_stop systemctl stop quietcore-rt.service
look export_stopped
same_as_before export
";

fn script(cell: &ScenarioCell) -> String {
    let part = if cell.kernel == WITH_GUARD { GUARD } else { UNITS };
    format!("{TOOLS}{STAYS}{part}")
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let version = seen.get("version");
    verdict.note(version.stdout.lines().next().unwrap_or_default());
    verdict.that(
        seen.get("by_hand").status != 0,
        "systemd takes a controller away that none of its units needs",
    );
    let plan = verdict.status(seen, "plan", 0).json();
    let first = &plan["changes"][0];
    verdict.that(
        first["id"] == "systemd_slice/sys/fs/cgroup/quietcore.slice",
        format!("the slice comes first: {first}"),
    );
    let apply = verdict.status(seen, "apply", 0).json();
    verdict.equal("the slice", apply["entries"][0]["outcome"].as_str(), Some("done"));
    let again = verdict.status(seen, "again", 0).json();
    verdict.equal("second apply", again["entries"].as_array().map(Vec::len), Some(0));
    verdict.equal("findings of it", again["findings"].as_array().map(Vec::len), Some(0));
    for place in [
        "applied",
        "reloaded",
        "started",
        "stopped",
        "other_property",
        "login",
        "reexecuted",
    ] {
        verdict.equal(place, seen.get(place).text(), "isolated, runs on 3");
    }
    verdict.equal("a service with CPUs of its own", seen.get("one").text(), "0-1");
    let others = movable(&verdict.status(seen, "who", 0).stdout);
    let spinner = format!("{} ", seen.get("spinner").text());
    let others: Vec<_> = others.iter().filter(|task| !task.starts_with(&spinner)).collect();
    verdict.that(others.is_empty(), format!("others on CPU 3: {others:?}"));
    verdict.status(seen, "undo", 0);
    same(seen, "undo", verdict);
    if cell.kernel == WITH_GUARD {
        check_guard(seen, verdict);
    } else {
        check_units(seen, verdict);
    }
}

fn check_guard(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["killed_apply", "killed_undo"] {
        let swept = verdict.status(seen, name, 0).json();
        let number = |field: &str| swept[field].as_u64().unwrap_or(0);
        verdict.that(number("tried") >= 3, format!("{name}: {} kills", number("tried")));
        verdict.equal(name, number("restored"), number("tried"));
        for failure in swept["failures"].as_array().into_iter().flatten().take(4) {
            verdict.that(false, format!("{name}: {failure}"));
        }
        verdict.note(format!("{name} {} of {}", number("restored"), number("tried")));
    }
    verdict.equal(
        "after the login ended",
        seen.get("logged_out").text(),
        "isolated, runs on",
    );
    let guard = seen.get("guard");
    verdict.equal("CPUs and cgroup of the guard", guard.text(), "0-2 0::/");
    same(seen, "guard", verdict);
}

fn check_units(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["install", "start", "stop", "again_up", "undo_all"] {
        verdict.status(seen, name, 0);
    }
    for place in ["unit_started", "unit_reloaded", "exported", "exported_reloaded"] {
        verdict.equal(place, seen.get(place).text(), "isolated, runs on");
    }
    verdict.that(seen.get("left").status != 0, "undo --all leaves no unit and no file");
    same(seen, "units", verdict);
    for name in ["export", "export_start", "export_stop"] {
        verdict.status(seen, name, 0);
    }
    verdict.equal("system.slice", seen.get("slices").text(), "0-2");
    verdict.equal("export stopped", seen.get("export_stopped").text(), "gone, runs on");
    same(seen, "export", verdict);
}

/// Checks that two states do not differ, except in the CPU of interrupt threads.
pub(super) fn same_states(seen: &GuestRecords, record: &str, verdict: &mut ScenarioVerdict) {
    let follows = |line: &&str| line.starts_with("kthread ") && line.contains(": \"irq/");
    let same = seen.get(record);
    let changed: Vec<&str> = same.stdout.lines().filter(|line| !follows(line)).collect();
    verdict.that(
        matches!(same.status, 0 | 1) && changed.is_empty(),
        format!("{record}: not as before: {changed:?}"),
    );
}

/// Checks that nothing differs, and that systemd lists no file of quietcore.
fn same(seen: &GuestRecords, name: &str, verdict: &mut ScenarioVerdict) {
    same_states(seen, &format!("same_{name}"), verdict);
    let traces = seen.get(&format!("traces_{name}"));
    let left: Vec<&str> = traces
        .stdout
        .lines()
        .filter(|line| line.starts_with(['+', '-']))
        .collect();
    verdict.that(traces.status == 0, format!("{name}: files of systemd: {left:?}"));
}
