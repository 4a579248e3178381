//! A third CPU is taken offline: all others stop briefly.

use super::setting::Setting;
use super::{Disturbance, Place, Probe};
use lab::truth::{Expected, Injected, Who};

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "hotplug",
    about: "a third CPU is taken down and up again: migration/N stops the measured one meanwhile",
    probe: Probe::Other,
    possible,
    expected: Expected {
        classes: &["kernel_thread"],
        name: &["migration/"],
        // Newer kernels take a CPU offline in a kworker, older ones in the requesting thread.
        culprit: Who::Via(&["hotplug", "kworker/"]),
        callsite: &[],
        told_by: &[],
    },
    inject,
};

/// Maximum number of acts: taking a CPU offline is slow and disturbs much.
const MOST: usize = 4;

fn third(place: &Place) -> Result<u32, String> {
    let spare = |cpu: &&u32| **cpu != 0 && **cpu != place.measured && **cpu != place.other;
    let cpu = place.online.iter().rfind(spare).copied();
    cpu.ok_or_else(|| "there is no third CPU".to_owned())
}

fn possible(place: &Place) -> Result<(), String> {
    if !place.alone {
        return Err("it takes a CPU of the machine down".to_owned());
    }
    let cpu = third(place)?;
    Setting::remember(&online(cpu)).map(drop)
}

fn online(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/online")
}

fn inject(place: &mut Place, count: usize) -> Result<Vec<Injected>, String> {
    let file = Setting::remember(&online(third(place)?))?;
    let mut done = Vec::new();
    for _ in 0..count.min(MOST) {
        place.pause();
        done.push(place.act(|| file.write("0"))?);
        file.write("1")?;
    }
    Ok(done)
}
