//! Limits repairs: a setting that another program keeps changing is left for the user to decide.

use super::OpenFinding;
use std::collections::BTreeMap;

/// The maximum number of repairs within [`WITHIN_S`].
const MOST: usize = 5;

/// The period in seconds.
const WITHIN_S: u64 = 600;

/// The maximum number of remembered findings; beyond it, the ones tried longest ago are forgotten.
const MOST_KNOWN: usize = 1_000;

/// Whether to repair something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairDecision {
    /// Yes.
    Now,
    /// No longer, and report it.
    NoMore,
    /// No longer; already reported.
    Left,
}

/// When each finding was repaired, and the outcome.
#[derive(Clone, Debug, Default)]
pub struct Repairs {
    known: BTreeMap<(String, String), RepairHistory>,
}

#[derive(Clone, Debug, Default)]
struct RepairHistory {
    /// The times, in seconds since 1970.
    at_s: Vec<u64>,
    /// The reason of a refusal; empty if there was none.
    refused: String,
}

impl Repairs {
    /// Whether to repair it now, in seconds since 1970. Counts as a repair.
    pub fn may(&mut self, one: &OpenFinding, now_s: u64) -> RepairDecision {
        self.known.retain(|_, tried| {
            tried.at_s.retain(|at| now_s.saturating_sub(*at) < WITHIN_S);
            !tried.at_s.is_empty() || !tried.refused.is_empty()
        });
        let Some(tried) = self.of(one, now_s) else {
            return RepairDecision::Left;
        };
        if tried.at_s.len() > MOST {
            return RepairDecision::Left;
        }
        tried.at_s.push(now_s);
        if tried.at_s.len() > MOST {
            RepairDecision::NoMore
        } else {
            RepairDecision::Now
        }
    }

    /// Records a repair, or its refusal in `refused`; returns whether that is news. A refusal is reported once, and not tried
    /// again before the period is over.
    pub fn outcome(&mut self, one: &OpenFinding, refused: &str, now_s: u64) -> bool {
        let Some(tried) = self.of(one, now_s) else {
            return false;
        };
        let is_news = tried.refused != refused;
        refused.clone_into(&mut tried.refused);
        if !refused.is_empty() {
            tried.at_s.resize(MOST + 1, now_s);
        }
        is_news
    }

    /// Its record; `None` if there is no room. Old records are dropped: at worst a refusal is reported again.
    fn of(&mut self, one: &OpenFinding, now_s: u64) -> Option<&mut RepairHistory> {
        let key = (one.id.clone(), one.subject.clone());
        if self.known.len() >= MOST_KNOWN && !self.known.contains_key(&key) {
            let last = |tried: &RepairHistory| tried.at_s.last().copied();
            let (oldest, tried) = self.known.iter().min_by_key(|(_, tried)| last(tried))?;
            if last(tried).is_some_and(|at| now_s.saturating_sub(at) < WITHIN_S) {
                return None;
            }
            let oldest = oldest.clone();
            self.known.remove(&oldest);
        }
        Some(self.known.entry(key).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(number: u64) -> OpenFinding {
        OpenFinding {
            id: "task-here".to_owned(),
            subject: format!("worker ({number})"),
            partition: "rt".to_owned(),
            layer: "tasks".to_owned(),
            level: plan::Level::Error,
            message: String::new(),
            fix: String::new(),
            knob: None,
            since_s: 0,
            seen_s: 0,
            by: Vec::new(),
        }
    }

    /// Threads that cannot be moved appear and end for weeks, each with another number. Their records expire, and the next
    /// finding is still repaired.
    #[test]
    fn old_refusals_make_room_for_new_ones() {
        let mut repairs = Repairs::default();
        for number in 0..3 * MOST_KNOWN as u64 {
            let one = about(number);
            assert_eq!(repairs.may(&one, number), RepairDecision::Now, "{number}");
            assert!(repairs.outcome(&one, "it may not be moved", number), "{number}");
        }
        assert_eq!(repairs.known.len(), MOST_KNOWN);
        let (last, first) = (3 * MOST_KNOWN as u64 - 1, 0);
        assert_eq!(
            repairs.may(&about(last), last),
            RepairDecision::Left,
            "the newest are known"
        );
        assert_eq!(
            repairs.may(&about(first), last),
            RepairDecision::Now,
            "the oldest are not"
        );
    }
}
