//! Determines which knobs an intent uses, by profile or explicit request, and the result of each.

use crate::{Finding, FindingId, KNOBS, Knob, KnobReason, Plan, PlanContext, Presence};
use serde::Serialize;

/// One knob of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedKnob {
    /// Its name.
    pub name: &'static str,
    /// Why it is used.
    pub because: KnobReason,
    /// The requested value; `None` for the default.
    pub value: Option<String>,
    /// Its result.
    pub state: KnobState,
}

/// The result of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KnobState {
    /// Something has to change.
    Changes,
    /// The machine already matches, as far as it can.
    Already,
    /// This machine has no such mechanism.
    Absent,
}

/// Adds the changes and findings of every knob that the intent uses.
pub(crate) fn plan_knobs(scene: &PlanContext, plan: &mut Plan) {
    for knob in KNOBS {
        let Some(because) = knob.because(scene.intent) else {
            continue;
        };
        let before = plan.changes.len();
        let presence = (knob.plan)(knob, scene, plan);
        let state = match presence {
            _ if plan.changes.len() > before => KnobState::Changes,
            Presence::Here => KnobState::Already,
            Presence::Absent => KnobState::Absent,
        };
        if because == KnobReason::Name && state == KnobState::Absent {
            plan.findings.push(absent(knob));
        }
        plan.knobs.push(PlannedKnob {
            name: knob.name,
            because,
            value: scene.intent.with.get(knob.name).cloned().flatten(),
            state,
        });
    }
}

/// A user who explicitly requested a knob must learn that it does not exist.
fn absent(knob: &Knob) -> Finding {
    let files = knob.files.join(", ");
    let message = format!("it was explicitly requested, but this machine has no {files}");
    let since = match knob.since {
        "" => String::new(),
        since => format!("since {since}; "),
    };
    let needs = match knob.needs {
        "" => "leave it out",
        needs => needs,
    };
    Finding::warning(FindingId::KNOB_ABSENT, knob.name, message).fix(format!("{since}{needs}"))
}
