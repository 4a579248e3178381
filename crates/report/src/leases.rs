//! Renders leases of CPUs: one that was granted, those that exist, and those that were released.

use crate::safe;
use apply::ChangeEntry;
use lease::{Lease, LeaseRequest, OwnerIdentity, WaitingRequest};
use machine::{CpuSet, utc_text};
use plan::{Finding, Profile};
use serde::Serialize;
use std::collections::BTreeMap;

/// Whether a command granted a lease, or its owner had it already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseOrigin {
    /// The command granted it.
    Granted,
    /// The owner had it; nothing was written.
    Earlier,
}

/// Whether the owner of a lease still exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerState {
    /// It exists.
    Alive,
    /// It has ended.
    Ended,
}

/// A lease, as JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeaseSummary {
    /// Its number.
    pub id: u64,
    /// Name of its partition.
    pub partition: String,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// What it belongs to, as it was requested: `pid:12`, `manual`.
    pub owner: String,
    /// Whether the owner has ended. The next command that changes something then releases the lease.
    pub owner_ended: bool,
    /// When it was granted: RFC 3339, UTC.
    pub since: String,
    /// The request that it answers.
    pub request: LeaseRequest,
}

/// A request that waits for CPUs, as JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingSummary {
    /// The process that waits.
    pub pid: u32,
    /// What the lease will belong to.
    pub owner: String,
    /// Since when: RFC 3339, UTC.
    pub since: String,
    /// The request.
    pub request: LeaseRequest,
}

/// The pool of CPUs, as JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PoolSummary {
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Those that are online and in no partition.
    pub free: CpuSet,
    /// The profile of a lease that requests none.
    pub profile: Profile,
    /// How many CPUs are never leased.
    pub reserve: usize,
}

/// JSON of `leases`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeasesReport {
    schema: &'static str,
    /// The pool; `None` if the machine declares none.
    pool: Option<PoolSummary>,
    /// The leases, the oldest first.
    leases: Vec<LeaseSummary>,
    /// The requests that wait, the first one first.
    waiting: Vec<WaitingSummary>,
}

/// JSON of `lease`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeaseReport<'a> {
    schema: &'static str,
    /// The lease.
    lease: LeaseSummary,
    /// Whether the owner had it already, so that nothing was written.
    in_force: bool,
    /// Variables for the environment of the owner.
    environment: BTreeMap<&'static str, String>,
    /// The changes made, in order.
    entries: &'a [ChangeEntry],
    /// What the user should know.
    findings: &'a [Finding],
}

/// JSON of `release`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReleaseReport {
    schema: &'static str,
    /// The leases that ended.
    released: Vec<ReleasedLease>,
}

/// A lease that ended.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReleasedLease {
    /// The lease.
    #[serde(flatten)]
    pub lease: LeaseSummary,
    /// Whether its partition is still there, because something could not be undone. The next command tries again.
    pub open: bool,
    /// What differs from the state before the lease, with the reason.
    pub remains: Vec<String>,
}

impl<'a> LeaseReport<'a> {
    /// What was leased, and the changes that were made for it.
    #[must_use]
    pub fn new(
        lease: &Lease,
        origin: LeaseOrigin,
        entries: &'a [ChangeEntry],
        findings: &'a [Finding],
    ) -> LeaseReport<'a> {
        LeaseReport {
            schema: "quietcore.lease/1",
            lease: LeaseSummary::of(lease, OwnerState::Alive),
            in_force: origin == LeaseOrigin::Earlier,
            environment: partition_environment(&lease.partition, &lease.cpus),
            entries,
            findings,
        }
    }
}

impl ReleaseReport {
    /// The leases that one command ended.
    #[must_use]
    pub fn new(released: Vec<ReleasedLease>) -> ReleaseReport {
        ReleaseReport {
            schema: "quietcore.release/1",
            released,
        }
    }

    /// As text: one line per lease, and what was left alone.
    #[must_use]
    pub fn text(&self) -> String {
        self.released.iter().map(ReleasedLease::text).collect()
    }
}

impl ReleasedLease {
    fn text(&self) -> String {
        let LeaseSummary { id, cpus, .. } = &self.lease;
        let mut text = match (self.open, self.remains.is_empty()) {
            (true, _) => {
                format!("Lease {id} of CPU {cpus} could not be undone completely; the next command tries again.\n")
            }
            (false, true) => format!("Lease {id} of CPU {cpus} is released; everything is as it was before.\n"),
            (false, false) => format!("Lease {id} of CPU {cpus} is released; everything else is as it was before.\n"),
        };
        let label = if self.open { "not undone" } else { "left alone" };
        for line in &self.remains {
            text.push_str(&format!("{label}: {line}\n"));
        }
        text
    }
}

impl LeaseSummary {
    /// The summary of a lease.
    #[must_use]
    pub fn of(lease: &Lease, owner: OwnerState) -> LeaseSummary {
        LeaseSummary {
            id: lease.id,
            partition: lease.partition.clone(),
            cpus: lease.cpus.clone(),
            owner: lease.owner.name.clone(),
            owner_ended: owner == OwnerState::Ended,
            since: utc_text(lease.since_s),
            request: lease.request.clone(),
        }
    }
}

impl From<&WaitingRequest> for WaitingSummary {
    fn from(waiting: &WaitingRequest) -> WaitingSummary {
        WaitingSummary {
            pid: waiting.client.tid,
            owner: waiting.owner.name.clone(),
            since: utc_text(waiting.since_s),
            request: waiting.request.clone(),
        }
    }
}

impl LeasesReport {
    /// A list of leases and of requests that wait.
    #[must_use]
    pub fn new(
        pool: Option<PoolSummary>,
        leases: Vec<LeaseSummary>,
        waiting: impl Iterator<Item = WaitingSummary>,
    ) -> LeasesReport {
        LeasesReport {
            schema: "quietcore.leases/1",
            pool,
            leases,
            waiting: waiting.collect(),
        }
    }

