//! Moves a sampler into the cpuset that owns its CPU. Outside of it the kernel would reject the CPU.

use crate::Session;
use machine::{CpuSet, Hierarchy, Machine, Partition};
use root::{Failure, Root};

/// The file that moves a process into the cpuset of these CPUs. `None` if our own cpuset has them already, or if no other
/// single cpuset does.
pub fn door(root: &Root, machine: &Machine, cpus: &CpuSet) -> Option<String> {
    let hierarchy = machine.cgroups.cpuset.as_ref()?;
    let own = machine::tasks::cgroup_of(root, std::process::id(), hierarchy.version)?;
    choose(hierarchy, &own, cpus)
}

/// Moves a process there; without a file nothing is moved.
///
/// # Errors
/// A machine that cannot be changed, or the kernel's error.
pub fn enter(session: &Session, door: Option<&str>, pid: u32) -> Result<(), Failure> {
    let Some(door) = door else { return Ok(()) };
    let written = session.writable()?.write(door, pid.to_string().as_bytes());
    written.map_err(|error| {
        Failure::unable(
            format!("process {pid} cannot enter the cpuset of its CPUs"),
            error,
            "look at the path named above",
        )
    })
}

fn choose(hierarchy: &Hierarchy, own: &str, cpus: &CpuSet) -> Option<String> {
    let holds = |set: &Partition| effective(set).is_some_and(|here| cpus.is_subset(here));
    if hierarchy.sets.iter().any(|set| set.name == own && holds(set)) {
        return None;
    }
    // The smallest set with all of them is the partition. The root has them too, but not for its tasks.
    let others = hierarchy
        .sets
        .iter()
        .filter(|set| set.name != own && set.name != "/" && holds(set));
    let set = others.min_by_key(|set| effective(set).map_or(usize::MAX, CpuSet::len))?;
    Some(hierarchy.door(&set.name))
}

fn effective(set: &Partition) -> Option<&CpuSet> {
    set.effective_cpus
        .as_ref()
        .or(set.cpus.as_ref())
        .filter(|cpus| !cpus.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Version;

    fn hierarchy(version: Version) -> Hierarchy {
        let set = |name: &str, cpus: &str| Partition {
            name: name.to_owned(),
            version,
            cpus: CpuSet::parse_list(cpus).ok(),
            effective_cpus: CpuSet::parse_list(cpus).ok(),
            mems: None,
            cpu_exclusive: None,
            sched_load_balance: None,
            partition: None,
            cpus_exclusive: None,
        };
        let sets = vec![
            set("/", "0-3"),
            set("/housekeeping", "0-1"),
            set("/big", "1-3"),
            set("/rt", "2-3"),
        ];
        Hierarchy {
            version,
            mount: "/cg".to_owned(),
            prefix: String::new(),
            read_only: false,
            v2_mode: false,
            sets,
        }
    }

    #[test]
    fn the_smallest_cpuset_with_all_cpus_is_entered() {
        let cpus = CpuSet::range(2, 3);
        assert_eq!(
            choose(&hierarchy(Version::V1), "/housekeeping", &cpus).as_deref(),
            Some("/cg/rt/tasks")
        );
        assert_eq!(
            choose(&hierarchy(Version::V2), "/housekeeping", &cpus).as_deref(),
            Some("/cg/rt/cgroup.procs")
        );
    }

    #[test]
    fn no_cpuset_is_entered_if_the_cpus_are_usable_or_no_set_has_them() {
        assert_eq!(choose(&hierarchy(Version::V1), "/rt", &CpuSet::range(2, 2)), None);
        assert_eq!(choose(&hierarchy(Version::V1), "/", &CpuSet::range(2, 2)), None);
        assert_eq!(
            choose(&hierarchy(Version::V1), "/housekeeping", &CpuSet::range(0, 3)),
            None
        );
    }
}
