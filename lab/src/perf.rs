//! Opens a perf event on one CPU and reads it from another, so that the kernel runs a function call there. Also reads
//! the kernel's own count of such calls.
//!
//! Memory barriers and unmapping reach only CPUs that run the same program. This reaches any CPU.

use std::fs::File;
use std::io::Error;
use std::os::fd::FromRawFd;

/// Opens a software clock event that counts on one CPU, for all tasks there.
///
/// # Errors
/// The kernel has no perf events for this CPU or this user.
pub fn counter_on(cpu: u32) -> Result<File, String> {
    // The first 64 bytes of perf_event_attr (PERF_ATTR_SIZE_VER0). Type 1 is software, configuration 0 is the CPU
    // clock; all other fields are 0.
    let mut attributes = [0_u32; 16];
    attributes[0] = 1;
    attributes[1] = 64;
    // SAFETY: the kernel reads 64 bytes, as the structure says. The file owns the returned descriptor.
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
            return Err(format!("no perf event on CPU {cpu}: {}", Error::last_os_error()));
        }
        Ok(File::from_raw_fd(fd as i32))
    }
}

/// Number of function-call interrupts of that CPU so far (`CAL` on x86; elsewhere the row "Function call").
///
/// # Errors
/// `/proc/interrupts` cannot be read, or has no such row.
pub fn function_calls(cpu: u32) -> Result<u64, String> {
    let text = std::fs::read_to_string("/proc/interrupts").map_err(|error| format!("/proc/interrupts: {error}"))?;
    counted(&text, cpu).ok_or_else(|| "/proc/interrupts has no row of function-call interrupts".to_owned())
}

fn counted(text: &str, cpu: u32) -> Option<u64> {
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
    use super::*;

    const INTERRUPTS: &str = "           CPU0       CPU2
  1:         10         20   IO-APIC 1-edge i8042
CAL:        300        400   Function call interrupts
TLB:          5          6   TLB shootdowns
";

    #[test]
    fn the_count_of_a_cpu_is_found_by_row_and_column() {
        assert_eq!(counted(INTERRUPTS, 0), Some(300));
        assert_eq!(
            counted(INTERRUPTS, 2),
            Some(400),
            "columns are by name, CPUs can be missing"
        );
        assert_eq!(counted(INTERRUPTS, 1), None);
        assert_eq!(counted(&INTERRUPTS.replace("Function", "Other"), 0), None);
    }
}
