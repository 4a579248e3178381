//! `run`: start a program in the partition.
//!
//! The process places itself and then becomes the program, so that signals, terminal and exit status are the
//! program's own. Only what must outlive that (a latency request, patterns for threads that appear later) keeps a
//! parent, on the housekeeping CPUs. Failures of ours are 125, 126 (not executable) and 127 (not found), as with env.

mod stay;

use crate::placement::PlacementArgs;
use crate::{CommandError, Screen, Status};
use apply::latency::Held;
use machine::{CpuSet, Machine, TaskKey};
use root::{Root, process};
use session::Session;
use session::accounts::{self, Identity};
use session::partition::{self, Partition, Pins};
use std::io::PipeWriter;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Arguments of `run`.
#[derive(clap::Args)]
pub struct Args {
    /// Name of the partition
    #[arg(long, value_name = "NAME", default_value = "rt")]
    partition: String,
    #[command(flatten)]
    placement: PlacementArgs,
    /// Run as this user (name or number of /etc/passwd), with the user's groups
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Run with this group (name or number of /etc/group)
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Take memory from these nodes only
    #[arg(long, value_name = "LIST")]
    mems: Option<String>,
    /// No transparent huge pages for it
    #[arg(long)]
    no_thp: bool,
    /// While it runs, none of its CPUs may idle so deeply that waking takes longer than this: 0us
    #[arg(long, value_name = "TIME", value_parser = machine::parse_duration)]
    latency: Option<Duration>,
    /// The latency is for all CPUs of the machine
    #[arg(long, requires = "latency")]
    latency_everywhere: bool,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<std::ffi::OsString>,
}

/// Runs it; without a parent it returns only when the program could not be started.
///
/// # Errors
/// No such partition, a refused placement, a program that cannot be started; all with status 125 to 127.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, CommandError> {
    let ours = |error| CommandError {
        status: Status::Program(125),
        ..error
    };
    let ready = Ready::check(session, args, screen).map_err(ours)?;
    if args.latency.is_none() && ready.pins.named.is_empty() {
        return ready.become_program(session, args, None);
    }
    let request = args
        .latency
        .map(|time| ready.hold_latency(session, args, time, screen))
        .transpose()
        .map_err(ours)?;
    let failed = |what: &str, error: std::io::Error| {
        ours(CommandError::new(
            Status::Unable,
            what,
            error.to_string(),
            "try again; there may be too many processes or open files",
        ))
    };
    let (started, starts) =
        std::io::pipe().map_err(|error| failed("no pipe to the program could be made", error))?;
    let parent = std::process::id();
    let former = process::hold_signals();
    let child = process::fork().map_err(|errno| {
        failed(
            "the program's process could not be made",
            std::io::Error::from_raw_os_error(errno),
        )
    })?;
    let Some(child) = child else {
        drop((started, request));
        process::release_signals(&former);
        return ready.become_program(session, args, Some((parent, starts)));
    };
    drop(starts);
    let status = stay::stay(child, started, &ready, screen);
    if let Some(request) = request {
        request.end(session, screen);
    }
    Ok(status)
}

/// What keeps CPUs out of deep idle states while the program runs.
enum Request {
    /// A descriptor, for the whole machine: it ends with us.
    Everywhere(#[allow(dead_code)] OwnedFd),
    /// A file of each CPU, which has to be given back.
    PerCpu(TaskKey),
}

impl Request {
    fn end(self, session: &Session, screen: &mut Screen) {
        let Request::PerCpu(own) = self else { return };
        let left = session.lock_existing().and_then(|changing| match changing {
            Some(changing) => Ok(apply::latency::let_go(&changing.host, changing.state(), own)?),
            None => Ok(Vec::new()),
        });
        match left {
            Ok(left) => left
                .iter()
                .for_each(|line| screen.note(&format!("note: left alone: {line}\n"))),
            Err(error) => screen.note(&format!(
                "note: the latency of the CPUs was not given back: {}; `quietcore undo` does it\n",
                error.why
            )),
        }
    }
}

fn hold_everywhere(time: Duration) -> Result<OwnedFd, CommandError> {
    let microseconds = i32::try_from(time.as_micros()).map_err(|_| {
        CommandError::usage(
            "the latency is too long",
            "the kernel takes a 32-bit number of microseconds",
            "write it as 0us or 20us",
        )
    })?;
    Ok(root::latency::hold(microseconds)?)
}

/// Everything that was asked for, checked before anything is changed.
pub(super) struct Ready<'s> {
    machine: Machine,
    root: &'s Root,
    partition: Partition,
    pins: Pins,
    identity: Option<Identity>,
    mems: Option<CpuSet>,
}

