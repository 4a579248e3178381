//! Tests the lab itself: the kernel has the expected version, and the machine and its cgroups have the requested shape.
//!
//! [`super::apply_undo`] runs the same checks in each of its guests. This scenario covers the other combinations.

use crate::kernels::{K5_10, K6_1, K6_1_RT};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Every combination of kernel and cgroup layout that [`super::apply_undo`] does not cover.
pub const SCENARIO: Scenario = Scenario {
    name: "boots",
    about: "every kernel boots, as asked, and quietcore starts",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    [
        (K6_1, CgroupLayout::None),
        (K5_10, CgroupLayout::Hybrid),
        (K6_1_RT, CgroupLayout::Hybrid),
        (K5_10, CgroupLayout::V2),
        (K6_1_RT, CgroupLayout::V2),
    ]
    .map(|(kernel, layout)| ScenarioCell::new(kernel, layout))
    .to_vec()
}

/// Commands that any guest can run right after its boot.
pub fn script(_: &ScenarioCell) -> String {
    "rec release uname -r
rec version uname -v
rec cpus nproc
rec packages sh -c 'cat /sys/devices/system/cpu/cpu*/topology/physical_package_id | sort -u | wc -l'
rec v1_cpus cat /sys/fs/cgroup/cpuset/cpuset.cpus
rec v2_controllers cat /sys/fs/cgroup/cgroup.controllers
rec unified_controllers cat /sys/fs/cgroup/unified/cgroup.controllers
rec quietcore quietcore --version
"
    .to_owned()
}

/// Checks the records of [`script`].
pub fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let release = seen.get("release").text().to_owned();
    let series = cell.kernel.id.trim_end_matches("-rt");
    verdict.that(
        release.starts_with(&format!("{series}.")) && release.ends_with(cell.kernel.flavour),
        format!("uname -r says {release}"),
    );
    verdict.note(release);
    let is_rt = seen.get("version").text().contains("PREEMPT_RT");
    verdict.equal("PREEMPT_RT", is_rt, cell.kernel.id.ends_with("-rt"));
    verdict.equal("cpus", seen.get("cpus").text(), "4");
    verdict.equal("packages", seen.get("packages").text(), "2");
    let v1 = seen.get("v1_cpus").status == 0;
    let v2 = seen.get("v2_controllers").text().contains("cpuset");
    let unified = seen.get("unified_controllers").status == 0;
    let expected = match cell.layout {
        CgroupLayout::V1 => (true, false, false),
        CgroupLayout::V2 => (false, true, false),
        CgroupLayout::Hybrid => (true, false, true),
        CgroupLayout::None => (false, false, false),
    };
    verdict.equal(
        "control groups (v1 cpuset, v2 cpuset, unified)",
        (v1, v2, unified),
        expected,
    );
    let version = verdict.status(seen, "quietcore", 0);
    verdict.that(
        version.text().starts_with("quietcore "),
        format!("quietcore --version says {:?}", version.text()),
    );
}
