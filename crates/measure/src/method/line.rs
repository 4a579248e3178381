//! Parses one line of a trace's text (`kernel/trace/trace_output.c`): thread, CPU, time, and the tracer's message.
//!
//! The width of the flags and of the name depends on kernel and tracer, and a name may contain anything. So the parser
//! looks for the CPU in brackets followed by a time.

use machine::CpuId;

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TracerLine<'a> {
    /// An event.
    Event(TracerEvent<'a>),
    /// Events of a CPU that did not fit in the buffer.
    Lost {
        /// The CPU.
        cpu: CpuId,
        /// Number of events.
        count: u64,
    },
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TracerEvent<'a> {
    /// The thread that was running.
    pub tid: Option<u32>,
    /// The CPU.
    pub cpu: CpuId,
    /// Time on the trace's clock; the text has whole microseconds.
    pub at_ns: u64,
    /// The rest of the line.
    pub text: &'a str,
}

/// Parses a line; `None` for headers and all other lines.
pub(super) fn parse(line: &str) -> Option<TracerLine<'_>> {
    lost(line).or_else(|| {
        let mut places = line.match_indices('[');
        places.find_map(|(place, _)| event(line, place)).map(TracerLine::Event)
    })
}

/// `CPU:3 [LOST 12 EVENTS]`
fn lost(line: &str) -> Option<TracerLine<'static>> {
    let (cpu, rest) = line.trim_start().strip_prefix("CPU:")?.split_once(" [LOST ")?;
    let count = rest.split_once(" EVENTS]")?.0;
    Some(TracerLine::Lost {
        cpu: CpuId(cpu.trim().parse().ok()?),
        count: count.trim().parse().ok()?,
    })
}

fn event(line: &str, place: usize) -> Option<TracerEvent<'_>> {
    let (before, behind) = line.split_at_checked(place)?;
    let (cpu, rest) = behind.strip_prefix('[')?.split_once(']')?;
    if cpu.len() < 3 || !cpu.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Optional flags, then the time.
    let (head, text) = rest.split_once(": ")?;
    let at_ns = seconds(head.split_whitespace().last()?)?;
    let task = before.trim_end();
    Some(TracerEvent {
        tid: task.rsplit_once('-').and_then(|(_, tid)| tid.parse().ok()),
        cpu: CpuId(cpu.parse().ok()?),
        at_ns,
        text: text.trim(),
    })
}

/// Parses `4.797811` as nanoseconds.
fn seconds(text: &str) -> Option<u64> {
    let (whole, micros) = text.split_once('.')?;
    if micros.len() != 6 {
        return None;
    }
    let (whole, micros): (u64, u64) = (whole.parse().ok()?, micros.parse().ok()?);
    whole.checked_mul(1_000_000_000)?.checked_add(micros * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_real_traces_are_parsed() {
        let event = |line, tid, cpu, at_ns, text| {
            let seen = parse(line);
            let cpu = CpuId(cpu);
            assert_eq!(
                seen,
                Some(TracerLine::Event(TracerEvent { tid, cpu, at_ns, text })),
                "{line}"
            );
        };
        event(
            "          <idle>-0       [003] d.h1.     7.316420: #105   context    irq timer_latency     49820 ns",
            Some(0),
            3,
            7_316_420_000,
            "#105   context    irq timer_latency     49820 ns",
        );
        event(
            "       osnoise/1-209     [001] ....1     4.797811: sample_threshold: start 4.797536282 duration 13690 ns interference 0",
            Some(209),
            1,
            4_797_811_000,
            "sample_threshold: start 4.797536282 duration 13690 ns interference 0",
        );
        event(
            " a [001] 1.5: b-12 [1023] d..2. 200022.923432: x: y",
            Some(12),
            1023,
            200_022_923_432_000,
            "x: y",
        );
        assert_eq!(
            parse("CPU:3 [LOST 1200 EVENTS]"),
            Some(TracerLine::Lost {
                cpu: CpuId(3),
                count: 1_200
            })
        );
        for nothing in [
            "# tracer: timerlat",
            "",
            "[",
            "x-1 [01] 1.000000: y",
            "x-1 [001] 1.0: y",
            "CPU:x [LOST 1 EVENTS]",
        ] {
            assert_eq!(parse(nothing), None, "{nothing}");
        }
    }
}
