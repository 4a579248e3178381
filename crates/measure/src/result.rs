//! Defines the result of a measurement: the JSON contract `quietcore.measure/1`.
//!
//! Unknown values are `null`, and a statistic over no samples is unknown. `expected == recorded + missed`, always.

use crate::{BreakSample, Clock, Environment, KernelTracer, MeasurementKind, Proof};
use machine::{CpuId, Policy};
use serde::{Deserialize, Serialize};

/// The schema of [`Measurement`] as JSON.
pub const SCHEMA: &str = "quietcore.measure/1";

/// A finished (or interrupted) measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measurement {
    /// [`SCHEMA`].
    pub schema: String,
    /// The kind of measurement.
    pub kind: MeasurementKind,
    /// The kernel tracer that sampled; `None` for our own samplers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<KernelTracer>,
    /// When sampling started: RFC 3339, UTC.
    pub started_at: String,
    /// Actual sampling time in nanoseconds: the longest of the threads.
    pub duration_ns: u64,
    /// The measured machine.
    pub environment: Environment,
    /// One per lane, in their order: one or two per measured CPU, by number.
    pub threads: Vec<ThreadResult>,
    /// The kernel's counters on the measured CPUs while the samplers ran: from their start to shortly before
    /// their end, so that starting and ending them is excluded. `None` if the window was too short,
    /// and in a file that was written while the measurement ran.
    #[serde(default)]
    pub activity: Option<observe::Activity>,
    /// The sample that reached the limit and ended the measurement (`--break`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broke: Option<BreakSample>,
    /// The file that every gap was written to (`--gaps`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_file: Option<GapFileSummary>,
    /// Reasons why the numbers do not represent the machine in normal operation: identifiers of conditions. Absent if none
    /// was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_representative: Vec<String>,
    /// Conditions that limit the meaning of the numbers.
    pub findings: Vec<Note>,
    /// The outcome of the programs that ran beside the measurement, if the run's description has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramResult>,
    /// Whether it ran to its planned end. Also false in a file that was written while the measurement ran
    /// (finding `still_measuring`).
    pub complete: bool,
}

/// When a result is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultMoment {
    /// While the samplers run: their own reports are not used yet, even if one has just finished.
    Passing,
    /// After they have finished or died.
    End,
}

/// The result of one sampler thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadResult {
    /// Latency or noise.
    pub kind: MeasurementKind,
    /// The CPU.
    pub cpu: CpuId,
    /// The thread's TID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// The actual policy of the thread, read back from the kernel.
    pub policy: Policy,
    /// Real-time priority; 0 for ordinary tasks.
    pub priority: u32,
    /// Latency: expected wake-ups in the window. Noise: gaps that the sampler saw.
    pub expected: u64,
    /// Number of samples in the histogram.
    pub recorded: u64,
    /// Latency: expected wake-ups that passed while the thread was late for an earlier one, or did not fit in memory. Noise:
    /// gaps that did not fit in memory.
    pub missed: u64,
    /// Smallest sample.
    pub min_ns: Option<u64>,
    /// Mean of the samples.
    pub mean_ns: Option<f64>,
    /// Standard deviation of the samples.
    pub stddev_ns: Option<f64>,
    /// The most frequent value, to three digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode_ns: Option<u64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 90 % of the samples do not exceed this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    /// 99 % of the samples do not exceed this.
    pub p99_ns: Option<u64>,
    /// 99.9 % of the samples do not exceed this.
    pub p999_ns: Option<u64>,
    /// 99.99 % of the samples do not exceed this; unknown with fewer than 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p9999_ns: Option<u64>,
    /// 99.999 % of the samples do not exceed this; unknown with fewer than 100,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99999_ns: Option<u64>,
    /// Largest sample, exact.
    pub max_ns: Option<u64>,
    /// Lower bound of a bucket and samples in it, ascending, without empty buckets; three significant digits.
    pub histogram: Vec<(u64, u64)>,
    /// What the length of the run proves about the claim, or about the largest sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Disturbances of the sampler thread itself; `None` if it died early.
    pub own: Option<OwnDisturbances>,
    /// Start of the window on `CLOCK_MONOTONIC`, so that samples can be joined with traces.
    pub started_monotonic_ns: Option<u64>,
    /// Length of the window in nanoseconds.
    pub duration_ns: u64,
    /// Latency: the period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// Latency: the clock that lateness refers to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// Latency by `timerlat`: the latency until the timer's interrupt ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub irq: Option<Distribution>,
    /// Latency: the lateness of every scheduled activation. Includes those that a late wake-up skipped, each with the
    /// lateness that it would have had. Its count is `recorded` plus `missed`, without
    /// samples that did not fit in memory. `None` without a schedule. Never mixed with `histogram`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Distribution>,
    /// Latency: deviation of the interval between two wake-ups from the expected interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Latency: early wake-ups, which `histogram` contains as 0; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early: Option<EarlyWakeUps>,
    /// Latency: wake-ups at least this late are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spike_ns: Option<u64>,
    /// Latency: those with the greatest lateness, at most 10,000, in order of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spikes: Option<Vec<LateWakeUp>>,
    /// Latency: the total number of these wake-ups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spikes_total: Option<u64>,
    /// Noise: the shortest gap that is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_ns: Option<u64>,
    /// Noise: the longest gaps, at most 10,000, in order of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Vec<MeasuredGap>>,
    /// Noise: the total number of recorded gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps_total: Option<u64>,
    /// Noise: number of gaps in `gaps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps_kept: Option<u64>,
    /// All samples over time; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_time: Option<TimeSeries>,
    /// Noise: sum of the recorded gaps that the tool did not cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stolen_ns: Option<u64>,
    /// Noise: the longest gap that the tool did not cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stolen_max_ns: Option<u64>,
    /// Noise: sum of the gaps that the kernel caused because of this very thread (throttling, fair server), and of
    /// those that contain one of our own wake-ups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_ns: Option<u64>,
    /// Noise: gaps that contain a wake-up of our own thread on the same CPU; their sum is in `own_ns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_wake_ups: Option<u64>,
    /// Steal time of this CPU from `/proc/stat`, with the resolution of `USER_HZ`; see `activity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<u64>,
    /// Noise: iterations of the loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Noise: the shortest iteration; shorter gaps cannot be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_ns_min: Option<u64>,
    /// Other counts on this CPU, each with its source, or the reason why it is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<CountResult>,
    /// Noise: the counter that the thread read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<CounterInfo>,
}

