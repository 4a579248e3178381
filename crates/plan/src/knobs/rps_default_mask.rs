//! Sets the initial `rps_cpus` of queues that are created later in this network namespace.

use super::mask_file::{MaskFile, narrow};
use super::{Knob, KnobUse};
use crate::{Profile, ReadbackComparison};

const PATH: &str = "/proc/sys/net/core/rps_default_mask";

pub(super) const KNOB: Knob = Knob {
    name: "rps_default_mask",
    files: &[PATH],
    what: "rps_cpus of queues that are made later",
    isolation: "the housekeeping CPUs",
    since: "6.3",
    usage: KnobUse::From(Profile::Balanced),
    stops: &["soft_net"],
    side_effects: "none; other network namespaces have their own",
    compare: ReadbackComparison::Mask,
    plan: |scene, plan| {
        let why = "queues that are made later would hand packets to isolated CPUs";
        narrow(
            scene,
            plan,
            &MaskFile {
                knob: &KNOB,
                part: "",
                path: PATH,
                why,
            },
        )
    },
    ..Knob::PLAIN
};
