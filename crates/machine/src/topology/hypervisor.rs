//! Detects whether the machine is a guest, and its hypervisor. Latencies of a guest, let alone of an emulator, prove little.

use super::CpuInfo;
use crate::reading::RootReader;

/// The hypervisor's name; `unknown` for a guest with an unknown one, `None` if there is no sign of one.
pub(super) fn read(reader: &RootReader, info: &CpuInfo) -> Option<String> {
    // The emulator puts its name into its CPU models.
    let is_tcg = info.model_name.as_deref().is_some_and(|name| name.contains("QEMU TCG"));
    if is_tcg {
        return Some("tcg".to_owned());
    }
    let by_type = || reader.value("/sys/hypervisor/type").filter(|name| !name.is_empty());
    let by_clock = || {
        let clocks = reader.value("/sys/devices/system/clocksource/clocksource0/available_clocksource")?;
        name_of_clocks(&clocks).map(str::to_owned)
    };
    let by_firmware = || {
        ["sys_vendor", "product_name", "board_vendor", "bios_vendor"]
            .iter()
            .find_map(|file| {
                let text = reader.value(&format!("/sys/class/dmi/id/{file}"))?;
                name_of_firmware(&text).map(str::to_owned)
            })
    };
    let by_tree = || {
        let of = |path: &str| {
            reader
                .text(path)
                .and_then(|text| name_of_compatible(&text).map(str::to_owned))
        };
        let name = of("/proc/device-tree/hypervisor/compatible").or_else(|| of("/proc/device-tree/compatible"))?;
        // Arm reserves implementer 0 for software; QEMU's `max` model uses it, a CPU under KVM never does.
        Some(if name == "qemu" && info.implementer == Some(0) {
            "tcg".to_owned()
        } else {
            name
        })
    };
    let unnamed = || info.is_guest.then(|| "unknown".to_owned());
    by_type()
        .or_else(by_clock)
        .or_else(by_firmware)
        .or_else(by_tree)
        .or_else(unnamed)
}

/// Clock sources that only a guest has (`arch/x86/kernel/kvmclock.c`, `drivers/clocksource/hyperv_timer.c`).
fn name_of_clocks(clocks: &str) -> Option<&'static str> {
    clocks.split_whitespace().find_map(|clock| match clock {
        "kvm-clock" => Some("kvm"),
        "xen" => Some("xen"),
        _ if clock.starts_with("hyperv_clocksource") => Some("microsoft"),
        _ => None,
    })
}

/// Words that occur in names of virtual firmware but not in those of real machines.
fn name_of_firmware(text: &str) -> Option<&'static str> {
    let names = [
        ("QEMU", "qemu"),
        ("KVM", "kvm"),
        ("VMware", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("innotek", "virtualbox"),
        ("Xen", "xen"),
        ("Virtual Machine", "microsoft"),
        ("Hyper-V", "microsoft"),
        ("Parallels Virtual", "parallels"),
        ("Apple Virtualization", "apple"),
        ("Amazon EC2", "kvm"),
        ("Google Compute Engine", "kvm"),
        ("Cloud Hypervisor", "cloud-hypervisor"),
        ("Firecracker", "firecracker"),
        ("BHYVE", "bhyve"),
        ("OpenStack", "kvm"),
    ];
    names
        .iter()
        .find(|(word, _)| text.contains(word))
        .map(|&(_, name)| name)
}

/// Device-tree names, separated by NUL.
fn name_of_compatible(text: &str) -> Option<&'static str> {
    text.split('\0').find_map(|name| match name {
        "linux,kvm" => Some("kvm"),
        "linux,dummy-virt" => Some("qemu"),
        _ if name.starts_with("xen,xen") => Some("xen"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hypervisors_are_recognized_by_clocks_firmware_and_devicetree() {
        assert_eq!(name_of_clocks("tsc kvm-clock acpi_pm"), Some("kvm"));
        assert_eq!(name_of_clocks("tsc hpet acpi_pm"), None);
        assert_eq!(name_of_clocks("hyperv_clocksource_tsc_page"), Some("microsoft"));
        assert_eq!(name_of_firmware("Standard PC (Q35 + ICH9, 2009)"), None);
        assert_eq!(name_of_firmware("QEMU"), Some("qemu"));
        assert_eq!(name_of_firmware("Dell Inc."), None);
        assert_eq!(name_of_compatible("linux,dummy-virt\0"), Some("qemu"));
        assert_eq!(name_of_compatible("xen,xen-4.11\0xen,xen\0"), Some("xen"));
        assert_eq!(name_of_compatible("raspberrypi,4-model-b\0brcm,bcm2711\0"), None);
    }
}
