//! The collector: starts the sampler process, empties its rings, and makes the result.

use crate::child::Child;
use crate::counter::{Pace, Pair, Source};
use crate::housekeeping::step_aside;
use crate::ring::drain;
use crate::sampler::{self, Job};
use crate::shared::{Control, Shared, gate, state};
use crate::stats::Accumulator;
use crate::{
    GAPS_KEPT, IdleStates, Kind, MeasureError, Measurement, Note, Phase, Progress, Request, SCHEMA,
    SystemCalls, ThreadProgress, check, clock, findings, finish, idle, labels,
};
use machine::{CpuId, CpuSet};
use observe::{Activity, Sample};
use root::Root;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often the rings are emptied.
const DRAIN_NS: u64 = 50_000_000;

/// How long before the planned end the counters are read for the last time.
const COUNTERS_NS: u64 = 5_000_000;

/// How long a thread may take to get ready: on a CPU where a real-time task spins it never will.
const PREPARE_NS: u64 = 10_000_000_000;

/// How long after its planned end, or after it was told to stop, a sampler may go on before it is killed.
const PATIENCE_NS: u64 = 2_000_000_000;

/// Measures, and calls `progress` about every 50 ms on the calling thread.
///
/// The caller's process is forked once. It should have a single thread: the child uses the allocator and
/// starts threads, which the C libraries allow after a fork, but a lock that another thread of the caller holds
/// elsewhere would stay locked in the child. The calling thread is kept off the measured CPUs meanwhile.
///
/// The request's `stop` is looked at every 50 ms; the partial result then has `complete` false. So it has when
/// the sampler process is killed: what it had recorded is kept, and accounted for.
///
/// # Errors
/// A request that makes no sense, a CPU that is offline or out of reach, or a system that refuses a process or
/// shared memory. Everything less is a finding in the result.
pub fn run(request: &Request<'_>, progress: &mut dyn FnMut(&Progress)) -> Result<Measurement, MeasureError> {
    let root = Root::live();
    check::request(request, &root)?;
    let cpus: Vec<CpuId> = request.cpus.iter().collect();
    let source = match request.kind {
        Kind::Latency => Source::Monotonic,
        Kind::Noise => Source::best(request.environment.clocksource.as_deref()),
    };
    let shared = Shared::map(cpus.len(), slots(request, cpus.len())).map_err(|errno| MeasureError::Os {
        doing: "map memory for the samples",
        errno,
    })?;
    let job = Job {
        kind: request.kind,
        cpus: &cpus,
        duration_ns: nanos(request.duration),
        interval_ns: request.interval_ns,
        threshold_ns: request.threshold_ns,
        policy: request.policy,
        priority: request.priority,
        source,
        system_calls: request.system_calls,
        shared: &shared,
    };
    let pid = sampler::start(&job).map_err(|errno| MeasureError::Os {
        doing: "start the sampler process",
        errno,
    })?;
    let mut child = Child::new(pid);
    let _aside = step_aside(&request.cpus);
    if let Some(join) = request.join {
        join(pid).map_err(|why| MeasureError::Join { why })?;
    }
    let held = match request.idle_states {
        IdleStates::Hold => idle::hold(),
        IdleStates::Leave => Err(0),
    };
    let mut collection = Collection::new(&job, request, &root)?;
    collection.prepare(&mut child, progress)?;
    collection.sample(&mut child, progress);
    child.end(Duration::from_secs(1));
    collection.drain();
    let mut notes = collection.notes;
    notes.extend(findings::about_machine(
        &request.environment,
        source,
        request.kind,
    ));
    notes.extend(findings::about_memory(
        shared.control().locked.load(Ordering::Acquire),
    ));
    notes.extend(findings::about_idle(
        request.idle_states,
        held.as_ref().err().copied(),
    ));
    notes.extend(findings::about_starvation(request));
    let activity = collection.counters.activity(&request.cpus);
    let closing = Closing {
        pair: source.pair(),
        activity: activity.as_ref(),
    };
    let mut threads = Vec::new();
    for (place, (&cpu, accumulator)) in cpus.iter().zip(&collection.accumulators).enumerate() {
        let Some((lane, _)) = shared.lane(place) else {
            continue;
        };
        let limits = limits(&root, cpu, &request.environment);
        let (result, thread_notes) = finish::thread(request, &job, cpu, lane, accumulator, &closing, &limits);
        notes.extend(thread_notes);
        threads.push(result);
    }
    drop(held);
    Ok(Measurement {
        schema: SCHEMA.to_owned(),
        kind: request.kind,
        started_at: collection.started_at,
        duration_ns: threads.iter().map(|thread| thread.duration_ns).max().unwrap_or(0),
        environment: request.environment.clone(),
        activity,
        threads,
        findings: notes,
        complete: collection.complete,
    })
}

/// What is known only after the window.
pub(crate) struct Closing<'a> {
    /// For samplers that did not live to take their own.
    pub pair: Pair,
    /// What the counters say about the window.
    pub activity: Option<&'a Activity>,
}