/// Statistics of a stream of times. Percentiles beyond all values are unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Smallest.
    pub min_ns: Option<u64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Standard deviation.
    pub stddev_ns: Option<f64>,
    /// The most frequent value, to three digits.
    pub mode_ns: Option<u64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 90 % do not exceed this.
    pub p90_ns: Option<u64>,
    /// 99 % do not exceed this.
    pub p99_ns: Option<u64>,
    /// 99.9 % do not exceed this.
    pub p999_ns: Option<u64>,
    /// 99.99 % do not exceed this.
    pub p9999_ns: Option<u64>,
    /// 99.999 % do not exceed this.
    pub p99999_ns: Option<u64>,
    /// Largest, exact.
    pub max_ns: Option<u64>,
    /// Lower bound of a bucket and values in it, ascending, without empty buckets; three significant digits.
    pub histogram: Vec<(u64, u64)>,
}

/// Deviations of the intervals between wake-ups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Jitter {
    /// Absolute deviation from the expected interval.
    pub distance: Distribution,
    /// Largest excess over the expected interval.
    pub longer_ns: u64,
    /// Largest shortfall from the expected interval.
    pub shorter_ns: u64,
}

/// Early wake-ups: the clock was set back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EarlyWakeUps {
    /// Number of early wake-ups.
    pub count: u64,
    /// The earliest: its time before the expected wake-up.
    pub max_ns: u64,
    /// Lower bound of a bucket and wake-ups in it, ascending.
    pub histogram: Vec<(u64, u64)>,
}

/// Samples over time: the window in at most 256 parts of equal length, independent of its length and the number of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeSeries {
    /// Start of the first part, in nanoseconds since the window started: the time of the first sample.
    pub begins_ns: u64,
    /// Length of a part.
    pub part_ns: u64,
    /// Noise: the time lost in each part; the sum is `stolen_ns`. Latency: the greatest lateness of the wake-ups expected in it.
    /// There are no samples after the last part.
    pub values_ns: Vec<u64>,
}

/// A late wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateWakeUp {
    /// Its expected time, in nanoseconds since the window started.
    pub at_ns: u64,
    /// Its lateness.
    pub late_ns: u64,
}

/// The sampler thread's own disturbances, from `getrusage(RUSAGE_THREAD)` around the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnDisturbances {
    /// Page faults, minor and major. Must be 0.
    pub page_faults: u64,
    /// Times it slept: one per period in latency mode, none in noise mode.
    pub voluntary_switches: u64,
    /// Times another task preempted it.
    pub involuntary_switches: u64,
}

