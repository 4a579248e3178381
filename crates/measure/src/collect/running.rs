//! Runs the collector beside the samplers: gate, rings, counters, timeouts.

use super::assemble;
use super::collection::Collection;
use super::log::GapLog;
use super::neighbours::Neighbours;
use super::patience::StallDetector;
use super::schedule::ResultSchedule;
use crate::accumulate::{Accumulator, Cause};
use crate::child::ChildProcess;
use crate::conditions::ConditionSettings;
use crate::counter_facts::CounterFacts;
use crate::counts::CountSnapshot;
use crate::result::ResultMoment;
use crate::ring;
use crate::sampler;
use crate::shared::{Control, gate, state};
use crate::{
    Clock, MeasureError, MeasurementKind, MeasurementPhase, Note, Progress, ThreadProgress, check, clock, findings,
};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

/// How often the rings are drained.
const DRAIN_NS: u64 = 50_000_000;

/// How long before the planned end the last reading of the counters is taken.
const COUNTERS_NS: u64 = 5_000_000;

/// How long a sampler may exceed its planned end before it is killed: a crowded CPU may delay it.
const PATIENCE_NS: u64 = 10_000_000_000;

/// The same after a stop request, when a user waits at a terminal.
const STOP_PATIENCE_NS: u64 = 4_000_000_000;

/// A sampler that sleeps longer than this is killed at once when it has to stop: nothing is lost.
const LONG_SLEEP_NS: u64 = 500_000_000;

/// When a run ends, on the monotonic clock.
struct Ending {
    /// The end of the longest window.
    planned_ns: u64,
    /// The samplers are killed then.
    deadline_ns: u64,
    /// Whether the samplers have to stop before the planned end.
    is_early: bool,
}

