//! Defines the typed model for the content of any tool's file. Nothing is added; values missing in the file are `None`.

use measure::{Measurement, Note, NoteLevel};
use serde::Serialize;
use std::borrow::Cow;

/// The content of one file.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Recording {
    /// Name of the format, as in [`crate::FORMATS`].
    pub format: &'static str,
    /// The tool that measured.
    pub tool: String,
    /// The tool's version, if stated.
    pub version: Option<String>,
    /// The resolution of the file's numbers in nanoseconds; 1,000 for whole microseconds.
    pub unit_ns: u64,
    /// The start of the measurement, as the file states it.
    pub started_at: Option<String>,
    /// Facts about machine and run: name and value, in the file's order.
    pub facts: Vec<(String, String)>,
    /// One per thread, CPU, or part of a wake-up.
    pub series: Vec<Series>,
    /// Data that the file lost or does not state.
    pub notes: Vec<Note>,
    /// The complete result, if the file is one of ours.
    pub own: Option<Box<Measurement>>,
}

impl Recording {
    /// An empty recording of that format and tool.
    pub(crate) fn new(format: &'static str, tool: &str, unit_ns: u64) -> Recording {
        Recording {
            format,
            tool: tool.to_owned(),
            unit_ns,
            ..Recording::default()
        }
    }

    /// The kind of measurement: latency if both were measured together.
    #[must_use]
    pub fn kind(&self) -> SeriesKind {
        let mut kinds = self.series.iter().map(|series| series.kind);
        match self.series.first() {
            Some(_) if kinds.all(|kind| kind == SeriesKind::Noise) => SeriesKind::Noise,
            _ => SeriesKind::Latency,
        }
    }

    /// The display name of a series: its [`Series::label`], with a remark for gaps if both were measured together.
    #[must_use]
    pub fn name_of(&self, series: &Series) -> String {
        match series.kind == self.kind() {
            true => series.label(),
            false => format!("{} gaps", series.label()),
        }
    }

    /// The series of [`Recording::kind`] only, for formats with one kind of measurement per file. If both were
    /// measured together, that is the latency of wake-ups.
    pub(crate) fn of_one_kind(&self) -> Cow<'_, Recording> {
        let kind = self.kind();
        if self.series.iter().all(|series| series.kind == kind) {
            return Cow::Borrowed(self);
        }
        let mut one = self.clone();
        one.series.retain(|series| series.kind == kind);
        Cow::Owned(one)
    }

    pub(crate) fn fact(&mut self, name: &str, value: impl Into<String>) {
        self.facts.push((name.to_owned(), value.into()));
    }

    pub(crate) fn error(&mut self, id: &str, subject: &str, message: impl Into<String>) {
        self.note(NoteLevel::Error, id, subject, message);
    }

    pub(crate) fn warning(&mut self, id: &str, subject: &str, message: impl Into<String>) {
        self.note(NoteLevel::Warning, id, subject, message);
    }

    pub(crate) fn info(&mut self, id: &str, subject: &str, message: impl Into<String>) {
        self.note(NoteLevel::Info, id, subject, message);
    }

    pub(crate) fn note(&mut self, level: NoteLevel, id: &str, subject: &str, message: impl Into<String>) {
        self.notes.push(Note {
            id: id.to_owned(),
            level,
            subject: subject.to_owned(),
            message: message.into(),
            fix: String::new(),
        });
    }

    /// Adds a note for each series that lost samples above its histogram.
    pub(crate) fn note_overflows(&mut self) {
        let lost: Vec<(String, u64)> = self
            .series
            .iter()
            .filter_map(|series| Some((series.label(), series.overflow.filter(|count| *count > 0)?)))
            .collect();
        for (label, count) in lost {
            let message = format!(
                "{count} samples were above the histogram: only their number and the largest of them are known"
            );
            self.warning("overflow", &label, message);
        }
    }
}

/// The kind of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SeriesKind {
    /// How late a thread woke up.
    #[default]
    Latency,
    /// For how long a thread that never sleeps was interrupted.
    Noise,
}

/// The meaning of the values of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The measured values: how late each wake-up was, or how long each gap.
    #[default]
    Samples,
    /// The delay of every expected wake-up: those that a late one skipped are as late as they would have been.
    Schedule,
    /// The deviation of the distance of two wake-ups from the expected one, without sign.
    Period,
    /// How early wake-ups were.
    Early,
}

impl Basis {
    /// All variants, samples first.
    pub const ALL: [Basis; 4] = [Basis::Samples, Basis::Schedule, Basis::Period, Basis::Early];

    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Basis::Samples => "samples",
            Basis::Schedule => "schedule",
            Basis::Period => "period",
            Basis::Early => "early",
        }
    }
}

/// The part of a wake-up that a series measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum WakeUpPart {
    /// Until the timer's interrupt.
    Irq,
    /// Until the thread in the kernel.
    Thread,
    /// Until the thread returned to user space.
    User,
}

/// How a tool rounds a time to whole units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Rounding {
    /// Down.
    #[default]
    Down,
    /// Up.
    Up,
}

