//! Where a device is: which memory node, which CPUs are near. `numa_node` and `local_cpulist` of the device or
//! of the nearest one above it (`drivers/base/core.c`, `drivers/pci/pci-sysfs.c`).

use crate::CpuSet;
use crate::links::real;
use crate::reading::Reader;
use root::Root;

/// What the machine tells about the place of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locality {
    /// As the user called it.
    pub name: String,
    /// Its directory below `/sys/devices`, or as close to it as the links lead.
    pub path: String,
    /// `numa_node`; `None` also where the kernel says -1.
    pub node: Option<u32>,
    /// `local_cpulist`.
    pub cpus: Option<CpuSet>,
    /// Whether it is below `/sys/devices/virtual`: a bridge, a loop device.
    pub is_virtual: bool,
}

/// A name that leads to no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no device `{name}`: {why}")]
pub struct NoDevice {
    /// The name.
    pub name: String,
    /// Where it was looked for.
    pub why: String,
}

/// Finds a device by the name of a network interface (`eth0`), a disk or partition (`nvme0n1`), a PCI address
/// (`0000:3b:00.0`, `3b:00.0`), any other class or bus, or a path below `/dev` or `/sys`.
///
/// # Errors
/// [`NoDevice`] when nothing of that name is there.
pub fn locate(root: &Root, name: &str) -> Result<Locality, NoDevice> {
    let reader = Reader::new(root);
    let missing = |why: &str| NoDevice {
        name: name.to_owned(),
        why: why.to_owned(),
    };
    let is_dir = |path: &String| reader.kind(path) == Some(root::Kind::Dir);
    let places = candidates(&reader, name)
        .ok_or_else(|| missing("a path has to be below /dev or /sys, a name is one word"))?;
    let Some(found) = places.into_iter().find(is_dir) else {
        return Err(missing(
            "no network interface, disk, PCI address or other device is called so",
        ));
    };
    let path = real(root, format!("{found}/-")).and_then(|path| path.strip_suffix("/-").map(str::to_owned));
    let path = path.unwrap_or(found);
    let mut device = Locality {
        name: name.to_owned(),
        is_virtual: path.starts_with("/sys/devices/virtual/"),
        node: None,
        cpus: None,
        path: path.clone(),
    };
    // A disk or an interface itself has no place; the controller above it has.
    let mut at = path.as_str();
    while at.len() > "/sys/devices".len() && device.node.is_none() {
        let (node, cpus) = place_of(&reader, at);
        device.node = node;
        device.cpus = device.cpus.or(cpus);
        at = at.rsplit_once('/').map_or("", |(above, _)| above);
    }
    // Where the capture did not keep where the interface really is, the link beside it still leads there.
    if device.node.is_none() && device.cpus.is_none() {
        (device.node, device.cpus) = place_of(&reader, &format!("{path}/device"));
    }
    Ok(device)
}

/// Memory nodes that have PCI devices, ascending.
#[must_use]
pub fn nodes_with_devices(root: &Root) -> Vec<u32> {
    const DEVICES: &str = "/sys/bus/pci/devices";
    let reader = Reader::new(root);
    let all = reader.entries(DEVICES).unwrap_or_default();
    let node = |entry: root::Entry| node_of(&reader, &format!("{DEVICES}/{}", entry.name));
    let mut nodes: Vec<u32> = all.into_iter().filter_map(node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn place_of(reader: &Reader, dir: &str) -> (Option<u32>, Option<CpuSet>) {
    let cpus = reader.list_or_mask(&format!("{dir}/local_cpulist"), &format!("{dir}/local_cpus"));
    (node_of(reader, dir), cpus.filter(|cpus| !cpus.is_empty()))
}

fn node_of(reader: &Reader, dir: &str) -> Option<u32> {
    u32::try_from(reader.number::<i64>(&format!("{dir}/numa_node"))?).ok()
}

/// Directories where a device of that name could be, the likely ones first; `None` for no possible name.
fn candidates(reader: &Reader, name: &str) -> Option<Vec<String>> {
    if name.starts_with("/sys/") && !name.split('/').any(|part| part == "..") {
        return Some(vec![name.trim_end_matches('/').to_owned()]);
    }
    // The kernel writes the `/` in the name of a device as `!`.
    let plain = name.strip_prefix("/dev/").unwrap_or(name);
    let plain = if plain == name {
        plain.to_owned()
    } else {
        plain.replace('/', "!")
    };
    if plain.is_empty() || plain.contains('/') || plain == "." || plain == ".." {
        return None;
    }
    let mut places = Vec::new();
    if is_pci(&plain) {
        let domain = if plain.matches(':').count() == 1 {
            "0000:"
        } else {
            ""
        };
        let address = format!("{domain}{}", plain.to_ascii_lowercase());
        places.push(format!("/sys/bus/pci/devices/{address}"));
    }
    for dir in ["/sys/class/net", "/sys/class/block", "/sys/block"] {
        places.push(format!("{dir}/{plain}"));
    }
    let below = |dir: &str| reader.entries(dir).unwrap_or_default();
    let classes = below("/sys/class").into_iter();
    places.extend(classes.map(|class| format!("/sys/class/{}/{plain}", class.name)));
    let buses = below("/sys/bus").into_iter();
    places.extend(buses.map(|bus| format!("/sys/bus/{}/devices/{plain}", bus.name)));
    Some(places)
}

/// `3b:00.0` or `0000:3b:00.0`.
fn is_pci(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let hex = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.contains(':') && name.contains('.') && matches!(parts.len(), 3 | 4) && parts.iter().all(hex)
}
