//! Runs the sampling process: one thread per measured CPU, and a main thread that sleeps until they end.
//!
//! It is a separate process so that its memory can be locked, so that it can be moved into a partition while
//! the collector stays outside, and so that killing it loses no recorded sample.

use crate::counter::{Cntvct, CounterReading, CounterSource, Monotonic, TickPeriod, Tsc, offset};
use crate::os::{self, Errno, ForkSide};
use crate::ring::RingWriter;
use crate::seccomp::{self, BreakPermission};
use crate::shared::{Control, RingSlot, SharedMapping, Track, gate, notify, state, wait_until};
use crate::{Break, BreakSample, Lane, MeasurementKind, Sleep, SystemCalls, clock, spin, timer};
use machine::{CpuSet, Policy};
use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Enough for the loops and for the C library's thread setup.
const STACK_BYTES: usize = 256 * 1024;

/// Duration of the calibration before the window. A reading error of 50 ns in 20 ms shifts the end of a
/// window by 3 us per second; results are converted with the slope over the whole window instead.
const CALIBRATION_NS: u64 = 20_000_000;

/// Maximum time from the reading that starts the window to the loop, with cold caches (some 500 ns were observed).
const WAY_IN_NS: u64 = 1_000;

/// The samplers' task.
pub(crate) struct SamplerJob<'a> {
    pub lanes: &'a [Lane],
    /// The counter for threads that never sleep.
    pub counter: CounterSource,
    pub break_at: Option<Break<'a>>,
    pub system_calls: SystemCalls,
    pub shared: &'a SharedMapping,
}

impl SamplerJob<'_> {
    /// The longest window of all threads, if planned.
    pub(crate) fn length_ns(&self) -> u64 {
        let lengths = self
            .lanes
            .iter()
            .map(|lane| lane.length_ns().saturating_add(lane.phase_ns));
        lengths.max().unwrap_or(0)
    }

    /// The counter that a thread's times are in.
    pub(crate) fn source(&self, lane: &Lane) -> CounterSource {
        match lane.kind {
            MeasurementKind::Noise => self.counter,
            MeasurementKind::Latency | MeasurementKind::All => CounterSource::Monotonic,
        }
    }
}

/// Starts the sampler process. It waits at the gate.
pub(crate) fn start(job: &SamplerJob<'_>) -> Result<u32, Errno> {
    let parent = std::process::id();
    match os::fork()? {
        ForkSide::Parent(pid) => Ok(pid),
        ForkSide::Child => {
            // A panic must not unwind into the caller's frames, which this process has a copy of.
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| process(job, parent)));
            os::exit_now(if done.is_ok() { 0 } else { 70 })
        }
    }
}

fn process(job: &SamplerJob<'_>, parent: u32) {
    os::block_signals();
    if !os::kill_with_parent(parent) {
        return;
    }
    let control = job.shared.control();
    pass(control, gate::PREPARE);
    std::thread::scope(|scope| {
        for (place, lane) in job.lanes.iter().enumerate() {
            let builder = std::thread::Builder::new()
                .name(format!("sampler/{}", lane.cpu))
                .stack_size(STACK_BYTES);
            if let Err(error) = builder.spawn_scoped(scope, move || run(job, place, lane)) {
                control
                    .spawn_errno
                    .store(error.raw_os_error().unwrap_or(libc::EAGAIN), Relaxed);
                arrive(&control.ready);
            }
        }
        wait_until(&control.ready, thread_count(job));
        // MCL_CURRENT, not MCL_FUTURE: everything that the window needs exists, and the stacks of later
        // threads would count against the limit of an unprivileged user.
        let locked = match rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT) {
            Ok(()) => 1,
            Err(errno) => -errno.raw_os_error(),
        };
        control.locked.store(locked, Release);
    });
}

