//! Determines why no process can change the mask of an interrupt.
//!
//! The kernel refuses a mask (`kernel/irq/manage.c`, `irq_can_set_affinity_usr`) if the interrupt belongs to one CPU
//! (`IRQD_PER_CPU`), if it is not balanced (`IRQD_NO_BALANCING`: the timers, `arch/x86/kernel/time.c`), if its chip has
//! no `irq_set_affinity` (the PIC with its cascade, interrupt 2), or if the kernel manages the mask
//! (`IRQD_AFFINITY_MANAGED`). From 6.12 on the mode of `smp_affinity` is the same for all four. Only the last one
//! follows `isolcpus=managed_irq`, so they are distinguished here.

use super::Interrupt;

/// Why no write to its mask moves an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImmovableReason {
    /// It is per-CPU.
    PerCpu,
    /// The kernel manages the mask itself.
    Managed,
    /// A kernel timer, requested with `IRQF_NOBALANCING`.
    Timer,
    /// Its driver or its interrupt chip accepts no mask.
    Fixed,
}

impl ImmovableReason {
    /// The reason, for a sentence after `because`.
    #[must_use]
    pub const fn why(self) -> &'static str {
        match self {
            ImmovableReason::PerCpu => "it is a per-CPU interrupt",
            ImmovableReason::Managed => "the kernel manages its mask",
            ImmovableReason::Timer => "it is a kernel timer, which is not balanced",
            ImmovableReason::Fixed => "its driver or its interrupt chip accepts no mask",
        }
    }

    /// The same in one word, for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ImmovableReason::PerCpu => "per_cpu",
            ImmovableReason::Managed => "managed",
            ImmovableReason::Timer => "timer",
            ImmovableReason::Fixed => "fixed",
        }
    }

    /// Whether `isolcpus=managed_irq` at boot keeps such an interrupt away.
    #[must_use]
    pub const fn follows_managed_irq(self) -> bool {
        matches!(self, ImmovableReason::Managed)
    }
}

impl Interrupt {
    /// Why no write to its mask moves it; `None` if nothing prevents a write. Planning, checking and repairs all ask
    /// this before they propose a write.
    #[must_use]
    pub fn immovable(&self) -> Option<ImmovableReason> {
        if self.is_per_cpu() {
            Some(ImmovableReason::PerCpu)
        } else if self.is_timer() {
            Some(ImmovableReason::Timer)
        } else if self.managed == Some(true) {
            Some(ImmovableReason::Managed)
        } else {
            (self.settable == Some(false) || self.chip_name() == PIC).then_some(ImmovableReason::Fixed)
        }
    }

    /// Whether it is per-CPU, according to its chip: no mask moves such an interrupt, and a write is refused with EIO,
    /// or EPERM from 6.12 on (`kernel/irq/proc.c`, `write_irq_affinity`).
    ///
    /// Known are the IPIs of POWER (`arch/powerpc/sysdev/xive/common.c`, `xive_ipi_chip`) and the private interrupts of
    /// a GIC (`drivers/irqchip/irq-gic-v3.c`, `gic_irq_domain_map`): SGIs 0 to 15, PPIs 16 to 31, extended PPIs 1056 to
    /// 1119. `false` for others.
    #[must_use]
    pub fn is_per_cpu(&self) -> bool {
        let number: Option<u32> = self.chip.split_whitespace().nth(1).and_then(|word| word.parse().ok());
        let is_gic = self.chip_name().strip_prefix("GIC").is_some_and(|rest| {
            rest.bytes()
                .all(|byte| byte == b'-' || byte == b'v' || byte.is_ascii_digit())
        });
        let is_private = number.is_some_and(|number| PRIVATE.iter().any(|range| range.contains(&number)));
        self.per_cpu || self.chip_name() == "XIVE-IPI" || (is_gic && is_private)
    }

    /// Whether it is a kernel timer: interrupt 0 of a PC (`setup_default_timer_irq`), or one of an HPET
    /// (`arch/x86/kernel/hpet.c`, `hpet_setup_msi_irq`). Both are requested with `IRQF_NOBALANCING`.
    #[must_use]
    pub fn is_timer(&self) -> bool {
        (self.irq == 0 && self.name == "timer") || self.chip_name().contains("HPET")
    }

    /// Evaluates the mode of `smp_affinity` (from 6.12 on), which shows whether the kernel accepts a mask.
    ///
    /// An interrupt with a refused mask is managed if the device sends its interrupts as messages: only those are
    /// spread (`drivers/pci/msi/msi.c`, `pci_alloc_irq_vectors_affinity`). Behind a VMD they share one interrupt of the
    /// bridge, and none has a mask.
    pub(super) fn take_mode(&mut self, is_writable: bool) {
        self.settable = Some(is_writable);
        let chip = self.chip_name();
        self.managed = match is_writable || self.is_per_cpu() || self.is_timer() {
            true => Some(false),
            false if chip.is_empty() => None,
            false => Some(chip.contains("MSI") && !chip.contains("VMD")),
        };
    }

