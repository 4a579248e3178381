//! Grants a lease: an entry in the registry, then a partition.

use super::pool::{Admission, LeasePool};
use crate::isolation::settle;
use crate::{ChangeLock, Session, seconds_now, stop_flag};
use apply::{ApplyRequest, ChangeEntry};
use lease::{Lease, LeaseRegistry, OwnerIdentity, WaitingRequest, partition_name};
use machine::{CpuSet, Machine};
use plan::declared::{ActivationMode, BootPart, CpuSpec, Declaration};
use plan::{Finding, FindingId, Intent, Level, PartitionName, Plan, Profile};
use report::LeaseOrigin;
use root::Failure;

/// A lease, and what was done for it.
#[derive(Clone, Debug)]
pub struct GrantedLease {
    /// The lease.
    pub lease: Lease,
    /// Whether its owner had it already.
    pub origin: LeaseOrigin,
    /// The cgroup of the owner, if it is the partition.
    pub in_place: Option<String>,
    /// The changes, in order.
    pub entries: Vec<ChangeEntry>,
    /// What the user should know.
    pub findings: Vec<Finding>,
}

/// How one attempt to get a lease ended.
#[derive(Clone, Debug)]
pub enum LeaseAttempt {
    /// With a lease.
    Granted(Box<GrantedLease>),
    /// CPUs are missing, or other requests wait: the reason.
    Later(String),
}

/// Tries to grant a request, under the lock.
pub(super) fn attempt(changing: &ChangeLock, waiting: &WaitingRequest) -> Result<LeaseAttempt, Failure> {
    let session = changing.session;
    // What was read before the lock may have changed since.
    session.refresh();
    let registry = LeaseRegistry::read(changing.state())?;
    if let Some(lease) = earlier_lease(changing, &registry, waiting)? {
        let is_it = |intent: &Intent| intent.name.as_str() == lease.partition;
        let intent = session.in_force().into_iter().find(is_it);
        return Ok(LeaseAttempt::Granted(Box::new(GrantedLease {
            in_place: intent.and_then(|intent| intent.in_place),
            lease,
            origin: LeaseOrigin::Earlier,
            entries: Vec::new(),
            findings: Vec::new(),
        })));
    }
    let before = registry.requests_before(waiting);
    if before > 0 {
        return Ok(LeaseAttempt::Later(format!(
            "requests that wait before this one: {before}"
        )));
    }
    let machine = session.machine().for_plan(session.root());
    let pool = LeasePool::declared(session, &machine)?.ok_or_else(LeasePool::missing)?;
    let others = session.in_force();
    let taken = CpuSet::union(others.iter().map(|intent| &intent.cpus));
    match pool.admit(&waiting.request, &taken, &machine, session.root())? {
        Admission::Later(why) => Ok(LeaseAttempt::Later(why)),
        Admission::Now(cpus) => {
            let profile = waiting.request.profile.unwrap_or(pool.profile);
            let settings = LeaseSettings {
                cpus,
                profile,
                others,
                in_place: match &waiting.owner.identity {
                    OwnerIdentity::Cgroup { path, .. } => Some(format!("cgroup:{path}")),
                    OwnerIdentity::Process(_) | OwnerIdentity::Manual => None,
                },
            };
            let granted = grant(changing, registry, waiting, &machine, settings)?;
            Ok(LeaseAttempt::Granted(Box::new(granted)))
        }
    }
}

/// The lease that the owner has already.
fn earlier_lease(
    changing: &ChangeLock,
    registry: &LeaseRegistry,
    waiting: &WaitingRequest,
) -> Result<Option<Lease>, Failure> {
    let owner = &waiting.owner;
    if owner.has_ended(changing.session.root())? {
        return Err(Failure::unable(
            format!("there is no owner {}", report::safe(&owner.name)),
            "it has ended",
            "a lease needs an owner that exists now",
        ));
    }
    match registry.of_owner(owner) {
        Some(lease) if lease.request != waiting.request => Err(Failure::conflict(
            format!("{} has another lease", report::safe(&owner.name)),
            format!(
                "lease {} has CPU {} since {}",
                lease.id,
                lease.cpus,
                machine::utc_text(lease.since_s)
            ),
            format!("release it first: quietcore release {}", lease.id),
        )),
        Some(lease) if !changing.is_lease_active(lease)? => Err(Failure::conflict(
            format!(
                "lease {} of {} is not undone completely",
                lease.id,
                report::safe(&owner.name)
            ),
            "the last attempt to end it failed",
            format!("see what `quietcore release {}` reports", lease.id),
        )),
        lease => Ok(lease.cloned()),
    }
}

