//! Counts the system calls of a sampling thread with the kernel's own tracer. Between the two readings of its usage
//! there is one sleep per wake-up, or no call at all if it spins, and no page fault.

use super::{accounts, first};
use crate::records::GuestRecords;
use crate::scenario::ScenarioCell;
use crate::verdict::ScenarioVerdict;

/// Numbers of `getrusage` and `clock_nanosleep` (`arch/x86/entry/syscalls/syscall_64.tbl`, `asm-generic/unistd.h`).
struct Numbers {
    usage: &'static str,
    sleep: &'static str,
}

const AMD64: Numbers = Numbers {
    usage: "98",
    sleep: "230",
};
const ARM64: Numbers = Numbers {
    usage: "165",
    sleep: "115",
};

/// Enables tracing before a sampler spins: patching kernel text waits for every CPU, which is slow in an emulator. Only
/// x86 has a tracepoint for page faults.
pub const SCRIPT: &str = "tracing=/sys/kernel/tracing
echo 2048 >$tracing/buffer_size_kb
echo 1 >$tracing/events/exceptions/page_fault_user/enable
echo 1 >$tracing/events/raw_syscalls/sys_enter/enable
rec traced_sleeper quietcore measure latency --cpus 3 --interval 10ms --for 300ms --json
rec traced_spinner quietcore measure noise --cpus 3 --for 200ms --json
echo 0 >$tracing/tracing_on
rec calls sed -n 's/.*sampler\\/3-\\([0-9]*\\) .*: sys_enter: NR \\([0-9]*\\) .*/\\1 \\2/p;s/.*sampler\\/3-\\([0-9]*\\) .*: page_fault_user: .*/\\1 fault/p' $tracing/trace
echo 0 >$tracing/events/enable
echo 1 >$tracing/tracing_on
echo >$tracing/trace
";

/// Checks the records of [`SCRIPT`].
pub fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let numbers = if cell.kernel.arch == "amd64" { &AMD64 } else { &ARM64 };
    let calls = verdict.status(seen, "calls", 0).stdout;
    for (name, sleeps) in [("traced_sleeper", true), ("traced_spinner", false)] {
        let result = verdict.status(seen, name, 0).json();
        accounts(name, &result, verdict);
        let thread = first(&result);
        let tid = thread["tid"].as_u64().unwrap_or(0).to_string();
        let own: Vec<&str> = calls
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(thread, _)| *thread == tid)
            .map(|(_, call)| call)
            .collect();
        verdict.that(
            own.iter().filter(|call| **call == numbers.usage).count() == 2,
            format!("{name}: the window has no two ends in the trace: {own:?}"),
        );
        let window: Vec<&str> = own
            .split(|call| *call == numbers.usage)
            .nth(1)
            .unwrap_or_default()
            .to_vec();
        let expected = match sleeps {
            true => thread["recorded"].as_u64().unwrap_or(0),
            false => 0,
        };
        let (slept, others): (Vec<&str>, Vec<&str>) = window.iter().partition(|call| **call == numbers.sleep);
        verdict.equal(&format!("{name}: sleeps"), slept.len() as u64, expected);
        verdict.that(
            others.is_empty(),
            format!("{name}: other calls, or faults, between them: {others:?}"),
        );
    }
}
