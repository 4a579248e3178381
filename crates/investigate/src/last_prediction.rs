//! Keeps what the last watch of this boot predicts in `/run/quietcore/last_prediction`, for the plans of the same CPUs.

use blame::CpuAnswer;
use machine::CpuSet;
use measure::Environment;
use plan::{Intent, IntentKind, Plan, Profile};
use predict::{ChangeEffect, ChangeSelection, GapSummary, PlanEffect, PredictionInput, predict};
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
    watched_ns: u64,
    /// As [`isolation`] returned it then.
    isolation: String,
    now: GapSummary,
    /// What is left with each profile: alone, and with the boot line.
    profiles: Vec<(Profile, [ChangeEffect; 2])>,
}

/// The kernel, its boot line and the isolation, as JSON that is only compared. A prediction holds while they are the same. `None`
/// if they cannot be written.
fn isolation(session: &Session, environment: &Environment) -> Option<String> {
    let Environment {
        release,
        cmdline,
        partitioned,
        ..
    } = environment;
    serde_json::to_string(&(release, cmdline, partitioned, session.in_force())).ok()
}

/// Keeps what a watch that just ended predicts; warns if that is impossible. A watch that lost events or gaps, one without any
/// known cause, and one from which nothing can be predicted are not kept.
pub fn keep(session: &Session, input: &PredictionInput, environment: &Environment) {
    if input.answer.cpus.iter().any(CpuAnswer::is_incomplete) {
        return;
    }
    let Some(last) = LastPrediction::of(session, input, environment) else {
        return;
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
    fn of(session: &Session, input: &PredictionInput, environment: &Environment) -> Option<LastPrediction> {
        let effect = |profile, boot| {
            let selection = ChangeSelection::Only {
                profile: Some(profile),
                boot,
            };
            let prediction = predict(&PredictionInput { selection, ..*input }).ok()?;
            let change = prediction.changes.first()?;
            Some(ChangeEffect {
                gaps: (&change.outcome).into(),
                remarks: report::change_remarks(change),
            })
        };
        let profile = |profile| Some((profile, [effect(profile, false)?, effect(profile, true)?]));
        let prediction = predict(input).ok()?;
        let explained = prediction.now.stolen_ns_per_s.value - prediction.unexplained_ns_per_s;
        let is_explained = prediction.gaps == 0 || explained >= 1.0;
        let isolation = isolation(session, environment).filter(|_| is_explained)?;
        Some(LastPrediction {
            cpus: prediction.cpus,
            at_s: session::seconds_now(),
            watched_ns: prediction.watched_ns,
            isolation,
            now: (&prediction.now).into(),
            profiles: input.context.profiles().filter_map(profile).collect(),
        })
    }

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
    let is_same = last.cpus == intent.cpus && Some(last.isolation) == isolation(session, &environment);
    if !is_same || age_s > RECENT_S {
        return None;
    }
    let mut profiles = last.profiles.into_iter();
    let (_, [with_plan, with_boot_line]) = profiles.find(|(profile, _)| *profile == intent.profile)?;
    Some(PlanEffect {
        watched_at: machine::utc_text(last.at_s),
        watched_ns: last.watched_ns,
        now: last.now,
        with_plan,
        with_boot_line: plan.boot_line.as_ref().map(|_| with_boot_line),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use blame::{BlameResult, CureContext};
    use plan::PartitionName;
    use predict::WatchOrigin;
    use root::Live;
    use std::path::Path;

    struct NoWarnings;
    impl session::Reporter for NoWarnings {
        fn note(&self, _: &str) {}
        fn warn(&self, failure: &Failure) {
            panic!("{failure:?}");
        }
        fn error(&self, failure: &Failure) {
            panic!("{failure:?}");
        }
    }

    fn set_cmdline(dir: &Path, text: &str) {
        std::fs::create_dir_all(dir.join("proc")).unwrap();
        std::fs::write(dir.join("proc/cmdline"), text).unwrap();
    }

    fn intent(cpu: u32, profile: Profile) -> Intent {
        Intent::new(PartitionName::default(), CpuSet::range(cpu, cpu), profile)
    }

    fn environment(session: &Session) -> Environment {
        Environment::of(&session.machine(), session.root(), "")
    }

    /// Keeps a watch of CPU 3 without gaps that lost this many events.
    fn keep_watch(session: &Session, lost_events: u64) {
        let answer = BlameResult {
            cpus: vec![CpuAnswer {
                cpu: 3,
                duration_ns: 1_000_000_000,
                lost_events,
                ..CpuAnswer::default()
            }],
        };
        let context = CureContext {
            requested: CpuSet::range(3, 3),
            ..CureContext::default()
        };
        let input = PredictionInput {
            answer: &answer,
            context: &context,
            threshold_ns: 1_000,
            selection: ChangeSelection::Each,
            origin: WatchOrigin::Now,
            others: None,
            base_latency_ns: None,
            untraced: None,
        };
        keep(session, &input, &environment(session));
    }

    #[test]
    fn a_plan_of_the_same_cpus_and_isolation_gets_the_prediction() {
        let dir = tempfile::tempdir().unwrap();
        set_cmdline(dir.path(), "ro quiet\n");
        let session = Session::on(Live::rehearsal(dir.path()), &NoWarnings);
        let effect = |intent: &Intent| plan_effect(&session, intent, &Plan::default());
        let balanced = intent(3, Profile::Balanced);
        assert_eq!(effect(&balanced), None);
        keep_watch(&session, 7);
        assert_eq!(effect(&balanced), None, "a watch that lost events is not kept");
        keep_watch(&session, 0);
        let found = effect(&balanced).unwrap();
        assert_eq!((found.watched_ns, found.with_boot_line), (1_000_000_000, None));
        let with_line = Plan {
            boot_line: Some("isolcpus=3".to_owned()),
            ..Plan::default()
        };
        assert!(
            plan_effect(&session, &balanced, &with_line)
                .unwrap()
                .with_boot_line
                .is_some()
        );

        assert_eq!(effect(&intent(2, Profile::Balanced)), None);
        let mut without = balanced.clone();
        without.without.insert("irq_affinity".to_owned());
        assert_eq!(effect(&without), None);
        let mut with = balanced.clone();
        with.with.insert("stat_interval".to_owned(), None);
        assert_eq!(effect(&with), None);
        set_cmdline(dir.path(), "ro quiet isolcpus=3\n");
        session.refresh();
        assert_eq!(effect(&balanced), None, "the machine was isolated since");
    }

    #[test]
    fn an_old_or_damaged_prediction_is_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        let session = Session::on(Live::rehearsal(dir.path()), &NoWarnings);
        let balanced = intent(3, Profile::Balanced);
        let kept = || {
            keep_watch(&session, 0);
            let bytes = session.state().unwrap().unwrap().read(NAME).unwrap().unwrap();
            serde_json::from_slice::<LastPrediction>(&bytes).unwrap()
        };
        for (age_s, is_shown) in [(RECENT_S - 60, true), (RECENT_S + 1, false)] {
            let last = LastPrediction {
                at_s: session::seconds_now() - age_s,
                ..kept()
            };
            last.write(&session).unwrap();
            let found = plan_effect(&session, &balanced, &Plan::default());
            assert_eq!(found.is_some(), is_shown, "{age_s}");
        }
        let state = session.state().unwrap().unwrap();
        for damaged in ["", "{", "{\"cpus\":\"3\"}", "[]"] {
            state.replace(NAME, damaged.as_bytes()).unwrap();
            assert_eq!(plan_effect(&session, &balanced, &Plan::default()), None, "{damaged}");
        }
    }
}
