//! Defines types for units, so that a CPU is never added to a nanosecond.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The value of [`crate::CpuSet::MAX_CPU`].
pub(crate) const MAX_CPU: u32 = 65_535;

/// The kernel's number of a logical CPU. Numbers may have gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "u32", into = "u32")]
pub struct CpuId(pub u32);

impl From<CpuId> for u32 {
    fn from(cpu: CpuId) -> u32 {
        cpu.0
    }
}

/// A number above [`crate::CpuSet::MAX_CPU`] in a file would allocate a set of half a gigabyte.
impl TryFrom<u32> for CpuId {
    type Error = String;

    fn try_from(number: u32) -> Result<CpuId, String> {
        match number {
            0..=MAX_CPU => Ok(CpuId(number)),
            _ => Err(format!(
                "no machine has a CPU {number}: the highest possible number is 65535"
            )),
        }
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A duration or a point on a clock, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl fmt::Display for Nanos {
    /// In the most readable unit: `870 ns`, `12.4 us`, `3.2 ms`, `1.50 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{} ns", self.0),
            1_000..1_000_000 => write!(f, "{:.1} us", value / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.1} ms", value / 1e6),
            _ => write!(f, "{:.2} s", value / 1e9),
        }
    }
}
