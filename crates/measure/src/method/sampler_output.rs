//! Converts a tracer's events to samples per CPU, and counts missing samples.

use super::KernelTracer;
use super::line::{TracerEvent, TracerLine, parse};
use super::workload::WorkloadThread;
use crate::accumulate::{Accumulator, SampleListing};
use crate::counter::TickPeriod;
use crate::finish::{add_wake_ups, plain, proved};
use crate::ring::RingSample;
use crate::stats::TickStatistics;
use crate::timer::Grid;
use crate::{
    BreakSample, Clock, Lane, MAX_GAPS, MeasureRequest, MeasuredGap, MeasurementKind, Note, NoteLevel, ThreadProgress,
    ThreadResult, findings,
};
use machine::{CpuId, Nanos, Policy};
use root::Root;
use std::collections::BTreeMap;

/// The measured interval, on `CLOCK_MONOTONIC`. Samples outside it are ignored.
#[derive(Clone, Copy, Debug)]
pub(super) struct TracerWindow {
    pub start: u64,
    pub end: u64,
}

/// The data of the kernel's tracer so far, for all CPUs.
pub(super) struct TracerData {
    method: KernelTracer,
    window: TracerWindow,
    cpus: Vec<TracerCpu>,
    limit_ns: Option<u64>,
    broke: Option<BreakSample>,
}

struct TracerCpu {
    lane: Lane,
    samples: Accumulator,
    /// Latency until the timer's interrupt.
    irq: TickStatistics,
    /// The first and the last expected wake-up of a thread that was recorded.
    expected_wakeups: Option<(u64, u64)>,
    lost: u64,
    tid: Option<u32>,
    /// The thread that looks for gaps, from the list of threads.
    thread: Option<WorkloadThread>,
}

impl TracerData {
    /// An empty state; `None` if the buckets cannot be allocated.
    pub(super) fn of(request: &MeasureRequest<'_>, method: KernelTracer, window: TracerWindow) -> Option<TracerData> {
        let one = |lane: &Lane| {
            let from = lane.spike_ns.unwrap_or(u64::MAX);
            let most = MAX_GAPS;
            let mut samples = match method {
                KernelTracer::Timerlat => Accumulator::of_wake_ups(SampleListing { from, most }, lane.rhythm())?,
                KernelTracer::Osnoise => Accumulator::of_gaps(SampleListing { from: 0, most })?,
            };
            if let Some(claim) = lane.claim {
                samples.count_above(claim.limit_ns);
            }
            Some(TracerCpu {
                lane: lane.clone(),
                samples,
                irq: TickStatistics::new()?,
                expected_wakeups: None,
                lost: 0,
                tid: None,
                thread: None,
            })
        };
        Some(TracerData {
            method,
            window,
            cpus: request.lanes.iter().map(one).collect::<Option<Vec<TracerCpu>>>()?,
            limit_ns: request.break_at.map(|limit| limit.limit_ns),
            broke: None,
        })
    }

    /// Accounts for these threads of the tracer.
    pub(super) fn follow(&mut self, threads: &BTreeMap<CpuId, WorkloadThread>) {
        for one in &mut self.cpus {
            one.thread = threads.get(&one.lane.cpu).copied();
            one.tid = one.thread.map(|thread| thread.tid);
        }
    }

    /// Reads how long they have run.
    pub(super) fn read_threads(&mut self, root: &Root) {
        let threads = self.cpus.iter_mut().filter_map(|one| one.thread.as_mut());
        threads.for_each(|thread| thread.update(root));
    }

    /// The sample that reached the limit.
    pub(super) fn broke(&self) -> Option<BreakSample> {
        self.broke
    }

    /// Processes a line of the trace.
    pub(super) fn take(&mut self, line: &str) {
        let (cpu, event) = match parse(line) {
            Some(TracerLine::Event(event)) => (event.cpu, Some(event)),
            Some(TracerLine::Lost { cpu, count }) => {
                if let Some(one) = self.cpus.iter_mut().find(|one| one.lane.cpu == cpu) {
                    one.lost = one.lost.saturating_add(count);
                }
                return;
            }
            None => return,
        };
        let Some((one, event)) = self.cpus.iter_mut().find(|one| one.lane.cpu == cpu).zip(event) else {
            return;
        };
        let value = match self.method {
            KernelTracer::Timerlat => one.wake_up(event, self.window),
            KernelTracer::Osnoise => one.gap(event, self.window),
        };
        if let (Some(value_ns), Some(limit_ns), None) = (value, self.limit_ns, self.broke)
            && value_ns >= limit_ns
        {
            self.broke = Some(BreakSample {
                kind: one.lane.kind,
                cpu,
                value_ns,
                limit_ns,
                at_monotonic_ns: event.at_ns,
            });
        }
    }

