//! Makes a known number of system calls and page faults, to compare with the counts of `blame`.

use std::io::Error;

const PAGE: usize = 4_096;
/// Loop iterations between two of them, so that each is a separate entry into the kernel.
const SPIN_ITERATIONS: u32 = 500;

/// `lab-guest asks CALLS FAULTS`: calls `getppid` this often, then touches this many new pages. Prints the time that
/// the kernel reports for this process in kernel mode, in nanoseconds.
pub fn run(calls: usize, faults: usize) -> Result<(), String> {
    let length = PAGE * faults.max(1);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new private mapping. With huge pages, many faults would become one; a kernel without huge pages refuses
    // the advice.
    let pages = unsafe {
        let pages = libc::mmap(std::ptr::null_mut(), length, access, kind, -1, 0);
        if pages == libc::MAP_FAILED {
            return Err(format!("mmap: {}", Error::last_os_error()));
        }
        libc::madvise(pages, length, libc::MADV_NOHUGEPAGE);
        pages.cast::<u8>()
    };
    let before_ns = in_kernel_ns()?;
    for _ in 0..calls {
        // SAFETY: a plain call without arguments.
        unsafe { libc::syscall(libc::SYS_getppid) };
        compute();
    }
    for page in 0..faults {
        // SAFETY: within the mapping.
        unsafe { pages.add(page * PAGE).write_volatile(1) };
        compute();
    }
    println!("{}", in_kernel_ns()?.saturating_sub(before_ns));
    Ok(())
}

fn compute() {
    for _ in 0..SPIN_ITERATIONS {
        std::hint::spin_loop();
    }
}

/// The kernel time of this process. Where context tracking is on, it is an exact sum and not sampled.
fn in_kernel_ns() -> Result<u64, String> {
    // SAFETY: a structure of plain numbers, which the kernel fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) != 0 {
            return Err(format!("getrusage: {}", Error::last_os_error()));
        }
        usage
    };
    Ok(part(usage.ru_stime.tv_sec) * 1_000_000_000 + part(usage.ru_stime.tv_usec) * 1_000)
}

/// A part of a time, whose type depends on the processor.
fn part(part: impl TryInto<u64>) -> u64 {
    part.try_into().unwrap_or(0)
}
