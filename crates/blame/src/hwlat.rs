//! What the hwlat tracer says: with interrupts off it reads a clock again and again, and tells when time was gone in between. No
//! thread and no interrupt can have had it then.

use events::{Event, Field, Formats};
use serde::Serialize;
use std::collections::BTreeMap;

/// What it found on one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HwlatCpu {
    /// Where.
    pub cpu: u32,
    /// Samples, each as long as the tracer's width, in which time was gone.
    pub samples: u64,
    /// How often time was gone in them.
    pub hits: u64,
    /// The longest time that was gone at once, in nanoseconds: the tracer counts whole microseconds.
    pub max_ns: u64,
    /// Non-maskable interrupts in these samples: the time may have been theirs.
    pub nmis: u64,
}

/// What one run of it told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HwlatReport {
    /// The tracer of the kernel; nothing where none ran.
    pub by: Option<&'static str>,
    /// Why none did.
    pub why: Option<String>,
    /// How long it ran, in nanoseconds.
    pub duration_ns: u64,
    /// The shortest time that counted as gone.
    pub threshold_ns: u64,
    /// Of each window, in microseconds, it looked for so many: `hwlat_detector/window` and `width`.
    pub window_us: Option<u64>,
    /// Its time with interrupts off.
    pub width_us: Option<u64>,
    /// What it found on each CPU.
    pub cpus: Vec<HwlatCpu>,
}

/// Reads its records.
pub struct Hwlat<'f> {
    formats: &'f Formats,
    id: u16,
    inner: Field,
    outer: Field,
    nmis: Option<Field>,
    count: Option<Field>,
    cpus: BTreeMap<u32, HwlatCpu>,
}

impl<'f> Hwlat<'f> {
    /// Nothing was found on these CPUs yet. Nothing at all where this kernel does not describe such records.
    #[must_use]
    pub fn new(formats: &'f Formats, cpus: impl Iterator<Item = u32>) -> Option<Hwlat<'f>> {
        let format = formats.named("ftrace", "hwlat")?;
        let field = |name: &str| format.field(name).cloned();
        let none = |cpu| HwlatCpu {
            cpu,
            ..HwlatCpu::default()
        };
        Some(Hwlat {
            formats,
            id: format.id,
            inner: field("duration")?,
            outer: field("outer_duration")?,
            nmis: field("nmi_count"),
            count: field("count"),
            cpus: cpus.map(|cpu| (cpu, none(cpu))).collect(),
        })
    }

    /// The next item of the trace.
    pub fn event(&mut self, event: &Event<'_>) {
        let Event::Record { cpu, record } = event else {
            return;
        };
        let is_ours = |common: &events::Common| common.id == self.id;
        if self.formats.common(record.payload).filter(is_ours).is_none() {
            return;
        }
        let number = |field: &Field| field.unsigned(record.payload, self.formats.endian);
        let (Some(inner_us), Some(outer_us)) = (number(&self.inner), number(&self.outer)) else {
            return;
        };
        // Before 5.9 a sample does not say how often; once at least.
        let hits = self.count.as_ref().and_then(number).unwrap_or(1).max(1);
        let nmis = self.nmis.as_ref().and_then(number).unwrap_or(0);
        let Some(of) = self.cpus.get_mut(cpu) else {
            return;
        };
        of.samples += 1;
        of.hits = of.hits.saturating_add(hits);
        of.nmis = of.nmis.saturating_add(nmis);
        of.max_ns = of.max_ns.max(inner_us.max(outer_us).saturating_mul(1_000));
    }

    /// Each CPU.
    #[must_use]
    pub fn finish(self) -> Vec<HwlatCpu> {
        self.cpus.into_values().collect()
    }
}
