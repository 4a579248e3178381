//! Keeps what the last watch of this boot predicts in `/run/quietcore/last_prediction`, for the plans of the same CPUs.

use machine::CpuSet;
use measure::Environment;
use plan::{Intent, IntentKind, Plan};
use predict::{PlanEffect, PredictionInput, ProfileEffects, predict_profiles};
use root::Failure;
use serde::{Deserialize, Serialize};
use session::Session;

const NAME: &str = "last_prediction";

/// Plans show a prediction for a day, in seconds: later the load may be another one.
const RECENT_S: u64 = 24 * 60 * 60;

#[derive(Debug, Serialize, Deserialize)]
struct LastPrediction {
    cpus: CpuSet,
    /// When the watch ended, in seconds since 1970.
    at_s: u64,
    machine: WatchedMachine,
    effects: ProfileEffects,
}

/// The isolation during the watch. A prediction holds only while it is the same.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct WatchedMachine {
    release: Option<String>,
    cmdline: Option<String>,
    partitioned: Option<CpuSet>,
}

impl From<&Environment> for WatchedMachine {
    fn from(environment: &Environment) -> WatchedMachine {
        WatchedMachine {
            release: environment.release.clone(),
            cmdline: environment.cmdline.clone(),
            partitioned: environment.partitioned.clone(),
        }
    }
}

/// Keeps what a watch that just ended predicts; warns if that is impossible. A watch that lost events or gaps, and one from
/// which nothing can be predicted, is not kept.
pub fn keep(session: &Session, input: &PredictionInput, environment: &Environment) {
    let mut cpus = input.answer.cpus.iter();
    if cpus.any(|cpu| cpu.lost_events > 0 || cpu.stories_left_out > 0) {
        return;
    }
    let Ok(effects) = predict_profiles(input) else {
        return;
    };
    let last = LastPrediction {
        cpus: input.answer.watched(),
        at_s: session::seconds_now(),
        machine: environment.into(),
        effects,
    };
    if let Err(error) = last.write(session) {
        session.warn(&Failure::new(
            error.status,
            "`plan` will not show this prediction",
            error.reason(),
            error.next,
        ));
    }
}

impl LastPrediction {
    fn write(&self, session: &Session) -> Result<(), Failure> {
        let bytes = serde_json::to_vec(self).map_err(|error| Failure::bug(NAME, error.to_string()))?;
        Ok(session.made_state()?.replace(NAME, &bytes)?)
    }
}

/// What a recent watch of the same CPUs predicts for this plan; `None` without one, and for a plan with other knobs than those
/// of its profile.
#[must_use]
pub fn plan_effect(session: &Session, intent: &Intent, plan: &Plan) -> Option<PlanEffect> {
    let is_plain = intent.with.is_empty() && intent.without.is_empty() && intent.irq_here.is_empty();
    if !is_plain || intent.kind != IntentKind::Partition {
        return None;
    }
    let bytes = session.state().ok()??.read(NAME).ok()??;
    let last: LastPrediction = serde_json::from_slice(&bytes).ok()?;
    let environment = Environment::of(&session.machine(), session.root(), env!("CARGO_PKG_VERSION"));
    let age_s = session::seconds_now().checked_sub(last.at_s)?;
    if last.cpus != intent.cpus || last.machine != WatchedMachine::from(&environment) || age_s > RECENT_S {
        return None;
    }
    let mut effects = last.effects.profiles.iter();
    let effect = effects.find(|effect| effect.profile == intent.profile)?;
    Some(PlanEffect {
        watched_at: machine::utc_text(last.at_s),
        watched_ns: last.effects.watched_ns,
        now: last.effects.now,
        with_plan: effect.partition,
        with_boot_line: plan.boot_line.as_ref().map(|_| effect.with_boot_line),
    })
}
