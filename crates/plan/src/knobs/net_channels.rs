//! Reports how many queues a network card has. No file sets the number (`ETHTOOL_SCHANNELS` does), so it is only reported.

use super::rps_cpus::PREFIX;
use super::{Knob, KnobUse, Presence};
use crate::{Finding, FindingId, Level, Plan, PlanContext, Profile};
use std::collections::BTreeMap;

pub(super) const KNOB: Knob = Knob {
    name: "net_channels",
    what: "how many queues, and so interrupts, a network card has; changed with ethtool -L, not with a file",
    isolation: "no more than there are housekeeping CPUs: the interrupts of the others only crowd there",
    needs: "a network card with several queues",
    usage: KnobUse::From(Profile::Balanced),
    stops: &["device"],
    side_effects: "quietcore only says which line to type",
    verify: "ethtool -l IF",
    peers: &["TuneD"],
    plan,
    ..Knob::PLAIN
};

fn plan(scene: &PlanContext, plan: &mut Plan) -> Presence {
    let mut queues: BTreeMap<&str, usize> = BTreeMap::new();
    for (between, _, _) in scene.settings.family(PREFIX, "/rps_cpus") {
        let card = between.split('/').next().unwrap_or_default();
        *queues.entry(card).or_default() += 1;
    }
    let keep = scene.housekeeping.len();
    for (card, count) in &queues {
        if *count > keep.max(1) {
            let message = format!("{card} has {count} receive queues for {keep} housekeeping CPUs");
            plan.findings.push(
                Finding::new(Level::Info, FindingId::NET_CHANNELS, *card, message).fix(format!(
                    "ethtool -L {card} combined {keep}  (some drivers: rx {keep} tx {keep})"
                )),
            );
        }
    }
    match queues.is_empty() {
        true => Presence::Absent,
        false => Presence::Here,
    }
}
