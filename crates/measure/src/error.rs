//! Errors that prevent a measurement.

use crate::Lane;
use crate::rights::{about_refused_policy, may_be_nice};
use machine::{CpuId, CpuSet};
use root::{Failure, Root, RootError, Status};
use std::fmt;

/// An error of this crate. Problems that only limit the meaning of the numbers are findings in the result.
#[derive(Debug)]
pub enum MeasureError {
    /// An invalid request.
    Request {
        /// The invalid part of the request.
        what: &'static str,
        /// The reason.
        why: String,
        /// A valid alternative.
        next: String,
    },
    /// A CPU that is not online.
    Offline {
        /// The CPU.
        cpu: CpuId,
        /// The CPUs that are online.
        online: CpuSet,
    },
    /// A CPU that the sampler may not use (EINVAL of `sched_setaffinity`).
    NotAllowed {
        /// The CPU.
        cpu: CpuId,
        /// The CPUs that the process may use.
        allowed: CpuSet,
    },
    /// The kernel refused `SCHED_DEADLINE`.
    Deadline {
        /// The CPU.
        cpu: CpuId,
        /// EPERM or EBUSY, mostly.
        errno: i32,
        /// The reason.
        why: &'static str,
        /// What to do.
        next: &'static str,
    },
    /// The kernel refused the requested policy.
    Policy {
        /// The CPU.
        cpu: CpuId,
        /// The policy and its priority, as on the command line.
        policy: String,
        /// EPERM, mostly.
        errno: i32,
        /// The reason.
        why: String,
        /// What to do.
        next: String,
    },
    /// The request that blocks CPUs from deep idle states was refused, but is required.
    IdleStates {
        /// EACCES or ENOENT, mostly.
        errno: i32,
    },
    /// The samplers did not get ready, and did not wait for a CPU: they slept, were stopped, or had the CPU.
    Stuck {
        /// The CPUs.
        cpus: CpuSet,
    },
    /// The samplers were ready to run, but other tasks had their CPUs.
    Starved {
        /// The CPUs.
        cpus: CpuSet,
        /// How long the samplers were waited for, in seconds.
        waited_s: u64,
        /// Total CPU time of all of them, in milliseconds.
        run_time_ms: u64,
    },
    /// The samplers were ready to run, but it is unknown which tasks had their CPUs: this kernel keeps no scheduler
    /// statistics of threads, like those without `CONFIG_SCHED_INFO`.
    Unaccounted {
        /// The CPUs.
        cpus: CpuSet,
        /// How long the samplers were waited for, in seconds.
        waited_s: u64,
    },
    /// The sampler could not be moved into its partition.
    Join {
        /// The error of the caller's function.
        why: String,
    },
    /// The operating system refused something that the measurement requires.
    Os {
        /// The operation that failed.
        operation: &'static str,
        /// The errno.
        errno: i32,
    },
    /// A program of the run could not be started.
    Program {
        /// Its name in the description.
        name: String,
        /// The operation that failed.
        what: String,
        /// The errno.
        errno: i32,
    },
    /// The sampler process ended before it started sampling.
    Sampler {
        /// Exit status or signal.
        how: String,
    },
    /// A file of the machine could not be read.
    Root(RootError),
}

impl MeasureError {
    /// The error of an operation, from the errno that it failed with.
    pub(crate) fn os(operation: &'static str) -> impl FnOnce(i32) -> MeasureError {
        move |errno| MeasureError::Os { operation, errno }
    }

    /// Explains the refusal of another policy.
    pub(crate) fn policy(lane: &Lane, errno: i32, root: &Root) -> MeasureError {
        let (why, next) = about_refused_policy(lane, errno, root);
        MeasureError::Policy {
            cpu: lane.cpu,
            policy: match lane.priority {
                0 => format!("{:?}", lane.policy).to_lowercase(),
                priority => format!("{:?}:{priority}", lane.policy).to_lowercase(),
            },
            errno,
            why,
            next,
        }
    }

    /// Explains the refusal of `SCHED_DEADLINE`. The kernel accepts a deadline task only if its affinity covers its whole root
    /// domain (`__sched_setscheduler` in `kernel/sched/syscalls.c`). A task pinned to one CPU needs a domain of
    /// that CPU alone, or a kernel without admission control (`sched_rt_runtime_us` -1).
    pub(crate) fn deadline(cpu: CpuId, errno: i32, root: &Root) -> MeasureError {
        let (why, next) = match errno {
            libc::EPERM if !may_be_nice(root) => (
                "this process may not choose its policy",
                "run as root, or with CAP_SYS_NICE",
            ),
            libc::EPERM => (
                "the CPU shares its scheduling domain with others, and a deadline task may not be pinned to a part of \
                 a domain",
                "isolate only this CPU first (`quietcore apply --cpus` with one CPU), or set \
                 kernel.sched_rt_runtime_us to -1",
            ),
            libc::EBUSY => (
                "the CPU does not have enough free time for this deadline task",
                "use a smaller runtime or a longer period",
            ),
            libc::EINVAL => (
                "the kernel does not accept these times",
                "see kernel.sched_deadline_period_min_us and kernel.sched_deadline_period_max_us",
            ),
            _ => ("the kernel does not support it", "use fifo:80"),
        };
        MeasureError::Deadline { cpu, errno, why, next }
    }
}