    /// Evaluates the flags in `/sys/kernel/debug/irq/irqs/N` (`kernel/irq/debugfs.c`, `irqdata_states`).
    pub(super) fn take_flags(&mut self, text: &str) {
        self.managed = Some(text.contains("IRQD_AFFINITY_MANAGED"));
        self.per_cpu = text.contains("IRQD_PER_CPU");
        if text.contains("IRQD_NO_BALANCING") {
            self.settable = Some(false);
        }
    }

    fn chip_name(&self) -> &str {
        self.chip.split_whitespace().next().unwrap_or_default()
    }
}

/// The chip of a PC's first interrupt controllers, which has no `irq_set_affinity` (`arch/x86/kernel/i8259.c`).
const PIC: &str = "XT-PIC";

/// Numbers of a GIC's private interrupts: SGIs and PPIs, then extended PPIs.
const PRIVATE: [std::ops::Range<u32>; 2] = [0..32, 1056..1120];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(irq: u32, chip: &str, name: &str) -> Interrupt {
        Interrupt {
            irq,
            chip: chip.to_owned(),
            name: name.to_owned(),
            ..Interrupt::default()
        }
    }

    #[test]
    fn per_cpu_interrupts_are_recognized_by_chip_and_number() {
        for (chip, expected) in [
            ("XIVE-IPI   0 Edge", true),
            ("XIVE-IRQ 4609 Level", false),
            ("GICv3   0 Edge", true),
            ("GICv3   7 Edge", true),
            ("GIC-0  15 Edge", true),
            ("GICv3  27 Level", true),
            ("GICv3  16 Edge", true),
            ("GIC-0  30 Level", true),
            ("GICv2  31 Level", true),
            ("GICv3  32 Level", false),
            ("GICv3 278 Edge", false),
            ("GICv3 1055 Level", false),
            ("GICv3 1056 Level", true),
            ("GICv3 1119 Level", true),
            ("GICv3 1120 Level", false),
            ("GICv2m 27 Edge", false),
            ("ITS-MSI  27 Edge", false),
            ("IO-APIC   27-edge", false),
            ("GICv3", false),
            ("", false),
        ] {
            assert_eq!(of(11, chip, "arch_timer").is_per_cpu(), expected, "{chip}");
        }
    }

    #[test]
    fn an_unwritable_mask_has_a_reason() {
        let reason = |irq, chip: &str, name: &str, is_writable| {
            let mut one = of(irq, chip, name);
            one.take_mode(is_writable);
            (one.immovable(), one.managed)
        };
        let (managed, timer, fixed) = (ImmovableReason::Managed, ImmovableReason::Timer, ImmovableReason::Fixed);
        for (irq, chip, name, expected) in [
            (
                25,
                "PCI-MSIX-0000:00:01.0   1-edge",
                "nvme0q1",
                (Some(managed), Some(true)),
            ),
            (
                26,
                "IR-PCI-MSI 524289-edge",
                "virtio0-req.0",
                (Some(managed), Some(true)),
            ),
            (
                90,
                "ITS-PCI-MSIX-0000:01:00.0   1 Edge",
                "nvme0q1",
                (Some(managed), Some(true)),
            ),
            (40, "VMD-MSI  1-edge", "nvme0q1", (Some(fixed), Some(false))),
            (0, "IO-APIC   2-edge", "timer", (Some(timer), Some(false))),
            (24, "HPET_MSI   2-edge", "hpet2", (Some(timer), Some(false))),
            (2, "", "", (Some(fixed), None)),
            (2, "XT-PIC      2", "cascade", (Some(fixed), Some(false))),
            (50, "pinctrl-bcm2835   4 Edge", "button", (Some(fixed), Some(false))),
            (4, "GICv3   0 Edge", "", (Some(ImmovableReason::PerCpu), Some(false))),
        ] {
            assert_eq!(reason(irq, chip, name, false), expected, "{irq} {chip} {name}");
        }
        let moves = reason(25, "PCI-MSIX-0000:00:01.0   1-edge", "nvme0q1", true);
        assert_eq!(moves, (None, Some(false)));
        // Before 6.12 the mode shows nothing, but these are known.
        assert_eq!(of(0, "IO-APIC   2-edge", "timer").immovable(), Some(timer));
        assert_eq!(of(1, "XT-PIC      1", "i8042").immovable(), Some(fixed));
        assert_eq!(of(25, "PCI-MSI 16385-edge", "virtio0-req.0").immovable(), None);
    }

    #[test]
    fn debugfs_flags_name_the_reason() {
        let reason = |flags: &str| {
            let mut one = of(30, "chip   1 Edge", "device");
            one.take_flags(&format!("dstate:   0x1\n    {flags}\n"));
            one.immovable()
        };
        assert_eq!(reason("IRQD_ACTIVATED"), None);
        assert_eq!(reason("IRQD_PER_CPU"), Some(ImmovableReason::PerCpu));
        assert_eq!(reason("IRQD_NO_BALANCING"), Some(ImmovableReason::Fixed));
        assert_eq!(reason("IRQD_AFFINITY_MANAGED"), Some(ImmovableReason::Managed));
    }
}
