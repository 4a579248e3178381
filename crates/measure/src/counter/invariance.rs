//! Queries the processor whether a counter has a constant rate in every power state.

use super::Source;

/// Whether the rate is constant; `None` if unknown.
///
/// x86: CPUID 0x8000_0007, bit 8 of EDX ("invariant TSC"). arm64: the architecture requires it of the generic counter
/// ("at a fixed frequency, in an always-on power domain").
pub(crate) fn invariant(source: Source) -> Option<bool> {
    match source {
        Source::Tsc => Some(invariant_tsc()),
        Source::Cntvct => Some(true),
        Source::Monotonic => None,
    }
}

/// The processor's own report about its TSC; `false` if it reports nothing.
#[cfg(target_arch = "x86_64")]
pub(crate) fn invariant_tsc() -> bool {
    use core::arch::x86_64::__cpuid;
    says_so(__cpuid(0x8000_0000).eax, || __cpuid(0x8000_0007).edx)
}

/// Other architectures have no TSC.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn invariant_tsc() -> bool {
    false
}

/// Checks the highest extended leaf first: an older processor without leaf 0x8000_0007 returns the data of another leaf.
#[cfg(any(target_arch = "x86_64", test))]
fn says_so(highest: u32, power_management: impl FnOnce() -> u32) -> bool {
    (0x8000_0007..=0x8000_ffff).contains(&highest) && power_management() & (1 << 8) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_processor_that_says_so_has_an_invariant_counter() {
        assert!(says_so(0x8000_0008, || 0x100));
        assert!(!says_so(0x8000_0008, || 0xfffe_feff));
        assert!(!says_so(0x8000_0004, || 0x100), "an old one has no such leaf");
        assert!(
            !says_so(0x0000_000d, || 0x100),
            "one without extended leaves answers anything"
        );
        assert_eq!(invariant(Source::Monotonic), None);
        assert_eq!(invariant(Source::Cntvct), Some(true));
    }

    #[test]
    fn this_processor_is_asked() {
        let text = root::Root::live().text("/proc/cpuinfo").ok().flatten();
        let flags = text.as_deref().unwrap_or_default();
        if !flags.contains("constant_tsc") {
            println!("SKIP: this_processor_is_asked: no x86 with a constant TSC");
            return;
        }
        // The kernel derives the flag from the same bit (`early_init_intel`, `early_init_amd`).
        assert_eq!(invariant(Source::Tsc), Some(flags.contains("nonstop_tsc")));
    }
}
