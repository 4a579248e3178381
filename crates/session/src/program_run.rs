//! Starts a program in a partition.
//!
//! The process places itself and then executes the program, so that signals, terminal and exit status are the program's own.
//! A parent on the housekeeping CPUs stays only for what must outlive the exec: a latency request, or patterns for threads
//! that appear later. Our own failures are 125, 126 (not executable) and 127 (not found), as with env.

mod parent;

use crate::accounts::{self, Identity};
use crate::comm_pattern::Pin;
use crate::partition::{self, ActivePartition, Pins};
use crate::policy::SchedulingPolicy;
use crate::{Session, resize};
use apply::latency::LatencyLimitResult;
use machine::{CpuSet, Machine, TaskKey};
use root::{Failure, Root, Status, process};
use std::ffi::OsString;
use std::io::PipeWriter;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// A program to start in a partition, and how.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Name of the partition.
    pub partition: String,
    /// Its cgroup becomes the partition, instead of the program moving there.
    pub in_place: bool,
    /// CPUs of the partition for the program, as an expression.
    pub cpus: Option<String>,
    /// CPUs of the partition for threads by name.
    pub pins: Vec<Pin>,
    /// Its policy.
    pub policy: Option<SchedulingPolicy>,
    /// Its nice value.
    pub nice: Option<i32>,
    /// Its user, by name or number of `/etc/passwd`, with the user's groups.
    pub user: Option<String>,
    /// Its group, by name or number of `/etc/group`.
    pub group: Option<String>,
    /// Its memory nodes: a list.
    pub mems: Option<String>,
    /// Disables transparent huge pages for it.
    pub no_thp: bool,
    /// While it runs, its CPUs enter no idle state with a longer exit latency.
    pub latency: Option<Duration>,
    /// Applies the latency to all CPUs of the machine.
    pub latency_everywhere: bool,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// Runs it. Without a parent, returns only if the program could not be started.
///
/// # Errors
/// No such partition, a refused placement, a program that cannot be started; all with status 125 to 127.
pub fn run_program(session: &Session, options: &RunOptions) -> Result<Status, Failure> {
    let ours = |error| Failure {
        status: Status::Program(125),
        ..error
    };
    if options.in_place {
        // Wrong options are refused before anything is changed.
        PreparedRun::check(session, options).map_err(ours)?;
        resize::hand_over(session, &options.partition, std::process::id()).map_err(ours)?;
    }
    let ready = PreparedRun::check(session, options).map_err(ours)?;
    ready.note_unpinned(session);
    if options.latency.is_none() && ready.pins.named.is_empty() {
        return ready.become_program(session, options, None);
    }
    let request = options
        .latency
        .map(|time| ready.request_latency(session, options, time))
        .transpose()
        .map_err(ours)?;
    let failed = |what: &str, error: std::io::Error| {
        ours(Failure::unable(
            what,
            error,
            "try again; there may be too many processes or open files",
        ))
    };
    let (started, starts) =
        std::io::pipe().map_err(|error| failed("the pipe to the program could not be created", error))?;
    let parent = std::process::id();
    let former = process::block_signals();
    let child = process::fork().map_err(|errno| {
        failed(
            "the program's process could not be created",
            std::io::Error::from_raw_os_error(errno),
        )
    })?;
    let Some(child) = child else {
        drop((started, request));
        process::release_signals(&former);
        return ready.become_program(session, options, Some((parent, starts)));
    };
    drop(starts);
    let status = parent::stay(child, started, &ready, session);
    if let Some(request) = request {
        request.end(session);
    }
    Ok(status)
}