fn run(job: &SamplerJob<'_>, place: usize, lane: &Lane) {
    let Some((track, slots)) = job.shared.track(place) else {
        return;
    };
    let control = job.shared.control();
    if let Err(errno) = os::pin(&CpuSet::range(lane.cpu.0, lane.cpu.0)) {
        track.errno.store(errno, Relaxed);
        track.state.0.store(state::NOT_PINNED, Release);
        arrive(&control.ready);
        return;
    }
    track.tid.store(os::thread_number(), Relaxed);
    take_policy(lane, track);
    touch_stack();
    RingWriter::new(track, slots).touch();
    let thread = SamplerThread {
        job,
        lane,
        track,
        slots,
    };
    let tick_period = thread.rehearse();
    if let Some(claim) = lane.claim {
        track.claim_ticks.store(tick_period.to_ticks(claim.limit_ns), Relaxed);
    }
    arrive(&control.ready);
    if lane.kind == MeasurementKind::Noise {
        offset::answer(job.counter, track);
    }
    pass(control, gate::GO);
    thread.window(tick_period);
    // A thread that ends unmaps its stack, which sends an interrupt to the CPUs of all threads of the process:
    // no thread may end while another still samples.
    arrive(&control.done);
    wait_until(&control.done, thread_count(job));
}

fn thread_count(job: &SamplerJob<'_>) -> u32 {
    u32::try_from(job.lanes.len()).unwrap_or(u32::MAX)
}

/// One thread of the samplers: what it measures, and where it records.
#[derive(Clone, Copy)]
struct SamplerThread<'a> {
    job: &'a SamplerJob<'a>,
    lane: &'a Lane,
    track: &'a Track,
    slots: &'a [RingSlot],
}

