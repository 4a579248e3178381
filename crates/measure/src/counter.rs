//! Selects the fastest trustworthy counter, and converts its ticks to nanoseconds.

pub(crate) mod invariance;
pub(crate) mod kernel_rate;
pub(crate) mod offset;
pub(crate) mod slope;

use crate::clock;
use invariance::invariant_tsc;

/// A counter that the busy loop can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CounterSource {
    /// x86: the time-stamp counter.
    Tsc,
    /// arm64: the virtual counter.
    Cntvct,
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    Monotonic,
}

impl CounterSource {
    /// The best counter on this machine with this clock source. The TSC is used only if its rate is constant in
    /// every power state (CPUID 0x8000_0007, bit 8 of EDX) and the kernel itself trusts it.
    pub(crate) fn best(clocksource: Option<&str>) -> CounterSource {
        let trusted = matches!(clocksource, Some("tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page"));
        if cfg!(target_arch = "x86_64") && trusted && invariant_tsc() {
            CounterSource::Tsc
        } else if cfg!(target_arch = "aarch64") && clocksource == Some("arch_sys_counter") {
            CounterSource::Cntvct
        } else {
            CounterSource::Monotonic
        }
    }

    /// Its name in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CounterSource::Tsc => "tsc",
            CounterSource::Cntvct => "cntvct_el0",
            CounterSource::Monotonic => "clock_monotonic",
        }
    }

    /// Reads it once. The busy loop reads through [`TickSource`] instead.
    pub(crate) fn read(self) -> u64 {
        match self {
            CounterSource::Tsc => Tsc::now(),
            CounterSource::Cntvct => Cntvct::now(),
            CounterSource::Monotonic => Monotonic::now(),
        }
    }

    /// Reads it once, after all preceding instructions: a processor may read the TSC ahead of a load.
    pub(crate) fn read_ordered(self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if self == CounterSource::Tsc {
            // SAFETY: SSE2, which every x86-64 processor has. Linux makes lfence wait for all loads on AMD too.
            unsafe { core::arch::x86_64::_mm_lfence() };
        }
        self.read()
    }

    /// Reads the counter and the raw clock at the same moment: the narrowest of several readings.
    pub(crate) fn pair(self) -> CounterReading {
        let mut best = (u64::MAX, CounterReading::default());
        for _ in 0..16 {
            let (before, ticks, after) = (clock::raw_ns(), self.read(), clock::raw_ns());
            let width = after.saturating_sub(before);
            if width < best.0 {
                best = (
                    width,
                    CounterReading {
                        ticks,
                        raw_ns: before + width / 2,
                        width_ns: width,
                    },
                );
            }
        }
        best.1
    }
}

/// Whether the clock source can be read without a system call (`vdso_clock_mode` in the kernel's drivers).
pub(crate) fn readable_in_user_space(clocksource: &str) -> bool {
    matches!(
        clocksource,
        "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "arch_sys_counter" | "riscv_clocksource" | "timebase"
    )
}

/// The counter and the clock at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CounterReading {
    /// The counter.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC_RAW`.
    pub raw_ns: u64,
    /// Time between the two clock readings around the counter reading.
    pub width_ns: u64,
}

/// Nanoseconds per tick as a fraction, not rounded to MHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TickPeriod {
    ns: u64,
    ticks: u64,
}

impl TickPeriod {
    /// For ticks that are nanoseconds.
    pub(crate) const NANOSECONDS: TickPeriod = TickPeriod { ns: 1, ticks: 1 };

    /// The slope between two moments; `None` if no time passed between them.
    pub(crate) fn between(start: CounterReading, end: CounterReading) -> Option<TickPeriod> {
        let tick_period = TickPeriod {
            ns: end.raw_ns.checked_sub(start.raw_ns)?,
            ticks: end.ticks.checked_sub(start.ticks)?,
        };
        (tick_period.ns > 0 && tick_period.ticks > 0).then_some(tick_period)
    }

