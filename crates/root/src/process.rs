//! Wraps the calls of a process before it executes another program, and of its parent: user, memory policy, signals, waiting.
//!
//! Raw calls, all in one file, because each needs `unsafe`. [`fork`] is for a process with one thread.

use crate::sched::{errno, kernel_words, outcome};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Forks the process: `None` in the child, the child's number in the parent. Only for a process with one thread.
///
/// # Errors
/// The errno: EAGAIN if there are too many processes.
pub fn fork() -> Result<Option<u32>, i32> {
    // SAFETY: with one thread no lock can be held by another thread that the child lacks.
    match unsafe { libc::fork() } {
        -1 => Err(errno()),
        0 => Ok(None),
        pid => Ok(Some(pid.unsigned_abs())),
    }
}

/// A file descriptor that becomes readable when a process ends (`pidfd_open(2)`, Linux 5.3).
///
/// # Errors
/// The errno: ESRCH if there is no such process, ENOSYS on an older kernel.
pub fn exit_descriptor(pid: u32) -> Result<OwnedFd, i32> {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let pid = pid.ok_or(libc::ESRCH)?;
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).map_err(rustix::io::Errno::raw_os_error)
}

/// The number that is no user and no group: for `setresuid(2)` and `setresgid(2)` it means "unchanged".
pub const NO_ID: u32 = u32::MAX;

/// Becomes another user permanently: supplementary groups (`None` keeps them), then group, then user. Reads the result back.
///
/// # Errors
/// The errno: EINVAL for [`NO_ID`], EPERM without the privilege, or if the result differs from the request.
pub fn become_user(uid: u32, gid: u32, groups: Option<&[u32]>) -> Result<(), i32> {
    if uid == NO_ID || gid == NO_ID || groups.is_some_and(|groups| groups.contains(&NO_ID)) {
        return Err(libc::EINVAL);
    }
    // SAFETY: plain numbers, and a slice that lives across the call. The order keeps the privilege until the end.
    let done = unsafe {
        groups.is_none_or(|groups| libc::setgroups(groups.len(), groups.as_ptr()) == 0)
            && libc::setresgid(gid, gid, gid) == 0
            && libc::setresuid(uid, uid, uid) == 0
    };
    if !done {
        return Err(errno());
    }
    if three_ids() == ([uid; 3], [gid; 3]) {
        Ok(())
    } else {
        Err(libc::EPERM)
    }
}

/// Real, effective and saved user, then the same for the group.
fn three_ids() -> ([u32; 3], [u32; 3]) {
    let (mut users, mut groups) = ([NO_ID; 3], [NO_ID; 3]);
    let ([ru, eu, su], [rg, eg, sg]) = (&mut users, &mut groups);
    // SAFETY: the kernel fills six numbers of ours; any that it does not fill remain invalid ids.
    unsafe {
        libc::getresuid(ru, eu, su);
        libc::getresgid(rg, eg, sg);
    }
    (users, groups)
}

/// The real user and group of this process.
#[must_use]
pub fn ids() -> (u32, u32) {
    // SAFETY: these cannot fail.
    unsafe { (libc::getuid(), libc::getgid()) }
}

/// Restricts the memory of this process to these nodes (`set_mempolicy`, `MPOL_BIND`). Node `n` is bit `n % 64` of word
/// `n / 64`. It persists across exec.
///
/// # Errors
/// The errno: EINVAL for nodes that the cpuset does not allow, ENOSYS on a kernel without NUMA.
pub fn bind_memory(nodes: &[u64]) -> Result<(), i32> {
    const MPOL_BIND: libc::c_int = 2;
    let bytes = kernel_words(nodes);
    // The kernel reads one bit less than the given number (`get_nodes`).
    let bits = bytes.len() * 8 + 1;
    // SAFETY: the kernel reads that many bits, rounded up to whole words. It reads nothing beyond `bytes`, because it
    // ignores the last bit.
    let done = unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_BIND, bytes.as_ptr(), bits) };
    outcome(done)
}

/// Disables transparent huge pages for this process, also after exec (`PR_SET_THP_DISABLE`).
///
/// # Errors
/// The errno: EINVAL before 3.15.
pub fn disable_thp() -> Result<(), i32> {
    // SAFETY: plain numbers.
    let done = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    outcome(done)
}

/// Makes the kernel kill this process when its parent dies. The kernel resets this when the process changes its user,
/// so call it after that. `parent` is the original parent: if it is already gone, this returns an error.
///
/// # Errors
/// ESRCH if the parent is gone.
pub fn kill_with_parent(parent: u32) -> Result<(), i32> {
    // SAFETY: plain numbers.
    let now = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        libc::getppid()
    };
    if now.unsigned_abs() == parent {
        Ok(())
    } else {
        Err(libc::ESRCH)
    }
}

/// The signals that were blocked before [`block_signals`].
pub struct FormerSignalMask(libc::sigset_t);

/// Blocks every signal, so that [`next_signal`] gets them one by one. Children inherit the mask and must restore it.
#[must_use]
pub fn block_signals() -> FormerSignalMask {
    let mut former = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: both sets are filled before they are read; a failure leaves an empty set. A parent that ignores SIGCHLD
    // would never learn how its child ended.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const *all().as_ptr(), former.as_mut_ptr());
        FormerSignalMask(former.assume_init())
    }
}

/// The signals with which a user, another process, or the end of a session ends a program.
pub const ENDINGS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Blocks [`ENDINGS`], so that they take effect only after [`release_signals`] or [`admit_endings`].
#[must_use]
pub fn block_endings() -> FormerSignalMask {
    let mut former = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: as in `hold_signals`.
    unsafe {
        libc::sigprocmask(libc::SIG_BLOCK, endings().as_ptr(), former.as_mut_ptr());
        FormerSignalMask(former.assume_init())
    }
}

