//! Leases: CPUs of the pool for the lifetime of an owner. Requests that have to wait are served in order.

mod grant;
mod pool;
mod waiting;

pub use grant::{GrantedLease, LeaseAttempt};
pub use lease::{Lease, LeaseOwner, LeaseRequest, OwnerIdentity};
pub use pool::LeasePool;
pub use waiting::{IfBusy, PendingLease};

use crate::{EndedLease, Session, seconds_now};
use lease::{LeaseRegistry, WaitingRequest};
use machine::{Cgroups, CpuSet};
use report::OwnerState;
use root::Failure;

/// Which leases are released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseTarget {
    /// The one with this number.
    Id(u64),
    /// Those of this owner.
    Owner(String),
}

/// The leases of a machine.
#[derive(Clone, Debug)]
pub struct LeaseList {
    /// The pool; `None` if the machine declares none.
    pub pool: Option<LeasePool>,
    /// CPUs of the pool that are free.
    pub free: CpuSet,
    /// The leases, each with the state of its owner. The next command that changes something releases those of ended ones.
    pub leases: Vec<(Lease, OwnerState)>,
    /// The requests that wait, the first one first.
    pub waiting: Vec<WaitingRequest>,
}

/// The leases as recorded, also those that a command has to end. Changes nothing.
///
/// # Errors
/// No permission, and a registry that cannot be read.
pub fn recorded(session: &Session) -> Result<Vec<Lease>, Failure> {
    Ok(registry(session)?.leases)
}

fn registry(session: &Session) -> Result<LeaseRegistry, Failure> {
    match session.state()? {
        Some(state) => LeaseRegistry::read(&*state),
        None => Ok(LeaseRegistry::default()),
    }
}

/// Lists the pool, the leases and the requests that wait. Changes nothing.
///
/// # Errors
/// No permission, and a registry that cannot be read.
pub fn list(session: &Session) -> Result<LeaseList, Failure> {
    let machine = session.machine();
    // The leases are listed in any case.
    let pool = LeasePool::declared(session, &machine).unwrap_or_else(|error| {
        session.warn(&error);
        None
    });
    let in_force = session.in_force();
    let taken = CpuSet::union(in_force.iter().map(|intent| &intent.cpus));
    let mut registry = registry(session)?;
    let is_active = |lease: &Lease| in_force.iter().any(|intent| intent.name.as_str() == lease.partition);
    registry.leases.retain(is_active);
    registry.drop_ended_requests(session.root(), seconds_now());
    let with_owner = |lease: Lease| {
        let owner = session.owner_state(&lease.owner)?;
        Ok((lease, owner))
    };
    Ok(LeaseList {
        free: pool
            .as_ref()
            .map(|pool| pool.free(&machine, &taken))
            .unwrap_or_default(),
        pool,
        leases: registry
            .leases
            .into_iter()
            .map(with_owner)
            .collect::<Result<_, Failure>>()?,
        waiting: registry.waiting,
    })
}

/// Releases leases: their partitions are undone. Returns them, with those whose owner had ended. None for an owner without
/// a lease.
///
/// # Errors
/// No permission, a number that no lease has, text that is no owner, and a journal that cannot be read or written.
pub fn release(session: &Session, target: &ReleaseTarget) -> Result<Vec<EndedLease>, Failure> {
    let owner = match target {
        ReleaseTarget::Id(_) => None,
        ReleaseTarget::Owner(text) => match LeaseOwner::find(text, session.root(), &Cgroups::read(session.root())) {
            // An owner that has ended is known by its name.
            Err(error) if error.status == root::Status::Unable => None,
            found => Some(found?),
        },
    };
    let is_it = |lease: &Lease| match (target, &owner) {
        (ReleaseTarget::Id(id), _) => lease.id == *id,
        (ReleaseTarget::Owner(text), None) => lease.owner.name == *text,
        (ReleaseTarget::Owner(text), Some(owner)) => lease.owner.is_same(owner) || lease.owner.name == *text,
    };
    let mut ended = Vec::new();
    if let Some(changing) = session.lock_existing()? {
        ended.extend(changing.ended_leases.iter().filter(|end| is_it(&end.lease)).cloned());
        let mut registry = LeaseRegistry::read(changing.state())?;
        for lease in registry.leases.clone().iter().filter(|lease| is_it(lease)) {
            let end = changing.end_lease(lease)?;
            session.refresh();
            if !end.is_open {
                registry.leases.retain(|other| other.id != lease.id);
                registry.write(changing.state())?;
            }
            ended.push(end);
        }
    }
    match target {
        ReleaseTarget::Id(id) if ended.is_empty() => Err(Failure::unable(
            format!("there is no lease {id}"),
            "it was released, or its owner has ended",
            "`quietcore leases` shows the leases",
        )),
        _ => Ok(ended),
    }
}