    /// Converts ticks to nanoseconds, rounded to the nearest.
    pub(crate) fn to_ns(self, ticks: u64) -> u64 {
        scale(ticks, self.ns, self.ticks)
    }

    /// Converts nanoseconds to ticks, rounded to the nearest.
    pub(crate) fn to_ticks(self, ns: u64) -> u64 {
        scale(ns, self.ticks, self.ns)
    }

    /// Frequency of the counter in kHz.
    pub(crate) fn khz(self) -> u64 {
        self.to_ticks(1_000_000)
    }

    /// Nanoseconds per tick, for statistics.
    pub(crate) fn factor(self) -> f64 {
        self.ns as f64 / self.ticks as f64
    }
}

fn scale(value: u64, by: u64, over: u64) -> u64 {
    let exact = (u128::from(value) * u128::from(by) + u128::from(over / 2)) / u128::from(over.max(1));
    u64::try_from(exact).unwrap_or(u64::MAX)
}

/// A counter known at compile time, so that the loop needs no branch to select it.
pub(crate) trait TickSource {
    /// The counter now.
    fn now() -> u64;
}

/// See [`CounterSource::Tsc`].
pub(crate) struct Tsc;
/// See [`CounterSource::Cntvct`].
pub(crate) struct Cntvct;
/// See [`CounterSource::Monotonic`].
pub(crate) struct Monotonic;

impl TickSource for Monotonic {
    #[inline(always)]
    fn now() -> u64 {
        clock::monotonic_ns()
    }
}

impl TickSource for Tsc {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn now() -> u64 {
        // SAFETY: every x86-64 processor has the instruction; Linux allows it in user space unless a process
        // disables it with PR_SET_TSC, which we do not.
        unsafe { core::arch::x86_64::_rdtsc() }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn now() -> u64 {
        clock::monotonic_ns()
    }
}

impl TickSource for Cntvct {
    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    fn now() -> u64 {
        let ticks: u64;
        // SAFETY: Linux lets user space read the virtual counter wherever it is the clock source (the vDSO
        // does the same). The barrier prevents the processor from reading it early.
        unsafe { core::arch::asm!("isb", "mrs {ticks}, cntvct_el0", ticks = out(reg) ticks, options(nomem, nostack)) };
        ticks
    }

    #[cfg(not(target_arch = "aarch64"))]
    fn now() -> u64 {
        clock::monotonic_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_ticks_loses_less_than_a_nanosecond_per_second() {
        let start = CounterReading {
            ticks: 1_000,
            raw_ns: 5_000,
            width_ns: 0,
        };
        // 2,599,999,999 Hz over 100 s: an integer MHz would be off by 33 us in a day.
        let end = CounterReading {
            ticks: 1_000 + 259_999_999_900,
            raw_ns: 5_000 + 100_000_000_000,
            width_ns: 0,
        };
        let tick_period = TickPeriod::between(start, end).unwrap();
        assert_eq!(tick_period.to_ns(2_599_999_999 * 86_400), 86_400_000_000_000);
        assert_eq!(tick_period.to_ticks(1_000_000_000), 2_599_999_999);
        assert_eq!(tick_period.khz(), 2_600_000);
    }

    #[test]
    fn two_equal_readings_give_no_rate() {
        let pair = CounterReading {
            ticks: 7,
            raw_ns: 7,
            width_ns: 0,
        };
        assert_eq!(TickPeriod::between(pair, pair), None);
        assert_eq!(TickPeriod::between(CounterReading { raw_ns: 9, ..pair }, pair), None);
        assert_eq!(TickPeriod::NANOSECONDS.to_ns(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_counter_agrees_with_the_clock() {
        let clocksource = root::Root::live()
            .value("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .unwrap();
        let source = CounterSource::best(clocksource.as_deref());
        let start = source.pair();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let end = source.pair();
        let tick_period = TickPeriod::between(start, end).unwrap();
        let ns = tick_period.to_ns(end.ticks - start.ticks);
        assert!(
            (20_000_000..2_000_000_000).contains(&ns),
            "{source:?}: {ns} ns for a sleep of 20 ms"
        );
    }
}