impl<'s> Ready<'s> {
    fn check(session: &'s Session, args: &Args, screen: &mut Screen) -> Result<Ready<'s>, CommandError> {
        let nothing = || partition::no_partition(&args.partition);
        let changing = session.lock_existing()?.ok_or_else(nothing)?;
        let root = session.root();
        let machine = session.machine();
        let partition =
            partition::partition_in_force(&changing, &machine, &args.partition)?.ok_or_else(nothing)?;
        drop(changing);
        let pins = args.placement.pins(&machine, &partition)?;
        let identity = accounts::identity(root, args.user.as_deref(), args.group.as_deref())?;
        let mems = args
            .mems
            .as_deref()
            .map(|list| nodes(list, &machine))
            .transpose()?;
        let prefix = machine
            .cgroups
            .cpuset
            .as_ref()
            .map_or("", |hierarchy| hierarchy.prefix.as_str());
        let unpinned = pins.all.is_none() && pins.named.is_empty();
        if unpinned && partition.cpus.len() > 1 && !partition.is_balanced(root, prefix) {
            screen.note(&format!(
                "note: the scheduler does not spread tasks over CPU {}: what the program starts stays on one of them \
                 unless it is pinned (--cpus, --pin, or by the program itself)\n",
                partition.cpus
            ));
        }
        Ok(Ready {
            machine,
            root,
            partition,
            pins,
            identity,
            mems,
        })
    }

    /// For the CPUs that the program uses; for all where they have no file of their own, or by word.
    fn hold_latency(
        &self,
        session: &Session,
        args: &Args,
        time: Duration,
        screen: &mut Screen,
    ) -> Result<Request, CommandError> {
        if args.latency_everywhere {
            return Ok(Request::Everywhere(hold_everywhere(time)?));
        }
        let changing = session
            .lock_existing()?
            .ok_or_else(|| partition::no_partition(&args.partition))?;
        let own = machine::tasks::read_one(self.root, std::process::id()).map(|task| task.key);
        let microseconds = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        let cpus = self.cpus();
        if let Some(own) = own
            && apply::latency::hold(&changing.host, changing.state(), own, microseconds, &cpus)?
                == Held::PerCpu
        {
            return Ok(Request::PerCpu(own));
        }
        screen.note(&format!(
            "note: CPU {cpus} has no pm_qos_resume_latency_us of its own here: the latency is held for all CPUs\n"
        ));
        Ok(Request::Everywhere(hold_everywhere(time)?))
    }

    /// The CPUs that the program may use: the partition's, or those that it is pinned to.
    fn cpus(&self) -> CpuSet {
        let all = self.pins.all.as_ref().unwrap_or(&self.partition.cpus).clone();
        self.pins.named.iter().fold(all, |all, (_, cpus)| all.or(cpus))
    }

    fn become_program(
        &self,
        session: &Session,
        args: &Args,
        parent: Option<(u32, PipeWriter)>,
    ) -> Result<Status, CommandError> {
        self.place(session, args, parent.as_ref().map(|(parent, _)| *parent))
            .map_err(|error| CommandError {
                status: Status::Program(125),
                ..error
            })?;
        // The pipe closes with the exec, which tells the parent that everything is in place.
        Err(partition::become_program(&args.command))
    }

    /// Placement first, then what is the process's own, and the user last, who may do none of it.
    fn place(&self, session: &Session, args: &Args, parent: Option<u32>) -> Result<(), CommandError> {
        self.join(session, args)?;
        if let Some(nodes) = &self.mems {
            self.bind(nodes)?;
        }
        if args.no_thp {
            process::disable_thp().map_err(|errno| refusal("huge pages cannot be switched off", errno))?;
        }
        if let Some(nice) = args.placement.nice {
            root::sched::set_nice(0, nice).map_err(|errno| refusal("the nice value was refused", errno))?;
        }
        if let Some(policy) = args.placement.policy {
            policy.give(0).map_err(|errno| {
                let (why, next) = policy.refused(errno, self.root, &self.machine, std::process::id());
                CommandError::new(Status::Denied, "the policy was refused", why, next)
            })?;
        }
        if let Some(Identity { uid, gid, groups }) = &self.identity {
            process::become_user(*uid, *gid, groups.as_deref())
                .map_err(|errno| refusal("the user could not be changed", errno))?;
        }
        if let Some(parent) = parent {
            process::die_with(parent)
                .map_err(|errno| refusal("the parent that should have stayed is gone", errno))?;
        }
        Ok(())
    }

    fn join(&self, session: &Session, args: &Args) -> Result<(), CommandError> {
        let nothing = || partition::no_partition(&args.partition);
        let changing = session.lock_existing()?.ok_or_else(nothing)?;
        // It may have been taken back since it was looked at.
        let partition =
            partition::partition_in_force(&changing, &self.machine, &args.partition)?.ok_or_else(nothing)?;
        let later: Vec<CpuSet> = self.pins.named.iter().map(|(_, cpus)| cpus.clone()).collect();
        partition::join(
            &changing,
            self.root,
            &self.machine,
            &partition,
            self.pins.all.as_ref(),
            &later,
        )
    }

    fn bind(&self, nodes: &CpuSet) -> Result<(), CommandError> {
        match process::bind_memory(nodes.words()) {
            Ok(()) => Ok(()),
            // A kernel without NUMA has node 0 and nothing else, which is what was asked for.
            Err(libc::ENOSYS) if nodes.to_string() == "0" => Ok(()),
            Err(errno) => Err(CommandError::new(
                Status::Unable,
                format!("memory cannot be bound to node {nodes}"),
                std::io::Error::from_raw_os_error(errno).to_string(),
                format!(
                    "the cpuset may allow other nodes only: see {}/cpuset.mems",
                    self.partition.path
                ),
            )),
        }
    }
}

fn nodes(list: &str, machine: &Machine) -> Result<CpuSet, CommandError> {
    let nodes = CpuSet::parse_list(list).map_err(|error| {
        CommandError::usage(
            "the list of memory nodes cannot be used",
            error.to_string(),
            "write it as 0 or 0-1",
        )
    })?;
    let mut there: CpuSet = machine
        .topology
        .memory_nodes()
        .map(|node| machine::CpuId(node.id))
        .collect();
    if machine.topology.nodes.is_empty() {
        there.insert(machine::CpuId(0));
    }
    if nodes.is_empty() || !nodes.is_subset(&there) {
        return Err(CommandError::usage(
            format!("there is no memory node {}", nodes.minus(&there)),
            format!("nodes with memory are {there}"),
            "choose among those; `quietcore inspect` shows them",
        ));
    }
    Ok(nodes)
}

fn refusal(what: &str, errno: i32) -> CommandError {
    let next = match errno {
        libc::EPERM | libc::EACCES => "run it as root (sudo quietcore ...)",
        _ => "leave this option out, or look at the error above",
    };
    let error = std::io::Error::from_raw_os_error(errno);
    CommandError::new(Status::Unable, what, error.to_string(), next)
}
