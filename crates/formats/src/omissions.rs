//! Describes the parts of a recording that a format cannot hold, so that nothing is lost silently.

use crate::list::{ForeignFormat, FormatCapability};
use crate::model::{Basis, Recording, Series};

/// The parts that are lost in a format, as text; `None` if nothing is lost.
#[must_use]
pub fn omissions(format: &ForeignFormat, recording: &Recording) -> Option<String> {
    let holds = format.capacity;
    let kind = recording.kind();
    let written = |series: &&Series| holds != FormatCapability::Samples || series.kind == kind;
    let all = || recording.series.iter();
    let mut parts = Vec::new();
    if all().any(|series| !written(&series)) {
        parts.push("the gaps of the busy loops");
    }
    if holds == FormatCapability::Samples {
        let has = |basis| all().filter(written).any(|series| series.by(basis).is_some());
        for (basis, what) in [
            (Basis::Schedule, "the latency of all expected wake-ups"),
            (Basis::Period, "the jitter of the period"),
            (Basis::Early, "early wake-ups"),
        ] {
            if has(basis) {
                parts.push(what);
            }
        }
    }
    if holds != FormatCapability::Everything && all().any(|series| !series.spikes.is_empty()) {
        parts.push("single samples with their times");
    }
    if holds != FormatCapability::Everything && all().any(|series| !series.stretches.is_empty()) {
        parts.push("times of events");
    }
    if matches!(holds, FormatCapability::Histograms | FormatCapability::Samples) && recording.own.is_some() {
        let proves = |(name, _): &(String, String)| name.starts_with("proof.");
        if all().any(|series| series.facts.iter().any(proves)) {
            parts.push("what the run proves");
        }
        parts.push("where and how it was measured");
    }
    if recording.own.as_ref().is_some_and(|own| own.activity.is_some()) {
        parts.push("what the kernel counted during the measurement");
    }
    let last = parts.pop()?;
    let list = match parts.is_empty() {
        true => last.to_owned(),
        false => format!("{} and {last}", parts.join(", ")),
    };
    Some(format!("{} has no place for {list}", format.name))
}