/// The counters at both ends of the window, read while the samplers run: what starting and ending them costs
/// is outside.
#[derive(Default)]
struct Window {
    first: Option<Sample>,
    last: Option<Sample>,
}

impl Window {
    fn activity(&self, cpus: &CpuSet) -> Option<Activity> {
        let mut activity = observe::activity(self.first.as_ref()?, self.last.as_ref()?);
        activity.cpus.retain(|activity| cpus.contains(activity.cpu));
        Some(activity)
    }
}

struct Collection<'a> {
    job: &'a Job<'a>,
    request: &'a Request<'a>,
    root: &'a Root,
    accumulators: Vec<Accumulator>,
    counters: Window,
    started_at: String,
    start_ns: u64,
    pair: Pair,
    notes: Vec<Note>,
    complete: bool,
}

impl<'a> Collection<'a> {
    fn new(
        job: &'a Job<'a>,
        request: &'a Request<'a>,
        root: &'a Root,
    ) -> Result<Collection<'a>, MeasureError> {
        let keep = if job.kind == Kind::Noise { GAPS_KEPT } else { 0 };
        let accumulators: Option<Vec<Accumulator>> =
            job.cpus.iter().map(|_| Accumulator::new(keep)).collect();
        Ok(Collection {
            job,
            request,
            root,
            accumulators: accumulators.ok_or(MeasureError::Os {
                doing: "make the histograms",
                errno: libc::EINVAL,
            })?,
            counters: Window::default(),
            started_at: clock::wall_time(),
            start_ns: 0,
            pair: job.source.pair(),
            notes: Vec::new(),
            complete: false,
        })
    }

    fn control(&self) -> &'a Control {
        self.job.shared.control()
    }

    fn stopped(&self) -> bool {
        self.request.stop.load(Ordering::Relaxed)
    }

    /// Until every thread stands at the gate.
    fn prepare(
        &mut self,
        child: &mut Child,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(), MeasureError> {
        let control = self.control();
        sampler::open(control, gate::PREPARE);
        let begun = clock::monotonic_ns();
        while control.locked.load(Ordering::Acquire) == 0 {
            if let Some(how) = child.ended() {
                return Err(MeasureError::Sampler { how: how.to_owned() });
            }
            let waited = clock::monotonic_ns().saturating_sub(begun);
            if waited > PREPARE_NS {
                return Err(MeasureError::Busy {
                    cpus: self.request.cpus.clone(),
                });
            }
            if self.stopped() {
                return Ok(());
            }
            progress(&self.progress(child.pid(), Phase::Preparing));
            std::thread::sleep(Duration::from_millis(2));
        }
        match control.spawn_errno.load(Ordering::Relaxed) {
            0 => {}
            errno => {
                return Err(MeasureError::Os {
                    doing: "start a sampler thread",
                    errno,
                });
            }
        }
        check::pinned(self.job, child.pid(), self.root)
    }

    /// Opens the gate and empties the rings until all samplers are done, or will never be.
    fn sample(&mut self, child: &mut Child, progress: &mut dyn FnMut(&Progress)) {
        let control = self.control();
        if self.stopped() {
            child.kill();
            return;
        }
        self.started_at = clock::wall_time();
        self.pair = self.job.source.pair();
        // Room for the slowest thread to pass the gate before the first due time.
        self.start_ns = clock::monotonic_ns() + 2_000_000;
        control.start_ns.store(self.start_ns, Ordering::Release);
        sampler::open(control, gate::GO);
        let mut deadline = self
            .start_ns
            .saturating_add(self.job.duration_ns)
            .saturating_add(PATIENCE_NS);
        let planned_end = self.start_ns.saturating_add(self.job.duration_ns);
        let mut told_to_stop = false;
        loop {
            self.read_counters(planned_end);
            let all_done = self.all_done();
            let ended = child.ended().map(str::to_owned);
            self.drain();
            let now = clock::monotonic_ns();
            if all_done {
                self.complete = !told_to_stop;
                break;
            }
            if let Some(how) = ended {
                self.note_death(&how);
                break;
            }
            if self.stopped() && !told_to_stop {
                told_to_stop = true;
                self.counters.last = Some(Sample::take(self.root));
                control.stop.0.store(1, Ordering::Relaxed);
                deadline = deadline.min(now.saturating_add(PATIENCE_NS / 2));
            }
            if now > deadline {
                if !told_to_stop {
                    self.note_overdue();
                }
                child.kill();
                break;
            }
            let phase = if told_to_stop {
                Phase::Ending
            } else {
                Phase::Sampling
            };
            progress(&self.progress(child.pid(), phase));
            let next = if now < planned_end.saturating_sub(COUNTERS_NS) {
                planned_end - COUNTERS_NS
            } else {
                planned_end + 500_000
            };
            let pause = if told_to_stop || self.counters.first.is_none() {
                2_000_000
            } else {
                next.saturating_sub(now).clamp(2_000_000, DRAIN_NS)
            };
            std::thread::sleep(Duration::from_nanos(pause));
        }
        progress(&self.progress(child.pid(), Phase::Ending));
    }

    /// The first reading as soon as the samplers run, the last one shortly before they end.
    fn read_counters(&mut self, planned_end: u64) {
        let now = clock::monotonic_ns();
        if self.counters.first.is_none() {
            if now >= self.start_ns && self.in_window() {
                self.counters.first = Some(Sample::take(self.root));
            }
        } else if self.counters.last.is_none() && now >= planned_end.saturating_sub(COUNTERS_NS) {
            self.counters.last = Some(Sample::take(self.root));
        }
    }

    fn in_window(&self) -> bool {
        self.states().all(|state| state != state::IDLE)
    }

    fn all_done(&self) -> bool {
        self.states().all(|state| state == state::DONE)
    }

    fn states(&self) -> impl Iterator<Item = u32> + '_ {
        let lanes = (0..self.job.shared.lanes()).filter_map(|place| self.job.shared.lane(place));
        lanes.map(|(lane, _)| lane.state.0.load(Ordering::Acquire))
    }

    fn drain(&mut self) {
        for (place, accumulator) in self.accumulators.iter_mut().enumerate() {
            if let Some((lane, slots)) = self.job.shared.lane(place) {
                // While a thread prepares, its ring holds the rehearsal.
                if lane.state.0.load(Ordering::Acquire) != state::IDLE {
                    drain(lane, slots, |sample| accumulator.add(sample));
                }
            }
        }
    }

    fn progress(&self, sampler_pid: u32, phase: Phase) -> Progress {
        let now = clock::monotonic_ns();
        let pace = match self.job.source {
            Source::Monotonic => Pace::NANOSECONDS,
            source => Pace::between(self.pair, source.pair()).unwrap_or(Pace::NANOSECONDS),
        };
        let threads = self
            .job
            .cpus
            .iter()
            .zip(&self.accumulators)
            .map(|(&cpu, accumulator)| ThreadProgress {
                cpu,
                recorded: accumulator.count(),
                missed: accumulator.last().map_or(0, |sample| sample.missed),
                max_ns: accumulator.max().map(|ticks| pace.to_ns(ticks)),
            });
        Progress {
            kind: self.job.kind,
            phase,
            elapsed_ns: if self.start_ns == 0 {
                0
            } else {
                now.saturating_sub(self.start_ns)
            },
            planned_ns: self.job.duration_ns,
            sampler_pid,
            threads: threads.collect(),
        }
    }

    fn note_death(&mut self, how: &str) {
        self.notes.push(findings::note(
            crate::Level::Error,
            "sampler_died",
            "sampler process",
            format!(
                "The sampler process ended early ({how}). What it had recorded until then is in the result."
            ),
            match self.request.system_calls {
                SystemCalls::Trusted => {
                    "look for the out-of-memory killer in the kernel's log, and measure again"
                }
                SystemCalls::Enforced => {
                    "signal 31 is the filter's: a clock that needs a system call, or a defect of this tool"
                }
            },
        ));
    }

    fn note_overdue(&mut self) {
        self.notes.push(findings::note(
            crate::Level::Error,
            "sampler_overdue",
            "sampler process",
            "A sampler did not reach the end of its window in time and was ended: something kept the CPU from it."
                .to_owned(),
            "look for real-time tasks on the measured CPUs, or for a stopped process",
        ));
    }
}