impl SamplerThread<'_> {
    /// Runs the measurement, including the setup and cleanup that must not happen inside the window.
    fn window(self, tick_period: TickPeriod) {
        let (job, track) = (self.job, self.track);
        let mut writer = RingWriter::new(track, self.slots);
        let before = os::thread_usage();
        if job.system_calls == SystemCalls::Enforced
            && let Err(errno) = seccomp::forbid(
                self.lane.kind,
                match job.break_at {
                    Some(_) => BreakPermission::AtLimit,
                    None => BreakPermission::Never,
                },
            )
        {
            track.seccomp_errno.store(errno, Relaxed);
        }
        let ahead_ns = clock::ahead_ns();
        let limit = job
            .break_at
            .map_or(u64::MAX, |limit| tick_period.to_ticks(limit.limit_ns));
        let start = self.start(tick_period);
        match self.lane.kind {
            MeasurementKind::Latency | MeasurementKind::All => self.sample_wake_ups(&mut writer),
            MeasurementKind::Noise => {
                // The same moment as `start`, so that gaps can be joined with data that has the clock's time.
                let started_ns = start.raw_ns.saturating_add_signed(ahead_ns);
                track.start_ns.store(started_ns, Relaxed);
                self.sample_gaps(&mut writer, tick_period, start.ticks, limit);
            }
        }
        let after = os::thread_usage();
        let end = job.source(self.lane).pair();
        track.end_ticks.store(end.ticks, Relaxed);
        track.end_raw_ns.store(end.raw_ns, Relaxed);
        track.end_width_ns.store(end.width_ns, Relaxed);
        track.missed.store(writer.missed, Relaxed);
        track.dropped.store(writer.dropped, Relaxed);
        track.page_faults.store(after.page_faults - before.page_faults, Relaxed);
        track
            .voluntary
            .store(after.voluntary_switches - before.voluntary_switches, Relaxed);
        track
            .involuntary
            .store(after.involuntary_switches - before.involuntary_switches, Relaxed);
        track.state.0.store(state::DONE, Release);
    }

    /// Reads and records the start of the window. Inlined, as everything between this reading and the loop: see [`WAY_IN_NS`].
    #[inline(always)]
    fn start(self, tick_period: TickPeriod) -> CounterReading {
        let source = self.job.source(self.lane);
        let pair = source.pair();
        // The pair is the best of several readings and some microseconds old; the window starts now, so the time between is not a gap.
        let now = source.read();
        let start = CounterReading {
            ticks: now,
            raw_ns: pair.raw_ns + tick_period.to_ns(now.saturating_sub(pair.ticks)),
            width_ns: pair.width_ns,
        };
        self.track.start_ticks.store(start.ticks, Relaxed);
        self.track.start_raw_ns.store(start.raw_ns, Relaxed);
        self.track.start_width_ns.store(start.width_ns, Relaxed);
        start
    }

    #[inline(always)]
    fn sample_wake_ups(self, writer: &mut RingWriter<'_>) {
        let (control, track) = (self.job.shared.control(), self.track);
        let start_ns = track.start_clock_ns.load(Acquire);
        let since_monotonic = control.start_monotonic_ns.load(Acquire);
        let own_start = since_monotonic.saturating_add(self.lane.phase_ns);
        track.start_ns.store(own_start, Relaxed);
        track.state.0.store(state::SAMPLING, Release);
        let end = self.wake(start_ns, writer);
        self.trip(end.hit_ns, TickPeriod::NANOSECONDS);
        track.covered.store(end.covered, Relaxed);
        track.seen.store(end.seen, Relaxed);
    }

    /// Spins from `start`, until a gap reaches `limit`; both are in ticks.
    #[inline(always)]
    fn sample_gaps(self, writer: &mut RingWriter<'_>, tick_period: TickPeriod, start: u64, limit: u64) {
        let track = self.track;
        track.state.0.store(state::SAMPLING, Release);
        let end = self.spin(writer, tick_period, [start, self.lane.length_ns()], limit);
        self.trip(end.hit, tick_period);
        track.covered.store(end.covered, Relaxed);
        track.seen.store(end.seen, Relaxed);
        track.iterations.store(end.iterations, Relaxed);
        track.iteration_min.store(end.iteration_min, Relaxed);
    }

    /// Runs the wake-up loop until the window is over.
    fn wake(self, start_ns: u64, writer: &mut RingWriter<'_>) -> timer::TimerEnd {
        let (lane, track) = (self.lane, self.track);
        let terms = timer::LatenessReference {
            clock: lane.clock,
            limit_ns: self
                .job
                .break_at
                .map_or(i64::MAX, |limit| i64::try_from(limit.limit_ns).unwrap_or(i64::MAX)),
        };
        let stop = self.stop();
        match lane.sleep {
            Sleep::Until => timer::sample(lane.grid(start_ns), terms, track, writer, stop),
            Sleep::For => {
                let shape = [lane.interval_ns, lane.periods(), lane.at_most_ns()];
                timer::sample_relative(shape, terms, track, writer, stop)
            }
        }
    }

    /// Handles a sample above the limit. Runs the requested action first, so that it can freeze a trace early.
    fn trip(self, hit: Option<u64>, tick_period: TickPeriod) {
        let (Some(ticks), Some(limit)) = (hit, self.job.break_at) else {
            return;
        };
        if let Some(trip) = limit.trip {
            trip.hit(&BreakSample {
                kind: self.lane.kind,
                cpu: self.lane.cpu,
                value_ns: tick_period.to_ns(ticks),
                limit_ns: limit.limit_ns,
                at_monotonic_ns: clock::monotonic_ns(),
            });
        }
        self.track.hit.store(ticks, Relaxed);
        // All other threads end as well.
        self.stop().store(1, Release);
    }

    /// Runs the window's own loop once, so that its code, its data and the clock's pages are in memory. Calibrates the
    /// counter at the same time. The recorded samples are discarded.
    fn rehearse(self) -> TickPeriod {
        let (lane, track) = (self.lane, self.track);
        let mut writer = RingWriter::new(track, self.slots);
        let tick_period = match lane.kind {
            MeasurementKind::Latency | MeasurementKind::All => {
                let terms = timer::LatenessReference {
                    clock: lane.clock,
                    limit_ns: i64::MAX,
                };
                let grid = timer::Grid::new(lane.clock.now_ns(), 3, 200_000);
                let shape = [200_000, 3, u64::MAX];
                match lane.sleep {
                    Sleep::Until => timer::sample(grid, terms, track, &mut writer, self.stop()),
                    Sleep::For => timer::sample_relative(shape, terms, track, &mut writer, self.stop()),
                };
                TickPeriod::NANOSECONDS
            }
            MeasurementKind::Noise => {
                let source = self.job.source(lane);
                let start = source.pair();
                while clock::raw_ns().saturating_sub(start.raw_ns) < CALIBRATION_NS {
                    std::hint::spin_loop();
                }
                let tick_period = match source {
                    CounterSource::Monotonic => TickPeriod::NANOSECONDS,
                    _ => TickPeriod::between(start, source.pair()).unwrap_or(TickPeriod::NANOSECONDS),
                };
                self.spin(&mut writer, tick_period, [source.read(), 2_000_000], u64::MAX);
                tick_period
            }
        };
        track.head.0.store(0, Release);
        track.last_seen.0.store(0, Release);
        tick_period
    }

    /// Spins from a reading of the counter for a length in nanoseconds, or until a gap reaches the limit in ticks.
    fn spin(
        self,
        writer: &mut RingWriter<'_>,
        tick_period: TickPeriod,
        [start, length_ns]: [u64; 2],
        limit: u64,
    ) -> spin::SpinEnd {
        let (track, stop) = (self.track, self.stop());
        let window = [start, tick_period.to_ticks(length_ns)];
        let limits = [
            tick_period.to_ticks(self.lane.threshold_ns).max(1),
            limit,
            tick_period.to_ticks(WAY_IN_NS),
        ];
        match self.job.source(self.lane) {
            CounterSource::Tsc => spin::sample::<Tsc>(track, writer, stop, window, limits),
            CounterSource::Cntvct => spin::sample::<Cntvct>(track, writer, stop, window, limits),
            CounterSource::Monotonic => spin::sample::<Monotonic>(track, writer, stop, window, limits),
        }
    }

    fn stop(&self) -> &AtomicU32 {
        &self.job.shared.control().stop.0
    }
}

