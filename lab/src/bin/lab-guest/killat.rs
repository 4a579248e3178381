//! Kills a command at its N-th state-changing system call, by ptrace. Can also send another signal or run a shell line
//! while the command is stopped there.
//!
//! A seccomp filter stops the command only at these calls, because a stop is expensive on an emulated machine. Child
//! processes inherit the filter, so a command that starts programs cannot be tested here.
//!
//! A process killed at a call's entry does not make the call: the kernel drops it when a fatal signal is pending
//! (`ptrace_report_syscall`, `include/linux/ptrace.h`). A process killed at the call's exit has made it, and nothing
//! after it. Calls of all threads of the command are counted.

use serde_json::json;
use std::ffi::CString;
use std::io::Error;
use std::path::PathBuf;
use std::process::Command;

/// Where in the call SIGKILL is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillPoint {
    /// Before it is made.
    Entry,
    /// After it was made.
    Exit,
}

/// The action at the call.
#[derive(Clone, Copy, Debug)]
pub enum CallAction<'a> {
    /// Sends SIGKILL.
    Kill(KillPoint),
    /// Sends this signal before the call is made; the command then continues.
    Signal(i32),
    /// Runs this shell line in another process before the call is made; the command then continues.
    RunShell(&'a str),
}

impl CallAction<'_> {
    /// Parses `entry` or `exit` of the call, or a signal other than SIGKILL: `term`, `int`, `hup`.
    pub fn parse(text: &str) -> Result<CallAction<'static>, String> {
        match text {
            "entry" => Ok(CallAction::Kill(KillPoint::Entry)),
            "exit" => Ok(CallAction::Kill(KillPoint::Exit)),
            "term" => Ok(CallAction::Signal(libc::SIGTERM)),
            "int" => Ok(CallAction::Signal(libc::SIGINT)),
            "hup" => Ok(CallAction::Signal(libc::SIGHUP)),
            other => Err(format!("{other}: a mode is entry, exit, term, int or hup")),
        }
    }
}

/// What happened to the command.
#[derive(Debug, Default)]
pub struct CommandResult {
    /// Number of state-changing calls that it reached.
    pub calls: u64,
    /// The call at which it was killed or stopped.
    pub killed_at: Option<String>,
    /// Exit status, or 128 + signal.
    pub status: i32,
}

/// `lab-guest killat`.
pub fn main(at: &str, mode: &str, command: &[&str]) -> Result<(), String> {
    let at = at.parse().ok();
    let seen = run(command, at, CallAction::parse(mode)?)?;
    println!(
        "{}",
        json!({ "calls": seen.calls, "killed_at": seen.killed_at, "status": seen.status })
    );
    Ok(())
}

/// Runs a command, and acts at state-changing call `at` (the first is 1). With `None` it only counts the calls.
pub fn run(command: &[&str], at: Option<u64>, deed: CallAction) -> Result<CommandResult, String> {
    let pid = start(command)?;
    let mut seen = CommandResult::default();
    let mut status = 0;
    wait_for(pid, &mut status)?;
    let options =
        libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
    trace(libc::PTRACE_SETOPTIONS, pid, options as usize)?;
    trace(libc::PTRACE_CONT, pid, 0)?;
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
        let next = match stop_of(status) {
            Stop::Call => match changing_call(stopped) {
                Some(name) => {
                    seen.calls += 1;
                    if at == Some(seen.calls) {
                        seen.killed_at = Some(name);
                        match deed {
                            CallAction::Kill(KillPoint::Exit) => Continuation::ToExit,
                            CallAction::Kill(KillPoint::Entry) => Continuation::Kill,
                            // The signal is handled at the end of the call.
                            CallAction::Signal(signal) => {
                                // SAFETY: a plain call; the process is our child and not reaped yet.
                                unsafe { libc::kill(pid, signal) };
                                Continuation::Run(0)
                            }
                            CallAction::RunShell(line) => {
                                let status = Command::new("sh").args(["-c", line]).status();
                                status.map_err(|error| format!("sh -c {line}: {error}"))?;
                                Continuation::Run(0)
                            }
                        }
                    } else {
                        Continuation::Run(0)
                    }
                }
                None => Continuation::Run(0),
            },
            Stop::Exit => Continuation::Kill,
            Stop::Signal(signal) => Continuation::Run(signal),
            Stop::Own => Continuation::Run(0),
        };
        // A thread that the exit of another thread ended no longer exists. `wait` reports its end.
        let _ = match next {
            Continuation::Run(signal) => trace(libc::PTRACE_CONT, stopped, signal as usize),
            Continuation::ToExit => trace(libc::PTRACE_SYSCALL, stopped, 0),
            Continuation::Kill => {
                // SAFETY: a plain call; the process is our child and not reaped yet.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                Ok(())
            }
        };
    }
}

