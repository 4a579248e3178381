//! Options of `measure latency`: period, clock, schedule, phases of several CPUs, and which wake-ups are listed.

use crate::flags::value_words;
use machine::nanoseconds;
use machine::parse_duration;
use measure::{LaneLifetime, MeasureRequest, MeasurementKind, SamplerPolicy, Sleep, parse_policy};
use std::time::Duration;

/// Arguments that only wake-ups have.
#[derive(clap::Args)]
pub struct WakeUpArgs {
    /// Period of the wake-ups, 10us to 10s
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_duration)]
    interval: Duration,
    /// Lengthen the period of each further CPU by this time
    ///
    /// So that they do not wake at once.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    distance: Duration,
    /// Stop after this many wake-ups of each CPU, not by time
    #[arg(long, value_name = "N", conflicts_with = "duration")]
    loops: Option<u64>,
    /// Clock on which the thread sleeps and measures
    #[arg(long, value_name = "CLOCK", default_value = "monotonic")]
    clock: ClockArg,
    /// Scheduling policy: fifo:N, rr:N, other, batch, idle or deadline:RUNTIME/PERIOD [default: fifo:80]
    ///
    /// N is 1 to 99. If a policy is requested and not permitted, the measurement ends (status 3). The default continues
    /// with an ordinary task, and the result says so. deadline:200us/1ms is SCHED_DEADLINE with 200 us in each 1 ms; the
    /// kernel permits it on a CPU that was isolated alone.
    #[arg(long, value_name = "POLICY", value_parser = parse_policy)]
    policy: Option<SamplerPolicy>,
    /// Start the period of each CPU this long after that of the CPU before [TIME: 0]
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "0", require_equals = true, value_parser = parse_duration)]
    aligned: Option<Duration>,
    /// Start the periods of all CPUs this long after a full second of the clock [TIME: 0]
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "0", require_equals = true, value_parser = parse_duration, conflicts_with = "aligned")]
    secaligned: Option<Duration>,
    /// Sleep for the period instead of until a time; no wake-up then counts as missed
    #[arg(long, conflicts_with_all = ["aligned", "secaligned"])]
    relative: bool,
    /// List the wake-ups that are at least this late (the latest 10,000 of each CPU)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    spike: Option<Duration>,
}

value_words! {
    enum ClockArg for measure::Clock {
        /// Never set
        Monotonic,
        /// The wall clock; the result says when it was set
        Realtime,
        /// The wall clock without leap seconds
        Tai,
        /// Continues while the machine is suspended
        Boottime,
    }
}

impl WakeUpArgs {
    /// The period of the first CPU.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Adds the options to a request.
    pub fn fill(&self, request: &mut MeasureRequest) {
        let lanes = request.lanes.iter_mut();
        let own = lanes.filter(|lane| lane.kind == MeasurementKind::Latency);
        for (place, lane) in (0..).zip(own) {
            lane.interval_ns =
                nanoseconds(self.interval).saturating_add(nanoseconds(self.distance).saturating_mul(place));
            if let Some(loops) = self.loops {
                lane.window_end = LaneLifetime::Loops(loops);
            }
            lane.clock = self.clock.into();
            if let Some(policy) = self.policy {
                policy.fill(lane);
            }
            if let Some(offset) = self.aligned {
                lane.phase_ns = nanoseconds(offset).saturating_mul(place);
            }
            if self.relative {
                lane.sleep = Sleep::For;
            }
            lane.spike_ns = self.spike.map(nanoseconds);
        }
        request.whole_second = self.secaligned.map(nanoseconds);
    }
}
