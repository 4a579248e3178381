//! Compares interrupts: where each may fire and does fire, and which are new.

use super::{ReadingPair, ValueChange, set_text};
use crate::{FindingId, Level};
use machine::{CpuSet, Interrupt};
use std::collections::HashMap;

pub(super) fn compare(pair: &mut ReadingPair) {
    let (before, after) = (pair.before, pair.after);
    let (Some(old), Some(new)) = (&before.machine.interrupts, &after.machine.interrupts) else {
        return;
    };
    let (old_by_key, new_by_key) = (by_key(old), by_key(new));
    for interrupt in new {
        match old_by_key.get(&key(interrupt, &new_by_key)) {
            Some(former) => moved(pair, former, interrupt),
            None => appeared(pair, interrupt),
        }
    }
    for interrupt in old {
        if !new_by_key.contains_key(&key(interrupt, &old_by_key)) && !interrupt.name.is_empty() {
            let place = interrupt.affinity.clone().unwrap_or_default();
            let message = format!("{} no longer exists", called(interrupt));
            pair.add(
                FindingId::IRQ_GONE,
                Level::Info,
                subject(interrupt),
                ValueChange::lost(&place),
                message,
            );
        }
    }
}

/// Numbers change from boot to boot, names do not: an interrupt with a unique name is identified by it.
type InterruptKey = (String, Option<u32>);

fn by_key(interrupts: &[Interrupt]) -> HashMap<InterruptKey, &Interrupt> {
    let mut count: HashMap<&str, usize> = HashMap::new();
    for interrupt in interrupts {
        *count.entry(interrupt.name.as_str()).or_default() += 1;
    }
    let key = |interrupt: &Interrupt| {
        let is_own = !interrupt.name.is_empty() && count.get(interrupt.name.as_str()) == Some(&1);
        (interrupt.name.clone(), (!is_own).then_some(interrupt.irq))
    };
    interrupts.iter().map(|interrupt| (key(interrupt), interrupt)).collect()
}

fn key(interrupt: &Interrupt, own: &HashMap<InterruptKey, &Interrupt>) -> InterruptKey {
    let by_name = (interrupt.name.clone(), None);
    if own.contains_key(&by_name) {
        by_name
    } else {
        (interrupt.name.clone(), Some(interrupt.irq))
    }
}

fn moved(pair: &mut ReadingPair, former: &Interrupt, now: &Interrupt) {
    let mut is_reported = false;
    if let (Some(old), Some(new)) = (&former.affinity, &now.affinity)
        && old != new
    {
        let level = pair.reach(old, new, Level::Info);
        let message = format!("{}: CPU {} -> {}", called(now), set_text(old), set_text(new));
        pair.add(
            FindingId::IRQ_AFFINITY,
            level,
            subject(now),
            ValueChange::new(old, new),
            message,
        );
        is_reported = true;
    }
    if let (Some(old), Some(new), false) = (&former.effective, &now.effective, is_reported)
        && old != new
    {
        let level = pair.reach(old, new, Level::Info);
        let message = format!("{} fires on CPU {} -> {}", called(now), set_text(old), set_text(new));
        pair.add(
            FindingId::IRQ_EFFECTIVE,
            level,
            subject(now),
            ValueChange::new(old, new),
            message,
        );
    }
}

fn appeared(pair: &mut ReadingPair, interrupt: &Interrupt) {
    // An unrequested number cannot fire.
    if interrupt.name.is_empty() {
        return;
    }
    let place = interrupt.affinity.clone().unwrap_or_default();
    let level = pair.reach(&CpuSet::new(), &place, Level::Info);
    let message = format!("new {} may fire on CPU {}", called(interrupt), set_text(&place));
    pair.add(
        FindingId::IRQ_NEW,
        level,
        subject(interrupt),
        ValueChange::gained(&place),
        message,
    );
}

fn called(interrupt: &Interrupt) -> String {
    format!("IRQ {} {}", interrupt.irq, interrupt.name)
        .trim_end()
        .to_owned()
}

fn subject(interrupt: &Interrupt) -> String {
    format!("irq/{}", interrupt.irq)
}
