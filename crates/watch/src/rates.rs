//! Converts counts of a moment to rates: per CPU and group of classes, and as short text.

use RateColumn::{Call, Device, Other, Reschedule, Tick, Tlb};
use observe::{Class, CpuActivity};

/// Classes that share a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateColumn {
    Tick,
    Reschedule,
    Call,
    Tlb,
    Device,
    Other,
}

impl RateColumn {
    pub(crate) const ALL: [RateColumn; 6] = [Tick, Reschedule, Call, Tlb, Device, Other];

    /// The heading of its column.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tick => "tick",
            Reschedule => "resch",
            Call => "call",
            Tlb => "tlb",
            Device => "dev",
            Other => "other",
        }
    }

    pub(crate) fn of(class: Class) -> RateColumn {
        match class {
            Class::Tick => Tick,
            Class::Reschedule => Reschedule,
            Class::FunctionCall => Call,
            Class::TlbShootdown => Tlb,
            Class::Device => Device,
            _ => Other,
        }
    }
}

/// The rate per second; `None` if no time has passed.
#[allow(clippy::cast_precision_loss)] // A rate is shown with three digits.
pub(crate) fn per_second(count: u64, duration_ns: u64) -> Option<f64> {
    (duration_ns > 0).then(|| count as f64 * 1e9 / duration_ns as f64)
}

/// Interrupts of a CPU, without softirqs.
pub(crate) fn interrupts(cpu: &CpuActivity) -> u64 {
    let counts = cpu.interrupts.iter().map(|one| one.count);
    counts.fold(0, u64::saturating_add)
}

/// Interrupts of one group.
pub(crate) fn of_group(cpu: &CpuActivity, group: RateColumn) -> u64 {
    let counts = cpu.interrupts.iter().filter(|one| RateColumn::of(one.class) == group);
    counts.map(|one| one.count).fold(0, u64::saturating_add)
}

/// Softirqs of a CPU.
pub(crate) fn softirqs(cpu: &CpuActivity) -> u64 {
    let counts = cpu.softirqs.iter().map(|one| one.count);
    counts.fold(0, u64::saturating_add)
}

/// A rate in at most five columns: `0`, `0.4`, `12`, `12345`, `120k`, `3.2M`; `-` is unknown.
pub(crate) fn short(rate: Option<f64>) -> String {
    match rate {
        None => "-".to_owned(),
        Some(rate) if rate <= 0.0 => "0".to_owned(),
        Some(rate) if rate < 9.95 => format!("{rate:.1}"),
        Some(rate) if rate < 99_999.5 => format!("{rate:.0}"),
        Some(rate) if rate < 9_999.5e3 => format!("{:.0}k", rate / 1e3),
        Some(rate) if rate < 99.95e6 => format!("{:.1}M", rate / 1e6),
        Some(rate) if rate < 999.5e6 => format!("{:.0}M", rate / 1e6),
        Some(rate) if rate < 999.5e9 => format!("{:.0}G", rate / 1e9),
        Some(_) => ">999G".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_fits_five_columns_also_when_unknown() {
        let lines: Vec<String> = [
            0.0, 0.04, 9.94, 9.96, 250.4, 99_999.4, 99_999.6, 4.2e6, 9_999.6e3, 1e9, 1.8e19,
        ]
        .into_iter()
        .map(|rate| short(Some(rate)))
        .collect();
        assert_eq!(
            lines,
            [
                "0", "0.0", "9.9", "10", "250", "99999", "100k", "4200k", "10.0M", "1G", ">999G"
            ]
        );
        assert!((0..64).all(|power| short(Some(2f64.powi(power))).len() <= 5));
        assert_eq!(short(per_second(3, 0)), "-");
        assert_eq!(per_second(3, 500_000_000), Some(6.0));
    }
}
