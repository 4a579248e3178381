//! Finds tasks that the journal recorded together because they were not pinned.

use crate::record::{Before, Crowd, Event, Record};
use machine::TaskKey;
use std::collections::HashMap;

/// All tasks that were recorded together.
#[derive(Default)]
pub(crate) struct Crowds {
    crowds: Vec<Crowd>,
    places: HashMap<u32, usize>,
}

impl Crowds {
    /// Reads them from the journal.
    pub fn of(records: &[Record]) -> Crowds {
        let mut all = Crowds::default();
        for record in records {
            if let Event::Will {
                before: Before::Tasks {
                    crowd: Some(crowd), ..
                },
                ..
            } = &record.event
            {
                let place = all.crowds.len();
                // The first record has the state before us.
                for tid in &crowd.tids {
                    all.places.entry(*tid).or_insert(place);
                }
                all.crowds.push(Crowd {
                    tids: Vec::new(),
                    ..crowd.clone()
                });
            }
        }
        all
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.crowds.is_empty()
    }

    /// The crowd with this thread ID, even if another task has the ID now.
    pub fn by_number(&self, tid: u32) -> Option<&Crowd> {
        self.crowds.get(*self.places.get(&tid)?)
    }

    /// The crowd of a task; `None` for a younger task that reuses an ID.
    pub fn one(&self, key: TaskKey) -> Option<&Crowd> {
        /// `USER_HZ`, the same on all of our architectures: the unit of start times.
        const TICKS_PER_S: u64 = 100;
        self.by_number(key.tid).filter(|crowd| {
            crowd
                .at_s
                .is_none_or(|at| key.start_time <= at.saturating_mul(TICKS_PER_S))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Crowds;
    use crate::record::{Before, Crowd, Event, Record};
    use machine::{CpuSet, TaskKey};

    fn noted(at_s: Option<u64>) -> Crowds {
        let crowd = Crowd {
            cgroup: "/".to_owned(),
            mask: CpuSet::range(0, 3),
            at_s,
            tids: vec![7, 9],
        };
        let event = Event::Will {
            change: "task_placement".to_owned(),
            before: Before::Tasks {
                tasks: Vec::new(),
                crowd: Some(crowd),
            },
        };
        Crowds::of(&[Record {
            seq: 1,
            at_ns: 0,
            by: None,
            event,
        }])
    }

    #[test]
    fn who_is_younger_than_the_note_only_has_the_number() {
        let key = |tid, start_time| TaskKey { tid, start_time };
        let crowds = noted(Some(100));
        assert!(crowds.one(key(7, 10_000)).is_some() && crowds.one(key(9, 0)).is_some());
        assert!(crowds.one(key(7, 10_001)).is_none() && crowds.by_number(7).is_some());
        assert!(crowds.one(key(8, 0)).is_none());
        assert!(noted(None).one(key(7, u64::MAX)).is_some());
    }
}