/// What keeps CPUs out of deep idle states while the program runs.
enum LatencyHold {
    /// A file descriptor, for the whole machine: the request ends with this process.
    Everywhere(#[allow(dead_code)] OwnedFd),
    /// A file of each CPU, which has to be restored.
    PerCpu(TaskKey),
}

impl LatencyHold {
    fn end(self, session: &Session) {
        let LatencyHold::PerCpu(own) = self else { return };
        let left = session.lock_existing().and_then(|changing| match changing {
            Some(changing) => Ok(apply::latency::release_own(&*changing.host, changing.state(), own)?),
            None => Ok(Vec::new()),
        });
        match left {
            Ok(left) => left
                .iter()
                .for_each(|line| session.note(&format!("note: left alone: {line}\n"))),
            Err(error) => session.note(&format!(
                "note: the latency limit of the CPUs was not removed: {}; `quietcore undo` removes it\n",
                error.why
            )),
        }
    }
}

fn request_global_latency(time: Duration) -> Result<OwnedFd, Failure> {
    let microseconds = i32::try_from(time.as_micros()).map_err(|_| {
        Failure::usage(
            "the latency is too long",
            "the kernel takes a 32-bit number of microseconds",
            "write it as 0us or 20us",
        )
    })?;
    Ok(root::latency::request(microseconds)?)
}

/// The checked options, before anything is changed.
pub(super) struct PreparedRun<'s> {
    machine: Machine,
    root: &'s Root,
    partition: ActivePartition,
    pins: Pins,
    identity: Option<Identity>,
    mems: Option<CpuSet>,
}

