//! Finds the counter frequency that the kernel assumes, and its source.

use super::CounterSource;
use root::Root;

/// A frequency and its source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rate {
    /// In kHz.
    pub khz: f64,
    /// Half a unit of its last digit, in kHz.
    pub resolution_khz: f64,
    /// The source.
    pub from: String,
}

/// Files that provide the frequency in kHz on some kernels.
const FILES: &[&str] = &[
    "/sys/devices/system/cpu/cpu0/tsc_freq_khz",
    "/sys/devices/system/cpu/tsc_khz",
];

/// Messages in the kernel's log, the most reliable first. The kernel uses the refined frequency once it is known.
const TSC_MESSAGES: &[(&str, &str)] = &[
    ("tsc: Refined TSC clocksource calibration: ", "refined calibration"),
    ("tsc: Detected ", "detected at boot"),
];

/// `arch_timer: cp15 timer(s) running at 62.50MHz (virt).`
const ARM_MESSAGE: &str = "timer(s) running at ";

/// The rate of the counter from the most reliable source; `None` if there is none.
pub(crate) fn rate(source: CounterSource, root: &Root) -> Option<Rate> {
    match source {
        CounterSource::Monotonic => None,
        CounterSource::Tsc => of_files(root)
            .or_else(|| of_tsc_log(&log(root)))
            .or_else(|| of_leaves(root)),
        CounterSource::Cntvct => of_register(root).or_else(|| of_arm_log(&log(root))),
    }
}

fn log(root: &Root) -> Vec<String> {
    root.kernel_log().ok().flatten().unwrap_or_default()
}

fn of_files(root: &Root) -> Option<Rate> {
    FILES.iter().find_map(|path| {
        let khz: f64 = root.readable_value(path)?.parse().ok()?;
        (khz > 0.0).then(|| Rate {
            khz,
            resolution_khz: 0.5,
            from: (*path).to_owned(),
        })
    })
}

fn of_tsc_log(log: &[String]) -> Option<Rate> {
    TSC_MESSAGES.iter().find_map(|(before, what)| {
        let message = log.iter().rev().find(|message| message.contains(before))?;
        let (_, rest) = message.split_once(before)?;
        of_mhz(rest, &format!("kernel log, {what}"))
    })
}

fn of_arm_log(log: &[String]) -> Option<Rate> {
    let message = log.iter().find(|message| message.contains(ARM_MESSAGE))?;
    of_mhz(message.split_once(ARM_MESSAGE)?.1, "kernel log, at boot")
}

/// Parses `2899.886 MHz` and `62.50MHz`: the number of digits gives the resolution.
fn of_mhz(text: &str, from: &str) -> Option<Rate> {
    let number: &str = text
        .split(|letter: char| letter != '.' && !letter.is_ascii_digit())
        .next()?;
    let mhz: f64 = number.parse().ok()?;
    let digits = number.split_once('.').map_or(0, |(_, digits)| digits.len());
    let digits = i32::try_from(digits).ok()?;
    (mhz > 0.0).then(|| Rate {
        khz: mhz * 1_000.0,
        resolution_khz: 500.0 / 10_f64.powi(digits),
        from: from.to_owned(),
    })
}

/// CPUID 0x15: the crystal, and the ratio of TSC and crystal. (0x16 has the nominal MHz of the core, which is not the
/// counter's frequency, so it is not used.) Only on the machine itself.
#[cfg(target_arch = "x86_64")]
fn of_leaves(root: &Root) -> Option<Rate> {
    use core::arch::x86_64::__cpuid;
    if root.origin() != root::Origin::Live || __cpuid(0).eax < 0x15 {
        return None;
    }
    let leaf = __cpuid(0x15);
    of_crystal(leaf.eax, leaf.ebx, leaf.ecx)
}

#[cfg(not(target_arch = "x86_64"))]
fn of_leaves(_: &Root) -> Option<Rate> {
    None
}

/// Denominator, numerator and crystal frequency in Hz; 0 is unknown.
#[cfg(any(target_arch = "x86_64", test))]
fn of_crystal(denominator: u32, numerator: u32, hertz: u32) -> Option<Rate> {
    (denominator > 0 && numerator > 0 && hertz > 0).then(|| Rate {
        khz: f64::from(hertz) * f64::from(numerator) / f64::from(denominator) / 1_000.0,
        resolution_khz: 0.0005,
        from: "CPUID 0x15".to_owned(),
    })
}

/// `CNTFRQ_EL0`, which firmware sets and the kernel uses.
#[cfg(target_arch = "aarch64")]
fn of_register(root: &Root) -> Option<Rate> {
    if root.origin() != root::Origin::Live {
        return None;
    }
    let hertz: u64;
    // SAFETY: Linux allows user space to read it wherever it allows reading the virtual counter (CNTKCTL_EL1.EL0VCTEN).
    unsafe { core::arch::asm!("mrs {hertz}, cntfrq_el0", hertz = out(reg) hertz, options(nomem, nostack)) };
    (hertz > 0).then(|| Rate {
        khz: hertz as f64 / 1_000.0,
        resolution_khz: 0.0005,
        from: "CNTFRQ_EL0".to_owned(),
    })
}

#[cfg(not(target_arch = "aarch64"))]
fn of_register(_: &Root) -> Option<Rate> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn the_last_and_most_accurate_kernel_message_counts() {
        let all = log(&[
            "tsc: Detected 2900.000 MHz processor",
            "tsc: Detected 2899.999 MHz TSC",
            "tsc: Refined TSC clocksource calibration: 2899.886 MHz",
            "clocksource: Switched to clocksource tsc",
        ]);
        let rate = of_tsc_log(&all).unwrap();
        assert!((rate.khz - 2_899_886.0).abs() < 1e-6 && (rate.resolution_khz - 0.5).abs() < 1e-9);
        assert_eq!(rate.from, "kernel log, refined calibration");
        let early = of_tsc_log(&all[..2]).unwrap();
        assert!((early.khz - 2_899_999.0).abs() < 1e-6 && early.from.ends_with("at boot"));
        assert_eq!(of_tsc_log(&all[3..]), None);
        assert_eq!(of_tsc_log(&log(&["tsc: Detected weird MHz processor"])), None);
    }

    #[test]
    fn the_rate_of_an_arm_timer_has_its_resolution() {
        let rate = of_arm_log(&log(&["arch_timer: cp15 timer(s) running at 62.50MHz (virt)."])).unwrap();
        assert!((rate.khz - 62_500.0).abs() < 1e-6 && (rate.resolution_khz - 5.0).abs() < 1e-9);
    }

    #[test]
    fn an_unstated_crystal_frequency_is_unknown() {
        let rate = of_crystal(2, 216, 24_000_000).unwrap();
        assert!((rate.khz - 2_592_000.0).abs() < 1e-6);
        assert_eq!(of_crystal(2, 216, 0), None);
        assert_eq!(of_crystal(0, 0, 24_000_000), None);
    }

    #[test]
    fn the_rate_of_a_captured_machine_comes_from_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sys/devices/system/cpu/cpu0/tsc_freq_khz");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "2100017\n").unwrap();
        let root = Root::open(dir.path()).unwrap();
        let found = rate(CounterSource::Tsc, &root).unwrap();
        assert!((found.khz - 2_100_017.0).abs() < 1e-6 && found.from == FILES[0]);
        std::fs::write(&path, "0\n").unwrap();
        assert_eq!(
            rate(CounterSource::Tsc, &root),
            None,
            "not that of the machine that reads it"
        );
        assert_eq!(rate(CounterSource::Monotonic, &Root::live()), None);
    }
}