/// Generic advice.
pub(crate) const ADVICE: &str = "fix the cause above, then try again";

/// Possible users of the CPU time.
const LOOK_FOR_RT_TASK: &str = "look for a real-time task that never sleeps on this CPU (`ps -eLo psr,pid,rtprio,comm`), and for \
    the cgroup's limit of CPU time";

impl MeasureError {
    /// The cause.
    fn why(&self) -> String {
        match self {
            MeasureError::Request { what, why, .. } => format!("{what}: {why}"),
            MeasureError::Offline { cpu, online } => format!("CPU {cpu} is not online (online: {online})"),
            MeasureError::NotAllowed { cpu, allowed } => {
                format!("this process may not use CPU {cpu} (allowed: {allowed})")
            }
            MeasureError::Deadline { cpu, errno, why, .. } => {
                let refusal = os_text(*errno);
                format!("CPU {cpu}: SCHED_DEADLINE was refused ({refusal}): {why}")
            }
            MeasureError::Policy { cpu, policy, why, .. } => {
                format!("CPU {cpu}: {policy} was refused: {why}")
            }
            MeasureError::IdleStates { errno } => format!(
                "{} refuses the request that prevents deep idle states: {}",
                root::latency::DEVICE,
                os_text(*errno)
            ),
            MeasureError::Stuck { cpus } => format!(
                "no sampler on CPUs {cpus} started within 10 s, and none of its threads waited for the CPU during that \
                 time"
            ),
            MeasureError::Starved {
                cpus,
                waited_s,
                run_time_ms: ran_ms,
            } => format!(
                "the samplers of CPUs {cpus} were ready to run for {waited_s} s, and other tasks left them only \
                 {ran_ms} ms of it"
            ),
            MeasureError::Unaccounted { cpus, waited_s } => format!(
                "the samplers of CPUs {cpus} were ready to run for {waited_s} s and did not start; it is unknown \
                 whether other tasks used the CPU, because this kernel has no scheduling statistics of threads \
                 (CONFIG_SCHED_INFO)"
            ),
            MeasureError::Join { why } => format!("the sampler could not join its partition: {why}"),
            MeasureError::Os {
                operation: doing,
                errno,
            } => format!("cannot {doing}: {}", os_text(*errno)),
            MeasureError::Program { name, what, errno } => {
                format!("{name}: cannot {what}: {}", os_text(*errno))
            }
            MeasureError::Sampler { how } => {
                format!("the sampler process ended before it started to sample ({how})")
            }
            MeasureError::Root(error) => error.to_string(),
        }
    }

    /// What to do next.
    fn next(&self) -> String {
        let next = match self {
            MeasureError::Request { next, .. } | MeasureError::Policy { next, .. } => next,
            MeasureError::Offline { cpu, .. } => {
                let file = format!("/sys/devices/system/cpu/cpu{cpu}/online");
                return format!("choose one of these, or bring it online with `echo 1 > {file}`");
            }
            MeasureError::NotAllowed { .. } => {
                "move this shell to the root cpuset, or measure inside the partition that contains the CPU"
            }
            MeasureError::Deadline { next, .. } => next,
            MeasureError::IdleStates { .. } => "run as root; `--idle leave` measures without the request",
            MeasureError::Stuck { .. } => {
                "check whether its cgroup is frozen or has reached its memory limit, and whether it was stopped"
            }
            MeasureError::Starved { .. } | MeasureError::Unaccounted { .. } => LOOK_FOR_RT_TASK,
            MeasureError::Sampler { .. } => "try again, and report it if it happens again",
            MeasureError::Join { .. }
            | MeasureError::Os { .. }
            | MeasureError::Program { .. }
            | MeasureError::Root(_) => ADVICE,
        };
        next.to_owned()
    }

    fn status(&self) -> Status {
        match self {
            MeasureError::Request { .. } | MeasureError::Offline { .. } => Status::Usage,
            MeasureError::Os {
                errno: libc::EPERM | libc::EACCES,
                ..
            }
            | MeasureError::Policy { errno: libc::EPERM, .. }
            | MeasureError::IdleStates {
                errno: libc::EPERM | libc::EACCES,
            } => Status::Denied,
            _ => Status::Unable,
        }
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Failure {
        Failure::new(error.status(), "the measurement failed", error.why(), error.next())
    }
}

impl From<RootError> for MeasureError {
    fn from(error: RootError) -> MeasureError {
        MeasureError::Root(error)
    }
}

/// The cause, and what to do next, on one line.
impl fmt::Display for MeasureError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.why(), self.next()) {
            (why, next) if next == ADVICE => write!(out, "{why}"),
            (why, next) => write!(out, "{why}; {next}"),
        }
    }
}

impl std::error::Error for MeasureError {}

fn os_text(errno: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(errno)
}
