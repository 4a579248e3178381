//! Takes a third CPU offline: all others stop briefly.

use super::setting::ChangedFile;
use super::{Disturbance, InjectionSite, ProbePolicy};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "hotplug",
    about: "a third CPU is taken down and up again: migration/N stops the measured one during that time",
    probe: ProbePolicy::Other,
    possible,
    expected: ExpectedBlame {
        classes: &["kernel_thread"],
        name: &["migration/"],
        // Newer kernels take a CPU offline in a kworker, older ones in the requesting thread.
        culprit: ExpectedCulprit::Via(&["hotplug", "kworker/"]),
        callsite: &[],
        reporting_events: &[],
    },
    inject,
};

/// Maximum number of acts: taking a CPU offline is slow and disturbs much.
const MOST: usize = 4;

fn third(place: &InjectionSite) -> Result<u32, String> {
    let spare = |cpu: &&u32| **cpu != 0 && **cpu != place.measured && **cpu != place.other;
    let cpu = place.online.iter().rfind(spare).copied();
    cpu.ok_or_else(|| "there is no third CPU".to_owned())
}

fn possible(place: &InjectionSite) -> Result<(), String> {
    if !place.alone {
        return Err("it takes a CPU of the machine down".to_owned());
    }
    let cpu = third(place)?;
    ChangedFile::save(&online(cpu)).map(drop)
}

fn online(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/online")
}

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let file = ChangedFile::save(&online(third(place)?))?;
    let mut done = Vec::new();
    for _ in 0..count.min(MOST) {
        place.pause();
        done.push(place.perform(|| file.write("0"))?);
        file.write("1")?;
    }
    Ok(done)
}
