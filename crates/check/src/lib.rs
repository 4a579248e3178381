//! Compares intention and reality: what should be isolated, the actual machine, and where the two differ.
//!
//! The knobs of `plan` know their requirements. Planned again on the current machine, an intention yields exactly the
//! missing changes. Each of them is a finding that carries the change which repairs it. What no knob can check (which
//! tasks may run there, what actually arrived) has its own layer. A layer is one file and one line of [`LAYERS`].
//!
//! Nothing here reads or writes: a caller that checks repeatedly passes in the parts that have changed since.

mod case;
mod finding;
mod intention;
mod judge;
mod layer_name;
mod layers;

pub use case::{CheckCase, CheckEvidence, ObservedActivity};
pub use finding::CheckFinding;
pub use intention::{IntendedIsolation, Intention, IntentionSource, IsolationMeans};
pub use judge::{CheckResult, CheckVerdict, FailureThreshold, judge};
pub use layer_name::LayerName;
pub use layers::{IsolationLayer, LAYERS};

/// The findings of all layers.
pub fn check(evidence: &CheckEvidence, cases: &[CheckCase]) -> Vec<CheckFinding> {
    check_layers(evidence, cases, |_| true)
}

/// As [`check`], for some layers only: those whose part of the machine has changed.
pub fn check_layers(
    evidence: &CheckEvidence,
    cases: &[CheckCase],
    is_selected: impl Fn(&IsolationLayer) -> bool,
) -> Vec<CheckFinding> {
    let mut all: Vec<CheckFinding> = Vec::new();
    for case in cases {
        for layer in LAYERS.iter().filter(|layer| is_selected(layer)) {
            let mut found = Vec::new();
            (layer.judge)(evidence, case, &mut found);
            for mut one in found {
                one.layer = Some(layer.name);
                one.partition = case.isolation.intent.name.to_string();
                // Findings about the whole machine occur for each partition.
                let is_known = |known: &CheckFinding| known.finding == one.finding;
                if !all.iter().any(is_known) {
                    all.push(one);
                }
            }
        }
    }
    all
}
