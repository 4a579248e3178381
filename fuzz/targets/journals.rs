//! The journal: reading any content returns records or reports the damage. Also tests the content of records with a
//! valid checksum.

use super::{FuzzTarget, text};
use apply::{Journal, JournalEvent, Storage};
use root::RootError;
use std::cell::RefCell;

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "journals",
    seeds: || {
        let storage = MemoryStorage::default();
        let mut journal = Journal::create(&storage);
        for event in [
            JournalEvent::Applied { online: None },
            JournalEvent::Confirmed { layer: None },
            JournalEvent::Applied { online: None },
        ] {
            let _ = journal.append(event);
        }
        drop(journal);
        let bodies = [
            r#"{"seq":1,"at_ns":5,"event":"applied"}"#,
            r#"{"seq":2,"at_ns":5,"event":"joined","task":{"key":{"pid":7,"start":9},"comm":"a"}}"#,
            r#"{"seq":18446744073709551615,"at_ns":5,"event":"will","change":"x/y","before":{}}"#,
        ];
        let bodies = bodies.iter().map(|body| body.as_bytes().to_vec());
        bodies.chain([storage.0.into_inner()]).collect()
    },
    run: |bytes| {
        read(bytes);
        let body = text(bytes).replace('\n', " ");
        let checksum = crc32fast::hash(body.as_bytes());
        read(format!("qc1 {:08x} {checksum:08x} {body}\n", body.len()).as_bytes());
    },
};

fn read(bytes: &[u8]) {
    let storage = MemoryStorage::with(bytes);
    if let Ok(Some(journal)) = Journal::open(&storage) {
        assert!(!journal.records().is_empty());
        let _ = (journal.state(Some("boot")), journal.state(None), journal.layers());
    }
    let _ = Journal::sweep(&storage);
}

/// A file in memory, for any path.
#[derive(Default)]
pub(super) struct MemoryStorage(RefCell<Vec<u8>>);

impl MemoryStorage {
    /// A file with this content.
    pub(super) fn with(bytes: &[u8]) -> MemoryStorage {
        MemoryStorage(RefCell::new(bytes.to_vec()))
    }
}

impl Storage for MemoryStorage {
    fn read(&self, _: &str) -> Result<Option<Vec<u8>>, RootError> {
        Ok(Some(self.0.borrow().clone()))
    }
    fn append(&self, _: &str, record: &[u8]) -> Result<(), RootError> {
        self.0.borrow_mut().extend_from_slice(record);
        Ok(())
    }
    fn replace(&self, _: &str, content: &[u8]) -> Result<(), RootError> {
        *self.0.borrow_mut() = content.to_vec();
        Ok(())
    }
    fn rename(&self, _: &str, _: &str) -> Result<(), RootError> {
        Ok(())
    }
    fn remove(&self, _: &str) -> Result<(), RootError> {
        self.0.borrow_mut().clear();
        Ok(())
    }
    fn names(&self, _: &str) -> Result<Vec<String>, RootError> {
        Ok(Vec::new())
    }
}
