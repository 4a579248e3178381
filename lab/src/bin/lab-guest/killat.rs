//! Kills a command at its N-th state-changing system call, by ptrace.
//!
//! Killed at a call's entry, the call is not made: the kernel drops it when a fatal signal is pending
//! (`ptrace_report_syscall`, `include/linux/ptrace.h`). Killed at its exit, it was made and nothing after it.
//! Threads of the command are counted along; processes that it starts (a detached guard) are left alone.

use serde_json::json;
use std::ffi::CString;
use std::io::Error;
use std::path::PathBuf;

/// Where in the call the signal is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Before it is made.
    Entry,
    /// After it was made.
    Exit,
}

impl Mode {
    /// `entry` or `exit`.
    pub fn parse(text: &str) -> Result<Mode, String> {
        match text {
            "entry" => Ok(Mode::Entry),
            "exit" => Ok(Mode::Exit),
            other => Err(format!("{other}: a mode is entry or exit")),
        }
    }
}

/// What happened to the command.
#[derive(Debug, Default)]
pub struct Seen {
    /// State-changing calls that it reached.
    pub calls: u64,
    /// The call that it was killed at.
    pub killed_at: Option<String>,
    /// Exit status, or 128 + signal.
    pub status: i32,
}

/// `lab-guest killat`.
pub fn main(at: &str, mode: &str, command: &[&str]) -> Result<(), String> {
    let at = at.parse().ok();
    let seen = run(command, at, Mode::parse(mode)?)?;
    println!(
        "{}",
        json!({ "calls": seen.calls, "killed_at": seen.killed_at, "status": seen.status })
    );
    Ok(())
}

/// Runs a command, and kills it at state-changing call `at` (the first is 1); with `None` it only counts.
pub fn run(command: &[&str], at: Option<u64>, mode: Mode) -> Result<Seen, String> {
    let pid = start(command)?;
    let mut seen = Seen::default();
    let mut status = 0;
    wait_for(pid, &mut status)?;
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
    trace(libc::PTRACE_SETOPTIONS, pid, options as usize)?;
    trace(libc::PTRACE_SYSCALL, pid, 0)?;
    let mut counted_at_exit = Vec::new();
    loop {
        let stopped = wait_for(-1, &mut status)?;
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            if stopped == pid {
                let signal = 128
                    + if libc::WIFSIGNALED(status) {
                        libc::WTERMSIG(status)
                    } else {
                        0
                    };
                seen.status = if libc::WIFEXITED(status) {
                    libc::WEXITSTATUS(status)
                } else {
                    signal
                };
                return Ok(seen);
            }
            continue;
        }
        let signal = libc::WSTOPSIG(status);
        if signal != libc::SIGTRAP | 0x80 {
            // Signals are handed on; stops of ptrace's own (a new thread, the start) are not signals.
            let own = status >> 16 != 0 || signal == libc::SIGTRAP || signal == libc::SIGSTOP;
            let _ = trace(
                libc::PTRACE_SYSCALL,
                stopped,
                if own { 0 } else { signal as usize },
            );
            continue;
        }
        let here = match call_of(stopped) {
            Some(Stop::Entry(name)) => {
                seen.calls += 1;
                let hit = at == Some(seen.calls);
                if hit && mode == Mode::Exit {
                    counted_at_exit.push((stopped, name.clone()));
                }
                (hit && mode == Mode::Entry).then_some(name)
            }
            Some(Stop::Exit) => counted_at_exit
                .iter()
                .find(|(thread, _)| *thread == stopped)
                .map(|(_, name)| name.clone()),
            None => None,
        };
        if let Some(name) = here {
            seen.killed_at = Some(name);
            // SAFETY: a plain call; the process is our child and not reaped yet.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            continue;
        }
        // A thread that another thread's exit took along is gone; its end is reported by wait.
        let _ = trace(libc::PTRACE_SYSCALL, stopped, 0);
    }
}

/// The C libraries do not agree on the type of a request.
#[cfg(target_env = "musl")]
type Request = libc::c_int;
#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;

enum Stop {
    /// At the entry of a state-changing call; its name and target.
    Entry(String),
    Exit,
}

/// `struct ptrace_syscall_info` of `include/uapi/linux/ptrace.h`, 5.3 and later.
#[repr(C)]
#[derive(Default)]
struct SyscallInfo {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    number: u64,
    arguments: [u64; 6],
}

