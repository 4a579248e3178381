//! Reads the header of a latency trace.
//!
//! The tracers `irqsoff`, `preemptoff`, `preemptirqsoff` and `wakeup*` keep one trace: that of the longest latency since
//! `tracing_max_latency` was reset. The header has the result. The lines do not show which threads ran: read that way, the
//! time with interrupts off became a run without interruption. Source: the kernel's `Documentation/trace/ftrace.rst`.

use events::text::TextHeader;
use serde::Serialize;
use std::fmt::Write as _;

/// The tracers, and what each measures.
const MEANS: [(&str, &str); 6] = [
    ("irqsoff", "with interrupts disabled"),
    ("preemptoff", "with preemption disabled"),
    (
        "preemptirqsoff",
        "with interrupts disabled, preemption disabled, or both",
    ),
    ("wakeup", "from the wake-up of a thread until it ran"),
    ("wakeup_rt", "from the wake-up of a real-time thread until it ran"),
    ("wakeup_dl", "from the wake-up of a deadline thread until it ran"),
];

/// The latency in such a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// The tracer.
    tracer: &'static str,
    /// What it measures, as text.
    means: &'static str,
    /// In microseconds; `None` if the header lacks it.
    latency_us: Option<u64>,
    /// Its CPU.
    cpu: Option<u32>,
    /// The thread that ran, or that was woken.
    pid: Option<i32>,
    /// Its name.
    comm: Option<String>,
    /// Where it started.
    started_at: Option<String>,
    /// Where it ended.
    ended_at: Option<String>,
    /// The number of latencies in the text; this is the last one.
    latencies: u64,
}

/// The question about a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyQuestion {
    /// How long a thread ran without interruption.
    Run,
    /// How long threads waited for a CPU.
    Wait,
}

impl Latency {
    /// Parses the header of a text; `None` if another tracer wrote it.
    pub fn of(header: &TextHeader) -> Option<Latency> {
        let tracer = header.tracer.as_deref()?;
        let (tracer, means) = MEANS.into_iter().find(|(name, _)| *name == tracer)?;
        let (comm, pid) = header.latency_task.clone().unzip();
        Some(Latency {
            tracer,
            means,
            latency_us: header.latency_us,
            cpu: header.latency_cpu,
            pid,
            comm,
            started_at: header.started_at.clone(),
            ended_at: header.ended_at.clone(),
            latencies: header.latencies,
        })
    }

    /// The answer to the question, for a terminal.
    pub fn text(&self, question: LatencyQuestion) -> String {
        let length = self
            .latency_us
            .map_or_else(|| "not stated".to_owned(), |us| format!("{us} us"));
        let mut text = format!("Longest time {}: {length}\n", self.means);
        let mut parts = Vec::new();
        parts.extend(self.cpu.map(|cpu| format!("CPU {cpu}")));
        if let (Some(comm), Some(pid)) = (&self.comm, self.pid) {
            parts.push(format!("{}[{pid}]", report::safe(comm)));
        }
        if let (Some(start), Some(end)) = (&self.started_at, &self.ended_at) {
            parts.push(format!("from {} to {}", report::safe(start), report::safe(end)));
        }
        if !parts.is_empty() {
            let _ = writeln!(text, "  {}", parts.join(", "));
        }
        let _ = writeln!(
            text,
            "  This is a trace of the {} tracer. It holds only the longest latency since\n  tracing_max_latency was reset. {}",
            self.tracer,
            self.answer(question)
        );
        if self.latencies > 1 {
            let _ = writeln!(
                text,
                "  The text contains {} such traces; this is the last one.",
                self.latencies
            );
        }
        text
    }

    fn answer(&self, question: LatencyQuestion) -> &'static str {
        match (question, self.tracer.starts_with("wakeup")) {
            (LatencyQuestion::Run, _) => {
                "How long a thread ran without\n  interruption cannot be read from it: record the events of sched and irq for that."
            }
            (LatencyQuestion::Wait, false) => {
                "How long threads waited for a\n  CPU cannot be read from it: record the events of sched for that."
            }
            (LatencyQuestion::Wait, true) => "It contains no other waits.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(tracer: &str) -> TextHeader {
        TextHeader {
            tracer: Some(tracer.to_owned()),
            latency_us: Some(5),
            latency_cpu: Some(3),
            latency_task: Some(("sleep\u{1b}".to_owned(), 2389)),
            latencies: 2,
            ..TextHeader::default()
        }
    }

    #[test]
    fn only_latency_tracers_have_a_meaning() {
        for (tracer, means) in MEANS {
            let latency = Latency::of(&header(tracer)).expect(tracer);
            assert!(
                latency
                    .text(LatencyQuestion::Run)
                    .starts_with(&format!("Longest time {means}: 5 us\n"))
            );
        }
        for other in [
            "nop",
            "function",
            "function_graph",
            "hwlat",
            "osnoise",
            "timerlat",
            "wakeup_RT",
        ] {
            assert_eq!(Latency::of(&header(other)), None, "{other}");
        }
        assert_eq!(Latency::of(&TextHeader::default()), None);
    }

    #[test]
    fn only_wake_up_tracers_report_a_wait() {
        let text = |tracer: &str| Latency::of(&header(tracer)).expect(tracer).text(LatencyQuestion::Wait);
        assert_eq!(
            text("wakeup_rt"),
            "Longest time from the wake-up of a real-time thread until it ran: 5 us\n  CPU 3, \
             sleep\\u{1b}[2389]\n  This is a trace of the wakeup_rt tracer. It holds only the longest latency \
             since\n  tracing_max_latency was reset. It contains no other waits.\n  The text contains 2 such traces; \
             this is the last one.\n"
        );
        assert!(text("preemptoff").contains("cannot be read from it"));
    }

    #[test]
    fn a_header_without_latency_gives_no_time() {
        let mut head = header("irqsoff");
        (head.latency_us, head.latency_cpu, head.latency_task) = (None, None, None);
        let text = Latency::of(&head).expect("irqsoff").text(LatencyQuestion::Run);
        assert!(
            text.starts_with("Longest time with interrupts disabled: not stated\n  This is"),
            "{text}"
        );
    }
}
