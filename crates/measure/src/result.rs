//! What a measurement found: the JSON contract `quietcore.measure/1`.
//!
//! Unknown is `null`, and a statistic over no samples is unknown. `expected == recorded + missed`, always.

use crate::{Clock, Environment, Kind, Method, Proof};
use machine::{CpuId, Policy};
use serde::{Deserialize, Serialize};

/// The schema of [`Measurement`] as JSON.
pub const SCHEMA: &str = "quietcore.measure/1";

/// A finished (or interrupted) measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// [`SCHEMA`].
    pub schema: String,
    /// What was measured.
    pub kind: Kind,
    /// The kernel's tracer that sampled; `None` for samplers of our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// When sampling began: RFC 3339, UTC.
    pub started_at: String,
    /// How long sampling really took, in nanoseconds: the longest of the threads.
    pub duration_ns: u64,
    /// Where it was measured.
    pub environment: Environment,
    /// One per lane, in their order: one per measured CPU, by number, or two.
    pub threads: Vec<ThreadResult>,
    /// What the kernel counted on the measured CPUs while the samplers ran: from their start to shortly before
    /// their end, so that it holds nothing of starting and ending them. `None` for a window that was too short,
    /// and in a file that was written while the measurement ran.
    #[serde(default)]
    pub activity: Option<observe::Activity>,
    /// The sample that was too long, and ended it ([`crate::Break`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broke: Option<Broke>,
    /// The file that every gap was written to ([`crate::Request::gaps`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_file: Option<GapsWritten>,
    /// Why the numbers are not those of the machine as it will be used: identifiers of findings, for whose words see
    /// [`crate::condition_words`]. Empty where nothing of the kind was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_representative: Vec<String>,
    /// What limits the meaning of the numbers.
    pub findings: Vec<Note>,
    /// What became of the programs that ran beside, where a described run had some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramResult>,
    /// Whether it ran to its planned end. False as well in a file that was written while the measurement ran
    /// (finding `still_measuring`).
    pub complete: bool,
}

/// When a result is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The samplers run: their own reports do not count yet, even where one has just finished.
    Passing,
    /// They are done or dead.
    End,
}

/// What one sampler thread found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadResult {
    /// Latency or noise.
    pub kind: Kind,
    /// The CPU.
    pub cpu: CpuId,
    /// The number of the thread while it lived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// The policy that the thread really had, read back from the kernel.
    pub policy: Policy,
    /// Real-time priority; 0 for ordinary tasks.
    pub priority: u32,
    /// Latency: due times in the window. Noise: gaps that the sampler saw.
    pub expected: u64,
    /// Samples in the histogram.
    pub recorded: u64,
    /// Latency: due times that passed while the thread was late for an earlier one, or found no room. Noise:
    /// gaps that found no room.
    pub missed: u64,
    /// Smallest sample.
    pub min_ns: Option<u64>,
    /// Mean of the samples.
    pub mean_ns: Option<f64>,
    /// Standard deviation of the samples.
    pub stddev_ns: Option<f64>,
    /// The value that came most often, to three digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_ns: Option<u64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 90 % of the samples are not above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    /// 99 % of the samples are not above this.
    pub p99_ns: Option<u64>,
    /// 99.9 % of the samples are not above this.
    pub p999_ns: Option<u64>,
    /// 99.99 % of the samples are not above this; unknown with fewer than 10,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p9999_ns: Option<u64>,
    /// 99.999 % of the samples are not above this; unknown with fewer than 100,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99999_ns: Option<u64>,
    /// Largest sample, exact.
    pub max_ns: Option<u64>,
    /// Lower bound of a bucket and samples in it, ascending, without empty buckets; three significant digits.
    pub histogram: Vec<(u64, u64)>,
    /// What the length of the run proves about the claim, or about the largest sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// What the thread itself suffered while it sampled; `None` when it did not live to tell.
    pub own: Option<Own>,
    /// When the window began, on `CLOCK_MONOTONIC`, so that samples can be joined with traces.
    pub started_monotonic_ns: Option<u64>,
    /// Length of the window in nanoseconds.
    pub duration_ns: u64,
    /// Latency: the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// Latency: the clock that it was late on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// Latency by `timerlat`: the part until the timer's interrupt ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq: Option<Distribution>,
    /// Latency: the same question asked of the schedule: how late was every activation that was due? Those that a late
    /// one ran over are in it, each as late as it would have been. It has `recorded` and `missed` together, without
    /// what found no room in memory. `None` without a schedule. Never mixed with `histogram`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Distribution>,
    /// Latency: how far the distance of two wake-ups was from the one they were due at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Latency: wake-ups before their time, which stand in `histogram` as 0; `None` when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early: Option<Early>,
    /// Latency: wake-ups later than this are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spike_ns: Option<u64>,
    /// Latency: the latest of these, at most [`crate::GAPS_KEPT`], in order of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spikes: Option<Vec<Spike>>,
    /// Latency: all of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spikes_total: Option<u64>,
    /// Noise: gaps shorter than this are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_ns: Option<u64>,
    /// Noise: the longest gaps, at most [`crate::GAPS_KEPT`], in order of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Vec<Gap>>,
    /// Noise: all gaps that were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps_total: Option<u64>,
    /// Noise: gaps in `gaps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps_kept: Option<u64>,
    /// What came when, of all samples; `None` when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_time: Option<OverTime>,
    /// Noise: sum of the recorded gaps that are not the tool's own doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_ns: Option<u64>,
    /// Noise: the longest gap that is not the tool's own doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_max_ns: Option<u64>,
    /// Noise: sum of the gaps that the kernel made because of this very thread (throttling, fair server), and of
    /// those that hold a wake-up of our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_ns: Option<u64>,
    /// Noise: gaps that hold a wake-up of our own thread on the same CPU; their sum is in `own_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_wake_ups: Option<u64>,
    /// What the hypervisor took from this CPU by `/proc/stat`, with the resolution of `USER_HZ`; see `activity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<u64>,
    /// Noise: turns of the loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Noise: the shortest turn; nothing shorter can be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_ns_min: Option<u64>,
    /// What was counted on this CPU besides, each with its source, or why there is no number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<Count>,
    /// Noise: the counter that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<Counter>,
}

