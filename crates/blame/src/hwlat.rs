//! Reads the hwlat tracer: with interrupts off it reads a clock repeatedly, and reports when time was lost in between. No
//! thread and no interrupt can have used that time.

use events::{Field, Formats, StreamItem};
use machine::MapEntries;
use serde::Serialize;
use std::collections::BTreeMap;

/// Its findings on one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HwlatCpu {
    /// Where.
    pub cpu: u32,
    /// Samples with lost time, each as long as the tracer's width.
    pub samples: u64,
    /// How often time was lost in them.
    pub hits: u64,
    /// The longest single loss, in nanoseconds: the tracer counts whole microseconds.
    pub max_ns: u64,
    /// Non-maskable interrupts in these samples, which may have used the time.
    pub nmis: u64,
}

/// Report of one run of the tracer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HwlatReport {
    /// The kernel's tracer; `None` if none ran.
    pub by: Option<&'static str>,
    /// Why none ran.
    pub why: Option<String>,
    /// How long it ran, in nanoseconds.
    pub duration_ns: u64,
    /// The shortest time that counted as lost.
    pub threshold_ns: u64,
    /// The length of a window, in microseconds, of which it samples the `width`: `hwlat_detector/window` and `width`.
    pub window_us: Option<u64>,
    /// The sampling time per window, with interrupts off.
    pub width_us: Option<u64>,
    /// The findings on each CPU.
    pub cpus: Vec<HwlatCpu>,
}

/// Reads the tracer's records.
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
    /// Starts without findings on these CPUs. `None` if this kernel does not describe such records.
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
            cpus: cpus.map(|cpu| (cpu, none(cpu))).into_map(),
        })
    }

    /// The next item of the trace.
    pub fn event(&mut self, event: &StreamItem<'_>) {
        let StreamItem::Record { cpu, record } = event else {
            return;
        };
        let is_ours = |common: &events::CommonValues| common.id == self.id;
        if self.formats.common(record.payload).filter(is_ours).is_none() {
            return;
        }
        let number = |field: &Field| field.unsigned(record.payload, self.formats.endian);
        let (Some(inner_us), Some(outer_us)) = (number(&self.inner), number(&self.outer)) else {
            return;
        };
        // Before 5.9 a sample has no count; it means at least one.
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
