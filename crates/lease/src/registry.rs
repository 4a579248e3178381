//! Records the leases and the requests that wait, as one file beside the journal.
//!
//! The file is replaced as a whole, so no reader sees half of it. It is written before the layer of a new lease and after
//! the undo of an old one: an entry without an active layer means nothing, and a layer without an entry cannot exist.

use crate::LeaseOwner;
use apply::Storage;
use machine::{CoreKind, CpuSet, TaskKey};
use plan::Profile;
use root::state::RUN_DIR;
use root::{Failure, Root};
use serde::{Deserialize, Serialize};

const NAME: &str = "leases";

/// Version of the file.
const VERSION: u32 = 1;

/// Which CPUs a lease should have. Without `cpus`, they are chosen from the pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeaseRequest {
    /// These, as a CPU expression.
    pub cpus: Option<String>,
    /// How many; whole cores where possible.
    pub count: Option<usize>,
    /// Near a device or a place.
    pub near: Option<String>,
    /// Which kind of core.
    pub kind: Option<CoreKind>,
    /// The profile; `None` is that of the pool.
    pub profile: Option<Profile>,
}

/// CPUs that belong to an owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its number, which no other lease of this boot gets, unless the registry was damaged.
    pub id: u64,
    /// Name of its partition.
    pub partition: String,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// What it belongs to.
    pub owner: LeaseOwner,
    /// The request that it answers.
    pub request: LeaseRequest,
    /// When it was granted, in seconds since 1970.
    pub since_s: u64,
}

/// A request that waits for CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingRequest {
    /// The process that waits.
    pub client: TaskKey,
    /// What the lease will belong to.
    pub owner: LeaseOwner,
    /// The request.
    pub request: LeaseRequest,
    /// Since when, in seconds since 1970.
    pub since_s: u64,
    /// Until when, in seconds since 1970: later it has no place, even if its process was stopped.
    pub until_s: u64,
}

/// All leases, and all requests that wait, the first one first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRegistry {
    version: u32,
    /// Number of the last lease.
    last_id: u64,
    /// The leases.
    pub leases: Vec<Lease>,
    /// The requests that wait.
    pub waiting: Vec<WaitingRequest>,
}

impl WaitingRequest {
    /// Whether it is the same request, at whatever time it was made.
    fn is_same(&self, other: &WaitingRequest) -> bool {
        self.client == other.client && self.owner == other.owner
    }
}

impl Default for LeaseRegistry {
    fn default() -> LeaseRegistry {
        LeaseRegistry {
            version: VERSION,
            last_id: 0,
            leases: Vec::new(),
            waiting: Vec::new(),
        }
    }
}

