//! Temporarily routes a device interrupt to the measured CPU: that of a virtual machine's random number generator,
//! because no other process waits for its data.

use super::counted::{INTERRUPTS, count as counted, wait_until};
use super::setting::ChangedFile;
use super::{Disturbance, InjectionSite, ProbePolicy};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::fs::File;
use std::io::Read;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "device-irq",
    about: "random numbers are asked of a virtio device whose interrupt goes there",
    probe: ProbePolicy::Other,
    possible: |_| interrupt().map(drop),
    expected: ExpectedBlame {
        classes: &["device"],
        name: &["virtio"],
        // No event shows which thread made the request to a device.
        culprit: ExpectedCulprit::Unknown,
        callsite: &[],
        reporting_events: &[],
    },
    inject,
};

const CURRENT: &str = "/sys/class/misc/hw_random/rng_current";
const DEVICES: &str = "/sys/bus/virtio/drivers/virtio_rng";

/// Interrupt number of the random number generator.
fn interrupt() -> Result<String, String> {
    let current = std::fs::read_to_string(CURRENT).unwrap_or_default();
    if !current.starts_with("virtio_rng") {
        return Err("no virtio device for random numbers, the only device whose interrupt nobody misses".to_owned());
    }
    let devices = std::fs::read_dir(DEVICES).map_err(|error| format!("{DEVICES}: {error}"))?;
    let names: Vec<String> = devices
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let text = std::fs::read_to_string(INTERRUPTS).map_err(|error| format!("{INTERRUPTS}: {error}"))?;
    let of_device = |line: &&str| {
        let last = line.split_whitespace().next_back().unwrap_or_default();
        names.iter().any(|name| last == format!("{name}-input"))
    };
    let line = text.lines().find(of_device);
    let number = line.and_then(|line| Some(line.trim_start().split_once(':')?.0.to_owned()));
    number.ok_or_else(|| format!("{INTERRUPTS} has no interrupt of the device in {DEVICES}"))
}

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let number = interrupt()?;
    let measured = place.measured;
    let moved = format!("/proc/irq/{number}/smp_affinity_list");
    let _moved = ChangedFile::replace(&moved, &measured.to_string())?;
    let mut device = File::open("/dev/hwrng").map_err(|error| format!("/dev/hwrng: {error}"))?;
    // The interrupt moves only the next time it fires.
    let mut ask = || {
        let before = counted(INTERRUPTS, &number, measured)?;
        wait_until("an interrupt of the device", || {
            device
                .read_exact(&mut [0; 64])
                .map_err(|error| format!("/dev/hwrng: {error}"))?;
            Ok(counted(INTERRUPTS, &number, measured)? > before)
        })
    };
    ask()?;
    place.perform_repeatedly(count, ask)
}
