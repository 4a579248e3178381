//! Compares settings by file: sysctls, queues of disks and network interfaces, power of each CPU.

use super::{ReadingPair, ValueChange, set_text};
use crate::change::chosen;
use crate::settings::setting;
use crate::{FindingId, Level, knobs};
use machine::{CpuId, CpuSet};
use std::collections::BTreeMap;

/// Settings that are compared elsewhere or only identify the machine.
const ELSEWHERE: [&str; 3] = ["/class/dmi/", "/virtual/dmi/", "/online"];

pub(super) fn compare(pair: &mut ReadingPair) {
    let (before, after) = (pair.before, pair.after);
    // One sentence is enough for a setting that changed in the same way on many CPUs.
    let mut of_cpus: BTreeMap<(String, String, String, bool), CpuSet> = BTreeMap::new();
    for (path, new) in &after.settings.values {
        let Some(old) = before.settings.values.get(path).filter(|old| *old != new) else {
            continue;
        };
        if ELSEWHERE.iter().any(|part| path.contains(part)) {
            continue;
        }
        let (old, new) = (chosen(old).to_owned(), chosen(new).to_owned());
        if old == new {
            continue;
        }
        match cpu_of(path) {
            Some((cpu, name)) => {
                let change = (name, old, new, matters(path));
                of_cpus.entry(change).or_default().insert(cpu)
            }
            None => one(pair, path, &old, &new),
        }
    }
    for ((name, old, new, matters), cpus) in of_cpus {
        let level = match (matters, cpus.intersects(pair.isolated)) {
            (true, true) => Level::Error,
            (true, false) if pair.isolated.is_empty() => Level::Warning,
            _ => Level::Info,
        };
        let message = format!("{name} of CPU {cpus}: {old} -> {new}");
        pair.add(
            FindingId::SETTING,
            level,
            format!("cpu{cpus}"),
            ValueChange::new(&old, &new),
            message,
        );
    }
}

fn one(pair: &mut ReadingPair, path: &str, old: &str, new: &str) {
    let (name, subject) = called(path);
    let text = match subject.as_str() {
        "" => name.clone(),
        subject => format!("{name} of {subject}"),
    };
    let subject = if subject.is_empty() { name.clone() } else { subject };
    let cpus = |text: &str| knobs::of_file(path).find_map(|knob| knob.compare.cpus(text));
    if let (Some(was), Some(is)) = (cpus(old), cpus(new)) {
        if was != is {
            let level = pair.reach(&was, &is, Level::Info);
            let message = format!("{text}: CPU {} -> {}", set_text(&was), set_text(&is));
            pair.add(FindingId::SETTING, level, subject, ValueChange::new(&was, &is), message);
        }
        return;
    }
    let level = if matters(path) { Level::Warning } else { Level::Info };
    pair.add(
        FindingId::SETTING,
        level,
        subject,
        ValueChange::new(&old, &new),
        format!("{text}: {old} -> {new}"),
    );
}

/// Whether a setting is known to cause noise on isolated CPUs.
fn matters(path: &str) -> bool {
    knobs::of_file(path).next().is_some() || setting(path).is_some()
}

/// A CPU's own setting: `cpufreq/scaling_governor`, `cpuidle state2 disable`.
fn cpu_of(path: &str) -> Option<(CpuId, String)> {
    let mut parts = path.split('/');
    let cpu = parts.by_ref().find_map(|part| part.strip_prefix("cpu")?.parse().ok())?;
    let rest: Vec<&str> = parts.collect();
    let name = match rest.as_slice() {
        ["cpuidle", state, name] => format!("cpuidle {state} {name}"),
        [.., name] if path.contains("_server/") => {
            let server = path
                .split('/')
                .find(|part| part.ends_with("_server"))
                .unwrap_or_default();
            format!("{server} {name}")
        }
        [.., name] => (*name).to_owned(),
        [] => return None,
    };
    Some((CpuId(cpu), name))
}

/// Name and owner of a setting: `rq_affinity` of `sda`; `kernel.watchdog` has no owner.
fn called(path: &str) -> (String, String) {
    if let Some(sysctl) = path.strip_prefix("/proc/sys/") {
        return (sysctl.replace('/', "."), String::new());
    }
    let parts: Vec<&str> = path.split('/').collect();
    let after = |word: &str| {
        let place = parts.iter().position(|part| *part == word)?;
        parts.get(place + 1).map(|part| (*part).to_owned())
    };
    let name = parts.last().map_or_else(String::new, |name| (*name).to_owned());
    let queue = after("queues").map(|queue| format!(" {queue}")).unwrap_or_default();
    let owner = after("block")
        .or_else(|| after("net").map(|net| net + &queue))
        .or_else(|| after("workqueue").map(|queue| format!("workqueue {queue}")))
        .or_else(|| after("module").map(|module| format!("module {module}")))
        .or_else(|| {
            parts
                .len()
                .checked_sub(2)
                .and_then(|place| parts.get(place))
                .map(|part| (*part).to_owned())
        });
    (name, owner.unwrap_or_default())
}