/// Unblocks [`ENDINGS`], including those that are pending.
pub fn admit_endings() {
    // SAFETY: a set that was filled.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, endings().as_ptr(), std::ptr::null_mut()) };
}

fn endings() -> MaybeUninit<libc::sigset_t> {
    let mut set = MaybeUninit::zeroed();
    // SAFETY: `sigemptyset` fills the set before anything is added to it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in ENDINGS {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
    }
    set
}

/// Unblocks all signals: for a child, which would inherit its parent's mask.
///
/// # Errors
/// The errno.
pub fn unblock_signals() -> Result<(), i32> {
    let mut none = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the first call fills the set that the second reads.
    let done = unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut())
    };
    outcome(done)
}

/// Restores the former mask.
pub fn release_signals(former: &FormerSignalMask) {
    // SAFETY: a set that the kernel filled.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const former.0, std::ptr::null_mut()) };
}

/// A signal that arrived while signals were blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingSignal {
    /// Its number.
    pub number: i32,
    /// Whether a process sent it. Signals of the terminal go to the whole foreground group, so a child has them already.
    pub by_process: bool,
}

/// Waits for a blocked signal, at most for `wait`; `None` if none arrived.
#[must_use]
pub fn next_signal(wait: Duration) -> Option<PendingSignal> {
    // SAFETY: an all-zero timespec is a valid one; its fields differ in width between targets.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    time.tv_sec = wait.as_secs().try_into().unwrap_or(0);
    time.tv_nsec = wait.subsec_nanos() as libc::c_long;
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the kernel fills `info` when it returns a signal; all zero is a valid one otherwise.
    let (number, info) = unsafe {
        let number = libc::sigtimedwait(all().as_ptr(), info.as_mut_ptr(), &raw const time);
        (number, info.assume_init())
    };
    (number > 0).then_some(PendingSignal {
        number,
        by_process: info.si_code <= 0,
    })
}

/// The threads of a process; empty if it has ended.
#[must_use]
pub fn threads(pid: u32) -> Vec<u32> {
    numbers(&format!("/proc/{pid}/task"))
}

/// The numeric names in a directory of the running kernel's `/proc`.
pub(crate) fn numbers(dir: &str) -> Vec<u32> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Sends a signal; if the process is gone, nothing happens.
pub fn send(pid: u32, signal: i32) {
    if let Ok(pid) = libc::pid_t::try_from(pid) {
        // SAFETY: plain numbers.
        unsafe { libc::kill(pid, signal) };
    }
}

/// Stops this process as a terminal would, until it is continued.
pub fn stop_here() {
    // SAFETY: plain numbers.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// The state change of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildState {
    /// None.
    Lives,
    /// It was stopped.
    Stopped,
    /// It ended with this exit status.
    Exited(u8),
    /// It ended by this signal.
    Killed(i32),
}

/// The state change of a child since the last call. Never blocks.
#[must_use]
pub fn news_of(child: u32) -> ChildState {
    let Ok(pid) = libc::pid_t::try_from(child) else {
        return ChildState::Lives;
    };
    let mut status = 0;
    // SAFETY: the kernel fills one int.
    let seen = unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG | libc::WUNTRACED) };
    match seen {
        0 => ChildState::Lives,
        -1 if errno() == libc::EINTR => ChildState::Lives,
        // Another caller reaped it: it is gone, and its status is unknown.
        -1 => ChildState::Exited(125),
        _ if libc::WIFEXITED(status) => ChildState::Exited(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(125)),
        _ if libc::WIFSIGNALED(status) => ChildState::Killed(libc::WTERMSIG(status)),
        _ if libc::WIFSTOPPED(status) => ChildState::Stopped,
        _ => ChildState::Lives,
    }
}

fn all() -> MaybeUninit<libc::sigset_t> {
    let mut set = MaybeUninit::zeroed();
    // SAFETY: the call fills the set.
    unsafe { libc::sigfillset(set.as_mut_ptr()) };
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_status_of_a_child_is_collected() {
        // Spawned, not forked: the test's own process has many threads.
        let mut child = std::process::Command::new("sh")
            .args(["-c", "kill -STOP $$; exit 7"])
            .spawn()
            .unwrap();
        let pid = child.id();
        let until = |wanted: ChildState| {
            for _ in 0..500 {
                let news = news_of(pid);
                if news != ChildState::Lives {
                    return assert_eq!(news, wanted);
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            panic!("{wanted:?} never came");
        };
        until(ChildState::Stopped);
        send(pid, libc::SIGCONT);
        until(ChildState::Exited(7));
        assert_eq!(news_of(pid), ChildState::Exited(125), "its status was taken");
        let _ = child.wait();
    }

    #[test]
    fn the_id_that_means_no_change_is_refused_as_a_user() {
        for (uid, gid, groups) in [(NO_ID, 1, None), (1, NO_ID, None), (1, 1, Some(&[NO_ID][..]))] {
            assert_eq!(
                become_user(uid, gid, groups),
                Err(libc::EINVAL),
                "{uid} {gid} {groups:?}"
            );
        }
    }

    #[test]
    fn refusals_by_the_kernel_are_returned_as_errno() {
        assert_eq!(bind_memory(&[0]), Err(libc::EINVAL), "no node at all");
        assert_eq!(crate::sched::set_nice(u32::MAX >> 1, 0), Err(libc::ESRCH));
        assert_eq!(crate::sched::set_deadline(0, 2, 1, 1), Err(libc::EINVAL));
    }
}
