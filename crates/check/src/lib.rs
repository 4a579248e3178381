//! Intention against reality: what somebody wants isolated, the machine as it is, and where the two differ.
//!
//! The knobs of `plan` know what they need. Planned once more on the machine of now, an intention yields exactly the
//! changes that are missing, and each of them is a finding that carries the change which mends it. What no knob can
//! tell (who may run there, what really arrived) has a layer of its own. A layer is one file and one line of [`LAYERS`].
//!
//! Nothing here reads or writes: whoever asks again and again hands in the parts that have changed since.

mod case;
mod finding;
mod intention;
mod judge;
mod layers;

pub use case::{Case, Counters, Evidence};
pub use finding::CheckFinding;
pub use intention::{Intention, Means, Source, Wish};
pub use judge::{Judged, Threshold, Verdict, judge};
pub use layers::{LAYERS, Layer};

/// Everything that all layers find.
#[must_use]
pub fn check(evidence: &Evidence, cases: &[Case]) -> Vec<CheckFinding> {
    check_layers(evidence, cases, |_| true)
}

/// As [`check`], of some layers only: those whose part of the machine has changed.
#[must_use]
pub fn check_layers(
    evidence: &Evidence,
    cases: &[Case],
    wanted: impl Fn(&Layer) -> bool,
) -> Vec<CheckFinding> {
    let mut all: Vec<CheckFinding> = Vec::new();
    for case in cases {
        for layer in LAYERS.iter().filter(|layer| wanted(layer)) {
            let mut found = Vec::new();
            (layer.look)(evidence, case, &mut found);
            for mut one in found {
                one.layer = layer.name;
                one.partition = case.wish.intent.name.to_string();
                // What belongs to the whole machine is found for each partition.
                let is_known = |known: &CheckFinding| known.finding == one.finding;
                if !all.iter().any(is_known) {
                    all.push(one);
                }
            }
        }
    }
    all
}