    /// The progress, for a screen.
    pub(super) fn progress(&self) -> Vec<ThreadProgress> {
        let one = |one: &TracerCpu| ThreadProgress {
            cpu: one.lane.cpu,
            kind: one.lane.kind,
            tid: one.tid,
            recorded: one.samples.raw.count(),
            missed: one.lost,
            min_ns: one.samples.raw.min(),
            last_ns: one.samples.newest(),
            mean_ns: one.samples.raw.mean_ns(TickPeriod::NANOSECONDS),
            max_ns: one.samples.raw.max(),
        };
        self.cpus.iter().map(one).collect()
    }

    /// The results up to `end`, and the findings about them.
    pub(super) fn results(&self, root: &Root, end: u64) -> (Vec<ThreadResult>, Vec<Note>) {
        let mut notes = Vec::new();
        let mut threads = Vec::new();
        for one in &self.cpus {
            let mut result = plain(
                one.lane.kind,
                one.lane.cpu,
                one.samples.raw.distribution(TickPeriod::NANOSECONDS),
            );
            result.tid = one.tid;
            // The thread has the tracer's policy, unless a user has changed it.
            let task = one.tid.and_then(|tid| machine::tasks::read_one(root, tid));
            result.policy = task.as_ref().map_or(Policy::Unknown, |task| task.policy);
            result.priority = task.map_or(0, |task| task.rt_priority);
            result.started_monotonic_ns = Some(self.window.start);
            result.duration_ns = end.saturating_sub(self.window.start);
            match self.method {
                KernelTracer::Timerlat => one.add_wake_ups(&mut result, self.window),
                KernelTracer::Osnoise => one.add_gaps(&mut result, self.window),
            }
            result.proof = proved(&result, &one.lane, &one.samples);
            notes.extend(one.about(&result));
            threads.push(result);
        }
        (threads, notes)
    }
}

impl TracerCpu {
    /// `#105   context    irq timer_latency     49820 ns` (`print_timerlat_timer` of `kernel/trace/trace_output.c`).
    fn wake_up(&mut self, event: TracerEvent<'_>, window: TracerWindow) -> Option<u64> {
        let mut words = event.text.strip_prefix('#')?.split_whitespace();
        let (_, context, part, what, value) = (
            words.next()?,
            words.next()?,
            words.next()?,
            words.next()?,
            words.next()?,
        );
        if context != "context" || what != "timer_latency" {
            return None;
        }
        let late: u64 = value.parse().ok()?;
        let expected_at = event.at_ns.saturating_sub(late);
        if expected_at < window.start || expected_at >= window.end {
            return None;
        }
        match part {
            "irq" => self.irq.add(late),
            "thread" => {
                self.tid = event.tid.or(self.tid);
                let interval = self.lane.interval_ns.max(1);
                let first = match self.expected_wakeups {
                    Some((first, _)) => first,
                    None => {
                        let periods = window.end.saturating_sub(expected_at) / interval + 1;
                        self.samples
                            .follow(Grid::new(expected_at.saturating_sub(interval), periods, interval));
                        expected_at
                    }
                };
                self.expected_wakeups = Some((first, expected_at));
                self.samples.add(RingSample {
                    at: expected_at,
                    value: late,
                    missed: 0,
                });
                return Some(late);
            }
            _ => {}
        }
        None
    }

    /// `sample_threshold: start 4.797536282 duration 13690 ns interference 0`; the start is on a clock local to the CPU.
    fn gap(&mut self, event: TracerEvent<'_>, window: TracerWindow) -> Option<u64> {
        let rest = event.text.strip_prefix("sample_threshold:")?;
        let mut words = rest.split_whitespace().skip_while(|word| *word != "duration").skip(1);
        let length: u64 = words.next()?.parse().ok()?;
        let start_ns = event.at_ns.saturating_sub(length);
        if start_ns < window.start || event.at_ns >= window.end {
            return None;
        }
        self.tid = event.tid.or(self.tid);
        self.samples.add(RingSample {
            at: start_ns,
            value: length,
            missed: 0,
        });
        Some(length)
    }

    /// Every expected wake-up from the first to the last recorded one is recorded or missed: the tracer skips those that
    /// it is late for, and the buffer may lose some.
    fn add_wake_ups(&self, result: &mut ThreadResult, window: TracerWindow) {
        let interval = self.lane.interval_ns.max(1);
        let expected = self.expected_wakeups.map_or(0, |(first, last)| {
            // Times in the text are truncated to microseconds.
            (last.saturating_sub(first) + interval / 2) / interval + 1
        });
        result.expected = expected.max(result.recorded);
        result.missed = result.expected - result.recorded;
        add_wake_ups(
            result,
            &self.lane,
            &self.samples,
            (TickPeriod::NANOSECONDS, window.start),
            MAX_GAPS,
        );
        result.clock = Some(Clock::Monotonic);
        result.irq = (self.irq.count() > 0).then(|| self.irq.distribution(TickPeriod::NANOSECONDS));
    }

