//! Reads the kernel's own counters of interrupts and softirqs on a CPU, to prove that an act had its effect.

use lab::clock;
use lab::truth::Injection;

/// Path of the interrupt counters.
pub(super) const INTERRUPTS: &str = "/proc/interrupts";
/// Path of the softirq counters.
pub(super) const SOFTIRQS: &str = "/proc/softirqs";
/// Maximum waiting time: an emulated kernel is slow.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Time between two polls.
const POLL_INTERVAL_NS: u64 = 20_000;

/// The count of a row for a CPU.
///
/// # Errors
/// The file, row or CPU does not exist.
pub(super) fn count(file: &str, row: &str, cpu: u32) -> Result<u64, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    of(&text, row, cpu).ok_or_else(|| format!("{file} has no row {row} for CPU {cpu}"))
}

fn of(text: &str, row: &str, cpu: u32) -> Option<u64> {
    let named = |word: &str| word.strip_prefix("CPU").is_some_and(|number| number.parse() == Ok(cpu));
    let column = text.lines().next()?.split_whitespace().position(named)?;
    let counts = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(row)?.strip_prefix(':'))?;
    counts.split_whitespace().nth(column)?.parse().ok()
}

/// Runs `inject`, and fails if the kernel counted fewer than one event per act on the CPU.
///
/// # Errors
/// Too few events, or an error of `inject`.
pub(super) fn each_counted(
    (file, row): (&str, &str),
    cpu: u32,
    inject: impl FnOnce() -> Result<Vec<Injection>, String>,
) -> Result<Vec<Injection>, String> {
    let before = count(file, row, cpu)?;
    let done = inject()?;
    let counted = count(file, row, cpu)?.saturating_sub(before);
    if counted < done.len() as u64 {
        return Err(format!(
            "{} acts, and {file} counted {counted} of {row} on CPU {cpu}",
            done.len()
        ));
    }
    Ok(done)
}

/// Sleeps until the condition is true.
///
/// # Errors
/// The condition is still false after [`PATIENCE_NS`], or cannot be read.
pub(super) fn wait_until(what: &str, mut is: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let until = clock::now_ns() + PATIENCE_NS;
    while !is()? {
        let now = clock::now_ns();
        if now >= until {
            return Err(format!("{what}: not within {} s", PATIENCE_NS / 1_000_000_000));
        }
        clock::sleep_until(now + POLL_INTERVAL_NS);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_full_name_and_columns_by_cpu() {
        let text = "          CPU0       CPU2\n  1:     5   6  IO-APIC 1-edge i8042\n 11:  7 8 x\nTLB:  9  10  TLB shootdowns\n";
        assert_eq!(of(text, "TLB", 2), Some(10));
        assert_eq!(of(text, "1", 0), Some(5));
        assert_eq!(of(text, "11", 2), Some(8));
        assert_eq!(of(text, "TL", 2), None);
        assert_eq!(of(text, "TLB", 1), None);
    }

    #[test]
    fn an_uncounted_disturbance_is_an_error() {
        let one = || {
            vec![Injection {
                begin_raw_ns: 1,
                end_raw_ns: 2,
                culprit: super::super::me(),
            }]
        };
        let row = (SOFTIRQS, "HI");
        // A softirq that is rarely used.
        assert!(each_counted(row, 0, || Ok(one())).is_err());
        assert!(each_counted(row, 0, || Ok(Vec::new())).is_ok());
        assert!(each_counted((SOFTIRQS, "NONE"), 0, || Ok(Vec::new())).is_err());
    }
}
