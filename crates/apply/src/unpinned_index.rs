//! Finds tasks that the journal recorded together because they were not pinned.

use crate::record::{JournalEvent, JournalRecord, StateBefore, UnpinnedTasks};
use machine::TaskKey;
use std::collections::HashMap;

/// All tasks that were recorded together.
#[derive(Default)]
pub(crate) struct UnpinnedIndex {
    unpinned_index: Vec<UnpinnedTasks>,
    places: HashMap<u32, usize>,
}

impl UnpinnedIndex {
    /// Reads them from the journal.
    pub fn of(records: &[JournalRecord]) -> UnpinnedIndex {
        let mut all = UnpinnedIndex::default();
        for record in records {
            if let JournalEvent::Will {
                before: StateBefore::Tasks {
                    crowd: Some(unpinned), ..
                },
                ..
            } = &record.event
            {
                let place = all.unpinned_index.len();
                // The first record has the state before us.
                for tid in &unpinned.tids {
                    all.places.entry(*tid).or_insert(place);
                }
                all.unpinned_index.push(UnpinnedTasks {
                    tids: Vec::new(),
                    ..unpinned.clone()
                });
            }
        }
        all
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.unpinned_index.is_empty()
    }

    /// The crowd with this thread ID, even if another task has the ID now.
    pub fn by_number(&self, tid: u32) -> Option<&UnpinnedTasks> {
        self.unpinned_index.get(*self.places.get(&tid)?)
    }

    /// The crowd of a task; `None` for a younger task that reuses an ID.
    pub fn one(&self, key: TaskKey) -> Option<&UnpinnedTasks> {
        /// `USER_HZ`, the same on all of our architectures: the unit of start times.
        const TICKS_PER_S: u64 = 100;
        self.by_number(key.tid).filter(|unpinned| {
            unpinned
                .at_s
                .is_none_or(|at| key.start_time <= at.saturating_mul(TICKS_PER_S))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::UnpinnedIndex;
    use crate::record::{JournalEvent, JournalRecord, StateBefore, UnpinnedTasks};
    use machine::{CpuSet, TaskKey};

    fn crowds_recorded_at(at_s: Option<u64>) -> UnpinnedIndex {
        let crowd = UnpinnedTasks {
            cgroup: "/".to_owned(),
            mask: CpuSet::range(0, 3),
            at_s,
            tids: vec![7, 9],
        };
        let event = JournalEvent::Will {
            change: "task_placement".to_owned(),
            before: StateBefore::Tasks {
                tasks: Vec::new(),
                crowd: Some(crowd),
            },
        };
        UnpinnedIndex::of(&[JournalRecord {
            seq: 1,
            at_ns: 0,
            by: None,
            event,
        }])
    }

    #[test]
    fn a_task_started_after_the_record_matches_only_by_number() {
        let key = |tid, start_time| TaskKey { tid, start_time };
        let crowds = crowds_recorded_at(Some(100));
        assert!(crowds.one(key(7, 10_000)).is_some() && crowds.one(key(9, 0)).is_some());
        assert!(crowds.one(key(7, 10_001)).is_none() && crowds.by_number(7).is_some());
        assert!(crowds.one(key(8, 0)).is_none());
        assert!(crowds_recorded_at(None).one(key(7, u64::MAX)).is_some());
    }
}
