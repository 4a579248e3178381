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

/// Interval between two attempts to end a lease that could not be undone.
const LONG_INTERVAL: Duration = Duration::from_secs(60);

/// The owners of the leases. Times are since the start of the daemon.
pub struct LeaseWatch {
    /// One descriptor for each owner that is a process; readable at its end. An older kernel has none.
    exits: Vec<OwnedFd>,
    next_run: Option<Duration>,
    /// When a lease that could not be undone is tried again.
    retry: Option<Duration>,
    /// Why leases could not be read or ended; empty if they could.
    last_error: String,
}

impl Default for LeaseWatch {
    /// Looks at once: owners may have ended while no daemon ran.
    fn default() -> LeaseWatch {
        LeaseWatch {
            exits: Vec::new(),
            next_run: Some(Duration::ZERO),
            retry: None,
            last_error: String::new(),
        }
    }
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
        if self.retry.is_some_and(|retry| now < retry) {
            return Vec::new();
        }
        let ended = match self.looked(session, now) {
            Ok(ended) => ended,
            Err(error) => return self.new_error(error.reason()).into_iter().collect(),
        };
        let (open, done): (Vec<EndedLease>, Vec<EndedLease>) = ended.into_iter().partition(|end| end.is_open);
        // What cannot be undone now blocks the other leases, and is not tried every second.
        self.retry = (!open.is_empty()).then(|| now + LONG_INTERVAL);
        self.next_run = self.retry.or(self.next_run);
        let error: Vec<String> = open.iter().map(EndedLease::text).collect();
        let error = self.new_error(error.join("; "));
        done.iter().map(EndedLease::text).chain(error).collect()
    }

    /// The error if it is not the last one.
    fn new_error(&mut self, error: String) -> Option<String> {
        let is_new = !error.is_empty() && error != self.last_error;
        self.last_error.clone_from(&error);
        is_new.then_some(error)
    }

    fn looked(&mut self, session: &Session, now: Duration) -> Result<Vec<EndedLease>, Failure> {
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
        // The descriptor of an ended owner stays readable; while another command has the lock, the interval is enough.
        self.exits.clear();
        let changing = session.lock_if_free()?;
        Ok(changing
            .map(|changing| changing.ended_leases.clone())
            .unwrap_or_default())
    }
}
