//! Locates a device: its memory node and the CPUs near it, from `numa_node` and `local_cpulist` of the device or of its
//! nearest ancestor that has them (`drivers/base/core.c`, `drivers/pci/pci-sysfs.c`).

mod mounts;
mod names;
mod parts;

use crate::CpuSet;
use crate::links::real;
use crate::reading::RootReader;
use root::Root;

/// The location of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locality {
    /// The name given by the user.
    pub name: String,
    /// Its directory below `/sys/devices`, or as far as the links can be resolved.
    pub path: String,
    /// `numa_node`; `None` also if the kernel reports -1.
    pub node: Option<u32>,
    /// `local_cpulist`.
    pub cpus: Option<CpuSet>,
    /// Whether it is below `/sys/devices/virtual`: a bridge, a loop device.
    pub is_virtual: bool,
    /// Names of the devices that it consists of: the disks of a volume, the cards of a bond. Its location is theirs if
    /// they agree.
    pub parts: Vec<String>,
}

/// A name that belongs to no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no device `{name}`: {why}")]
pub struct NoDevice {
    /// The name.
    pub name: String,
    /// Where it was looked for.
    pub why: String,
}

/// Finds a device by the name of a network interface (`eth0`), a disk or partition (`nvme0n1`), a PCI address (`0000:3b:00.0`,
/// `3b:00.0`), any other class or bus, a path below `/dev` or `/sys`, or any other path, which means the disk that holds it.
///
/// # Errors
/// [`NoDevice`] if nothing with this name exists.
pub fn locate(root: &Root, name: &str) -> Result<Locality, NoDevice> {
    let reader = RootReader::new(root);
    let missing = |why: String| NoDevice {
        name: name.to_owned(),
        why,
    };
    let is_path = name.starts_with('/') && !name.starts_with("/dev/") && !name.starts_with("/sys/");
    let is_dir = |path: &String| reader.kind(path) == Some(root::PathKind::Dir);
    let places = if is_path {
        vec![mounts::device_of(root, &reader, name).map_err(|why| missing(why.to_string()))?]
    } else {
        names::candidates(root, &reader, name)
            .ok_or_else(|| missing("a path starts with /, a name is one word".to_owned()))?
    };
    let found = places
        .into_iter()
        .find(is_dir)
        .ok_or_else(|| missing("no network interface, disk, PCI address or other device has this name".to_owned()))?;
    let mut device = parts::place(root, &reader, &found);
    device.name = name.to_owned();
    Ok(device)
}

/// The location of one device directory, from its nearest ancestor that has one.
fn of_directory(root: &Root, reader: &RootReader, found: &str) -> Locality {
    let path = real(root, format!("{found}/-")).and_then(|path| path.strip_suffix("/-").map(str::to_owned));
    let path = path.unwrap_or_else(|| found.to_owned());
    let mut device = Locality {
        name: path.rsplit('/').next().unwrap_or_default().to_owned(),
        is_virtual: path.starts_with("/sys/devices/virtual/"),
        node: None,
        cpus: None,
        path: path.clone(),
        parts: Vec::new(),
    };
    // A disk or an interface itself has no location; the controller above it has.
    let mut at = path.as_str();
    while at.len() > "/sys/devices".len() && device.node.is_none() {
        let (node, cpus) = place_of(reader, at);
        device.node = node;
        device.cpus = device.cpus.or(cpus);
        at = at.rsplit_once('/').map_or("", |(above, _)| above);
    }
    // If the capture does not contain the interface's real directory, the link next to it still leads there.
    if device.node.is_none() && device.cpus.is_none() {
        (device.node, device.cpus) = place_of(reader, &format!("{path}/device"));
    }
    device
}

/// Memory nodes that have PCI devices, ascending.
#[must_use]
pub fn nodes_with_devices(root: &Root) -> Vec<u32> {
    const DEVICES: &str = "/sys/bus/pci/devices";
    let reader = RootReader::new(root);
    let all = reader.entries(DEVICES).unwrap_or_default();
    let node = |entry: root::DirectoryEntry| node_of(&reader, &format!("{DEVICES}/{}", entry.name));
    let mut nodes: Vec<u32> = all.into_iter().filter_map(node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn place_of(reader: &RootReader, dir: &str) -> (Option<u32>, Option<CpuSet>) {
    let cpus = reader.list_or_mask(&format!("{dir}/local_cpulist"), &format!("{dir}/local_cpus"));
    (node_of(reader, dir), cpus.filter(|cpus| !cpus.is_empty()))
}

fn node_of(reader: &RootReader, dir: &str) -> Option<u32> {
    u32::try_from(reader.number::<i64>(&format!("{dir}/numa_node"))?).ok()
}