/// A stream of times, by its statistics. Percentiles beyond all values are unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Values.
    pub count: u64,
    /// Smallest.
    pub min_ns: Option<u64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Standard deviation.
    pub stddev_ns: Option<f64>,
    /// What came most often, to three digits.
    pub mode_ns: Option<u64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 90 % are not above this.
    pub p90_ns: Option<u64>,
    /// 99 % are not above this.
    pub p99_ns: Option<u64>,
    /// 99.9 % are not above this.
    pub p999_ns: Option<u64>,
    /// 99.99 % are not above this.
    pub p9999_ns: Option<u64>,
    /// 99.999 % are not above this.
    pub p99999_ns: Option<u64>,
    /// Largest, exact.
    pub max_ns: Option<u64>,
    /// Lower bound of a bucket and values in it, ascending, without empty buckets; three significant digits.
    pub histogram: Vec<(u64, u64)>,
}

/// The distances between wake-ups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Jitter {
    /// How far off they were, whatever the sign.
    pub distance: Distribution,
    /// Most that two were further apart than they were due.
    pub longer_ns: u64,
    /// Most that two were closer together.
    pub shorter_ns: u64,
}

/// Wake-ups before their time: a clock that was set back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Early {
    /// How many.
    pub count: u64,
    /// How far before it at most.
    pub max_ns: u64,
    /// Lower bound of a bucket and wake-ups in it, ascending.
    pub histogram: Vec<(u64, u64)>,
}

/// What came when: the window in parts of equal length, at most 256, whatever its length and however many samples there were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverTime {
    /// When the first part begins, in nanoseconds since the window began: with the first sample.
    pub begins_ns: u64,
    /// Length of a part.
    pub part_ns: u64,
    /// Noise: what was stolen in each part; together they are `stolen_ns`. Latency: the latest wake-up that was due in it.
    /// After the last part nothing came.
    pub values_ns: Vec<u64>,
}

/// A late wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spike {
    /// When it was due, in nanoseconds since the window began.
    pub at_ns: u64,
    /// How late it was.
    pub late_ns: u64,
}

/// The sample that ended a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broke {
    /// Late wake-up, or gap.
    pub kind: Kind,
    /// Where.
    pub cpu: CpuId,
    /// How late, or how long.
    pub value_ns: u64,
    /// What was too long.
    pub limit_ns: u64,
    /// When the thread that saw it looked, on `CLOCK_MONOTONIC`.
    pub at_monotonic_ns: u64,
}

/// The sampler thread's own disturbances, from `getrusage(RUSAGE_THREAD)` around the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// Page faults, minor and major. Must be 0.
    pub page_faults: u64,
    /// Times it went to sleep: one per period in latency mode, none in noise mode.
    pub voluntary_switches: u64,
    /// Times another task took the CPU from it.
    pub involuntary_switches: u64,
}

