//! Records when the kernel itself had the measured CPU: the timestamps of its events there, in a private trace
//! instance. The rest of a gap is the entry into the first event, the exit from the last one, and the sampler.

use lab::tracefs::TRACEFS;
use std::fs;
use std::path::{Path, PathBuf};

/// Events that can be first or last in an interruption. Not every kernel has all of them.
const EVENTS: &[&str] = &[
    "sched/sched_switch",
    "irq",
    "irq_vectors",
    "nmi",
    "ipi/ipi_entry",
    "ipi/ipi_exit",
];
/// The buffer size of the CPU. A run of two seconds fills a tenth of it.
const BUFFER_KIB: u32 = 16_384;

/// A running trace.
pub(crate) struct KernelTrace {
    instance: PathBuf,
}

impl KernelTrace {
    /// Starts to trace one CPU, on `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// The reason as text.
    pub(crate) fn start(cpu: usize) -> Result<KernelTrace, String> {
        let instance = Path::new(TRACEFS).join(format!("instances/bench-truth-{}", std::process::id()));
        fs::create_dir(&instance).map_err(|error| format!("{}: {error}", instance.display()))?;
        let trace = KernelTrace { instance };
        trace.set("trace_clock", "mono")?;
        trace.set("buffer_size_kb", &BUFFER_KIB.to_string())?;
        trace.set("tracing_cpumask", &mask(cpu))?;
        for event in EVENTS {
            let enable = format!("events/{event}/enable");
            if trace.instance.join(&enable).exists() {
                trace.set(&enable, "1")?;
            }
        }
        Ok(trace)
    }

    fn set(&self, file: &str, value: &str) -> Result<(), String> {
        let path = self.instance.join(file);
        fs::write(&path, value).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Stops the trace and returns the times of all events on the CPU, in nanoseconds and in order. Timestamps are in
    /// whole microseconds: a single length can be wrong by a microsecond, a median of many is not.
    ///
    /// # Errors
    /// The reason as text. A buffer that was too small is an error, because lost events would shorten the kernel's
    /// time.
    pub(crate) fn end(self, cpu: usize) -> Result<Vec<u64>, String> {
        self.set("tracing_on", "0")?;
        let read = |file: &str| {
            let path = self.instance.join(file);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let stats = read(&format!("per_cpu/cpu{cpu}/stats"))?;
        let count = |name: &str| {
            stats
                .lines()
                .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        if count("overrun:") != Some(0_u64) {
            return Err(format!("the kernel's trace lost events: {}", stats.replace('\n', ", ")));
        }
        Ok(stamps(&read("trace")?))
    }
}

impl Drop for KernelTrace {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.instance);
    }
}

/// A CPU in the format of `tracing_cpumask`: words of 32 bits, the highest first.
fn mask(cpu: usize) -> String {
    let mut words = vec![format!("{:x}", 1_u32 << (cpu % 32))];
    words.extend((0..cpu / 32).map(|_| "00000000".to_owned()));
    words.join(",")
}

/// Timestamps of lines such as `  sampler/1-77    [001] d..2.  1454.875183: sched_switch: ...`
fn stamps(text: &str) -> Vec<u64> {
    let stamp = |line: &str| -> Option<u64> {
        let behind_cpu = line.split_once("] ")?.1;
        let time = behind_cpu.split_whitespace().nth(1)?.strip_suffix(':')?;
        let (seconds, micros) = time.split_once('.')?;
        let (seconds, micros): (u64, u64) = (seconds.parse().ok()?, micros.parse().ok()?);
        Some(seconds * 1_000_000_000 + micros * 1_000)
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_are_read_from_event_lines_only() {
        let text = "# tracer: nop\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n \
                    a ] b-13   [001] d..2.  1454.875183: sched_switch: prev_comm=a ==> next_comm=b\n          \
                    <idle>-0     [001] d.h..    12.000007: local_timer_entry: vector=236\nCPU:1 [LOST 7 EVENTS]\n";
        // A task name with a bracket hides its own line and no other.
        assert_eq!(stamps(text), [12_000_007_000]);
        let plain = text.replace("a ] b", "a-b");
        assert_eq!(stamps(&plain), [1_454_875_183_000, 12_000_007_000]);
    }

    #[test]
    fn cpu_masks_are_printed_in_words_of_eight_digits() {
        assert_eq!(mask(1), "2");
        assert_eq!(mask(32), "1,00000000");
        assert_eq!(mask(65), "2,00000000,00000000");
    }
}
