//! Parses `/proc/softirqs`: the format of `/proc/interrupts`, but with one column per *possible* CPU and no text.

use crate::{Counters, parse_interrupts};

/// Parses the text of `/proc/softirqs`.
#[must_use]
pub fn parse_softirqs(text: &str) -> Option<Counters> {
    parse_interrupts(text)
}