/// One gap in the busy loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredGap {
    /// Its start, in nanoseconds since the window started.
    pub at_ns: u64,
    /// Its length.
    pub duration_ns: u64,
    /// Its cause, if the tool caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<GapLabel>,
}

/// The outcome of the gap file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapFileSummary {
    /// Its path.
    pub path: String,
    /// Number of gaps in it.
    pub written: u64,
    /// Gaps that are not in it: a ring, the queue or the disk was full.
    pub lost: u64,
}

/// Gaps that exist only because the tool measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GapLabel {
    /// Real-time throttling (`sched_rt_runtime_us`).
    RtThrottling,
    /// One of our own wake-ups: both kinds were measured on this CPU.
    OwnWakeUp,
    /// The fair server, a deadline server for ordinary tasks (6.12 and later).
    FairServer,
}

/// The counter that the busy loop reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterInfo {
    /// `tsc`, `cntvct_el0` or `clock_monotonic`.
    pub name: String,
    /// Its frequency in kHz as measured over the run; `None` for a clock that counts nanoseconds.
    pub khz: Option<u64>,
    /// Whether its rate is constant in every power state: reported by the processor (x86) or required by the architecture
    /// (arm64); `None` if neither applies.
    pub invariant: Option<bool>,
    /// The kernel's clock source after the run.
    #[serde(default)]
    pub clocksource: Option<String>,
    /// Its actual rate; `None` for a clock, and for a thread that died early.
    #[serde(default)]
    pub rate: Option<CounterRate>,
    /// Its offset from the counter of another CPU; `None` if no CPU was free to measure it, or it did not answer in
    /// time.
    #[serde(default)]
    pub offset: Option<CounterOffset>,
}

/// The counter's frequency over the whole run, compared with `CLOCK_MONOTONIC_RAW` and with the kernel's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterRate {
    /// The measured frequency.
    pub khz: f64,
    /// Maximum error of the readings at both ends, in millionths.
    pub uncertainty_ppm: f64,
    /// The kernel's value; `None` if the kernel does not report it.
    pub kernel_khz: Option<f64>,
    /// The source of the kernel's value.
    pub kernel_says: Option<String>,
    /// Measured frequency minus the kernel's, in millionths.
    pub apart_ppm: Option<f64>,
    /// Maximum error of that difference, including the last digit of the kernel's number.
    pub apart_uncertainty_ppm: Option<f64>,
    /// Whether the clock is derived from this counter: then both agree regardless of the crystal.
    pub clock_is_counter: Option<bool>,
}

/// The counter of the measured CPU minus that of another, measured just before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterOffset {
    /// The other CPU, which is not measured.
    pub against: CpuId,
    /// The offset; negative if the counter is behind.
    pub offset_ns: i64,
    /// Maximum error of the offset.
    pub uncertainty_ns: u64,
    /// The shortest round trip to the other CPU.
    pub round_trip_ns: u64,
}

/// A count over the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountResult {
    /// Stable name: `smi`, `core_throttle`, `package_throttle`, `steal`, `rt_throttling_gaps`, `fair_server_gaps`,
    /// `rt_throttled_seen`, `own_page_faults`, `own_voluntary_switches`, `own_involuntary_switches`.
    pub name: String,
    /// The number; `None` is unknown.
    pub count: Option<u64>,
    /// Its unit; `ns` for a time.
    pub unit: String,
    /// Its source.
    pub source: String,
    /// Why it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A finding that the reader of the numbers must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// Stable identifier, for example `memory_not_locked`.
    pub id: String,
    /// Its severity.
    pub level: NoteLevel,
    /// Its subject: a CPU, a file.
    pub subject: String,
    /// What was found.
    pub message: String,
    /// What to do.
    pub fix: String,
}

/// Level of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum NoteLevel {
    /// The numbers are not reliable.
    Error,
    /// The numbers are less meaningful than they appear.
    Warning,
    /// Useful information.
    Info,
}

/// The outcome of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramResult {
    /// Its name.
    pub name: String,
    /// How often it was started.
    pub started: u64,
    /// How often it ended with exit status 0.
    pub succeeded: u64,
    /// How often it ended otherwise.
    pub failed: u64,
    /// Description of the last failure.
    pub last_failure: Option<String>,
    /// Whether it ended at once several times in a row and was therefore restarted less often than requested: the load
    /// is lower than specified.
    pub throttled: bool,
}
