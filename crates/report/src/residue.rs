//! Lists what still arrives on isolated CPUs, by kernel counters, and what could not be moved away.

use machine::CpuSet;
use machine::OrderBy;
use observe::{Activity, Class, CounterIncrease};
use serde::{Deserialize, Serialize};

/// Interruptions that still arrived on one isolated CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Residue {
    /// The CPU.
    pub cpu: u32,
    /// Counted interruptions, most frequent first.
    pub rows: Vec<ResidueRow>,
    /// Threads that may run here and could not be moved.
    pub threads: Vec<StuckThread>,
    /// Interrupts that may fire here and could not be moved.
    pub interrupts: Vec<StuckInterrupt>,
}

/// One kind of counted interruption.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResidueRow {
    /// Its class; `None` for context switches, which are not interruptions by themselves.
    pub class: Option<Class>,
    /// Name of the counter: `LOC`, `36`, `TIMER`.
    pub name: String,
    /// What it is.
    pub what: String,
    /// Its count while isolated.
    pub count: u64,
    /// The same per second.
    pub per_second: f64,
    /// Rate per second before; `None` if it was not counted then.
    pub per_second_before: Option<f64>,
    /// Its usual cause, and what would stop it; empty if nothing would.
    pub cure: String,
}

/// A thread that could not be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StuckThread {
    /// Thread number.
    pub tid: u32,
    /// Name.
    pub comm: String,
    /// Why it stays.
    pub why: String,
}

/// An interrupt that could not be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StuckInterrupt {
    /// Its number.
    pub irq: u32,
    /// Its name.
    pub name: String,
    /// Why it stays.
    pub why: String,
}

/// Interruptions that still arrived on the isolated CPUs, from the counters of both phases. The caller adds threads and
/// interrupts that could not be moved.
pub fn residue(before: Option<&Activity>, during: &Activity, isolated: &CpuSet) -> Vec<Residue> {
    let here = during.cpus.iter().filter(|activity| isolated.contains(activity.cpu));
    here.map(|activity| {
        let earlier = before.and_then(|before| {
            let cpu = before.cpus.iter().find(|earlier| earlier.cpu == activity.cpu)?;
            (before.duration_ns > 0).then_some((cpu, before.duration_ns))
        });
        let rate_before = |counted: &CounterIncrease, softirq: bool| {
            let (cpu, duration_ns) = earlier?;
            let rows = if softirq { &cpu.softirqs } else { &cpu.interrupts };
            let row = rows.iter().find(|row| row.name == counted.name);
            Some(rate_of(row.map_or(0, |row| row.count), duration_ns))
        };
        let row = |counted: &CounterIncrease, softirq: bool| ResidueRow {
            class: Some(counted.class),
            name: counted.name.clone(),
            what: describe(counted, softirq),
            count: counted.count,
            per_second: rate_of(counted.count, during.duration_ns),
            per_second_before: rate_before(counted, softirq),
            cure: counted.class.row().knob.to_owned(),
        };
        let mut rows: Vec<ResidueRow> = activity.interrupts.iter().map(|counted| row(counted, false)).collect();
        rows.extend(activity.softirqs.iter().map(|counted| row(counted, true)));
        if let Some(count) = activity.context_switches {
            rows.push(ResidueRow {
                class: None,
                name: "schedule".to_owned(),
                what: "calls of the scheduler; a single busy loop on its CPU makes none".to_owned(),
                count,
                per_second: rate_of(count, during.duration_ns),
                per_second_before: earlier.and_then(|(cpu, ns)| Some(rate_of(cpu.context_switches?, ns))),
                cure: String::new(),
            });
        }
        rows.order_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        Residue {
            cpu: activity.cpu.0,
            rows,
            threads: Vec::new(),
            interrupts: Vec::new(),
        }
    })
    .collect()
}

/// The class as text; for a device also its name.
fn describe(counted: &CounterIncrease, softirq: bool) -> String {
    let name = counted.class.row().name;
    match counted.class {
        Class::Device | Class::Other if !softirq => format!("{name}: {}", counted.what),
        _ => name.to_owned(),
    }
}

fn rate_of(count: u64, duration_ns: u64) -> f64 {
    if duration_ns == 0 {
        0.0
    } else {
        count as f64 * 1e9 / duration_ns as f64
    }
}
