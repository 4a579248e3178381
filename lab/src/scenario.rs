//! Defines a scenario: a guest script, the cells that it runs in, and the assertions on its records.

use crate::kernels::{K6_1, K6_12_RT, K7, LabKernel};
use crate::records::GuestRecords;
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;
use guest::qemu::Accelerator;
use std::time::Duration;

/// One test on a real kernel.
pub struct Scenario {
    /// Name of its file.
    pub name: &'static str,
    /// One sentence for `lab list`.
    pub about: &'static str,
    /// The cells.
    pub cells: fn() -> Vec<ScenarioCell>,
    /// The guest's script, after `guest/lab.sh`.
    pub script: fn(&ScenarioCell) -> String,
    /// Checks the records.
    pub check: fn(&ScenarioCell, &GuestRecords, &mut ScenarioVerdict),
}

/// One guest: kernel, cgroup layout, machine.
#[derive(Clone, Debug)]
pub struct ScenarioCell {
    /// Its kernel.
    pub kernel: LabKernel,
    /// Its cgroup layout.
    pub layout: CgroupLayout,
    /// Its machine.
    pub shape: GuestShape,
    /// Seconds that the guest may take on an idle host; see [`ScenarioCell::patience`].
    pub limit_s: u64,
    /// Distinguishes the guests of a scenario that is split into several.
    pub part: u32,
    /// The first process of the guest.
    pub init: GuestInit,
    /// Allowed accelerators.
    pub processor: ProcessorRequirement,
}

/// What may execute a guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessorRequirement {
    /// The host's processor, where KVM runs a kernel, or QEMU's emulation.
    Any,
    /// Only QEMU's emulation: a claim depends on it.
    Emulated,
}

/// The first process of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestInit {
    /// A shell script that runs only the scenario.
    Script,
    /// systemd, with the scenario as the only service.
    Systemd,
    /// The systemd of an installed Debian, with the scenario as one of its services.
    Debian,
}

impl ScenarioCell {
    /// The usual machine with a limit of 150 seconds.
    #[must_use]
    pub fn new(kernel: LabKernel, layout: CgroupLayout) -> ScenarioCell {
        ScenarioCell {
            kernel,
            layout,
            shape: USUAL,
            limit_s: 150,
            part: 0,
            init: GuestInit::Script,
            processor: ProcessorRequirement::Any,
        }
    }

    /// One cell for each kind of kernel that the project supports: both layouts on the oldest, a real-time one, the
    /// newest.
    #[must_use]
    pub fn of_each_kind() -> [ScenarioCell; 4] {
        [
            ScenarioCell::new(K6_1, CgroupLayout::V1),
            ScenarioCell::new(K6_1, CgroupLayout::V2),
            ScenarioCell::new(K6_12_RT, CgroupLayout::V2),
            ScenarioCell::new(K7, CgroupLayout::V2),
        ]
    }

    /// The same with systemd as init, in the version that Debian ships with the kernel.
    #[must_use]
    pub fn under_systemd(self) -> ScenarioCell {
        ScenarioCell {
            init: GuestInit::Systemd,
            ..self
        }
    }

    /// The same with an installed Debian 12.
    #[must_use]
    pub fn under_debian(self) -> ScenarioCell {
        ScenarioCell {
            init: GuestInit::Debian,
            ..self
        }
    }

    /// The same with another time limit.
    #[must_use]
    pub fn within(self, limit_s: u64) -> ScenarioCell {
        ScenarioCell { limit_s, ..self }
    }

    /// The same, always emulated.
    #[must_use]
    pub fn emulated(self) -> ScenarioCell {
        ScenarioCell {
            processor: ProcessorRequirement::Emulated,
            ..self
        }
    }

    /// What executes its instructions on a host with the given accelerator.
    #[must_use]
    pub fn accelerator(&self, of_host: Accelerator) -> Accelerator {
        match self.processor {
            ProcessorRequirement::Any => of_host,
            ProcessorRequirement::Emulated => Accelerator::Tcg,
        }
    }

    /// Time after which the guest is killed. It is far longer than needed, because the host may be busy. The actual
    /// duration is reported, and the limit only ends guests that hang.
    #[must_use]
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.limit_s * 4)
    }

    /// The same on another machine.
    #[must_use]
    pub fn on(self, shape: GuestShape) -> ScenarioCell {
        ScenarioCell { shape, ..self }
    }

    /// Its name within its scenario, in reports and `make lab FILTER=...`.
    #[must_use]
    pub fn label(&self) -> String {
        let mut label = format!("{}/{}", self.kernel.id, self.layout.word());
        if !self.shape.name.is_empty() {
            label.push('/');
            label.push_str(self.shape.name);
        }
        if self.part > 0 {
            label.push_str(&format!("/part{}", self.part));
        }
        label
    }
}
