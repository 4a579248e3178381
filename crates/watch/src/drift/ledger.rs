//! Tracks findings of `check` over time: when each appeared, and what has appeared, changed or ended.

use super::finding::{OpenFinding, likely_writers};
use super::{Layers, WriterProcess};
use check::LayerName;
use plan::Level;
use serde::{Deserialize, Serialize};

/// The maximum number of findings: beyond it the isolation is lost, and single findings are not news.
const MOST: usize = 1_000;

/// A counted effect has ended when it was not seen for this long: an interrupt that arrives now and then is one finding.
const EFFECTS_LAST_S: u64 = 30;

/// The layer whose findings appear and end with every window.
const EFFECTS: LayerName = LayerName::Effects;

/// Layers whose messages contain counts: a different number is not news.
const COUNTED: [LayerName; 2] = [EFFECTS, LayerName::Tasks];

/// The change of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingChange {
    /// It is new.
    Appeared(OpenFinding),
    /// Its message or its severity changed.
    Changed(OpenFinding),
    /// It has ended.
    Ended(OpenFinding),
}

/// The open findings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ledger {
    /// The findings in order of appearance.
    pub standing: Vec<OpenFinding>,
    /// The number of findings beyond the limit.
    pub more: u64,
}

impl Ledger {
    /// Drops findings below a level that was raised.
    pub fn drop_below(&mut self, level: Level) -> Vec<FindingChange> {
        let (retained, dropped) = std::mem::take(&mut self.standing)
            .into_iter()
            .partition(|one| one.level >= level);
        self.standing = retained;
        let dropped: Vec<OpenFinding> = dropped;
        dropped.into_iter().map(FindingChange::Ended).collect()
    }

    /// Replaces the findings of the checked layers; those of other layers stay.
    pub fn update(
        &mut self,
        found: Vec<OpenFinding>,
        checked: Layers,
        now_s: u64,
        writers: &[WriterProcess],
    ) -> Vec<FindingChange> {
        let mut changes = Vec::new();
        let mut stays = Vec::new();
        for known in std::mem::take(&mut self.standing) {
            let layer = known.known_layer();
            let lasts = layer == Some(EFFECTS) && now_s.saturating_sub(known.seen_s) < EFFECTS_LAST_S;
            let is_found = found.iter().any(|one| one.is_same(&known));
            match !layer.is_some_and(|layer| checked.has(layer)) || is_found || lasts {
                true => stays.push(known),
                false => changes.push(FindingChange::Ended(known)),
            }
        }
        self.standing = stays;
        self.more = 0;
        for mut one in found {
            one.seen_s = now_s;
            if let Some(known) = self.standing.iter_mut().find(|known| known.is_same(&one)) {
                one.since_s = known.since_s;
                one.by.clone_from(&known.by);
                let is_new_text =
                    one.message != known.message && !one.known_layer().is_some_and(|layer| COUNTED.contains(&layer));
                if one.level != known.level || is_new_text {
                    let wrote = likely_writers(&one, writers);
                    if !wrote.is_empty() {
                        one.by = wrote;
                    }
                    changes.push(FindingChange::Changed(one.clone()));
                }
                *known = one;
                continue;
            }
            if self.standing.len() >= MOST {
                self.more = self.more.saturating_add(1);
                continue;
            }
            one.since_s = now_s;
            one.by = likely_writers(&one, writers);
            changes.push(FindingChange::Appeared(one.clone()));
            self.standing.push(one);
        }
        changes
    }

    /// The age of the oldest finding of a partition, in seconds; `None` without findings.
    #[must_use]
    pub fn drift_age_s(&self, partition: &str, now_s: u64) -> Option<u64> {
        let own = self
            .standing
            .iter()
            .filter(|one| one.partition == partition && one.level == Level::Error);
        own.map(|one| one.age_s(now_s)).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A raised level drops the findings below it, including effects, which otherwise last for a while.
    #[test]
    fn findings_below_the_level_are_dropped() {
        let one = |id: &str, level| OpenFinding {
            id: id.to_owned(),
            subject: String::new(),
            partition: "rt".to_owned(),
            layer: EFFECTS.to_string(),
            level,
            message: String::new(),
            fix: String::new(),
            knob: None,
            since_s: 100,
            seen_s: 100,
            by: Vec::new(),
        };
        let (low, high) = (one("low", Level::Info), one("high", Level::Warning));
        let mut ledger = Ledger {
            standing: vec![low.clone(), high.clone()],
            more: 0,
        };
        assert_eq!(ledger.drop_below(Level::Info), []);
        assert_eq!(ledger.drop_below(Level::Warning), [FindingChange::Ended(low)]);
        assert_eq!(ledger.standing, [high]);
    }
}
