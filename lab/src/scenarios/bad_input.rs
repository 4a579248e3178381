//! Checks every error that can be detected before the first write: a clear message, the right exit status, no change.

use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2.
pub const SCENARIO: Scenario = Scenario {
    name: "bad_input",
    about: "wrong CPUs, names that exist, read-only cgroups, a full disk: refused, nothing changed",
    cells,
    script,
    check,
};

/// Name, arguments of `apply`, allowed exit statuses.
const REFUSED: &[(&str, &str, &[i32])] = &[
    ("absent", "--cpus 9", &[2]),
    ("garbage", "--cpus 2-x", &[2]),
    ("reversed", "--cpus 3-2", &[2]),
    ("huge", "--cpus 99999999999999999999", &[2]),
    ("empty", "--cpus ''", &[2]),
    ("everything", "--cpus 0-3", &[2, 4]),
    ("lowest", "--cpus 0", &[2, 4]),
    ("name", "--cpus 3 --partition ../x", &[2]),
];

fn cells() -> Vec<ScenarioCell> {
    [
        (K6_1, CgroupLayout::V1),
        (K6_1, CgroupLayout::V2),
        (K7, CgroupLayout::V2),
    ]
    .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).within(180))
    .to_vec()
}

fn script(cell: &ScenarioCell) -> String {
    let mount = if cell.layout == CgroupLayout::V1 {
        "/sys/fs/cgroup/cpuset"
    } else {
        "/sys/fs/cgroup"
    };
    let mut script = "populate\nstate before\n".to_owned();
    for (name, arguments, _) in REFUSED {
        script.push_str(&format!("rec {name} quietcore apply {arguments}\n"));
    }
    script.push_str(&format!(
        "state after\nsame same_refused before after

echo 0 >/sys/devices/system/cpu/cpu2/online
state before
rec offline quietcore apply --cpus 2
state after
same same_offline before after
echo 1 >/sys/devices/system/cpu/cpu2/online

state before
mkdir {mount}/taken {mount}/quietcore-taken
rec exists quietcore apply --cpus 3 --partition taken
rmdir {mount}/taken {mount}/quietcore-taken
state after
same same_exists before after

mount -o remount,ro {mount}
rec readonly quietcore apply --cpus 3
mount -o remount,rw {mount}
state after
same same_readonly before after

mkdir -p /run/quietcore
mount -t tmpfs -o size=4k,mode=755 tiny /run/quietcore
dd if=/dev/zero of=/run/quietcore/fill bs=4k count=1 2>/dev/null
rec full quietcore apply --cpus 3
umount /run/quietcore
state after
same same_full before after

rec first quietcore apply --cpus 3 --json
state first
rec again quietcore apply --cpus 3 --json
rec other quietcore apply --cpus 2 --json
state second
same same_second first second
rec user setuidgid_apply
rec undo quietcore undo
state after
same same before after
rec nothing quietcore undo
rec verb quietcore no-such-verb
"
    ));
    script.replace(
        "rec user setuidgid_apply",
        "rec user lab-guest as 65534 quietcore apply --cpus 2",
    )
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, _, statuses) in REFUSED {
        refused(seen, name, statuses, verdict);
    }
    refused(seen, "offline", &[2, 4], verdict);
    refused(seen, "exists", &[5], verdict);
    refused(seen, "readonly", &[3, 4], verdict);
    refused(seen, "full", &[4], verdict);
    refused(seen, "other", &[5], verdict);
    refused(seen, "user", &[3], verdict);
    refused(seen, "verb", &[2], verdict);
    verdict.status(seen, "first", 0);
    verdict.status(seen, "again", 0);
    verdict.status(seen, "undo", 0);
    verdict.status(seen, "nothing", 0);
    for name in [
        "same_refused",
        "same_offline",
        "same_exists",
        "same_readonly",
        "same_full",
        "same_second",
        "same",
    ] {
        let same = verdict.status(seen, name, 0);
        verdict.equal(name, same.text(), "");
    }
}

/// Checks that a command failed with one of the statuses and a message that says what failed and why.
pub fn refused(seen: &GuestRecords, name: &str, statuses: &[i32], verdict: &mut ScenarioVerdict) {
    let record = seen.get(name);
    verdict.that(
        statuses.contains(&record.status),
        format!(
            "{name}: exit status {}, expected one of {statuses:?}: {}",
            record.status,
            record.stderr.trim()
        ),
    );
    verdict.that(
        record.stderr.lines().count() >= 2,
        format!("{name}: says only {:?}", record.stderr),
    );
}
