//! Finds a resize in the journal that has started and not ended.

use crate::record::{FormerPolicy, JournalEvent, JournalRecord};
use machine::{CpuSet, TaskKey};

/// A partition that is being recreated, according to the journal.
#[derive(Clone, Debug)]
pub struct Resize {
    /// `seq` of its record.
    pub seq: u64,
    /// When it started, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Name of the partition.
    pub name: String,
    /// The CPUs that it will have.
    pub cpus: CpuSet,
    /// The process that recreates it.
    pub pid: u32,
    /// Tasks whose real-time policies taking the partition apart may change.
    pub(crate) policies: Vec<(TaskKey, String, FormerPolicy)>,
}

impl Resize {
    /// The resize that has started and not ended.
    #[must_use]
    pub fn open(records: &[JournalRecord]) -> Option<Resize> {
        let mut open = None;
        for record in records {
            match &record.event {
                JournalEvent::Resizing {
                    name,
                    cpus,
                    pid,
                    policies,
                } => {
                    open = Some(Resize {
                        seq: record.seq,
                        at_ns: record.at_ns,
                        name: name.clone(),
                        cpus: cpus.clone(),
                        pid: *pid,
                        policies: policies.clone(),
                    });
                }
                JournalEvent::Resized { of } if open.as_ref().is_some_and(|open: &Resize| open.seq == *of) => {
                    open = None;
                }
                _ => {}
            }
        }
        open
    }
}