    /// As text: the pool, then one line per lease and request.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = match &self.pool {
            None => "This machine declares no pool: /etc/quietcore.toml has no table [pool].\n".to_owned(),
            Some(pool) => {
                let reserve = match pool.reserve {
                    0 => String::new(),
                    reserve => format!("; never leased (reserve): {reserve}"),
                };
                let free = plan::words::cpus_or_none(&pool.free);
                format!("Pool: CPU {}; free: {free}{reserve}\n", pool.cpus)
            }
        };
        if self.leases.is_empty() {
            text.push_str("No CPUs are leased.\n");
        }
        for lease in &self.leases {
            let ended = match lease.owner_ended {
                true => ", which has ended; the next command that changes something releases it",
                false => "",
            };
            text.push_str(&format!(
                "lease {}: CPU {} for {} since {}{ended}\n",
                lease.id,
                lease.cpus,
                safe(&lease.owner),
                lease.since
            ));
        }
        for waiting in &self.waiting {
            text.push_str(&format!(
                "waiting: {} for {} since {} (process {})\n",
                request_text(&waiting.request),
                safe(&waiting.owner),
                waiting.since,
                waiting.pid
            ));
        }
        text
    }
}

fn request_text(request: &LeaseRequest) -> String {
    match (&request.cpus, request.count) {
        (Some(cpus), _) => format!("CPU {}", safe(cpus)),
        (None, Some(1)) => "1 CPU".to_owned(),
        (None, Some(count)) => format!("{count} CPUs"),
        (None, None) => "one core".to_owned(),
    }
}

/// What was leased, as one line.
#[must_use]
pub fn lease_verdict(lease: &Lease, origin: LeaseOrigin) -> String {
    let (id, cpus, owner) = (lease.id, &lease.cpus, safe(&lease.owner.name));
    match (origin, &lease.owner.identity) {
        (LeaseOrigin::Earlier, _) => {
            format!("{owner} has CPU {cpus} already, as lease {id}; no setting was written.\n")
        }
        (LeaseOrigin::Granted, OwnerIdentity::Manual) => {
            format!("CPU {cpus} is leased as lease {id}, until it is released.\n")
        }
        (LeaseOrigin::Granted, _) => format!("CPU {cpus} is leased to {owner} as lease {id}, until it ends.\n"),
    }
}

/// What the owner of a lease can do with it. The partition may be the owner's cgroup.
#[must_use]
pub fn lease_next(lease: &Lease, in_place: Option<&str>) -> String {
    let use_it = match in_place {
        Some(cgroup) => format!("The programs of {} run there", safe(cgroup)),
        None => format!(
            "Run a program there with `quietcore run --partition {} -- PROGRAM`",
            lease.partition
        ),
    };
    format!("{use_it}; release it with `quietcore release {}`.\n", lease.id)
}

/// The variables by which a program finds its CPUs and their partition.
#[must_use]
pub fn partition_environment(partition: &str, cpus: &CpuSet) -> BTreeMap<&'static str, String> {
    [
        ("QUIETCORE_CPUS", cpus.to_string()),
        ("QUIETCORE_PARTITION", partition.to_owned()),
    ]
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lease::LeaseOwner;
    use machine::TaskKey;

    fn lease(owner: LeaseOwner) -> Lease {
        Lease {
            id: 3,
            partition: "lease-3".to_owned(),
            cpus: CpuSet::range(2, 3),
            owner,
            request: LeaseRequest {
                count: Some(2),
                ..LeaseRequest::default()
            },
            since_s: 1_700_000_000,
        }
    }

    #[test]
    fn every_lease_and_request_has_a_line() {
        let owner = LeaseOwner::of_process(TaskKey { tid: 12, start_time: 9 });
        let waiting = WaitingRequest {
            client: TaskKey { tid: 13, start_time: 9 },
            owner: owner.clone(),
            request: LeaseRequest::default(),
            since_s: 1_700_000_000,
            until_s: u64::MAX,
        };
        let pool = PoolSummary {
            cpus: CpuSet::range(2, 7),
            free: CpuSet::new(),
            profile: Profile::Balanced,
            reserve: 1,
        };
        let leases = vec![LeaseSummary::of(&lease(owner), OwnerState::Ended)];
        let report = LeasesReport::new(Some(pool), leases, [WaitingSummary::from(&waiting)].into_iter());
        assert_eq!(
            report.text(),
            "Pool: CPU 2-7; free: none; never leased (reserve): 1\n\
             lease 3: CPU 2-3 for pid:12 since 2023-11-14T22:13:20Z, which has ended; the next command that changes \
             something releases it\n\
             waiting: one core for pid:12 since 2023-11-14T22:13:20Z (process 13)\n"
        );
        let none = LeasesReport::new(None, Vec::new(), std::iter::empty());
        assert!(none.text().contains("no pool") && none.text().ends_with("No CPUs are leased.\n"));
    }

    #[test]
    fn the_verdict_shows_when_a_lease_ends() {
        let owned = lease(LeaseOwner::of_process(TaskKey { tid: 12, start_time: 9 }));
        assert!(lease_verdict(&owned, LeaseOrigin::Granted).ends_with("to pid:12 as lease 3, until it ends.\n"));
        assert!(lease_verdict(&owned, LeaseOrigin::Earlier).contains("already"));
        let manual = LeaseOwner {
            name: "manual".to_owned(),
            identity: OwnerIdentity::Manual,
        };
        assert!(lease_verdict(&lease(manual), LeaseOrigin::Granted).ends_with("until it is released.\n"));
    }
}