impl<'a> Collection<'a> {
    fn control(&self) -> &'a Control {
        self.job.shared.control()
    }

    fn stopped(&self) -> bool {
        self.request.stop.load(Relaxed)
    }

    /// Runs until every thread waits at the gate.
    pub(super) fn prepare(
        &mut self,
        child: &mut ChildProcess,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(), MeasureError> {
        let control = self.control();
        sampler::open(control, gate::PREPARE);
        let mut patience = StallDetector::start(child.pid(), clock::monotonic_ns());
        while control.locked.load(Acquire) == 0 {
            if let Some(how) = child.exit_text() {
                return Err(MeasureError::Sampler { how: how.to_owned() });
            }
            if let Some(late) = patience.ends(self.root, clock::monotonic_ns()) {
                return Err(late.error(self.request.cpus()));
            }
            if self.stopped() {
                return Ok(());
            }
            progress(&self.progress(child.pid(), MeasurementPhase::Preparing));
            std::thread::sleep(Duration::from_millis(2));
        }
        match control.spawn_errno.load(Relaxed) {
            0 => {}
            errno => {
                return Err(MeasureError::Os {
                    operation: "start a sampler thread",
                    errno,
                });
            }
        }
        check::pinned(self.job, child.pid(), self.root)
    }

    /// Queries that run while all threads wait at the gate. Each thread waits for its turn, so each must get one.
    pub(super) fn query_before(&mut self) {
        if self.stopped() {
            return;
        }
        let cpus = self.request.cpus();
        self.fixed_settings = ConditionSettings::read(self.root, &cpus);
        self.counts_around[0] = Some(CountSnapshot::take(self.root, &cpus));
        self.facts = CounterFacts::before(self.job, self.root, &self.request.environment);
    }

    /// Queries that run after all samplers have ended.
    pub(super) fn query_after(&mut self) {
        self.facts.after(self.root);
        self.counts_around[1] = Some(CountSnapshot::take(self.root, &self.request.cpus()));
    }

    /// Opens the gate and drains the rings until all samplers are done, or can no longer finish.
    pub(super) fn sample(&mut self, child: &mut ChildProcess, progress: &mut dyn FnMut(&Progress)) {
        if self.stopped() {
            self.stopped_after_ns = Some(0);
            child.kill();
            return;
        }
        self.open_gate();
        let planned_ns = self.start_ns.saturating_add(self.job.length_ns());
        let mut ending = Ending {
            planned_ns,
            deadline_ns: planned_ns.saturating_add(PATIENCE_NS),
            is_early: false,
        };
        let mut schedule = ResultSchedule::starting(self.start_ns);
        loop {
            self.read_counters(planned_ns);
            let all_done = self.is_complete();
            let ended = child.exit_text().map(str::to_owned);
            self.drain();
            let now = clock::monotonic_ns();
            self.clocks.read(now.saturating_sub(self.start_ns));
            if all_done {
                self.complete = !ending.is_early && !self.is_hit();
                break;
            }
            if let Some(how) = ended {
                self.notes
                    .push(findings::early_exit_note(&how, self.request.system_calls));
                break;
            }
            self.end_early(&mut ending, now);
            if now > ending.deadline_ns {
                if !ending.is_early {
                    self.notes.push(findings::about_overdue());
                }
                child.kill();
                break;
            }
            let phase = match ending.is_early {
                true => MeasurementPhase::Ending,
                false => MeasurementPhase::Sampling,
            };
            progress(&self.progress(child.pid(), phase));
            if !ending.is_early && !self.counters.has_ended() && schedule.is_save_due(now) {
                self.save_intermediate();
                schedule.record_save(now, clock::monotonic_ns());
            }
            std::thread::sleep(self.pause(&ending, now));
        }
        progress(&self.progress(child.pid(), MeasurementPhase::Ending));
    }

    fn open_gate(&mut self) {
        self.started_at = clock::wall_time();
        let lanes = self.job.lanes.iter();
        self.pairs = lanes.map(|lane| self.job.source(lane).pair()).collect();
        self.choose_start();
        sampler::open(self.control(), gate::GO);
    }

    /// Stops the samplers before their planned end on request, and when a measured CPU went offline.
    fn end_early(&mut self, ending: &mut Ending, now: u64) {
        if ending.is_early {
            return;
        }
        if self.stopped() {
            self.stopped_after_ns = Some(now.saturating_sub(self.start_ns));
            self.counters.end(self.root, &self.tids());
        } else if let Some(note) = self.offline() {
            self.notes.push(note);
        } else {
            return;
        }
        ending.is_early = true;
        self.control().stop.0.store(1, Relaxed);
        ending.deadline_ns = ending.deadline_ns.min(now.saturating_add(self.stop_patience()));
    }

    /// Time until the rings are drained again: shorter than usual near the start and the end.
    fn pause(&self, ending: &Ending, now: u64) -> Duration {
        let last_reading = ending.planned_ns.saturating_sub(COUNTERS_NS);
        let next = match now < last_reading {
            true => last_reading,
            false => ending.planned_ns + 500_000,
        };
        Duration::from_nanos(match ending.is_early || !self.counters.has_started() {
            true => 2_000_000,
            false => next.saturating_sub(now).clamp(2_000_000, DRAIN_NS),
        })
    }

    /// Chooses the common start of all windows, on the samplers' clock and on the collector's.
    fn choose_start(&mut self) {
        /// Time for the slowest thread to pass the gate before the first expected wake-up.
        const ROOM_NS: u64 = 2_000_000;
        const SECOND_NS: u64 = 1_000_000_000;
        let now = |clock: Clock| (clock.now_ns(), clock::monotonic_ns());
        let first = self.job.lanes.first().map_or(Clock::Monotonic, |lane| lane.clock);
        self.start_ns = match (self.request.whole_second, now(first)) {
            (Some(offset), (on_clock, monotonic)) => {
                let second = (on_clock + ROOM_NS).next_multiple_of(SECOND_NS);
                monotonic + (second - on_clock) + offset
            }
            (None, (_, monotonic)) => monotonic + ROOM_NS,
        };
        self.control().start_monotonic_ns.store(self.start_ns, Release);
        let lanes = self.job.lanes.iter().zip(&mut self.accumulators);
        for (place, (lane, accumulator)) in lanes.enumerate() {
            let start = match lane.clock {
                Clock::Monotonic => self.start_ns,
                other => {
                    let (on_clock, monotonic) = now(other);
                    on_clock + self.start_ns.saturating_sub(monotonic)
                }
            };
            accumulator.follow(lane.grid(start));
            if let Some((track, _)) = self.job.shared.track(place) {
                track.start_clock_ns.store(start, Release);
                if lane.claim.is_some() {
                    accumulator.count_above(track.claim_ticks.load(Relaxed));
                }
            }
        }
    }

    /// Passes on the current intermediate result.
    fn save_intermediate(&self) {
        if let Some(keep) = self.request.on_intermediate
            && self.in_window()
        {
            keep(&assemble(self, ResultMoment::Passing));
        }
    }

    /// Takes the first reading as soon as the samplers run, the last one shortly before they end.
    fn read_counters(&mut self, planned_end: u64) {
        let now = clock::monotonic_ns();
        if !self.counters.has_started() {
            if now >= self.start_ns && self.in_window() {
                self.counters.read_start(self.root, &self.tids());
            }
        } else if !self.counters.has_ended() && now >= planned_end.saturating_sub(COUNTERS_NS) {
            self.counters.end(self.root, &self.tids());
        }
    }

    fn tids(&self) -> Vec<Option<u32>> {
        (0..self.job.lanes.len()).map(|place| self.tid(place)).collect()
    }

    /// Detects a measured CPU that went offline: the kernel moves its thread elsewhere, so it can no longer be measured.
    fn offline(&self) -> Option<Note> {
        let online = check::online(self.root).ok()??;
        let offline_cpus = self.request.cpus().minus(&online);
        (!offline_cpus.is_empty()).then(|| findings::about_offline(&offline_cpus))
    }

    fn stop_patience(&self) -> u64 {
        let mut lanes = self.job.lanes.iter();
        match lanes.any(|lane| lane.kind == MeasurementKind::Latency && lane.interval_ns > LONG_SLEEP_NS) {
            true => 0,
            false => STOP_PATIENCE_NS,
        }
    }

    fn in_window(&self) -> bool {
        self.states().all(|state| state != state::IDLE)
    }

    fn is_complete(&self) -> bool {
        self.states().all(|state| state == state::DONE)
    }

    /// Whether a sample has ended the measurement.
    fn is_hit(&self) -> bool {
        self.job.shared.tracks().any(|track| track.hit.load(Relaxed) != 0)
    }

    fn states(&self) -> impl Iterator<Item = u32> + '_ {
        self.job.shared.tracks().map(|track| track.state.0.load(Acquire))
    }

    /// Drains the rings. Gaps that may contain one of our own wake-ups are drained first, because by then the wake-up has been
    /// recorded. They are added last, when the wake-ups are known.
    pub(super) fn drain(&mut self) {
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.read();
        }
        let mut waiting: Vec<(usize, ring::RingSample)> = Vec::new();
        // The ring of a preparing thread holds the rehearsal. Read the states first: a thread that starts now is drained next time.
        let started: Vec<usize> = (0_usize..)
            .zip(self.states())
            .filter_map(|(place, state)| (state != state::IDLE).then_some(place))
            .collect();
        let mut log = GapLog::of(self, &started);
        for &place in &started {
            if self.waits(place) {
                self.drain_one(place, |_, _, sample| waiting.push((place, sample)));
            }
        }
        for &place in &started {
            let Some(lane) = self.job.lanes.get(place).filter(|_| !self.waits(place)) else {
                continue;
            };
            let to_monotonic = self.to_monotonic(place);
            self.drain_one(place, |accumulator, neighbours, sample| {
                accumulator.add(sample);
                log.note(place, sample, Cause::Others);
                if let Some(neighbours) = neighbours {
                    let woke = sample.at.wrapping_add(sample.value);
                    neighbours.woke(lane.cpu, woke.wrapping_add(to_monotonic));
                }
            });
        }
        for (place, sample) in waiting {
            if let (Some(lane), Some(neighbours), Some(accumulator)) = (
                self.job.lanes.get(place),
                &self.neighbours,
                self.accumulators.get_mut(place),
            ) {
                let cause = neighbours.cause(lane.cpu, sample.at, sample.value);
                accumulator.add_of(sample, cause);
                log.note(place, sample, cause);
            }
        }
        log.hand_on(self);
    }

    fn drain_one(
        &mut self,
        place: usize,
        mut each: impl FnMut(&mut Accumulator, Option<&mut Neighbours>, ring::RingSample),
    ) {
        let (Some((track, slots)), Some(accumulator)) =
            (self.job.shared.track(place), self.accumulators.get_mut(place))
        else {
            return;
        };
        let neighbours = &mut self.neighbours;
        ring::drain(track, slots, |sample| each(accumulator, neighbours.as_mut(), sample));
    }

    /// Whether a lane's gaps have to wait for the wake-ups on its CPU.
    fn waits(&self, place: usize) -> bool {
        let lane = self.job.lanes.get(place);
        lane.zip(self.neighbours.as_ref())
            .is_some_and(|(lane, neighbours)| lane.kind == MeasurementKind::Noise && neighbours.has(lane.cpu))
    }

    /// Offset from a lane's clock to the monotonic clock, modulo 2^64.
    fn to_monotonic(&self, place: usize) -> u64 {
        let track = self.job.shared.track(place);
        track.map_or(0, |(track, _)| {
            let on_clock = track.start_clock_ns.load(Relaxed);
            self.start_ns.wrapping_sub(on_clock)
        })
    }

    fn progress(&self, sampler_pid: u32, phase: MeasurementPhase) -> Progress {
        let now = clock::monotonic_ns();
        let lanes = self.job.lanes.iter().zip(&self.accumulators).enumerate();
        let threads = lanes.map(|(place, (lane, accumulator))| {
            let tick_period = self.tick_period_so_far(place, lane);
            ThreadProgress {
                cpu: lane.cpu,
                kind: lane.kind,
                tid: self.tid(place),
                recorded: accumulator.raw.count(),
                missed: accumulator.last.map_or(0, |sample| sample.missed),
                min_ns: accumulator.raw.min().map(|ticks| tick_period.to_ns(ticks)),
                last_ns: accumulator.newest().map(|ticks| tick_period.to_ns(ticks)),
                mean_ns: accumulator.raw.mean_ns(tick_period),
                max_ns: accumulator.raw.max().map(|ticks| tick_period.to_ns(ticks)),
            }
        });
        Progress {
            kind: self.request.kind(),
            phase,
            has_started: self.in_window(),
            elapsed_ns: match self.start_ns {
                0 => 0,
                start_ns => now.saturating_sub(start_ns),
            },
            planned_ns: self.job.length_ns(),
            sampler_pid,
            threads: threads.collect(),
        }
    }

    fn tid(&self, place: usize) -> Option<u32> {
        let (track, _) = self.job.shared.track(place)?;
        Some(track.tid.load(Relaxed)).filter(|&tid| tid != 0)
    }
}