impl<'s> PreparedRun<'s> {
    fn check(session: &'s Session, options: &RunOptions) -> Result<PreparedRun<'s>, Failure> {
        let nothing = || partition::no_partition(&options.partition, &session.in_force());
        let changing = session.lock_existing()?.ok_or_else(nothing)?;
        let root = session.root();
        let machine = session.machine();
        let partition = partition::partition_in_force(&changing, &machine, &options.partition)?.ok_or_else(nothing)?;
        drop(changing);
        let pins = Pins::within(&partition, &machine, options.cpus.as_deref(), &options.pins)?;
        let identity = accounts::identity(root, options.user.as_deref(), options.group.as_deref())?;
        let mems = options.mems.as_deref().map(|list| nodes(list, &machine)).transpose()?;
        Ok(PreparedRun {
            machine,
            root,
            partition,
            pins,
            identity,
            mems,
        })
    }

    /// Notes that nothing distributes the threads of the program, if nothing pins them.
    fn note_unpinned(&self, session: &Session) {
        let hierarchy = self.machine.cgroups.cpuset.as_ref();
        let prefix = hierarchy.map_or("", |hierarchy| hierarchy.prefix.as_str());
        let unpinned = self.pins.all.is_none() && self.pins.named.is_empty();
        if unpinned && self.partition.cpus.len() > 1 && !self.partition.is_balanced(self.root, prefix) {
            session.note(&format!(
                "note: the scheduler does not distribute tasks over CPU {}: what the program starts stays on one of \
                 them unless it is pinned (--cpus, --pin, or by the program itself)\n",
                self.partition.cpus
            ));
        }
    }

    /// Requests the latency for the CPUs that the program uses. Applies to all CPUs if they have no file of their own, or if
    /// requested.
    fn request_latency(&self, session: &Session, options: &RunOptions, time: Duration) -> Result<LatencyHold, Failure> {
        if options.latency_everywhere {
            return Ok(LatencyHold::Everywhere(request_global_latency(time)?));
        }
        let changing = session
            .lock_existing()?
            .ok_or_else(|| partition::no_partition(&options.partition, &session.in_force()))?;
        let own = machine::tasks::read_one(self.root, std::process::id()).map(|task| task.key);
        let microseconds = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        let cpus = self.cpus();
        if let Some(own) = own
            && apply::latency::hold(&*changing.host, changing.state(), own, microseconds, &cpus)?
                == LatencyLimitResult::PerCpu
        {
            return Ok(LatencyHold::PerCpu(own));
        }
        session.note(&format!(
            "note: CPU {cpus} has no pm_qos_resume_latency_us file here: the latency limit applies to all CPUs\n"
        ));
        Ok(LatencyHold::Everywhere(request_global_latency(time)?))
    }

    /// The CPUs that the program may use: the partition's, or those that it is pinned to.
    fn cpus(&self) -> CpuSet {
        let all = self.pins.all.as_ref().unwrap_or(&self.partition.cpus).clone();
        self.pins.named.iter().fold(all, |all, (_, cpus)| all.or(cpus))
    }

    fn become_program(
        &self,
        session: &Session,
        options: &RunOptions,
        parent: Option<(u32, PipeWriter)>,
    ) -> Result<Status, Failure> {
        self.place(session, options, parent.as_ref().map(|(parent, _)| *parent))
            .map_err(|error| Failure {
                status: Status::Program(125),
                ..error
            })?;
        // The exec closes the pipe, which notifies the parent that everything is in place.
        let variables = report::partition_environment(&options.partition, &self.cpus());
        Err(partition::become_program(&options.command, &variables))
    }

    /// Sets the placement first, then process attributes, and the user last, because that user may set none of these.
    fn place(&self, session: &Session, options: &RunOptions, parent: Option<u32>) -> Result<(), Failure> {
        self.join(session, options)?;
        if let Some(nodes) = &self.mems {
            self.bind(nodes)?;
        }
        if options.no_thp {
            process::disable_thp().map_err(|errno| refusal("huge pages cannot be disabled", errno))?;
        }
        if let Some(nice) = options.nice {
            root::sched::set_nice(0, nice).map_err(|errno| refusal("the kernel refused the nice value", errno))?;
        }
        if let Some(policy) = options.policy {
            policy.set_for(0).map_err(|errno| {
                let (why, next) = policy.refused(errno, self.root, &self.machine, std::process::id());
                Failure::new(Status::Denied, "the kernel refused the policy", why, next)
            })?;
        }
        if let Some(Identity { uid, gid, groups }) = &self.identity {
            process::become_user(*uid, *gid, groups.as_deref())
                .map_err(|errno| refusal("the user could not be changed", errno))?;
        }
        if let Some(parent) = parent {
            process::kill_with_parent(parent).map_err(|errno| refusal("the parent process has ended", errno))?;
        }
        Ok(())
    }

    fn join(&self, session: &Session, options: &RunOptions) -> Result<(), Failure> {
        let nothing = || partition::no_partition(&options.partition, &session.in_force());
        let changing = session.lock_existing()?.ok_or_else(nothing)?;
        // It may have been undone since it was read.
        let partition =
            partition::partition_in_force(&changing, &self.machine, &options.partition)?.ok_or_else(nothing)?;
        let later: Vec<CpuSet> = self.pins.named.iter().map(|(_, cpus)| cpus.clone()).collect();
        partition::join(&changing, &self.machine, &partition, self.pins.all.as_ref(), &later)
    }

    fn bind(&self, nodes: &CpuSet) -> Result<(), Failure> {
        match process::bind_memory(&nodes.words()) {
            Ok(()) => Ok(()),
            // A kernel without NUMA has only node 0, which was requested.
            Err(libc::ENOSYS) if nodes.to_string() == "0" => Ok(()),
            Err(errno) => Err(Failure::unable(
                format!("memory cannot be bound to node {nodes}"),
                std::io::Error::from_raw_os_error(errno),
                format!(
                    "the cpuset may allow only other nodes: see {}/cpuset.mems",
                    self.partition.path
                ),
            )),
        }
    }
}

fn nodes(list: &str, machine: &Machine) -> Result<CpuSet, Failure> {
    let nodes = CpuSet::parse_list(list)
        .map_err(|error| Failure::usage("the list of memory nodes is not valid", error, "write it as 0 or 0-1"))?;
    let mut there: CpuSet = machine
        .topology
        .memory_nodes()
        .map(|node| machine::CpuId(node.id))
        .collect();
    if machine.topology.nodes.is_empty() {
        there.insert(machine::CpuId(0));
    }
    if nodes.is_empty() || !nodes.is_subset(&there) {
        return Err(Failure::usage(
            format!("there is no memory node {}", nodes.minus(&there)),
            format!("nodes with memory are {there}"),
            "choose from those; `quietcore inspect` lists them",
        ));
    }
    Ok(nodes)
}

fn refusal(what: &str, errno: i32) -> Failure {
    let next = match errno {
        libc::EPERM | libc::EACCES => "run it as root (sudo quietcore ...)",
        _ => "leave this option out, or look at the error above",
    };
    let error = std::io::Error::from_raw_os_error(errno);
    Failure::unable(what, error, next)
}