const PTRACE_GET_SYSCALL_INFO: Request = 0x420e;
const SYSCALL_INFO_ENTRY: u8 = 1;
const SYSCALL_INFO_EXIT: u8 = 2;

fn call_of(thread: i32) -> Option<Stop> {
    let mut info = SyscallInfo::default();
    let size = std::mem::size_of::<SyscallInfo>();
    // SAFETY: the kernel writes at most `size` bytes into `info`.
    let got = unsafe { libc::ptrace(PTRACE_GET_SYSCALL_INFO, thread, size, &raw mut info) };
    match (got > 0, info.op) {
        (true, SYSCALL_INFO_EXIT) => Some(Stop::Exit),
        (true, SYSCALL_INFO_ENTRY) => {
            let number = libc::c_long::try_from(info.number).ok()?;
            let (_, name) = CHANGING.iter().find(|(changing, _)| *changing == number)?;
            let [first, second, third, ..] = info.arguments;
            let (writes, opens) = (name.contains("write"), name.starts_with("open"));
            let flags = if *name == "open" { second } else { third };
            let makes = u64::try_from(libc::O_CREAT | libc::O_TRUNC).unwrap_or(0);
            if (writes && first <= 2) || (opens && flags & makes == 0) {
                return None;
            }
            let target = PathBuf::from(format!("/proc/{thread}/fd/{first}"));
            let target = if writes {
                std::fs::read_link(target).unwrap_or_default()
            } else {
                PathBuf::new()
            };
            Some(Stop::Entry(
                format!("{name} {}", target.display()).trim_end().to_owned(),
            ))
        }
        _ => None,
    }
}

/// System calls that change something outside the process. Numbers differ by architecture, and the newer ones
/// have no call without `at`. Of the opens only those count that may make or empty a file.
const CHANGING: &[(libc::c_long, &str)] = &[
    (libc::SYS_openat, "openat"),
    (libc::SYS_write, "write"),
    (libc::SYS_pwrite64, "pwrite64"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_pwritev, "pwritev"),
    (libc::SYS_mkdirat, "mkdirat"),
    (libc::SYS_unlinkat, "unlinkat"),
    (libc::SYS_renameat2, "renameat2"),
    (libc::SYS_symlinkat, "symlinkat"),
    (libc::SYS_linkat, "linkat"),
    (libc::SYS_ftruncate, "ftruncate"),
    (libc::SYS_fchmod, "fchmod"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_mount, "mount"),
    (libc::SYS_umount2, "umount2"),
    (libc::SYS_sched_setaffinity, "sched_setaffinity"),
    (libc::SYS_sched_setscheduler, "sched_setscheduler"),
    (libc::SYS_sched_setparam, "sched_setparam"),
    (libc::SYS_sched_setattr, "sched_setattr"),
    (libc::SYS_setpriority, "setpriority"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, "open"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, "mkdir"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rmdir, "rmdir"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, "unlink"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rename, "rename"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_link, "link"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_symlink, "symlink"),
];

/// Starts the command stopped, with its output thrown away: what it prints is not asked for.
fn start(command: &[&str]) -> Result<i32, String> {
    let words: Result<Vec<CString>, _> = command.iter().map(|word| CString::new(*word)).collect();
    let words = words.map_err(|error| error.to_string())?;
    let mut pointers: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: this program has one thread here; the child only makes system calls before exec.
    unsafe {
        match libc::fork() {
            -1 => Err(format!("fork: {}", Error::last_os_error())),
            0 => {
                let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
                for descriptor in 0..=2 {
                    libc::dup2(null, descriptor);
                }
                libc::close(null);
                libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                libc::raise(libc::SIGSTOP);
                libc::execvp(pointers[0], pointers.as_ptr());
                libc::_exit(127)
            }
            pid => Ok(pid),
        }
    }
}

fn trace(request: Request, pid: i32, data: usize) -> Result<(), String> {
    // SAFETY: these requests take a number, not a pointer.
    let status = unsafe { libc::ptrace(request, pid, 0_usize, data) };
    if status == -1 {
        Err(format!("ptrace {request}: {}", Error::last_os_error()))
    } else {
        Ok(())
    }
}

fn wait_for(pid: i32, status: &mut i32) -> Result<i32, String> {
    // SAFETY: `status` is a place for one int.
    match unsafe { libc::waitpid(pid, status, libc::__WALL) } {
        -1 => Err(format!("waitpid: {}", Error::last_os_error())),
        stopped => Ok(stopped),
    }
}
