//! A third CPU is taken down: all others stop for a moment, so that it can leave.

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
        // Newer kernels take a CPU down in a kworker, older ones in the thread that asked for it.
        culprit: Who::Via(&["hotplug", "kworker/"]),
        callsite: &[],
        told_by: &[],
    },
    inject,
};

/// Taking a CPU down takes long and disturbs much: so often is enough.
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
