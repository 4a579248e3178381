//! Queries the processor whether a counter has a constant rate in every power state.

use super::CounterSource;

/// Whether the rate is constant; `None` if unknown.
///
/// x86: CPUID 0x8000_0007, bit 8 of EDX ("invariant TSC"). arm64: the architecture requires it of the generic counter
/// ("at a fixed frequency, in an always-on power domain").
pub(crate) fn invariant(source: CounterSource) -> Option<bool> {
    match source {
        CounterSource::Tsc => Some(invariant_tsc()),
        CounterSource::Cntvct => Some(true),
        CounterSource::Monotonic => None,
    }
}

/// The processor's own report about its TSC; `false` if it reports nothing.
#[cfg(target_arch = "x86_64")]
pub(crate) fn invariant_tsc() -> bool {
    use core::arch::x86_64::__cpuid;
    is_invariant(__cpuid(0x8000_0000).eax, || __cpuid(0x8000_0007).edx)
}

/// Other architectures have no TSC.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn invariant_tsc() -> bool {
    false
}

/// Checks the highest extended leaf first: an older processor without leaf 0x8000_0007 returns the data of another leaf.
#[cfg(any(target_arch = "x86_64", test))]
fn is_invariant(highest: u32, power_management: impl FnOnce() -> u32) -> bool {
    (0x8000_0007..=0x8000_ffff).contains(&highest) && power_management() & (1 << 8) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_invariant_only_if_cpuid_reports_it() {
        assert!(is_invariant(0x8000_0008, || 0x100));
        assert!(!is_invariant(0x8000_0008, || 0xfffe_feff));
        assert!(!is_invariant(0x8000_0004, || 0x100), "an old one has no such leaf");
        assert!(
            !is_invariant(0x0000_000d, || 0x100),
            "one without extended leaves answers anything"
        );
        assert_eq!(invariant(CounterSource::Monotonic), None);
        assert_eq!(invariant(CounterSource::Cntvct), Some(true));
    }

    #[test]
    fn the_processor_agrees_with_the_kernel_about_invariance() {
        let text = root::Root::live().text("/proc/cpuinfo").ok().flatten();
        let flags = text.as_deref().unwrap_or_default();
        if !flags.contains("constant_tsc") {
            println!("SKIP: the_processor_agrees_with_the_kernel_about_invariance: no x86 with a constant TSC");
            return;
        }
        // The kernel derives the flag from the same bit (`early_init_intel`, `early_init_amd`).
        assert_eq!(invariant(CounterSource::Tsc), Some(flags.contains("nonstop_tsc")));
    }
}
