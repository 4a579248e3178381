//! The pool of CPUs that leases use, and which of them a request can get.

use crate::Session;
use crate::declared::{self, DeclaredFile};
use crate::isolation::{choose, existing_cpus};
use lease::LeaseRequest;
use machine::{CpuSet, Machine};
use plan::declared::{CpuSpec, PATH, pool};
use plan::{PlacementShape, Profile};
use root::{Failure, Root};

/// The declared pool, on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasePool {
    /// Its CPUs.
    pub cpus: CpuSet,
    /// The profile of a lease that requests none.
    pub profile: Profile,
    /// How many of its CPUs are never leased.
    pub reserve: usize,
}

/// Whether a request can be met now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// With these CPUs.
    Now(CpuSet),
    /// When other leases end, and why not now.
    Later(String),
}

impl LeasePool {
    /// The pool that the machine declares; `None` if it declares none.
    ///
    /// # Errors
    /// A file that cannot be used, and CPUs that the machine does not have.
    pub fn declared(session: &Session, machine: &Machine) -> Result<Option<LeasePool>, Failure> {
        let Some(bytes) = declared::own_bytes(session)? else {
            return Ok(None);
        };
        let Some(settings) = pool(&bytes).map_err(|error| declared::wrong(PATH, &error))? else {
            return Ok(None);
        };
        let declared = DeclaredFile::of(PATH.to_owned(), &bytes)?.named_cpus(machine)?;
        let cpus = existing_cpus(&settings.cpus, machine).map_err(|error| Failure {
            what: format!("{PATH}: [pool] cpus: {}", error.what),
            ..error
        })?;
        let both = cpus.and(&declared);
        if !both.is_empty() {
            return Err(Failure::usage(
                format!("{PATH}: CPU {both} is in the pool and in a declared partition"),
                "a CPU can be in one of them only",
                "remove it from the other",
            ));
        }
        Ok(Some(LeasePool {
            cpus,
            profile: settings.profile,
            reserve: settings.reserve,
        }))
    }

    /// The error on a machine without a pool.
    pub(super) fn missing() -> Failure {
        Failure::unable(
            "this machine has no pool of CPUs",
            format!("{PATH} has no table [pool]"),
            "declare one: [pool] with cpus = \"2-7\"; `quietcore inspect` shows the CPUs",
        )
    }

    /// The CPUs of the pool that are online and in no partition.
    #[must_use]
    pub fn free(&self, machine: &Machine, taken: &CpuSet) -> CpuSet {
        self.cpus.and(&machine.topology.online).minus(taken)
    }

    /// Which CPUs a request gets, given those in partitions.
    ///
    /// # Errors
    /// A request that the pool cannot meet even if no CPU is leased.
    pub(super) fn admit(
        &self,
        request: &LeaseRequest,
        taken: &CpuSet,
        machine: &Machine,
        root: &Root,
    ) -> Result<Admission, Failure> {
        let unused = self.free(machine, &CpuSet::new());
        let least = request.count.unwrap_or_default();
        if least.saturating_add(self.reserve) > unused.len() {
            return Err(self.too_many(least, &unused));
        }
        let wanted = self.cpus_for(request, &unused, machine, root)?;
        if wanted.len().saturating_add(self.reserve) > unused.len() {
            return Err(self.too_many(wanted.len(), &unused));
        }
        let free = self.free(machine, taken);
        let spare = free.len().saturating_sub(self.reserve);
        match self.cpus_for(request, &free, machine, root) {
            Ok(cpus) if cpus.len() <= spare => Ok(Admission::Now(cpus)),
            _ => Ok(Admission::Later(match (free.is_empty(), self.reserve) {
                (true, _) => "no CPU of the pool is free".to_owned(),
                (false, 0) => format!("only CPU {free} of the pool is free"),
                (false, reserve) => format!("only CPU {free} of the pool is free; never leased (reserve): {reserve}"),
            })),
        }
    }

    /// The error for a request that exceeds the pool.
    fn too_many(&self, count: usize, online: &CpuSet) -> Failure {
        Failure::unable(
            "the pool cannot lease so many CPUs",
            format!(
                "requested: {count}; online in the pool: {} (CPU {}); never leased (reserve): {}",
                online.len(),
                plan::words::cpus_or_none(online),
                self.reserve
            ),
            format!("request fewer CPUs, or change the table [pool] in {PATH}"),
        )
    }

    /// The CPUs of a request if only these can be used.
    fn cpus_for(
        &self,
        request: &LeaseRequest,
        usable: &CpuSet,
        machine: &Machine,
        root: &Root,
    ) -> Result<CpuSet, Failure> {
        if let Some(expression) = &request.cpus {
            let cpus = existing_cpus(expression, machine)?;
            let missing = cpus.minus(usable);
            return match missing.is_empty() {
                true => Ok(cpus),
                false => Err(Failure::usage(
                    format!("CPU {missing} cannot be leased"),
                    format!("the pool has CPU {}, of which {usable} can be used", self.cpus),
                    format!("choose from those, or change the table [pool] in {PATH}"),
                )),
            };
        }
        let all = machine.topology.present_cpus().or(&machine.topology.online);
        let spec = CpuSpec::Chosen {
            count: request.count,
            near: request.near.clone(),
            shape: PlacementShape::Pack,
            kind: request.kind,
            keep: None,
        };
        let chosen = choose(&spec, all.minus(usable), machine, root).map_err(|error| Failure {
            // The rule names CPUs that it may not use; here those are all but the pool's.
            why: format!("it has to be chosen from CPU {}", plan::words::cpus_or_none(usable)),
            next: format!("request other CPUs, or change the table [pool] in {PATH}"),
            ..error
        })?;
        let cpus = chosen.map(|choice| choice.cpus).unwrap_or_default();
        // A choice of whole cores may have more than was requested. If they do not fit, the first ones are enough.
        Ok(match request.count {
            Some(count) if cpus.len().saturating_add(self.reserve) > usable.len() => cpus.iter().take(count).collect(),
            _ => cpus,
        })
    }
}
