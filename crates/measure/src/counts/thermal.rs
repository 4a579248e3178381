//! Times when the processor was throttled because of its temperature (`drivers/thermal/intel/therm_throt.c`). The files
//! contain counts of the interrupt handler: reading them does not interrupt a CPU.

use super::{CountMethod, CountRow, each, number_in};
use machine::{CpuId, CpuSet};
use root::Root;
use std::collections::BTreeMap;

pub(super) const CORE: CountRow = CountRow {
    name: "core_throttle",
    unit: "events",
    source: "/sys/devices/system/cpu/cpu#/thermal_throttle/core_throttle_count",
    way: CountMethod::Grown(|root, cpus| read(root, cpus, "core_throttle_count")),
};

pub(super) const PACKAGE: CountRow = CountRow {
    name: "package_throttle",
    unit: "events",
    source: "/sys/devices/system/cpu/cpu#/thermal_throttle/package_throttle_count",
    way: CountMethod::Grown(|root, cpus| read(root, cpus, "package_throttle_count")),
};

fn read(root: &Root, cpus: &CpuSet, name: &str) -> BTreeMap<CpuId, super::CountValue> {
    each(cpus, |cpu| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{name}");
        number_in(root, &path, "this processor or kernel does not count it")
    })
}