    fn add_gaps(&self, result: &mut ThreadResult, window: TracerWindow) {
        result.missed = self.lost;
        result.expected = result.recorded.saturating_add(self.lost);
        let gaps: Vec<MeasuredGap> = self
            .samples
            .longest(MAX_GAPS)
            .into_iter()
            .map(|(at, duration_ns, _)| MeasuredGap {
                at_ns: at.saturating_sub(window.start),
                duration_ns,
                label: None,
            })
            .collect();
        result.threshold_ns = Some(self.lane.threshold_ns);
        result.gaps_total = Some(result.recorded);
        result.gaps_kept = Some(gaps.len() as u64);
        result.over_time = self.samples.course.over_time(TickPeriod::NANOSECONDS, window.start);
        result.stolen_ns = Some(self.samples.raw.sum());
        result.stolen_max_ns = self.samples.raw.max();
        result.own_ns = Some(0);
        result.gaps = Some(gaps);
    }

    fn about(&self, result: &ThreadResult) -> Vec<Note> {
        let cpu = format!("cpu{}", result.cpu);
        let mut notes = Vec::new();
        if self.lost > 0 {
            let message = format!(
                "The trace lost {} events because they were not read in time.",
                self.lost
            );
            notes.push(findings::note(
                NoteLevel::Warning,
                "samples_dropped",
                &cpu,
                message,
                "use less load on the other CPUs, a longer period, or a higher threshold",
            ));
        }
        let silent = match result.kind {
            MeasurementKind::Noise => self.unobserved(result),
            _ if result.recorded > 0 => None,
            _ => Some((
                "The tracer recorded no sample on this CPU.".to_owned(),
                "check whether its thread exists (`timerlat/N`), and measure longer than one period",
            )),
        };
        if let Some((message, fix)) = silent {
            notes.push(findings::note(NoteLevel::Error, "tracer_silent", &cpu, message, fix));
        }
        notes
    }

