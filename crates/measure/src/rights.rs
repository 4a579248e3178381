//! Checks the privileges of this process, to explain refusals. The sampler is forked from it, and has the
//! same privileges.

use crate::Lane;
use machine::Policy;
use root::Root;
use rustix::process::{Resource, getrlimit};

/// Whether we have CAP_SYS_NICE (bit 23). True if unknown, so that the privilege is not blamed.
pub(crate) fn may_be_nice(root: &Root) -> bool {
    let status = root.readable_text("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask & (1 << 23) != 0)
}

/// Why a policy was refused, and what to do (`sched(7)`: RLIMIT_RTPRIO limits the priority without the capability).
pub(crate) fn about_refused_policy(lane: &Lane, errno: i32, root: &Root) -> (String, String) {
    let limit = getrlimit(Resource::Rtprio);
    let is_limit = errno == libc::EPERM && matches!(lane.policy, Policy::Fifo | Policy::Rr) && !may_be_nice(root);
    let Some(soft) = limit.current.filter(|_| is_limit) else {
        return (
            std::io::Error::from_raw_os_error(errno).to_string(),
            "run as root; in a cgroup with RT_GROUP_SCHED give it cpu.rt_runtime_us; else raise `ulimit -r`".to_owned(),
        );
    };
    let requested = lane.priority;
    let why = format!("without CAP_SYS_NICE it needs RLIMIT_RTPRIO of {requested}, which is {soft}");
    let smaller = match soft {
        0 => String::new(),
        soft => format!("use priority {soft} at most, or "),
    };
    let fix = match limit.maximum {
        Some(hard) if hard < u64::from(requested) => format!(
            "{smaller}run as root, or put `USER - rtprio {requested}` into /etc/security/limits.conf and log in again"
        ),
        _ => format!("{smaller}run as root, or `ulimit -r {requested}` before it"),
    };
    (why, fix)
}

/// The limit on locked memory in bytes; `None` if unlimited.
pub(crate) fn locked_memory() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}
