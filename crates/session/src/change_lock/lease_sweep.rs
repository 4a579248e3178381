//! Ends the leases whose owner has ended, and those that a crash left half made.

use super::ChangeLock;
use crate::{Session, seconds_now};
use apply::{ApplyLayer, Journal, JournalState, LEASE_REASON, LayerState, UndoTarget};
use lease::{Lease, LeaseOwner, LeaseRegistry};
use report::OwnerState;
use root::{Failure, Status};

/// A lease that ended.
#[derive(Clone, Debug)]
pub struct EndedLease {
    /// The lease.
    pub lease: Lease,
    /// What differs from the state before it, with the reason.
    pub remains: Vec<String>,
    /// Whether its owner has ended too.
    pub owner: OwnerState,
    /// Whether its partition is still there, because something could not be undone.
    pub is_open: bool,
}

/// What the journal has of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeaseLayer {
    /// Nothing: it was undone, or never made.
    None,
    /// A partition.
    InForce,
    /// An apply or undo that was interrupted.
    Unfinished,
    /// Something else was interrupted, and has to be undone first.
    Blocked,
}

/// What a sweep did with a lease.
enum SweptLease {
    /// It stays.
    Kept,
    /// It had no partition.
    Forgotten,
    /// It was undone, perhaps not completely.
    Ended(Box<EndedLease>),
}

impl ChangeLock<'_> {
    /// Ends every lease whose owner has ended, and forgets those without a partition. One that cannot be ended stays, with
    /// a warning, and the next command tries again.
    pub(crate) fn sweep_leases(&self) -> Vec<EndedLease> {
        let mut all = Vec::new();
        loop {
            let ended = self.swept_leases().unwrap_or_else(|error| {
                self.session.warn(&error);
                Vec::new()
            });
            if ended.is_empty() {
                return all;
            }
            self.session.refresh();
            let is_open = ended.iter().any(|end| end.is_open);
            all.extend(ended);
            // An unfinished lease blocks the others; once it is undone they can end too.
            if is_open {
                return all;
            }
        }
    }

    fn swept_leases(&self) -> Result<Vec<EndedLease>, Failure> {
        let mut registry = match LeaseRegistry::read(self.state()) {
            // Without a lease that is active, damaged content means nothing any more.
            Err(error) if error.status == Status::Conflict && !self.has_leases()? => {
                LeaseRegistry::default().write(self.state())?;
                return Ok(Vec::new());
            }
            registry => registry?,
        };
        let before = registry.clone();
        let mut ended = Vec::new();
        for lease in &before.leases {
            match self.swept_lease(lease) {
                Ok(SweptLease::Kept) => {}
                Ok(SweptLease::Forgotten) => registry.leases.retain(|other| other.id != lease.id),
                Ok(SweptLease::Ended(end)) => {
                    registry.leases.retain(|other| end.is_open || other.id != lease.id);
                    ended.push(*end);
                }
                Err(error) => self.session.warn(&Failure {
                    what: format!("lease {} could not be checked: {}", lease.id, error.what),
                    ..error
                }),
            }
        }
        registry.drop_ended_requests(self.session.root(), seconds_now());
        if registry != before {
            registry.write(self.state())?;
        }
        Ok(ended)
    }

    fn swept_lease(&self, lease: &Lease) -> Result<SweptLease, Failure> {
        match self.layer_of(lease)? {
            LeaseLayer::None => Ok(SweptLease::Forgotten),
            LeaseLayer::Blocked => Ok(SweptLease::Kept),
            LeaseLayer::InForce if !lease.owner.has_ended(self.session.root())? => Ok(SweptLease::Kept),
            LeaseLayer::InForce | LeaseLayer::Unfinished => {
                let end = self.end_lease(lease)?;
                Ok(SweptLease::Ended(Box::new(end)))
            }
        }
    }

    /// Undoes the partition of a lease; the caller removes the lease from the registry unless it is still open.
    pub(crate) fn end_lease(&self, lease: &Lease) -> Result<EndedLease, Failure> {
        if let Err(error) = apply::latency::free(&*self.host, self.state(), &lease.cpus) {
            self.session.warn_of_leftovers(error);
        }
        let undone = self.undo(UndoTarget::Named(&lease.partition), LEASE_REASON)?;
        let is_open = self.layer_of(lease)? != LeaseLayer::None;
        if !is_open && let Some(journal) = Journal::open(self.state())? {
            // Only what ended before the first layer that stays. On a full disk the journal stays as it is.
            let _ = journal.archive_finished_layers();
        }
        Ok(EndedLease {
            lease: lease.clone(),
            owner: self.session.owner_state(&lease.owner)?,
            is_open,
            remains: undone.remains(),
        })
    }

    /// Whether a lease has its partition, completely.
    pub(crate) fn is_lease_active(&self, lease: &Lease) -> Result<bool, Failure> {
        Ok(matches!(
            self.layer_of(lease)?,
            LeaseLayer::InForce | LeaseLayer::Blocked
        ))
    }

    /// Whether the journal has a lease that is not undone.
    fn has_leases(&self) -> Result<bool, Failure> {
        let Some(journal) = Journal::open(self.state())? else {
            return Ok(false);
        };
        let is_void = journal.state(self.session.boot_id().as_deref()) == JournalState::Void;
        Ok(!is_void && journal.layers().iter().any(|layer| layer.is_live() && layer.is_lease()))
    }

    fn layer_of(&self, lease: &Lease) -> Result<LeaseLayer, Failure> {
        let Some(journal) = Journal::open(self.state())? else {
            return Ok(LeaseLayer::None);
        };
        let layers = match journal.state(self.session.boot_id().as_deref()) {
            JournalState::Void | JournalState::Ended => Vec::new(),
            JournalState::Resizing => return Ok(LeaseLayer::Blocked),
            JournalState::InForce | JournalState::Unfinished => journal.layers(),
        };
        let live: Vec<&ApplyLayer> = layers.iter().filter(|layer| layer.is_live()).collect();
        let is_it = |layer: &ApplyLayer| layer.is_lease() && layer.intent.name.as_str() == lease.partition;
        let unfinished = live.iter().find(|layer| layer.state != LayerState::InForce);
        Ok(match (live.iter().any(|layer| is_it(layer)), unfinished) {
            (false, _) => LeaseLayer::None,
            (true, None) => LeaseLayer::InForce,
            (true, Some(layer)) if is_it(layer) => LeaseLayer::Unfinished,
            (true, Some(_)) => LeaseLayer::Blocked,
        })
    }
}

impl EndedLease {
    /// As one line.
    #[must_use]
    pub fn text(&self) -> String {
        let Lease { id, cpus, owner, .. } = &self.lease;
        let owner = report::safe(&owner.name);
        let remains = self.remains.join("; ");
        match (self.is_open, remains.is_empty()) {
            (true, _) => format!("lease {id} of {owner} could not be undone: {remains}"),
            (false, true) => format!("lease {id} of {owner} ended: CPU {cpus} is free"),
            (false, false) => format!("lease {id} of {owner} ended: CPU {cpus} is free; left alone: {remains}"),
        }
    }
}

impl Session {
    /// Whether an owner still exists.
    pub(crate) fn owner_state(&self, owner: &LeaseOwner) -> Result<OwnerState, Failure> {
        Ok(match owner.has_ended(self.root())? {
            true => OwnerState::Ended,
            false => OwnerState::Alive,
        })
    }

    /// Reports leases that ended with their owner while a command took the lock.
    pub(crate) fn note_ended_leases(&self, ended: &[EndedLease]) {
        for end in ended {
            self.note(&format!("note: {}\n", end.text()));
        }
    }
}