/// One gap in the busy loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// When it began, in nanoseconds since the window began.
    pub at_ns: u64,
    /// How long it was.
    pub duration_ns: u64,
    /// Whose doing it is, where the tool can tell that it is its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<GapLabel>,
}

/// What became of the file of gaps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapsWritten {
    /// Where it is.
    pub path: String,
    /// Gaps in it.
    pub written: u64,
    /// Gaps that are not: no room in a ring, on the way, or on the disk.
    pub lost: u64,
}

/// Gaps that exist only because the tool measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapLabel {
    /// Real-time throttling (`sched_rt_runtime_us`).
    RtThrottling,
    /// A wake-up of our own: both kinds were measured on this CPU.
    OwnWakeUp,
    /// The fair server, a deadline server for ordinary tasks (6.12 and later).
    FairServer,
}

/// The counter that the busy loop reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// `tsc`, `cntvct_el0` or `clock_monotonic`.
    pub name: String,
    /// Its frequency in kHz as measured over the run; `None` for a clock that counts nanoseconds.
    pub khz: Option<u64>,
    /// Whether it keeps its pace in every power state: what the processor says (x86), what the architecture demands
    /// (arm64); `None` where neither does.
    pub invariant: Option<bool>,
    /// The kernel's clock source after the run.
    #[serde(default)]
    pub clocksource: Option<String>,
    /// How fast it ran; `None` for a clock, and for a thread that did not live to the end.
    #[serde(default)]
    pub rate: Option<CounterRate>,
    /// How far it is from the counter of another CPU; `None` where no CPU was free to ask it, or it did not answer in
    /// time.
    #[serde(default)]
    pub offset: Option<CounterOffset>,
}

/// The counter's frequency over the whole run, against `CLOCK_MONOTONIC_RAW`, and beside what the kernel takes it for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterRate {
    /// Measured.
    pub khz: f64,
    /// What the readings at both ends may be off by, in millionths.
    pub uncertainty_ppm: f64,
    /// The kernel's own; `None` where it does not say it.
    pub kernel_khz: Option<f64>,
    /// Where it says so.
    pub kernel_says: Option<String>,
    /// How far the measured one is above the kernel's, in millionths.
    pub apart_ppm: Option<f64>,
    /// What that may be off by, the last digit of the kernel's number included.
    pub apart_uncertainty_ppm: Option<f64>,
    /// Whether the clock is made of this very counter: then both agree whatever the crystal does.
    pub clock_is_counter: Option<bool>,
}

/// The counter of the measured CPU less that of another, asked just before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterOffset {
    /// The other CPU, which is not measured.
    pub against: CpuId,
    /// How far ahead; negative when it is behind.
    pub offset_ns: i64,
    /// The true offset is within so much of it.
    pub uncertainty_ns: u64,
    /// The shortest way to the other CPU and back.
    pub round_trip_ns: u64,
}

/// Something that was counted over the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Stable name: `smi`, `core_throttle`, `package_throttle`, `steal`, `rt_throttling_gaps`, `fair_server_gaps`,
    /// `rt_throttled_seen`, `own_page_faults`, `own_voluntary_switches`, `own_involuntary_switches`.
    pub name: String,
    /// The number; `None` is unknown.
    pub count: Option<u64>,
    /// What it is a number of; `ns` for a time.
    pub unit: String,
    /// Where it comes from.
    pub source: String,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Something that the reader of the numbers must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Stable identifier, for example `memory_not_locked`.
    pub id: String,
    /// How bad it is.
    pub level: Level,
    /// What it is about: a CPU, a file.
    pub subject: String,
    /// What was found.
    pub message: String,
    /// What to do.
    pub fix: String,
}

/// Level of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The numbers cannot be trusted.
    Error,
    /// The numbers mean less than they seem to.
    Warning,
    /// Good to know.
    Info,
}

/// What became of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramResult {
    /// Its name.
    pub name: String,
    /// How often it was started.
    pub started: u64,
    /// How often it ended with exit status 0.
    pub succeeded: u64,
    /// How often it ended otherwise.
    pub failed: u64,
    /// The last of these other ends, in words.
    pub last_failure: Option<String>,
    /// Whether it ended at once several times in a row and was therefore started less often than asked for: the load
    /// is not what was ordered.
    pub throttled: bool,
}
