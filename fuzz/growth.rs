//! Checks that the work of a target stays proportional to the length of its input. An input is made long in several
//! ways, then four times as long, and both are measured. A time limit would depend on the machine; this ratio does not.

use crate::limits;
use std::time::Duration;

/// Lengths that are compared, in bytes.
const SHORT: usize = 8 << 10;
const LONG: usize = 4 * SHORT;

/// Maximum ratio of the work for the long input to that for the short one. Linear work has 4, quadratic work 16.
const MOST_GROWTH: u32 = 10;

/// Less work cannot be compared: interrupts and cache effects take as long.
const LEAST_WORK: Duration = Duration::from_millis(10);

/// Number of measurements of each. The minimum counts, because disturbances only add time.
const ATTEMPTS: usize = 4;

/// A way to make an input long.
struct Manner {
    name: &'static str,
    make: fn(seed: &[u8], length: usize) -> Vec<u8>,
}

const TRANSFORMATIONS: &[Manner] = &[
    Manner {
        name: "repeated whole",
        make: |seed, length| repeated(seed, length),
    },
    Manner {
        name: "with its last line repeated",
        make: |seed, length| {
            let end = seed.len().saturating_sub(1);
            let start = seed[..end]
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            [&seed[..start], &repeated(&seed[start..], length)].concat()
        },
    },
    Manner {
        name: "with its second half repeated byte by byte in one line",
        make: |seed, length| {
            let (start, rest) = seed.split_at(seed.len() / 2);
            let rest: Vec<u8> = rest.iter().copied().filter(|byte| *byte != b'\n').collect();
            [start, &repeated(&rest, length)].concat()
        },
    },
];

/// Repeats the whole text: a truncated one is often refused, and then there is nothing to compare.
fn repeated(bytes: &[u8], length: usize) -> Vec<u8> {
    let bytes: &[u8] = if bytes.is_empty() { b"0" } else { bytes };
    bytes.repeat((length / bytes.len()).max(1))
}

/// The ways of making a seed long for which the work of the target grows too much, as text.
pub fn steep(target: &str, run: fn(&[u8]), seed: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for manner in TRANSFORMATIONS {
        let [short, long] = [SHORT, LONG].map(|length| (manner.make)(seed, length));
        let within = |bytes: &[u8]| {
            let start = processor_time();
            limits::run_within(target, run, bytes);
            processor_time().saturating_sub(start)
        };
        let (mut short_work, mut long_work) = (within(&short), within(&long));
        let is_steep = |short: Duration, long: Duration| long > (short * MOST_GROWTH).max(LEAST_WORK);
        for _ in 1..ATTEMPTS {
            if !is_steep(short_work, long_work) {
                break;
            }
            short_work = short_work.min(within(&short));
            long_work = long_work.min(within(&long));
        }
        if is_steep(short_work, long_work) {
            found.push(format!(
                "{}: {short_work:?} for {SHORT} bytes, {long_work:?} for {LONG}",
                manner.name
            ));
        }
    }
    found
}

/// CPU time of this thread.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