    /// Without events a CPU is either quiet or unobserved: the thread that looks for gaps did not run.
    fn unobserved(&self, result: &ThreadResult) -> Option<(String, &'static str)> {
        let Some(thread) = self.thread else {
            let message = "The tracer has no thread on this CPU: no gap could be found.".to_owned();
            return Some((
                message,
                "measure again, and check whether its thread exists (`osnoise/N`)",
            ));
        };
        let observed_ns = thread.run_ns?.saturating_add(result.stolen_ns.unwrap_or(0));
        (observed_ns < result.duration_ns / 4 * 3).then(|| {
            let message = format!(
                "The tracer's thread was running or interrupted for only {} of {}: gaps in the rest were not found.",
                Nanos(observed_ns),
                Nanos(result.duration_ns)
            );
            let fix = "measure again; runtime_us and period_us in /sys/kernel/tracing/osnoise must be equal";
            (message, fix)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;
    use machine::CpuId;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    const WINDOW: TracerWindow = TracerWindow {
        start: 7_000_000_000,
        end: 8_000_000_000,
    };

    fn parse_line(
        method: KernelTracer,
        kind: MeasurementKind,
        text: &str,
        limit_ns: Option<u64>,
    ) -> (Vec<ThreadResult>, Vec<Note>, Option<BreakSample>) {
        let stop = AtomicBool::new(false);
        let cpus = machine::CpuSet::range(1, 3);
        let second = Duration::from_secs(1);
        let mut request = match kind {
            MeasurementKind::Noise => MeasureRequest::noise(cpus, second, Environment::default(), &stop),
            _ => MeasureRequest::latency(cpus, second, Environment::default(), &stop),
        };
        request.break_at = limit_ns.map(|limit_ns| crate::Break { limit_ns, trip: None });
        let mut data = TracerData::of(&request, method, WINDOW).unwrap();
        let ran = |cpu| (CpuId(cpu), WorkloadThread::ran(100 + cpu, Some(900_000_000)));
        data.follow(&[1, 2, 3].map(ran).into());
        text.lines().for_each(|line| data.take(line));
        let (threads, notes) = data.results(&Root::live(), WINDOW.end);
        (threads, notes, data.broke())
    }

    const TIMERLAT: &str = "\
          <idle>-0       [003] d.h1.     6.999900: #1     context    irq timer_latency     10000 ns
          <idle>-0       [003] d.h1.     7.000120: #2     context    irq timer_latency     20000 ns
      timerlat/3-0       [003] ....1     7.000150: #2     context thread timer_latency     50000 ns
          <idle>-0       [003] d.h1.     7.001130: #3     context    irq timer_latency     30000 ns
      timerlat/3-0       [003] ....1     7.003200: #3     context thread timer_latency   2100000 ns
      timerlat/3-0       [003] ....1     7.004107: #4     context thread timer_latency      7000 ns
      timerlat/9-0       [009] ....1     7.004107: #4     context thread timer_latency      7000 ns
CPU:3 [LOST 2 EVENTS]
      timerlat/3-0       [003] ....1     7.006105: #6     context thread timer_latency      5000 ns
      timerlat/3-0       [003] ....1     8.100105: #999   context thread timer_latency      5000 ns
";

    #[test]
    fn expected_wake_ups_without_an_event_count_as_missed() {
        let (threads, notes, broke) = parse_line(
            KernelTracer::Timerlat,
            MeasurementKind::Latency,
            TIMERLAT,
            Some(2_000_000),
        );
        let one = threads.iter().find(|thread| thread.cpu == CpuId(3)).unwrap();
        // Expected at 7.0001, 7.0011, ... 7.0061: 7 wake-ups, of which 4 were recorded.
        assert_eq!((one.expected, one.recorded, one.missed), (7, 4, 3));
        assert_eq!((one.min_ns, one.max_ns), (Some(5_000), Some(2_100_000)));
        let irq = one.irq.as_ref().unwrap();
        assert_eq!((irq.count, irq.max_ns), (2, Some(30_000)));
        // The schedule has the two that the late one skipped, with the lateness that they would have had.
        assert_eq!(one.schedule.as_ref().unwrap().count, 6);
        let broke = broke.unwrap();
        assert_eq!(
            (broke.cpu, broke.value_ns, broke.at_monotonic_ns),
            (CpuId(3), 2_100_000, 7_003_200_000)
        );
        assert!(
            notes
                .iter()
                .any(|note| note.id == "samples_dropped" && note.subject == "cpu3")
        );
        let silent = notes.iter().filter(|note| note.id == "tracer_silent");
        assert_eq!(silent.count(), 2, "CPUs 1 and 2");
    }

    const OSNOISE: &str = "\
       osnoise/1-0       [001] ....1     7.100000: sample_threshold: start 4.797536282 duration 13690 ns interference 0
       osnoise/1-0       [001] dNh11     7.200000: irq_noise: local_timer:236 start 4.802368124 duration 224533 ns
       osnoise/1-0       [001] ....1     7.300000: sample_threshold: start 5.0 duration 500000 ns interferences 2
 osnoise/1-0       [001] ....1     7.400000: 1000000     304896    99.42580        6978         56        549          0      53111       1590         13
CPU:1 [LOST 5 EVENTS]
";

    #[test]
    fn gaps_have_their_times_and_lost_ones_count_as_missed() {
        let (threads, notes, broke) = parse_line(KernelTracer::Osnoise, MeasurementKind::Noise, OSNOISE, None);
        let one = &threads[0];
        assert_eq!((one.expected, one.recorded, one.missed), (7, 2, 5));
        assert_eq!((one.stolen_ns, one.stolen_max_ns), (Some(513_690), Some(500_000)));
        let gaps = one.gaps.as_ref().unwrap();
        assert_eq!(gaps[1].at_ns, 299_500_000);
        assert!(broke.is_none() && notes.len() == 1, "{notes:?}");
        assert_eq!(threads[1].recorded, 0, "a quiet CPU is no silence");
        assert_eq!(threads[1].tid, Some(102));
    }

    #[test]
    fn a_cpu_whose_thread_did_not_look_for_gaps_is_reported() {
        let ran = |run_ns| Some(WorkloadThread::ran(200, run_ns));
        for (thread, says) in [
            (None, Some("no thread on this CPU")),
            (ran(Some(10_000)), Some("only 10.0 us of 1.00 s")),
            (ran(Some(749_000_000)), Some("only 749.0 ms of 1.00 s")),
            (ran(Some(750_000_000)), None),
            (ran(None), None),
        ] {
            let stop = AtomicBool::new(false);
            let second = Duration::from_secs(1);
            let request = MeasureRequest::noise(machine::CpuSet::range(1, 1), second, Environment::default(), &stop);
            let mut data = TracerData::of(&request, KernelTracer::Osnoise, WINDOW).unwrap();
            data.follow(&thread.map(|thread| (CpuId(1), thread)).into_iter().collect());
            let (_, notes) = data.results(&Root::live(), WINDOW.end);
            let silent: Vec<&str> = notes.iter().map(|note| note.message.as_str()).collect();
            match says {
                Some(words) => assert!(silent.len() == 1 && silent[0].contains(words), "{silent:?}"),
                None => assert!(silent.is_empty(), "{silent:?}"),
            }
        }
    }
}
