//! Checks that the binaries for arm64 and armv7 start on kernels of their architecture and read the machine.

use crate::kernels::{ARM64, ARMHF};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs in `make dist`.
pub const SCENARIO: Scenario = Scenario {
    name: "foreign",
    about: "the arm64 and armv7 binaries start and inspect their machine",
    cells,
    script,
    check,
};

/// Records are written to a virtio console, because these machines have only one serial port.
pub(super) const VIRT: GuestShape = GuestShape {
    modules: &["virtio_mmio", "virtio_console"],
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    [ARM64, ARMHF]
        .map(|kernel| ScenarioCell::new(kernel, CgroupLayout::V2).on(VIRT).within(180))
        .to_vec()
}

fn script(_: &ScenarioCell) -> String {
    "rec machine uname -m
rec version quietcore --version
rec inspect quietcore inspect --json
rec plan quietcore plan --cpus 3 --json
rec apply quietcore apply --cpus 3 --json
rec who lab-guest who 3
rec undo quietcore undo --json
rec noise quietcore measure noise --cpus 3 --for 1s --json
"
    .to_owned()
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let machine = if cell.kernel.arch == "arm64" {
        "aarch64"
    } else {
        "armv7l"
    };
    verdict.equal("uname -m", seen.get("machine").text(), machine);
    let version = verdict.status(seen, "version", 0);
    verdict.that(
        version.text().starts_with("quietcore "),
        format!("--version says {:?}", version.text()),
    );
    let inspect = verdict.status(seen, "inspect", 0).json();
    verdict.equal("cpus", inspect["cpus"].as_array().map(Vec::len), Some(4));
    let plan = verdict.status(seen, "plan", 0).json();
    verdict.equal("plan: isolated", plan["isolated"].as_str(), Some("3"));
    verdict.status(seen, "apply", 0);
    let left = super::apply_undo::movable(&verdict.status(seen, "who", 0).stdout);
    verdict.that(
        left.is_empty(),
        format!("movable tasks may run on CPU 3: {}", left.join(", ")),
    );
    verdict.status(seen, "undo", 0);
    verdict.status(seen, "noise", 0);
    verdict.note(version.text().to_owned());
}
