//! The red line of a measurement that does not represent the machine.

use measure::{Measurement, condition_words};

/// Why it does not, in a few words each; `None` where nothing of the kind was seen.
pub(super) fn line(measurement: &Measurement) -> Option<String> {
    if measurement.not_representative.is_empty() {
        return None;
    }
    let words: Vec<String> = measurement
        .not_representative
        .iter()
        .map(|id| crate::style::safe(condition_words(id).unwrap_or(id)).to_string())
        .collect();
    Some(format!(
        "NOT REPRESENTATIVE OF THIS MACHINE: {}",
        words.join("; ")
    ))
}
