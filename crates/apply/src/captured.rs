//! Represents a captured machine: its files and its journal can be read, but nothing can be changed.

use crate::{Storage, System};
use machine::CpuSet;
use root::state::RUN_DIR;
use root::{Address, Ownership, Root, RootError, Tracefs};
use std::time::Duration;

/// A captured machine, with the journal that was captured with it.
pub struct CapturedStorage<'a>(pub &'a Root);

/// The result of every change.
fn refused<T>(path: &str, doing: &'static str) -> Result<T, RootError> {
    Err(RootError::Io {
        path: path.to_owned(),
        operation: doing,
        errno: libc::EROFS,
    })
}

impl Storage for CapturedStorage<'_> {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, RootError> {
        self.0.bytes(&format!("{RUN_DIR}/{name}"))
    }

    fn append(&self, name: &str, _record: &[u8]) -> Result<(), RootError> {
        refused(name, "write")
    }

    fn replace(&self, name: &str, _content: &[u8]) -> Result<(), RootError> {
        refused(name, "write")
    }

    fn rename(&self, from: &str, _to: &str) -> Result<(), RootError> {
        refused(from, "rename")
    }

    fn remove(&self, name: &str) -> Result<(), RootError> {
        refused(name, "unlink")
    }

    fn names(&self, sub: &str) -> Result<Vec<String>, RootError> {
        let entries = self.0.entries(&format!("{RUN_DIR}/{sub}"))?.unwrap_or_default();
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }
}

impl System for CapturedStorage<'_> {
    fn root(&self) -> &Root {
        self.0
    }

    fn write(&self, path: &str, _value: &str) -> Result<(), RootError> {
        refused(path, "write")
    }

    fn make_dir(&self, path: &str) -> Result<(), RootError> {
        refused(path, "mkdir")
    }

    fn remove_dir(&self, path: &str) -> Result<(), RootError> {
        refused(path, "rmdir")
    }

    fn ownership(&self, path: &str) -> Result<Option<Ownership>, RootError> {
        refused(path, "stat")
    }

    fn set_ownership(&self, path: &str, _ownership: Ownership) -> Result<(), RootError> {
        refused(path, "chown")
    }

    fn set_affinity(&self, tid: u32, _cpus: &CpuSet) -> Result<(), RootError> {
        refused(&format!("/proc/{tid}"), "sched_setaffinity")
    }

    fn demote(&self, tid: u32) -> Result<(), RootError> {
        refused(&format!("/proc/{tid}"), "sched_setscheduler")
    }

    fn query_daemon(&self, _addresses: &[Address], _question: &str) -> Result<String, RootError> {
        refused("a daemon", "connect")
    }

    fn tracefs(&self) -> Result<Option<Tracefs>, RootError> {
        Ok(None)
    }

    fn pause(&self, _time: Duration) {}
}
