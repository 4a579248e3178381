//! Compares the output of `inspect` with the machine that QEMU emulates.

use crate::kernels::{K5_10, K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Covers dies, hardware threads, NUMA nodes and offline CPUs.
pub const SCENARIO: Scenario = Scenario {
    name: "inspect_shapes",
    about: "packages, cores, caches, nodes, offline CPUs are read as QEMU made them; a snapshot says the same",
    cells,
    script,
    check,
};

const DIES: GuestShape = GuestShape {
    name: "dies",
    dies: 2,
    cores: 1,
    threads: 2,
    ..USUAL
};
const NODES: GuestShape = GuestShape {
    name: "nodes",
    nodes: &["0-1", "2-3"],
    memory_mib: 512,
    ..USUAL
};
const THREADS: GuestShape = GuestShape {
    name: "threads",
    cores: 2,
    threads: 2,
    ..USUAL
};
const OFFLINE: GuestShape = GuestShape {
    name: "offline",
    cores: 4,
    ..USUAL
};
/// CPUs that the guest takes offline in [`OFFLINE`].
const OFF: [u32; 2] = [1, 6];

fn cells() -> Vec<ScenarioCell> {
    let mut cells = vec![
        ScenarioCell::new(K5_10, CgroupLayout::V2).on(DIES),
        ScenarioCell::new(K6_1, CgroupLayout::V1).on(NODES),
    ];
    cells.extend([DIES, NODES, THREADS, OFFLINE].map(|shape| ScenarioCell::new(K7, CgroupLayout::V2).on(shape)));
    cells.push(ScenarioCell::new(K6_1, CgroupLayout::None).on(OFFLINE));
    cells
}

fn script(cell: &ScenarioCell) -> String {
    let mut script = String::new();
    for cpu in off(cell) {
        script.push_str(&format!("echo 0 >/sys/devices/system/cpu/cpu{cpu}/online\n"));
    }
    script.push_str(
        "rec inspect quietcore inspect --json
rec everything quietcore inspect --tasks --irqs --json
rec text quietcore inspect --tasks --irqs
rec snapshot quietcore snapshot /tmp/machine.tar.gz
rec captured quietcore inspect --root /tmp/machine.tar.gz --json
",
    );
    script
}

fn off(cell: &ScenarioCell) -> &'static [u32] {
    if cell.shape == OFFLINE { &OFF } else { &[] }
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let mut live = verdict.status(seen, "inspect", 0).json();
    verdict.equal("origin", live["origin"].as_str(), Some("live"));
    let cpus = live["cpus"].as_array().cloned().unwrap_or_default();
    verdict.equal("cpus", cpus.len(), cell.shape.cpus() as usize);
    for cpu in &cpus {
        one_cpu(cell, cpu, verdict);
    }
    verdict.status(seen, "text", 0);
    let everything = verdict.status(seen, "everything", 0).json();
    verdict.that(
        everything["tasks"].as_array().is_some_and(|tasks| tasks.len() > 20),
        "tasks are listed",
    );
    verdict.that(
        everything["irqs"].as_array().is_some_and(|irqs| irqs.len() > 2),
        "interrupts are listed",
    );
    verdict.status(seen, "snapshot", 0);
    let mut captured = verdict.status(seen, "captured", 0).json();
    verdict.equal("origin of a snapshot", captured["origin"].as_str(), Some("captured"));
    for either in [&mut live, &mut captured] {
        either["origin"] = Value::Null;
    }
    let differing = first_difference(&live, &captured, "");
    verdict.that(
        differing.is_none(),
        format!("snapshot and machine differ at {}", differing.unwrap_or_default()),
    );
}

fn one_cpu(cell: &ScenarioCell, seen: &Value, verdict: &mut ScenarioVerdict) {
    let shape = &cell.shape;
    let Some(cpu) = seen["cpu"].as_u64().and_then(|cpu| u32::try_from(cpu).ok()) else {
        return verdict.that(false, format!("a CPU without number: {seen}"));
    };
    let online = !off(cell).contains(&cpu);
    verdict.equal(&format!("cpu{cpu} online"), seen["online"].as_bool(), Some(online));
    if !online {
        return;
    }
    let (per_core, per_die) = (shape.threads, shape.cores * shape.threads);
    let group = |size: u32| -> String {
        let members = (cpu / size * size..(cpu / size + 1) * size).filter(|cpu| !off(cell).contains(cpu));
        list(&members.collect::<Vec<u32>>())
    };
    let package = u64::from(cpu / (per_die * shape.dies));
    verdict.equal(&format!("cpu{cpu} package"), seen["package"].as_u64(), Some(package));
    let expected_siblings = group(per_core);
    verdict.equal(
        &format!("cpu{cpu} siblings"),
        seen["siblings"].as_str(),
        Some(expected_siblings.as_str()),
    );
    verdict.equal(
        &format!("cpu{cpu} llc"),
        seen["llc"].as_str(),
        Some(group(per_die).as_str()),
    );
    if !shape.nodes.is_empty() {
        let node = u64::from(cpu / (shape.cpus() / u32::try_from(shape.nodes.len()).unwrap_or(1)));
        verdict.equal(&format!("cpu{cpu} node"), seen["node"].as_u64(), Some(node));
    }
}

/// Numbers as a kernel list.
fn list(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let text = |(first, last): &(u32, u32)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

/// The first difference between two JSON values, as a path with both values.
fn first_difference(one: &Value, two: &Value, path: &str) -> Option<String> {
    match (one, two) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            keys.into_iter()
                .find_map(|key| first_difference(&one[key], &two[key], &format!("{path}/{key}")))
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => left
            .iter()
            .zip(right)
            .enumerate()
            .find_map(|(place, (left, right))| first_difference(left, right, &format!("{path}/{place}"))),
        _ => (one != two).then(|| format!("{path}: {one} and {two}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_of_two_documents_is_reported() {
        let (one, two) = (json!({ "a": [1, { "b": 2 }] }), json!({ "a": [1, { "b": 3 }] }));
        assert_eq!(first_difference(&one, &two, "").as_deref(), Some("/a/1/b: 2 and 3"));
        assert_eq!(first_difference(&one, &one, ""), None);
        assert_eq!(list(&[0, 2, 3, 4]), "0,2-4");
    }
}