/// What is known of a new lease, and the partitions beside it.
struct LeaseSettings {
    cpus: CpuSet,
    profile: Profile,
    others: Vec<Intent>,
    /// The owner, if it is a cgroup: the partition is where it is.
    in_place: Option<String>,
}

/// Records the lease, then makes its partition.
fn grant(
    changing: &ChangeLock,
    mut registry: LeaseRegistry,
    waiting: &WaitingRequest,
    machine: &Machine,
    settings: LeaseSettings,
) -> Result<GrantedLease, Failure> {
    let session = changing.session;
    let is_used = |name: &str| settings.others.iter().any(|intent| intent.name.as_str() == name);
    let id = registry.next_id(is_used);
    let (intent, plan) = plan_lease(session, machine, id, &settings)?;
    let lease = Lease {
        id,
        partition: partition_name(id),
        cpus: settings.cpus,
        owner: waiting.owner.clone(),
        request: waiting.request.clone(),
        since_s: seconds_now(),
    };
    registry.remove_request(waiting);
    registry.leases.push(lease.clone());
    registry.write(changing.state())?;
    let applied = apply::apply(
        &*changing.host,
        changing.state(),
        &ApplyRequest {
            machine,
            intent: &intent,
            plan: &plan,
            reason: apply::LEASE_REASON,
            tool: env!("CARGO_PKG_VERSION"),
            guard: None,
            stop: stop_flag(),
        },
    );
    session.refresh();
    match applied {
        Ok(applied) => Ok(GrantedLease {
            lease,
            in_place: intent.in_place,
            origin: LeaseOrigin::Granted,
            entries: applied.entries,
            findings: applied.findings,
        }),
        Err(error) => {
            // Forgets the lease, or undoes what the rollback could not undo.
            changing.sweep_leases();
            Err(error.into())
        }
    }
}

/// Plans the partition of a lease: in the owner's cgroup, or in one of its own if that cannot be a partition.
fn plan_lease(
    session: &Session,
    machine: &Machine,
    id: u64,
    settings: &LeaseSettings,
) -> Result<(Intent, Plan), Failure> {
    let mut declaration = declaration(id, settings)?;
    let settled = |declaration: &Declaration| {
        let none = CpuSet::new();
        settle(declaration, machine, session.root(), &settings.others, &none)
    };
    let planned = settled(&declaration);
    let obstacle = match &planned {
        Err(error) => Some(error.why.clone()),
        Ok((_, plan)) => {
            let error = plan.findings.iter().find(|finding| finding.level == Level::Error);
            error.map(|finding| finding.message.clone())
        }
    };
    let (Some(owner), Some(why)) = (declaration.in_place.take(), obstacle) else {
        return planned;
    };
    let (intent, mut plan) = settled(&declaration)?;
    let message =
        format!("the cgroup of the owner cannot be the partition: {why}. The partition is a cgroup of its own");
    let fix = format!(
        "bring the owner's programs there: `quietcore move --into {} --pid PID`",
        intent.name
    );
    plan.findings
        .push(Finding::warning(FindingId::PARTITION_IN_PLACE, owner, message).fix(fix));
    Ok((intent, plan))
}

fn declaration(id: u64, settings: &LeaseSettings) -> Result<Declaration, Failure> {
    let name = PartitionName::new(&partition_name(id))?;
    Ok(Declaration {
        template: Intent::new(name, CpuSet::new(), settings.profile),
        cpus: CpuSpec::Named(settings.cpus.to_string()),
        owner: None,
        in_place: settings.in_place.clone(),
        restored_at_boot: ActivationMode::ByHand,
        boot: BootPart::RunTimeOnly,
        line: 0,
    })
}
