//! Draws the cores of one line, with brackets around them.

use machine::{CoreKind, Cpu, CpuSet};
use std::collections::BTreeMap;

/// One core with the brackets that open and close around it.
pub(super) struct Core<'a> {
    pub(super) open: String,
    pub(super) cpus: Vec<&'a Cpu>,
    pub(super) close: String,
}

/// Whether any of these CPUs shares its core with another one.
pub(super) fn is_threaded(cpus: &[&Cpu]) -> bool {
    cpus.iter()
        .any(|cpu| cpu.siblings.as_ref().is_some_and(|set| set.len() > 1))
}

/// The cores of a line in the order of kind, level-2 cache and lowest CPU.
pub(super) fn cores<'a>(cpus: &[&'a Cpu], threaded: bool) -> Vec<Core<'a>> {
    let lowest = |set: &Option<CpuSet>, cpu: &Cpu| set.as_ref().and_then(CpuSet::first).unwrap_or(cpu.id).0;
    let mut groups: BTreeMap<(Option<CoreKind>, u32, u32), Vec<&'a Cpu>> = BTreeMap::new();
    for &cpu in cpus {
        let core = lowest(&cpu.siblings, cpu);
        // If the level-2 cache is unknown, assume one per core.
        let l2 = cpu.l2.as_ref().and_then(CpuSet::first).map_or(core, |first| first.0);
        let key = (cpu.kind, l2, core);
        groups.entry(key).or_default().push(cpu);
    }
    let keys: Vec<(Option<CoreKind>, u32, u32)> = groups.keys().copied().collect();
    // A level-2 cache gets brackets if several cores share it, but not the whole line.
    let shares = |place: usize, other: Option<usize>| {
        let (here, there) = (keys.get(place), other.and_then(|other| keys.get(other)));
        matches!((here, there), (Some(here), Some(there)) if here.0 == there.0 && here.1 == there.1)
    };
    let whole = (1..keys.len()).all(|place| shares(place, Some(place - 1)));
    let mut cores = Vec::new();
    for (place, ((kind, ..), cpus)) in groups.into_iter().enumerate() {
        let (left, right) = (shares(place, place.checked_sub(1)), shares(place, Some(place + 1)));
        let mut core = Core {
            open: String::new(),
            cpus,
            close: String::new(),
        };
        let first_of_kind = place == 0 || keys.get(place - 1).is_some_and(|before| before.0 != kind);
        match kind {
            Some(CoreKind::Performance) if first_of_kind => core.open.push_str("P "),
            Some(CoreKind::Efficiency) if first_of_kind => core.open.push_str("E "),
            _ => {}
        }
        if !whole && right && !left {
            core.open.push('(');
        }
        if threaded && is_threaded(&core.cpus) {
            core.open.push('[');
            core.close.push(']');
        }
        if !whole && left && !right {
            core.close.push(')');
        }
        cores.push(core);
    }
    cores
}
