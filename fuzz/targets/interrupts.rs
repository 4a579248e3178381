//! `/proc/interrupts`, by both of its readers.

use super::{FuzzTarget, owned, text};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "interrupts",
    seeds: || {
        owned(&[
            "           CPU0       CPU1\n  0:         34          0   IO-APIC   2-edge      timer\n 36:          7          9 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\nNMI:          0          0   Non-maskable interrupts\nERR:          0\n",
            "     CPU0 CPU5\n 11: 3 18446744073709551615 GICv3 27 Level arch_timer, uart\nIPI0: 1 2 Rescheduling interrupts\n",
        ])
    },
    run: |bytes| {
        let text = text(bytes);
        let _ = machine::parse_interrupts(&text);
        let _ = observe::parse_interrupts(&text);
    },
};
