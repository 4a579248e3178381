//! TLB shootdowns: one process with a thread on each CPU; the first thread unmaps pages continuously. The kernel has
//! to interrupt every CPU that runs another thread of the process, but no CPU outside the load's own.

use super::memory;
use crate::os;
use machine::{CpuId, CpuSet};
use std::hint::spin_loop;
use std::time::Duration;

/// Size of each mapping: below the number of pages (33) above which x86 flushes the whole TLB.
const BYTES: usize = 16 * 4096;

/// Number of spins between two short sleeps of the other threads. The sleeps keep the system's real-time tasks runnable.
const SPINS: u32 = 10_000;

/// Never returns, unless memory is refused.
pub(super) fn run(cpus: &[CpuId]) {
    std::thread::scope(|scope| {
        for &cpu in cpus.iter().skip(1) {
            let _ = std::thread::Builder::new()
                .stack_size(64 << 10)
                .spawn_scoped(scope, move || {
                    if os::pin(&CpuSet::range(cpu.0, cpu.0)).is_err() {
                        return;
                    }
                    loop {
                        (0..SPINS).for_each(|_| spin_loop());
                        std::thread::sleep(Duration::from_micros(1));
                    }
                });
        }
        while memory::churn(BYTES).is_some() {}
        // The other threads never end by themselves.
        os::exit_now(1)
    });
}
