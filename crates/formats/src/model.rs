//! What a file of any tool says, as one typed model: nothing added, and what the file does not say is `None`.

use measure::{GapLabel, Level, Measurement, Note};
use serde::Serialize;
use std::borrow::Cow;

/// Everything that was found in one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Name of the format, as in [`crate::FORMATS`].
    pub format: &'static str,
    /// The tool that measured.
    pub tool: String,
    /// The tool's version, where the file says it.
    pub version: Option<String>,
    /// The resolution of the file's numbers in nanoseconds; 1,000 for whole microseconds.
    pub unit_ns: u64,
    /// When measuring began, in the words of the file.
    pub started_at: Option<String>,
    /// What the file says about machine and run: name and value, in its order.
    pub facts: Vec<(String, String)>,
    /// One per thread, CPU, or part of a wake-up.
    pub series: Vec<Series>,
    /// What the file lost, or does not say.
    pub notes: Vec<Note>,
    /// The whole of it, where it is a result of ours.
    pub own: Option<Box<Measurement>>,
}

impl Recording {
    /// A recording of that format and tool, without any series yet.
    pub(crate) fn new(format: &'static str, tool: &str, unit_ns: u64) -> Recording {
        Recording {
            format,
            tool: tool.to_owned(),
            version: None,
            unit_ns,
            started_at: None,
            facts: Vec::new(),
            series: Vec::new(),
            notes: Vec::new(),
            own: None,
        }
    }

    /// What it is: latency where both were measured at once.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let mut kinds = self.series.iter().map(|series| series.kind);
        match self.series.first() {
            Some(_) if kinds.all(|kind| kind == Kind::Noise) => Kind::Noise,
            _ => Kind::Latency,
        }
    }

    /// What a person calls a series of it: its [`Series::label`], and that it is about gaps where both were measured.
    #[must_use]
    pub fn name_of(&self, series: &Series) -> String {
        match series.kind == self.kind() {
            true => series.label(),
            false => format!("{} gaps", series.label()),
        }
    }

    /// The series of [`Recording::kind`] alone, for formats that have one kind of measurement in a file. Where both were
    /// measured at once that is the latency of wake-ups.
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

    pub(crate) fn note(&mut self, level: Level, id: &str, subject: &str, message: impl Into<String>) {
        self.notes.push(Note {
            id: id.to_owned(),
            level,
            subject: subject.to_owned(),
            message: message.into(),
            fix: String::new(),
        });
    }

    /// Says which series lost samples above their histogram.
    pub(crate) fn note_overflows(&mut self) {
        let lost: Vec<(String, u64)> = self
            .series
            .iter()
            .filter_map(|series| Some((series.label(), series.overflow.filter(|count| *count > 0)?)))
            .collect();
        for (label, count) in lost {
            let message = format!(
                "{count} samples were above the histogram: only their number is known, and the largest of them"
            );
            self.note(Level::Warning, "overflow", &label, message);
        }
    }
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// How late a thread woke up.
    Latency,
    /// For how long a thread that never sleeps was stopped.
    Noise,
}

/// What the values of a series are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// What was measured: how late each wake-up was, or how long each gap.
    Samples,
    /// How late every wake-up was that was due: those that a late one ran over are as late as they would have been.
    Schedule,
    /// How far the distance of two wake-ups was from the one they were due at, whatever the sign.
    Period,
    /// How long before their time wake-ups came.
    Early,
}

impl Basis {
    /// All of them, samples first.
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

/// Which part of a wake-up a series is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Until the timer's interrupt.
    Irq,
    /// Until the thread in the kernel.
    Thread,
    /// Until the thread was back in its own code.
    User,
}

/// What a tool does with the rest of a time that is not a whole unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Cuts it off.
    Down,
    /// Counts it as one more.
    Up,
}