impl LeaseRegistry {
    /// Reads the registry; an empty one if there is no file.
    ///
    /// # Errors
    /// The read error, and a file of another version or with other content (status 5).
    pub fn read(storage: &dyn Storage) -> Result<LeaseRegistry, Failure> {
        let Some(bytes) = storage.read(NAME)? else {
            return Ok(LeaseRegistry::default());
        };
        let unreadable = |why: String| {
            Failure::conflict(
                format!("{RUN_DIR}/{NAME} cannot be read"),
                why,
                "it stays until no lease is active: `quietcore undo --partition lease-N` undoes one",
            )
        };
        let damaged = |error: serde_json::Error| unreadable(format!("it is not a list of leases: {error}"));
        let document: serde_json::Value = serde_json::from_slice(&bytes).map_err(damaged)?;
        match document["version"].as_u64() {
            Some(version) if version != u64::from(VERSION) => Err(unreadable(format!(
                "another version of quietcore wrote it (format {version})"
            ))),
            _ => serde_json::from_value(document).map_err(damaged),
        }
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// The write error; the former file is unchanged.
    pub fn write(&self, storage: &dyn Storage) -> Result<(), Failure> {
        let bytes = serde_json::to_vec(self).map_err(|error| Failure::bug("the leases cannot be encoded", error))?;
        Ok(storage.replace(NAME, &bytes)?)
    }

    /// The number of a new lease, whose partition has a name that is not used yet.
    pub fn next_id(&mut self, is_used: impl Fn(&str) -> bool) -> u64 {
        loop {
            self.last_id += 1;
            if !is_used(&partition_name(self.last_id)) {
                return self.last_id;
            }
        }
    }

    /// The lease of an owner; every owner but `manual` has one at most.
    #[must_use]
    pub fn of_owner(&self, owner: &LeaseOwner) -> Option<&Lease> {
        self.leases.iter().find(|lease| lease.owner.is_same(owner))
    }

    /// How many requests are served before this one.
    #[must_use]
    pub fn requests_before(&self, request: &WaitingRequest) -> usize {
        self.waiting.iter().take_while(|one| !one.is_same(request)).count()
    }

    /// Whether this request waits.
    #[must_use]
    pub fn has_request(&self, request: &WaitingRequest) -> bool {
        self.waiting.iter().any(|one| one.is_same(request))
    }

    /// Removes a request.
    pub fn remove_request(&mut self, request: &WaitingRequest) {
        self.waiting.retain(|one| !one.is_same(request));
    }

    /// Removes requests whose time is over, or whose process or owner has ended. Those for which this is unknown stay.
    pub fn drop_ended_requests(&mut self, root: &Root, now_s: u64) {
        self.waiting.retain(|waiting| {
            if waiting.until_s < now_s {
                return false;
            }
            let client = LeaseOwner::of_process(waiting.client);
            ![&client, &waiting.owner]
                .iter()
                .any(|owner| owner.has_ended(root) == Ok(true))
        });
    }
}

/// The name of the partition of a lease.
#[must_use]
pub fn partition_name(id: u64) -> String {
    format!("lease-{id}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OwnerIdentity;
    use root::Status;
    use root::state::StateDir;

    fn lease(id: u64) -> Lease {
        Lease {
            id,
            partition: partition_name(id),
            cpus: CpuSet::range(2, 3),
            owner: LeaseOwner {
                name: "cgroup:/a".to_owned(),
                identity: OwnerIdentity::Cgroup {
                    path: "/sys/fs/cgroup/a".to_owned(),
                    inode: 7,
                },
            },
            request: LeaseRequest {
                count: Some(2),
                kind: Some(CoreKind::Efficiency),
                ..LeaseRequest::default()
            },
            since_s: 5,
        }
    }

    #[test]
    fn the_registry_survives_a_round_trip_and_numbers_are_never_used_twice() {
        let dir = tempfile::tempdir().unwrap();
        let storage = StateDir::create(&dir.path().join("state")).unwrap();
        let mut registry = LeaseRegistry::read(&storage).unwrap();
        assert_eq!(registry, LeaseRegistry::default());
        assert_eq!(registry.next_id(|name| name == "lease-1"), 2);
        registry.leases.push(lease(2));
        registry.write(&storage).unwrap();
        registry.leases.clear();
        registry.write(&storage).unwrap();
        let mut again = LeaseRegistry::read(&storage).unwrap();
        assert_eq!(again, registry);
        assert_eq!(again.next_id(|_| false), 3);
    }

    #[test]
    fn a_registry_of_another_version_or_with_damage_is_refused_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let storage = StateDir::create(&dir.path().join("state")).unwrap();
        let newer = r#"{"version":2,"last_id":0,"leases":[],"queue":[]}"#;
        for (text, why) in [
            ("", "not a list"),
            ("{", "not a list"),
            (newer, "another version"),
            ("[]", "not a list"),
        ] {
            storage.replace(NAME, text.as_bytes()).unwrap();
            let refused = LeaseRegistry::read(&storage).unwrap_err();
            assert!(
                refused.status == Status::Conflict && refused.why.contains(why),
                "{text}: {refused:?}"
            );
            assert_eq!(storage.read(NAME).unwrap().unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn a_request_has_a_place_until_its_time_is_over() {
        let request = |tid| WaitingRequest {
            client: TaskKey { tid, start_time: 1 },
            owner: LeaseOwner {
                name: "manual".to_owned(),
                identity: OwnerIdentity::Manual,
            },
            request: LeaseRequest::default(),
            since_s: 1,
            until_s: 10,
        };
        let mut registry = LeaseRegistry {
            waiting: vec![request(std::process::id()), request(2)],
            ..LeaseRegistry::default()
        };
        assert_eq!(registry.requests_before(&request(2)), 1);
        assert!(registry.has_request(&request(2)) && !registry.has_request(&request(3)));
        registry.remove_request(&request(std::process::id()));
        assert_eq!(registry.requests_before(&request(2)), 0);
        let dir = tempfile::tempdir().unwrap();
        let stat = format!("2 (p) T 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1{}\n", " 0".repeat(30));
        std::fs::create_dir_all(dir.path().join("proc/2")).unwrap();
        std::fs::write(dir.path().join("proc/2/stat"), stat).unwrap();
        let root = Root::of(&root::Live::rehearsal(dir.path()));
        registry.drop_ended_requests(&root, 10);
        assert_eq!(registry.waiting.len(), 1);
        // Its process is stopped and cannot give up by itself.
        registry.drop_ended_requests(&root, 11);
        assert!(registry.waiting.is_empty());
    }

    #[test]
    fn an_owner_has_one_lease() {
        let registry = LeaseRegistry {
            leases: vec![lease(4)],
            ..LeaseRegistry::default()
        };
        assert_eq!(registry.of_owner(&lease(9).owner).map(|lease| lease.id), Some(4));
        let other = LeaseOwner::of_process(TaskKey { tid: 1, start_time: 2 });
        assert!(registry.of_owner(&other).is_none());
    }
}
