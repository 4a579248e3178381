//! Finds the CPUs near a device.

use crate::PlanRefusal;
use machine::devices::Locality;
use machine::{CpuSet, Topology};

/// CPUs near something, and how this is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearbyCpus {
    /// The device, as the user named it.
    pub device: String,
    /// The online CPUs near it.
    pub cpus: CpuSet,
    /// Its location: `node 1`.
    pub what: String,
}

impl NearbyCpus {
    /// From the machine's data about a device. On a machine with one memory node every CPU is equally near.
    ///
    /// # Errors
    /// [`PlanRefusal::NoLocality`] if there are several nodes and none is known to be the device's.
    pub fn of(device: &Locality, topology: &Topology) -> Result<NearbyCpus, PlanRefusal> {
        let online = &topology.online;
        let near = |cpus: CpuSet, what: String| NearbyCpus {
            device: device.name.clone(),
            cpus,
            what,
        };
        let parts = if device.parts.is_empty() {
            String::new()
        } else {
            format!(" of {}", device.parts.join(", "))
        };
        if let Some(id) = device.node {
            let own = cpus_of(topology, id);
            if !own.is_empty() {
                return Ok(near(own, format!("node {id}{parts}")));
            }
            if let Some((other, cpus)) = nearest(topology, id) {
                let what = format!("node {other}, the nearest with CPUs to its node {id}");
                return Ok(near(cpus, what));
            }
        }
        let local = device.cpus.as_ref().map(|cpus| cpus.and(online));
        if let Some(local) = local.filter(|local| !local.is_empty() && local != online) {
            return Ok(near(local, "local_cpulist".to_owned()));
        }
        if topology.nodes.len() <= 1 {
            let what = "there is one memory node, so all CPUs are equally near";
            return Ok(near(online.clone(), what.to_owned()));
        }
        let why = if !device.parts.is_empty() {
            format!("it consists of {}, which are not in one place", device.parts.join(", "))
        } else if device.is_virtual {
            "it is a virtual device without a location".to_owned()
        } else {
            "the kernel does not report its memory node (numa_node is -1 or missing)".to_owned()
        };
        Err(PlanRefusal::NoLocality {
            device: device.name.clone(),
            why,
        })
    }
}

fn cpus_of(topology: &Topology, node: u32) -> CpuSet {
    topology.cpus_where(|cpu| cpu.online && cpu.node == Some(node))
}

/// The nearest node that has online CPUs, by `distance`.
fn nearest(topology: &Topology, node: u32) -> Option<(u32, CpuSet)> {
    let distances = &topology.node(node)?.distances;
    let mut others: Vec<(u32, u32)> = topology
        .nodes
        .iter()
        .zip(distances)
        .map(|(other, &distance)| (distance, other.id))
        .collect();
    others.sort_unstable();
    let with_cpus = |&(_, id): &(u32, u32)| Some((id, cpus_of(topology, id))).filter(|(_, cpus)| !cpus.is_empty());
    others.iter().find_map(with_cpus)
}
