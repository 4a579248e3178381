//! Proves that the samplers make only allowed system calls: the kernel kills them at any other.

use crate::MeasurementKind;
use crate::os::Errno;
use libc::{c_long, c_ulong, sock_filter, sock_fprog};

/// System calls that a thread needs to report and to end, after its window. The clock is not included: it must be readable
/// without a system call.
const ENDING: &[c_long] = &[
    libc::SYS_getrusage,
    libc::SYS_munmap,
    libc::SYS_madvise,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigprocmask,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// How a latency sampler sleeps. The kernel uses `restart_syscall` to continue after SIGSTOP.
#[cfg(target_pointer_width = "64")]
const SLEEPING: &[c_long] = &[libc::SYS_clock_nanosleep, libc::SYS_restart_syscall];
// `clock_nanosleep_time64` and `futex_time64`: numbers above 402 are the same on every 32-bit architecture
// (`scripts/syscall.tbl`), and not all C libraries' headers have them.
#[cfg(target_pointer_width = "32")]
const SLEEPING: &[c_long] = &[libc::SYS_clock_nanosleep, 407, libc::SYS_restart_syscall];
#[cfg(target_pointer_width = "64")]
const WAITING: &[c_long] = &[libc::SYS_futex];
#[cfg(target_pointer_width = "32")]
const WAITING: &[c_long] = &[libc::SYS_futex, 422];

/// Whether a sample may end the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BreakPermission {
    /// No sample does.
    Never,
    /// A sample that reaches the limit.
    AtLimit,
}

/// From now on, any other system call of this thread kills the process with SIGSYS.
/// With `breaks`, it may also write: only for the action at a sample that reaches the limit.
pub(crate) fn forbid(kind: MeasurementKind, breaks: BreakPermission) -> Result<(), Errno> {
    let sleeping = match kind {
        MeasurementKind::Latency | MeasurementKind::All => SLEEPING,
        MeasurementKind::Noise => &[],
    };
    let writing: &[c_long] = match breaks {
        BreakPermission::Never => &[],
        BreakPermission::AtLimit => &[libc::SYS_write],
    };
    let allowed = ENDING.iter().chain(WAITING).chain(sleeping).chain(writing);
    install(&program(allowed.copied()))
}

/// A classic BPF program over `struct seccomp_data`, whose first field is the number of the system call.
fn program(allowed: impl Iterator<Item = c_long>) -> Vec<sock_filter> {
    const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let instruction = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    let mut program = vec![instruction(LOAD_WORD, 0, 0)];
    for number in allowed.filter_map(|number| u32::try_from(number).ok()) {
        program.push(instruction(JUMP_EQUAL, 1, number));
        program.push(instruction(RETURN, 0, libc::SECCOMP_RET_ALLOW));
    }
    program.push(instruction(RETURN, 0, libc::SECCOMP_RET_KILL_PROCESS));
    program
}

fn install(program: &[sock_filter]) -> Result<(), Errno> {
    let Ok(len) = u16::try_from(program.len()) else {
        return Err(libc::E2BIG);
    };
    let program = sock_fprog {
        len,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel copies `len` instructions from a live slice and keeps no pointer to it.
    unsafe {
        let (zero, one): (c_ulong, c_ulong) = (0, 1);
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, zero, zero, zero) != 0
            || libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::c_ulong::from(libc::SECCOMP_MODE_FILTER),
                &raw const program,
            ) != 0
        {
            return Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO));
        }
    }
    Ok(())
}
