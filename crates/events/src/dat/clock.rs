//! Corrects the times of a file as its options require.

use super::cursor::Cursor;
use super::option::{DatOption, id};
use crate::endian::Endian;

/// Converts the time stamp counter to nanoseconds: `ticks * multiplier >> shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TscToNanos {
    /// The factor for ticks.
    pub multiplier: u32,
    /// The number of bits to shift the product right.
    pub shift: u32,
}

/// The correction of each time of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Correction {
    /// If present, times are ticks of the time stamp counter, which are converted to nanoseconds first.
    pub tsc: Option<TscToNanos>,
    /// Nanoseconds to add afterwards.
    pub offset_ns: i64,
}

impl Correction {
    pub(super) fn of(options: &[DatOption]) -> Correction {
        let mut correction = Correction::default();
        for option in options {
            let number = || number(&option.text()).unwrap_or(0);
            let added = match option.id {
                id::DATE => number().wrapping_mul(1000),
                id::OFFSET => number(),
                id::TSC2NSEC => {
                    // All machines with this clock are little-endian.
                    let mut cursor = Cursor::new(&option.bytes, Endian::Little);
                    if let (Ok(multiplier), Ok(shift @ 0..64)) = (cursor.u32("it"), cursor.u32("it")) {
                        correction.tsc = Some(TscToNanos { multiplier, shift });
                    }
                    0
                }
                _ => 0,
            };
            correction.offset_ns = correction.offset_ns.wrapping_add(added);
        }
        correction
    }

    /// A corrected time.
    #[must_use]
    pub fn apply(&self, at: u64) -> u64 {
        let at = self.tsc.map_or(at, |tsc| {
            ((u128::from(at) * u128::from(tsc.multiplier)) >> tsc.shift) as u64
        });
        at.wrapping_add_signed(self.offset_ns)
    }
}

/// Like C's parser: the prefix `0x` means hexadecimal.
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()? as i64,
        None => digits.parse().ok()?,
    };
    Some(if negative { value.wrapping_neg() } else { value })
}