/// Room for 2 s of periods, or for 65,536 gaps: at the drain's pace a million gaps per second. Less per CPU on
/// large machines, so that all rings together stay below about 64 MB.
fn slots(request: &Request<'_>, lanes: usize) -> usize {
    let wanted = match request.kind {
        Kind::Latency => usize::try_from(2_000_000_000 / request.interval_ns.max(1)).unwrap_or(usize::MAX),
        Kind::Noise => 1 << 16,
    };
    let fair_share = (1 << 21) / lanes.max(1);
    wanted
        .clamp(1 << 10, fair_share.clamp(1 << 13, 1 << 16))
        .next_power_of_two()
}

/// What the kernel grants real-time threads on a CPU; files that are missing or refused are unknown.
fn limits(root: &Root, cpu: CpuId, environment: &crate::Environment) -> labels::Limits {
    fn number<T: std::str::FromStr>(root: &Root, path: &str) -> Option<T> {
        root.value(path).ok().flatten()?.parse().ok()
    }
    let server = format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}");
    labels::Limits {
        rt_runtime_us: number(root, "/proc/sys/kernel/sched_rt_runtime_us"),
        rt_period_us: number(root, "/proc/sys/kernel/sched_rt_period_us"),
        fair_server: number(root, &format!("{server}/runtime"))
            .zip(number(root, &format!("{server}/period"))),
        kernel: environment.kernel_version(),
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