/// The samples of one thread, or of one part of its wake-ups.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Series {
    /// The kind of measurement.
    pub kind: SeriesKind,
    /// The meaning of its values; samples, except in [`Series::beside`].
    pub basis: Basis,
    /// The CPU, if stated.
    pub cpu: Option<u32>,
    /// The number of the thread in the file, if it has one.
    pub thread: Option<u32>,
    /// The part, if wake-ups are measured in parts.
    pub part: Option<WakeUpPart>,
    /// A stated value may be larger by this, less one nanosecond: the unit of the file's numbers.
    pub unit_ns: u64,
    /// Or smaller by this, if the tool rounds up.
    pub rounding: Rounding,
    /// Non-empty buckets in ascending order; they do not overlap.
    pub buckets: Vec<Bucket>,
    /// Samples above the last bucket of the file; `None` if not stated.
    pub overflow: Option<u64>,
    /// The lower limit of samples above the buckets; 0 if not stated.
    pub overflow_from_ns: u64,
    /// Expected wake-ups that were not measured; `None` if the tool does not count them.
    pub missed: Option<u64>,
    /// Statistics that the file states for these samples.
    pub stated: StatedStatistics,
    /// Single samples with their times, sorted by time.
    pub spikes: Vec<Spike>,
    /// Values over time, from all samples, sorted by time.
    pub stretches: Vec<MeasurementStretch>,
    /// Other facts about this thread: name and value.
    pub facts: Vec<(String, String)>,
    /// The same wake-ups by another basis. Their values are not additional samples: never add them to these.
    pub beside: Vec<Series>,
}

impl Series {
    /// An empty series of that kind.
    pub(crate) fn new(kind: SeriesKind) -> Series {
        Series {
            kind,
            unit_ns: 1,
            ..Series::default()
        }
    }

    /// An empty series of the same thread by another basis.
    pub(crate) fn another(&self, basis: Basis) -> Series {
        Series {
            basis,
            cpu: self.cpu,
            thread: self.thread,
            part: self.part,
            unit_ns: self.unit_ns,
            ..Series::new(self.kind)
        }
    }

    /// These samples, or the same wake-ups by another basis.
    #[must_use]
    pub fn by(&self, basis: Basis) -> Option<&Series> {
        self.with_those_beside().find(|series| series.basis == basis)
    }

    /// This series, then those in its `beside`.
    pub fn with_those_beside(&self) -> impl Iterator<Item = &Series> {
        std::iter::once(self).chain(&self.beside)
    }

    /// The range of the largest sample, from its stated value.
    #[must_use]
    pub fn stated_max_ns(&self) -> Option<(u64, u64)> {
        Some(self.meant(self.stated.max_ns?))
    }

    /// The range of a stated time before rounding.
    #[must_use]
    pub fn meant(&self, ns: u64) -> (u64, u64) {
        let rest = self.unit_ns.saturating_sub(1);
        match self.rounding {
            Rounding::Down => (ns, ns.saturating_add(rest)),
            Rounding::Up => (ns.saturating_sub(rest), ns),
        }
    }

    /// The display name: `CPU 3`, `CPU 3 (T0)` if threads have numbers, `CPU 3 irq`, `thread 0`; `CPU 3 due`,
    /// `CPU 3 period` and `CPU 3 early` by another basis.
    #[must_use]
    pub fn label(&self) -> String {
        let place = self.place();
        match self.basis {
            Basis::Samples => place,
            Basis::Schedule => format!("{place} due"),
            Basis::Period => format!("{place} period"),
            Basis::Early => format!("{place} early"),
        }
    }

    fn place(&self) -> String {
        let place = match (self.cpu, self.thread) {
            (Some(cpu), None) => format!("CPU {cpu}"),
            (Some(cpu), Some(thread)) => format!("CPU {cpu} (T{thread})"),
            (None, Some(thread)) => format!("thread {thread}"),
            (None, None) => "all".to_owned(),
        };
        match self.part {
            None => place,
            Some(WakeUpPart::Irq) => format!("{place} irq"),
            Some(WakeUpPart::Thread) => format!("{place} thread"),
            Some(WakeUpPart::User) => format!("{place} user"),
        }
    }

    /// Samples in the buckets.
    #[must_use]
    pub fn in_buckets(&self) -> u64 {
        self.buckets
            .iter()
            .fold(0, |sum, bucket| sum.saturating_add(bucket.count))
    }

    /// The number of all samples: those in buckets and above, or the stated number if there are no buckets; `None` if it is
    /// not stated. 0 is returned only if the file shows that there were none.
    #[must_use]
    pub fn samples(&self) -> Option<u64> {
        match self.in_buckets().saturating_add(self.overflow.unwrap_or(0)) {
            0 => self.stated.count.or(self.overflow),
            count => Some(count),
        }
    }
}

/// Samples that the file does not distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Their smallest possible value.
    pub low_ns: u64,
    /// Width in nanoseconds: they are below `low_ns + width_ns`. At least 1.
    pub width_ns: u64,
    /// The number of samples.
    pub count: u64,
}

impl Bucket {
    /// Their largest possible value.
    #[must_use]
    pub fn high_ns(&self) -> u64 {
        self.low_ns.saturating_add(self.width_ns.saturating_sub(1))
    }
}

/// A stretch of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasurementStretch {
    /// Its start, in nanoseconds since the start of the measurement.
    pub at_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// Gaps: their total time in it. Wake-ups: the largest delay of one expected in it.
    pub value_ns: u64,
}

/// One sample with its time on the clock of the file, and the cause if the tool can identify itself as the cause.
pub type Spike = measure::MeasuredGap;

/// Stated statistics in nanoseconds, otherwise unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatedStatistics {
    /// Samples, overflows included.
    pub count: Option<u64>,
    /// Smallest.
    pub min_ns: Option<u64>,
    /// Arithmetic mean.
    pub mean_ns: Option<f64>,
    /// Largest.
    pub max_ns: Option<u64>,
    /// Standard deviation.
    pub stddev_ns: Option<f64>,
    /// Median.
    pub median_ns: Option<u64>,
    /// Most frequent.
    pub mode_ns: Option<u64>,
    /// Quantiles: a share (0 to 1) of the samples, and the value that these do not exceed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<(f64, u64)>,
    /// The duration of the measurement.
    pub duration_ns: Option<u64>,
}
