//! Putting a task into a partition that is in force, with policy and CPUs.

use crate::changing::Changing;
use crate::{CommandError, Status};
use apply::{Event, Journal, JournalState, System, TaskState};
use machine::{CpuSet, Hierarchy, Machine, Version};
use plan::partition_path;

/// A partition that is in force.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Directory of its cgroup.
    pub path: String,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Hierarchy version.
    pub version: Version,
}

impl Partition {
    /// The partition of an intent on a hierarchy.
    #[must_use]
    pub fn of(hierarchy: &Hierarchy, name: &str, cpus: &CpuSet) -> Partition {
        Partition {
            path: partition_path(hierarchy, name),
            cpus: cpus.clone(),
            version: hierarchy.version,
        }
    }

    /// The file that takes a task: one thread on v1, a process on v2.
    #[must_use]
    pub fn door(&self) -> String {
        match self.version {
            Version::V1 => format!("{}/tasks", self.path),
            Version::V2 => format!("{}/cgroup.procs", self.path),
        }
    }
}

/// The partition of that name, if it is in force.
///
/// # Errors
/// A journal that cannot be read.
pub fn partition_in_force(
    changing: &Changing,
    machine: &Machine,
    name: &str,
) -> Result<Option<Partition>, CommandError> {
    let Some(journal) = Journal::open(&changing.state)? else {
        return Ok(None);
    };
    if journal.state(machine.kernel.boot_id.as_deref()) != JournalState::InForce {
        return Ok(None);
    }
    let (Some(Event::Begin { intent, .. }), Some(hierarchy)) = (journal.begin(), &machine.cgroups.cpuset)
    else {
        return Ok(None);
    };
    Ok((intent.name.as_str() == name).then(|| Partition::of(hierarchy, name, &intent.cpus)))
}

/// Moves a process into the partition, after the journal says where it came from.
///
/// # Errors
/// A refusal by the kernel, or a journal that cannot be written.
pub fn join(changing: &Changing, partition: &Partition, pid: u32) -> Result<(), CommandError> {
    let root = changing.host.root();
    let task = machine::tasks::read_one(root, pid);
    if let (Some(mut journal), Some(task)) = (Journal::open(&changing.state)?, task) {
        let cgroup = machine::tasks::cgroup_of(root, pid, partition.version);
        let mask = task.allowed.unwrap_or_default();
        journal.append(Event::Joined {
            task: TaskState {
                key: task.key,
                comm: task.comm,
                cgroup,
                mask,
            },
        })?;
    }
    changing.host.write(&partition.door(), &pid.to_string()).map_err(|error| {
        CommandError::new(
            Status::Unable,
            format!("the process could not join {}", partition.path),
            error.to_string(),
            "a real-time task may need rt_runtime in its cpu cgroup (RT_GROUP_SCHED); start it as an ordinary one",
        )
    })
}

/// Pins the calling thread.
///
/// # Errors
/// A refusal by the kernel.
pub fn pin(cpus: &CpuSet) -> Result<(), CommandError> {
    let host = apply::Host::new(root::Live::host());
    host.set_affinity(0, cpus).map_err(|error| {
        CommandError::new(
            Status::Unable,
            format!("the program cannot be pinned to CPU {cpus}"),
            error.to_string(),
            "choose CPUs of the partition that are online",
        )
    })
}

/// A scheduling policy with its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// `SCHED_*` number.
    number: libc::c_int,
    /// 1 to 99 for `fifo` and `rr`, else 0.
    priority: libc::c_int,
}

/// Parses `other`, `batch`, `idle`, `fifo:PRIORITY`, `rr:PRIORITY`.
///
/// # Errors
/// Other words, and priorities outside 1 to 99.
pub fn parse_policy(text: &str) -> Result<Policy, String> {
    let (word, priority) = match text.split_once(':') {
        Some((word, priority)) => (word, Some(priority)),
        None => (text, None),
    };
    let plain = |number| match priority {
        None => Ok(Policy { number, priority: 0 }),
        Some(_) => Err(format!("`{word}` has no priority")),
    };
    let realtime = |number| match priority.map(str::parse) {
        Some(Ok(priority @ 1..=99)) => Ok(Policy { number, priority }),
        _ => Err(format!("`{word}` needs a priority from 1 to 99, as in {word}:80")),
    };
    match word {
        "other" => plain(libc::SCHED_OTHER),
        "batch" => plain(libc::SCHED_BATCH),
        "idle" => plain(libc::SCHED_IDLE),
        "fifo" => realtime(libc::SCHED_FIFO),
        "rr" => realtime(libc::SCHED_RR),
        _ => Err(format!(
            "`{text}` is no policy: use other, batch, idle, fifo:80 or rr:50"
        )),
    }
}

/// Gives the calling thread a policy.
///
/// # Errors
/// A refusal by the kernel, explained.
pub fn set_policy(policy: Policy) -> Result<(), CommandError> {
    let Err(errno) = root::sched::set_scheduler(0, policy.number, policy.priority) else {
        return Ok(());
    };
    let error = std::io::Error::from_raw_os_error(errno);
    let (status, next) = match error.raw_os_error() {
        Some(libc::EPERM) => (
            Status::Denied,
            "run it as root or with CAP_SYS_NICE; with RT_GROUP_SCHED its cpu cgroup needs cpu.rt_runtime_us",
        ),
        _ => (Status::Unable, "use another policy or priority"),
    };
    Err(CommandError::new(
        status,
        "the policy was refused",
        error.to_string(),
        next,
    ))
}

#[cfg(test)]
mod tests {
    use super::parse_policy;

    #[test]
    fn policies_need_the_right_priority() {
        for text in ["other", "batch", "idle", "fifo:1", "fifo:99", "rr:50"] {
            assert!(parse_policy(text).is_ok(), "{text}");
        }
        for text in [
            "", "fifo", "fifo:0", "fifo:100", "fifo:-1", "other:1", "deadline", "rr:x",
        ] {
            assert!(parse_policy(text).is_err(), "{text}");
        }
    }
}
