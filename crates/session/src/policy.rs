//! Parses scheduling policies of the command line, and explains why the kernel refuses one.

use crate::rt_group::NoRuntime;
use apply::FormerPolicy;
use machine::{Machine, parse_duration};
use root::Root;

/// A scheduling policy with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulingPolicy {
    /// A policy with at most a priority.
    Plain {
        /// Which.
        policy: machine::Policy,
        /// 1 to 99 for `fifo` and `rr`, else 0.
        priority: u32,
    },
    /// `SCHED_DEADLINE`, in nanoseconds.
    Deadline {
        /// The runtime per period.
        runtime_ns: u64,
        /// The deadline, from the start of the period.
        deadline_ns: u64,
        /// The length of the period.
        period_ns: u64,
    },
}

/// Parses `other`, `batch`, `idle`, `fifo:PRIORITY`, `rr:PRIORITY`, `deadline:RUNTIME/DEADLINE/PERIOD` (or
/// `RUNTIME/PERIOD`).
///
/// # Errors
/// Other words, priorities outside 1 to 99, times that the kernel rejects.
pub fn parse(text: &str) -> Result<SchedulingPolicy, String> {
    use machine::Policy::{Batch, Fifo, Idle, Other, Rr};
    let (word, rest) = match text.split_once(':') {
        Some((word, rest)) => (word, Some(rest)),
        None => (text, None),
    };
    let plain = |policy| match rest {
        None => Ok(SchedulingPolicy::Plain { policy, priority: 0 }),
        Some(_) => Err(format!("`{word}` takes no priority")),
    };
    let realtime = |policy| match rest.map(str::parse) {
        Some(Ok(priority @ 1..=99)) => Ok(SchedulingPolicy::Plain { policy, priority }),
        _ => Err(format!("`{word}` needs a priority from 1 to 99, as in {word}:80")),
    };
    match word {
        "other" => plain(Other),
        "batch" => plain(Batch),
        "idle" => plain(Idle),
        "fifo" => realtime(Fifo),
        "rr" => realtime(Rr),
        "deadline" => deadline(rest.unwrap_or_default()),
        _ => Err(format!(
            "`{text}` is not a policy: use other, batch, idle, fifo:80, rr:50 or deadline:100us/500us/1ms"
        )),
    }
}

fn deadline(text: &str) -> Result<SchedulingPolicy, String> {
    /// `DL_SCALE`: the kernel rejects shorter runtimes.
    const SHORTEST_NS: u64 = 1024;
    let times: Result<Vec<u64>, String> = text
        .split('/')
        .map(|time| {
            if !time.ends_with(|letter: char| letter.is_alphabetic()) {
                return Err(format!("`{time}` needs a unit, as in deadline:100us/500us/1ms"));
            }
            let time = parse_duration(time)?;
            u64::try_from(time.as_nanos()).map_err(|_| format!("`{text}` is too long"))
        })
        .collect();
    let (runtime_ns, deadline_ns, period_ns) = match *times?.as_slice() {
        [runtime, period] => (runtime, period, period),
        [runtime, deadline, period] => (runtime, deadline, period),
        _ => return Err("write deadline:RUNTIME/DEADLINE/PERIOD, as in deadline:100us/500us/1ms".to_owned()),
    };
    if runtime_ns < SHORTEST_NS {
        return Err("the runtime must be at least 1024 ns".to_owned());
    }
    if runtime_ns > deadline_ns || deadline_ns > period_ns {
        return Err("runtime, deadline and period must not decrease in this order: 100us/500us/1ms".to_owned());
    }
    Ok(SchedulingPolicy::Deadline {
        runtime_ns,
        deadline_ns,
        period_ns,
    })
}

impl SchedulingPolicy {
    /// Sets the policy of a thread (0: this one).
    ///
    /// # Errors
    /// The errno.
    pub fn set_for(self, tid: u32) -> Result<(), i32> {
        match self {
            SchedulingPolicy::Plain { policy, priority } => {
                let number = match policy {
                    machine::Policy::Fifo => libc::SCHED_FIFO,
                    machine::Policy::Rr => libc::SCHED_RR,
                    machine::Policy::Batch => libc::SCHED_BATCH,
                    machine::Policy::Idle => libc::SCHED_IDLE,
                    _ => libc::SCHED_OTHER,
                };
                root::sched::set_scheduler(tid, number, i32::try_from(priority).unwrap_or(0))
            }
            SchedulingPolicy::Deadline {
                runtime_ns,
                deadline_ns,
                period_ns,
            } => root::sched::set_deadline(tid, runtime_ns, deadline_ns, period_ns),
        }
    }

