//! Parses the header above the events of a text.

/// The facts in the lines that start with `#`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextHeader {
    /// The tracer: `nop`, `function`, `osnoise`.
    pub tracer: Option<String>,
    /// Events that are still in the buffer.
    pub entries_in_buffer: Option<u64>,
    /// Events that were written to the buffer; the surplus over those in it was lost.
    pub entries_written: Option<u64>,
    /// Online CPUs of that machine (`#P:48`, or `cpus=2` of trace-cmd).
    pub cpus: Option<u32>,
    /// The latency that a latency tracer recorded, in microseconds.
    pub latency_us: Option<u64>,
    /// The CPU that it was on.
    pub latency_cpu: Option<u32>,
    /// Name and ID of its thread: the thread that ran, or that was woken.
    pub latency_task: Option<(String, i32)>,
    /// Where it started, as the kernel prints the address: function, offset and caller.
    pub started_at: Option<String>,
    /// Where it ended.
    pub ended_at: Option<String>,
    /// The number of latencies in the text; the other fields describe the last one.
    pub latencies: u64,
}

impl TextHeader {
    /// Events that were written and are no longer in the buffer; `None` if the text does not state it.
    #[must_use]
    pub fn overwritten(&self) -> Option<u64> {
        self.entries_written?.checked_sub(self.entries_in_buffer?)
    }

    pub(super) fn take(&mut self, line: &str) {
        let line = line.trim_start_matches(['#', ' ']);
        let after = |key: &str| line.split_once(key).map(|(_, rest)| rest.trim_start());
        let number = |text: &str| -> Option<u64> {
            let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
            text.get(..end)?.parse().ok()
        };
        if let Some(tracer) = line.strip_prefix("tracer:") {
            self.tracer = Some(tracer.trim().to_owned());
        }
        if let Some((in_buffer, written)) =
            after("entries-in-buffer/entries-written:").and_then(|rest| rest.split_once('/'))
        {
            self.entries_in_buffer = in_buffer.trim().parse().ok();
            self.entries_written = number(written);
        }
        if let Some((latency, rest)) = line.strip_prefix("latency:").and_then(|rest| rest.split_once("us")) {
            self.latencies += 1;
            (self.latency_task, self.started_at, self.ended_at) = (None, None, None);
            self.latency_us = latency.trim().parse().ok();
            let cpu = rest.split_once("CPU#").and_then(|(_, cpu)| number(cpu));
            self.latency_cpu = cpu.and_then(|cpu| u32::try_from(cpu).ok());
            if let Some((in_buffer, written)) = rest.trim_start_matches([',', ' ', '#']).split_once('/') {
                self.entries_in_buffer = in_buffer.parse().ok();
                self.entries_written = number(written);
            }
        }
        if let Some(task) = line.strip_prefix("| task:") {
            self.latency_task = task_of(task);
        }
        if let Some(place) = line.strip_prefix("=> started at:") {
            self.started_at = Some(place.trim().to_owned());
        }
        if let Some(place) = line.strip_prefix("=> ended at:") {
            self.ended_at = Some(place.trim().to_owned());
        }
        let cpus = after("#P:").or_else(|| line.strip_prefix("cpus="));
        if let Some(cpus) = cpus.and_then(number) {
            self.cpus = u32::try_from(cpus).ok();
        }
    }
}

/// ` kswapd0-91 (uid:0 nice:0 policy:0 rt_prio:0)`: a thread's name may hold any characters, so the last separators count.
fn task_of(text: &str) -> Option<(String, i32)> {
    let (task, _) = text.rsplit_once(" (uid:")?;
    let (name, pid) = task.trim_start().rsplit_once('-')?;
    Some((name.to_owned(), pid.parse().ok()?))
}
