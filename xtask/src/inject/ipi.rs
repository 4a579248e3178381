//! Interrupts another CPU: reading a perf event that counts there makes the kernel call a function on that CPU.
//!
//! Memory barriers and unmapping reach only CPUs that run the same program, and that CPU runs the sampler's.

use super::clock::{now_ns, sleep_until};
use super::event::{Event, Kind};
use super::schedule::Planned;
use super::{failed, in_a_placed_thread, place};
use crate::error::Done;
use std::fs::File;
use std::io::{Error, Read};
use std::os::fd::FromRawFd;

/// As for stopping: in time on the housekeeping CPU.
const PRIORITY: i32 = 50;

/// Sends one interrupt per planned event to that CPU. The kernel's own count of function calls there over the run
/// must say so: a CPU that idles in a polling loop is called without an interrupt, so a few may be missing.
///
/// # Errors
/// When there are no perf events here, or they interrupt nobody.
pub(crate) fn run(cpu: usize, schedule: &[Planned]) -> Done<Vec<Event>> {
    let mut counter = counter_on(cpu)?;
    place::lock_memory()?;
    let mut events = Vec::with_capacity(schedule.len());
    let before = function_calls(cpu)?;
    let events = in_a_placed_thread(
        || place::fifo(PRIORITY),
        move || {
            let start = now_ns();
            let mut value = [0_u8; 8];
            for planned in schedule {
                sleep_until(start + planned.at_ns);
                let begin_ns = now_ns();
                if counter.read_exact(&mut value).is_err() {
                    break;
                }
                events.push(Event {
                    kind: Kind::Ipi,
                    wanted_ns: 0,
                    begin_ns,
                    end_ns: now_ns(),
                });
            }
            events
        },
    )?;
    let counted = function_calls(cpu)?.saturating_sub(before);
    if counted < events.len() as u64 / 2 {
        return Err(failed(format!(
            "CPU {cpu} counted {counted} function-call interrupts for {} reads: nothing known was injected",
            events.len()
        )));
    }
    Ok(events)
}

/// A software clock event that counts on one CPU, for all that runs there.
fn counter_on(cpu: usize) -> Done<File> {
    // The first 64 bytes of perf_event_attr (PERF_ATTR_SIZE_VER0): type 1 is software, its configuration 0 the
    // CPU clock; all else is 0.
    let mut attributes = [0_u32; 16];
    attributes[0] = 1;
    attributes[1] = 64;
    let cpu = i32::try_from(cpu).map_err(failed)?;
    // SAFETY: the kernel reads 64 bytes as the structure says; the descriptor it returns is owned by the file.
    unsafe {
        let fd = libc::syscall(
            libc::SYS_perf_event_open,
            attributes.as_ptr(),
            -1_i32,
            cpu,
            -1_i32,
            libc::c_ulong::from(8_u8),
        );
        if fd < 0 {
            return Err(failed(format!(
                "no perf event on CPU {cpu}: {}; interrupts cannot be injected here",
                Error::last_os_error()
            )));
        }
        Ok(File::from_raw_fd(fd as i32))
    }
}

/// Function-call interrupts of that CPU so far (`CAL` on x86; elsewhere the row that says "Function call").
fn function_calls(cpu: usize) -> Done<u64> {
    let text = std::fs::read_to_string("/proc/interrupts").map_err(failed)?;
    counted(&text, cpu).ok_or_else(|| failed("/proc/interrupts has no row of function-call interrupts"))
}

fn counted(text: &str, cpu: usize) -> Option<u64> {
    let column = text
        .lines()
        .next()?
        .split_whitespace()
        .position(|word| word.strip_prefix("CPU").is_some_and(|n| n.parse() == Ok(cpu)))?;
    let row = text
        .lines()
        .find(|line| line.to_ascii_lowercase().contains("function call interrupts"))?;
    row.split_whitespace().nth(1 + column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::schedule;
    use super::*;

    const INTERRUPTS: &str = "           CPU0       CPU2
  1:         10         20   IO-APIC 1-edge i8042
CAL:        300        400   Function call interrupts
TLB:          5          6   TLB shootdowns
";

    #[test]
    fn the_row_and_the_column_of_a_cpu() {
        assert_eq!(counted(INTERRUPTS, 0), Some(300));
        assert_eq!(
            counted(INTERRUPTS, 2),
            Some(400),
            "columns are by name, CPUs can be missing"
        );
        assert_eq!(counted(INTERRUPTS, 1), None);
        assert_eq!(counted(&INTERRUPTS.replace("Function", "Other"), 0), None);
    }

    #[test]
    fn reading_a_counter_interrupts_its_cpu() {
        let name = "reading_a_counter_interrupts_its_cpu";
        let online = std::thread::available_parallelism().map_or(1, usize::from);
        // SAFETY: a plain call without arguments.
        if unsafe { libc::geteuid() } != 0 || online < 2 {
            println!("SKIP: {name}: needs root and two CPUs");
            return;
        }
        let schedule = schedule::of(&[0; 50], 40, 1).unwrap();
        // Run from CPU 0, for no CPU interrupts itself; in a thread of its own, which alone is pinned.
        let done = std::thread::spawn(move || {
            place::pin(&[0])?;
            run(1, &schedule)
        });
        match done.join().unwrap() {
            Ok(events) => {
                assert_eq!(events.len(), 50, "and the kernel counted them");
                assert!(events.windows(2).all(|two| two[0].end_ns <= two[1].begin_ns));
            }
            Err(why) if why.to_string().contains("no perf event") => println!("SKIP: {name}: {why}"),
            Err(why) => panic!("{why}"),
        }
    }
}