    /// The policy that a task will have, in the form of the journal.
    #[must_use]
    pub fn to_former_policy(self, nice: i32) -> FormerPolicy {
        match self {
            SchedulingPolicy::Plain { policy, priority } => FormerPolicy { policy, priority, nice },
            SchedulingPolicy::Deadline { .. } => FormerPolicy {
                policy: machine::Policy::Deadline,
                priority: 0,
                nice,
            },
        }
    }

    /// Why the kernel refused the policy for a thread, and what to do.
    #[must_use]
    pub fn refused(self, errno: i32, root: &Root, machine: &Machine, tid: u32) -> (String, String) {
        let error = std::io::Error::from_raw_os_error(errno).to_string();
        let is = |policy: machine::Policy| self.to_former_policy(0).policy == policy;
        let no_runtime = (is(machine::Policy::Fifo) || is(machine::Policy::Rr))
            .then(|| NoRuntime::of(root, machine, tid))
            .flatten();
        match (self, errno) {
            (
                SchedulingPolicy::Deadline {
                    runtime_ns, period_ns, ..
                },
                libc::EBUSY,
            ) => (
                format!(
                    "the kernel admits no more SCHED_DEADLINE tasks on these CPUs: the task requests {} of a CPU \
                     ({error})",
                    share(runtime_ns, period_ns)
                ),
                "request less runtime or a longer period; kernel.sched_rt_runtime_us limits the share of all such \
                 tasks together"
                    .to_owned(),
            ),
            (SchedulingPolicy::Deadline { .. }, libc::EPERM) => (
                "SCHED_DEADLINE needs CAP_SYS_NICE, and a thread that may run on every CPU of its scheduling domain: \
                 all CPUs without load balancing form one domain, including those of isolcpus= and of other partitions"
                    .to_owned(),
                "leave out --cpus and --pin, and use one partition and no isolcpus=; or use fifo:PRIORITY".to_owned(),
            ),
            (SchedulingPolicy::Deadline { .. }, libc::EINVAL) => (
                "the kernel does not accept these times".to_owned(),
                "keep the period between kernel.sched_deadline_period_min_us and _max_us (100us and 4s)".to_owned(),
            ),
            (_, libc::EPERM) => match no_runtime {
                Some(group) => (group.why(), group.next(tid)),
                None => (error, "run it as root or with CAP_SYS_NICE".to_owned()),
            },
            _ => (error, "use another policy or priority".to_owned()),
        }
    }
}

fn share(runtime_ns: u64, period_ns: u64) -> String {
    format!("{} %", runtime_ns.saturating_mul(100) / period_ns.max(1))
}

/// Parses a nice value.
///
/// # Errors
/// Numbers outside -20 to 19.
pub fn parse_nice(text: &str) -> Result<i32, String> {
    match text.parse() {
        Ok(nice @ -20..=19) => Ok(nice),
        _ => Err("a nice value is a number from -20 to 19".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduling_policies_require_a_valid_priority() {
        for text in ["other", "batch", "idle", "fifo:1", "fifo:99", "rr:50"] {
            assert!(parse(text).is_ok(), "{text}");
        }
        for text in [
            "", "fifo", "fifo:0", "fifo:100", "fifo:-1", "other:1", "deadline", "rr:x",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn deadline_times_require_units_and_the_right_order() {
        let wanted = SchedulingPolicy::Deadline {
            runtime_ns: 100_000,
            deadline_ns: 500_000,
            period_ns: 1_000_000,
        };
        assert_eq!(parse("deadline:100us/500us/1ms"), Ok(wanted));
        assert_eq!(
            parse("deadline:1ms/10ms"),
            Ok(SchedulingPolicy::Deadline {
                runtime_ns: 1_000_000,
                deadline_ns: 10_000_000,
                period_ns: 10_000_000,
            })
        );
        for text in [
            "deadline:",
            "deadline:1ms",
            "deadline:1/2/3",
            "deadline:2ms/1ms/3ms",
            "deadline:1ms/3ms/2ms",
            "deadline:100ns/1ms/1ms",
            "deadline:1ms/2ms/3ms/4ms",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nice_values_out_of_range_are_refused() {
        assert_eq!(parse_nice("-20"), Ok(-20));
        assert!(parse_nice("-21").is_err() && parse_nice("20").is_err() && parse_nice("x").is_err());
    }
}