/// Requests the policy, and records the granted one: a cgroup without real-time budget refuses it with EPERM.
fn take_policy(lane: &Lane, track: &Track) {
    // The default slack of 50 us would delay every sleep of an ordinary task.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    if let Err(errno) = os::set_policy(lane.policy, lane.priority, lane.deadline) {
        track.policy_errno.store(errno, Relaxed);
        let _ = os::set_policy(Policy::Other, 0, lane.deadline);
    }
    let (policy, priority) = os::policy();
    track.policy.store(policy_code(policy), Relaxed);
    track.priority.store(priority, Relaxed);
}

/// Encodes a policy for shared memory.
pub(crate) fn policy_code(policy: Policy) -> u32 {
    match policy {
        Policy::Other => 0,
        Policy::Fifo => 1,
        Policy::Rr => 2,
        Policy::Batch => 3,
        Policy::Idle => 5,
        Policy::Deadline => 6,
        Policy::Ext => 7,
        Policy::Unknown => 99,
    }
}

/// The inverse of [`policy_code`].
pub(crate) fn policy_from(code: u32) -> Policy {
    const ALL: [Policy; 7] = [
        Policy::Other,
        Policy::Fifo,
        Policy::Rr,
        Policy::Batch,
        Policy::Idle,
        Policy::Deadline,
        Policy::Ext,
    ];
    ALL.into_iter()
        .find(|&policy| policy_code(policy) == code)
        .unwrap_or(Policy::Unknown)
}

#[inline(never)]
fn touch_stack() {
    let mut deep = [0_u8; 64 * 1024];
    for page in deep.chunks_mut(4096) {
        if let Some(byte) = page.first_mut() {
            *byte = 1;
        }
    }
    black_box(&deep);
}

/// Counts the calling thread in a word that other threads wait on.
fn arrive(word: &AtomicU32) {
    word.fetch_add(1, AcqRel);
    notify(word);
}

fn pass(control: &Control, gate: u32) {
    wait_until(&control.gate.0, gate);
}

/// Opens the gate up to `value`.
pub(crate) fn open(control: &Control, value: u32) {
    control.gate.0.store(value, Release);
    notify(&control.gate.0);
}
