//! Ends leases as soon as their owner ends: the kernel reports the end of a process; cgroups are looked at every second.

use root::Failure;
use root::process::exit_descriptor;
use session::EndedLease;
use session::Session;
use session::leasing::{Lease, OwnerIdentity, recorded};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Interval between two looks at owners while there are leases.
const INTERVAL: Duration = Duration::from_secs(1);

/// The owners of the leases. Times are since the start of the daemon.
#[derive(Default)]
pub struct LeaseWatch {
    /// One descriptor for each owner that is a process; readable at its end. An older kernel has none.
    exits: Vec<OwnedFd>,
    next_run: Option<Duration>,
    /// Why leases could not be read or ended; empty if they could.
    last_error: String,
}

impl LeaseWatch {
    /// Descriptors that become readable when an owner ends.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.exits.iter().map(AsFd::as_fd)
    }

    /// The time of the next look; `None` without leases.
    pub fn next_run(&self) -> Option<Duration> {
        self.next_run
    }

    /// Ends the leases whose owner has ended. Returns a line for each, and for an error that is new.
    pub fn end(&mut self, session: &Session, now: Duration) -> Vec<String> {
        let lines = self.looked(session, now);
        let error = lines.as_ref().err().map(Failure::reason).unwrap_or_default();
        let is_new = error != self.last_error;
        self.last_error.clone_from(&error);
        match lines {
            Ok(lines) => lines,
            Err(_) if is_new => vec![error],
            Err(_) => Vec::new(),
        }
    }

    fn looked(&mut self, session: &Session, now: Duration) -> Result<Vec<String>, Failure> {
        self.exits.clear();
        // After an error too: the next look tries again.
        self.next_run = Some(now + INTERVAL);
        let leases = recorded(session)?;
        if leases.is_empty() {
            self.next_run = None;
            return Ok(Vec::new());
        }
        // The descriptors come first: a process that ends after them is noticed by them.
        for lease in &leases {
            if let OwnerIdentity::Process(key) = lease.owner.identity {
                self.exits.extend(exit_descriptor(key.tid).ok());
            }
        }
        let has_ended = |lease: &Lease| lease.owner.has_ended(session.root()) != Ok(false);
        if !leases.iter().any(has_ended) {
            return Ok(Vec::new());
        }
        // The owner's descriptor stays readable, so nothing is to wait for it while another command has the lock.
        self.exits.clear();
        let changing = session.lock_existing()?;
        let ended = changing.iter().flat_map(|changing| &changing.ended_leases);
        Ok(ended.map(EndedLease::text).collect())
    }
}