/// Why a thread stopped.
enum Stop {
    /// At a call that the filter names.
    Call,
    /// At the exit of a call.
    Exit,
    /// A signal for the command.
    Signal(i32),
    /// At an event of ptrace itself: a new thread, the start.
    Own,
}

/// How a stopped thread continues.
enum Continuation {
    /// Continues, with a signal or 0.
    Run(i32),
    /// Continues to the exit of its call.
    ToExit,
    /// Is killed with its whole process.
    Kill,
}

fn stop_of(status: i32) -> Stop {
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        libc::PTRACE_EVENT_SECCOMP => Stop::Call,
        0 if signal == libc::SIGTRAP | 0x80 => Stop::Exit,
        0 if signal != libc::SIGTRAP && signal != libc::SIGSTOP => Stop::Signal(signal),
        _ => Stop::Own,
    }
}

/// The C libraries use different types for a request.
#[cfg(target_env = "musl")]
type PtraceRequest = libc::c_int;
#[cfg(not(target_env = "musl"))]
type PtraceRequest = libc::c_uint;

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

const PTRACE_GET_SYSCALL_INFO: PtraceRequest = 0x420e;
const SYSCALL_INFO_SECCOMP: u8 = 3;

/// Name and target of the call at which a thread stopped; `None` when its arguments show that it changes nothing.
fn changing_call(thread: i32) -> Option<String> {
    let mut info = SyscallInfo::default();
    let size = std::mem::size_of::<SyscallInfo>();
    // SAFETY: the kernel writes at most `size` bytes into `info`.
    let got = unsafe { libc::ptrace(PTRACE_GET_SYSCALL_INFO, thread, size, &raw mut info) };
    if got <= 0 || info.op != SYSCALL_INFO_SECCOMP {
        return None;
    }
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
    Some(format!("{name} {}", target.display()).trim_end().to_owned())
}

/// From now on, the kernel stops the calling process at the calls of [`CHANGING`]. Root needs no further permission.
fn filter_changing_calls() -> bool {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    // The number of the call is the first field of `struct seccomp_data`.
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    for (number, _) in CHANGING {
        let Ok(k) = u32::try_from(*number) else {
            return false;
        };
        let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        program.push(libc::sock_filter { code, jt: 0, jf: 1, k });
        program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_TRACE));
    }
    program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    let Ok(len) = u16::try_from(program.len()) else {
        return false;
    };
    let filter = libc::sock_fprog {
        len,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: `filter` points to `len` instructions that live until the call returns.
    unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0 }
}

/// System calls that change something outside the process. Numbers differ by architecture, and newer architectures lack
/// the calls without `at`. Only opens that may create or truncate a file count.
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

/// Starts the command stopped, with its output discarded.
fn start(command: &[&str]) -> Result<i32, String> {
    let words: Result<Vec<CString>, _> = command.iter().map(|word| CString::new(*word)).collect();
    let words = words.map_err(|error| error.to_string())?;
    let mut pointers: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: this program has a single thread here, so the child may do anything before exec.
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
                if !filter_changing_calls() {
                    libc::_exit(126);
                }
                libc::execvp(pointers[0], pointers.as_ptr());
                libc::_exit(127)
            }
            pid => Ok(pid),
        }
    }
}

fn trace(request: PtraceRequest, pid: i32, data: usize) -> Result<(), String> {
    // SAFETY: these requests take a number, not a pointer.
    let status = unsafe { libc::ptrace(request, pid, 0_usize, data) };
    if status == -1 {
        Err(format!("ptrace {request}: {}", Error::last_os_error()))
    } else {
        Ok(())
    }
}

fn wait_for(pid: i32, status: &mut i32) -> Result<i32, String> {
    // SAFETY: `status` points to an int.
    match unsafe { libc::waitpid(pid, status, libc::__WALL) } {
        -1 => Err(format!("waitpid: {}", Error::last_os_error())),
        stopped => Ok(stopped),
    }
}
