//! Reads memory nodes: `/sys/devices/system/node/nodeN/*` (`drivers/base/node.c`).

use super::{Cpu, Node};
use crate::reading::RootReader;
use std::collections::HashMap;

const NODES: &str = "/sys/devices/system/node";

/// Reads the nodes, and sets each CPU's node.
pub(super) fn read(reader: &RootReader, cpus: &mut [Cpu]) -> Vec<Node> {
    let with_memory = reader.list(&format!("{NODES}/has_memory"));
    let mut nodes = Vec::new();
    for id in reader.numbered(NODES, "node").unwrap_or_default() {
        let base = format!("{NODES}/node{id}");
        let cpus = reader.list_or_mask(&format!("{base}/cpulist"), &format!("{base}/cpumap"));
        let distances = reader.value(&format!("{base}/distance")).unwrap_or_default();
        let has_memory = match &with_memory {
            Some(set) => Some(set.contains(crate::CpuId(id))),
            None => read_total(reader, &base).map(|total_kb| total_kb > 0),
        };
        nodes.push(Node {
            id,
            cpus: cpus.unwrap_or_default(),
            has_memory,
            distances: distances
                .split_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect(),
        });
    }
    let mut listed: HashMap<u32, Vec<u32>> = HashMap::new();
    for node in &nodes {
        for cpu in node.cpus.iter() {
            listed.entry(cpu.0).or_default().push(node.id);
        }
    }
    for cpu in cpus {
        cpu.node = match listed.get(&cpu.id.0).map(Vec::as_slice) {
            Some(&[node]) => Some(node),
            // No node lists it (offline), or several do (wrong firmware data): the CPU's own link decides.
            _ => own_link(reader, cpu),
        };
    }
    nodes
}

fn own_link(reader: &RootReader, cpu: &Cpu) -> Option<u32> {
    let dir = format!("/sys/devices/system/cpu/cpu{}", cpu.id);
    match reader.numbered(&dir, "node")?.as_slice() {
        &[node] => Some(node),
        _ => None,
    }
}

/// `Node 0 MemTotal:       4194304 kB`
fn read_total(reader: &RootReader, base: &str) -> Option<u64> {
    let text = reader.text(&format!("{base}/meminfo"))?;
    let line = text.lines().find(|line| line.contains("MemTotal:"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}
