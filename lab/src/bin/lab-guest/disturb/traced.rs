//! Finds the times of kernel actions that no counter shows, with a private trace of one event on one CPU.

use super::instance::TracefsInstance;

/// Resolution of the kernel's text: microseconds.
const MICROSECOND_NS: u64 = 1_000;

/// A trace of one event.
pub(super) struct TracedEvent {
    instance: TracefsInstance,
    /// The event's name as it appears in each line, such as `: sched_switch:`.
    mark: String,
}

impl TracedEvent {
    /// Starts to trace an event (`sched/sched_switch`) that matches a filter.
    ///
    /// # Errors
    /// The kernel does not permit it.
    pub(super) fn start(event: &str, filter: &str) -> Result<TracedEvent, String> {
        let instance = TracefsInstance::make()?;
        instance.write("trace_clock", "mono_raw")?;
        instance.write(&format!("events/{event}/filter"), filter)?;
        instance.write(&format!("events/{event}/enable"), "1")?;
        let name = event.rsplit('/').next().unwrap_or(event);
        Ok(TracedEvent {
            instance,
            mark: format!(": {name}: "),
        })
    }

    /// Starts to trace work items that start on a CPU.
    ///
    /// # Errors
    /// The kernel does not permit it.
    pub(super) fn work(cpu: u32) -> Result<TracedEvent, String> {
        TracedEvent::start("workqueue/workqueue_execute_start", &format!("CPU == {cpu}"))
    }

    /// Times of events since [`TracedEvent::forget`] whose text contains these words, in nanoseconds on
    /// `CLOCK_MONOTONIC_RAW`, truncated to microseconds.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub(super) fn times(&self, words: &str) -> Result<Vec<u64>, String> {
        Ok(times(&self.instance.read("trace")?, &self.mark, words).collect())
    }

    /// Empties the trace.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn forget(&self) -> Result<(), String> {
        self.instance.write("trace", "")
    }
}

/// Times of the lines `kworker/1:0-9 [001] d.... 12.345678: workqueue_execute_start: work struct X: function F`.
fn times<'a>(trace: &'a str, mark: &'a str, words: &'a str) -> impl Iterator<Item = u64> + 'a {
    trace.lines().filter_map(move |line| {
        let (before, after) = line.split_once(mark)?;
        if !after.contains(words) {
            return None;
        }
        let (seconds, microseconds) = before.split_whitespace().next_back()?.split_once('.')?;
        let number = |text: &str| text.parse::<u64>().ok();
        Some(number(seconds)? * 1_000_000_000 + number(microseconds)? * MICROSECOND_NS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_times_of_the_given_function_are_read() {
        let trace = "# tracer: nop\n\
            \x20    kworker/1:0-9  [001] d.... 12.000004: workqueue_execute_start: work struct 00000000a7: function vmstat_update\n\
            \x20    kworker/1:0-9  [001] d.... 13.500000: workqueue_execute_start: work struct 00000000a8: function vmstat_shepherd\n\
            \x20    kworker/1:0-9  [001] d.... 14.500000: workqueue_execute_end: work struct 00000000a8: function vmstat_update\n\
            \x20    kworker/1:0-9  [001] d.... 14: workqueue_execute_start: work struct 00000000a8: function vmstat_update\n";
        let of = |words| -> Vec<u64> { times(trace, ": workqueue_execute_start: ", words).collect() };
        assert_eq!(of("function vmstat_update"), [12_000_004_000]);
        assert_eq!(of("function vmstat_").len(), 2);
    }
}