/// The samples of one thread, or of one part of its wake-ups.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What was measured.
    pub kind: Kind,
    /// What its values are; samples, but for those in [`Series::beside`].
    pub basis: Basis,
    /// The CPU, where the file says it.
    pub cpu: Option<u32>,
    /// The number of the thread in the file, where it has one.
    pub thread: Option<u32>,
    /// The part, where wake-ups are measured in parts.
    pub part: Option<Part>,
    /// What is stated may be so much above, less one nanosecond: the unit of the file's numbers.
    pub unit_ns: u64,
    /// Or below, where the tool rounds up.
    pub rounding: Rounding,
    /// Non-empty buckets in ascending order; they do not overlap.
    pub buckets: Vec<Bucket>,
    /// Samples above the last bucket that the file could hold; `None` where the file does not tell.
    pub overflow: Option<u64>,
    /// No sample above the buckets is below this; 0 where the file does not tell.
    pub overflow_from_ns: u64,
    /// Wake-ups that were due and not measured; `None` where the tool does not count them.
    pub missed: Option<u64>,
    /// What the file itself says about these samples.
    pub stated: Stated,
    /// Single samples with their times, in order of time.
    pub spikes: Vec<Spike>,
    /// What came when, of all samples, in order of time.
    pub stretches: Vec<Stretch>,
    /// What else is known of this thread: name and value.
    pub facts: Vec<(String, String)>,
    /// The same wake-ups by another basis. Their values are no further samples: they are never added to these.
    pub beside: Vec<Series>,
}

impl Series {
    /// A series of that kind without any value yet.
    pub(crate) fn new(kind: Kind) -> Series {
        Series {
            kind,
            basis: Basis::Samples,
            cpu: None,
            thread: None,
            part: None,
            unit_ns: 1,
            rounding: Rounding::Down,
            buckets: Vec::new(),
            overflow: None,
            overflow_from_ns: 0,
            missed: None,
            stated: Stated::default(),
            spikes: Vec::new(),
            stretches: Vec::new(),
            facts: Vec::new(),
            beside: Vec::new(),
        }
    }

    /// Nothing yet, of the same thread by another basis.
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

    /// This one, then those beside it.
    pub fn with_those_beside(&self) -> impl Iterator<Item = &Series> {
        std::iter::once(self).chain(&self.beside)
    }

    /// The largest sample as the file states it: not below the first value, not above the second.
    #[must_use]
    pub fn stated_max_ns(&self) -> Option<(u64, u64)> {
        Some(self.meant(self.stated.max_ns?))
    }

    /// What a time that the file states can have been before it was rounded: from, and to.
    #[must_use]
    pub fn meant(&self, ns: u64) -> (u64, u64) {
        let rest = self.unit_ns.saturating_sub(1);
        match self.rounding {
            Rounding::Down => (ns, ns.saturating_add(rest)),
            Rounding::Up => (ns.saturating_sub(rest), ns),
        }
    }

    /// What a person calls it: `CPU 3`, `CPU 3 (T0)` where threads have numbers, `CPU 3 irq`, `thread 0`; `CPU 3 due`,
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
            Some(Part::Irq) => format!("{place} irq"),
            Some(Part::Thread) => format!("{place} thread"),
            Some(Part::User) => format!("{place} user"),
        }
    }

    /// Samples in the buckets.
    #[must_use]
    pub fn in_buckets(&self) -> u64 {
        self.buckets
            .iter()
            .fold(0, |sum, bucket| sum.saturating_add(bucket.count))
    }

    /// All samples: those in buckets and above, or the number that the file states where it has no buckets; `None` where
    /// it states none. 0 is said only of a file that shows that there was none.
    #[must_use]
    pub fn samples(&self) -> Option<u64> {
        match self.in_buckets().saturating_add(self.overflow.unwrap_or(0)) {
            0 => self.stated.count.or(self.overflow),
            count => Some(count),
        }
    }
}

/// Samples that the file does not tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest that they can be.
    pub low_ns: u64,
    /// Width in nanoseconds: they are below `low_ns + width_ns`. At least 1.
    pub width_ns: u64,
    /// How many.
    pub count: u64,
}

impl Bucket {
    /// The largest that they can be.
    #[must_use]
    pub fn high_ns(&self) -> u64 {
        self.low_ns.saturating_add(self.width_ns.saturating_sub(1))
    }
}

/// A part of the time that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// When it began, in nanoseconds since the measurement did.
    pub at_ns: u64,
    /// How long it is.
    pub length_ns: u64,
    /// Gaps: what they took of it together. Wake-ups: the latest that was due in it.
    pub value_ns: u64,
}

/// One sample with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spike {
    /// When, in nanoseconds on the clock of the file.
    pub at_ns: u64,
    /// How long.
    pub duration_ns: u64,
    /// Whose doing it is, where the tool can tell that it is its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<GapLabel>,
}

/// What a file states, in nanoseconds, and unchanged but for the unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stated {
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
    /// Share (0 to 1) of the samples that are not above a value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<(f64, u64)>,
    /// How long it was measured.
    pub duration_ns: Option<u64>,
}
