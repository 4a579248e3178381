//! Finds the parts of composite devices: volumes and RAIDs of disks (`slaves/`, `block/holder.c`), bonds, bridges and VLANs of
//! cards (`lower_*`, `netdev_adjacent_sysfs_add` in `net/core/dev.c`). Such a device is located where all its parts are.

use super::{Locality, of_directory};
use crate::CpuSet;
use crate::links::{join, real};
use crate::reading::RootReader;
use root::{DirectoryEntryType, Root};

/// Maximum depth of composite devices.
const MAX_LAYERS: u32 = 8;

/// The location of a device, or of its parts.
pub(super) fn place(root: &Root, reader: &RootReader, found: &str) -> Locality {
    layered(root, reader, found, MAX_LAYERS)
}

fn layered(root: &Root, reader: &RootReader, found: &str, layers: u32) -> Locality {
    let mut device = of_directory(root, reader, found);
    if device.node.is_some() || device.cpus.is_some() || layers == 0 {
        return device;
    }
    let parts: Vec<Locality> = below(root, reader, &device.path)
        .iter()
        .map(|part| layered(root, reader, part, layers - 1))
        .collect();
    device.parts = parts.iter().map(|part| part.name.clone()).collect();
    let Some((first, rest)) = parts.split_first() else {
        return device;
    };
    if rest.iter().all(|part| part.node == first.node) {
        device.node = first.node;
    }
    let known: Option<Vec<&CpuSet>> = parts.iter().map(|part| part.cpus.as_ref()).collect();
    device.cpus = known.map(CpuSet::union);
    device
}

/// Directories of the devices that a device consists of.
fn below(root: &Root, reader: &RootReader, path: &str) -> Vec<String> {
    let links = |dir: &str, prefix: &str| -> Vec<String> {
        let entries = reader.entries(dir).unwrap_or_default().into_iter();
        entries
            .filter(|entry| entry.kind == DirectoryEntryType::Link && entry.name.starts_with(prefix))
            .map(|entry| format!("{dir}/{}", entry.name))
            .collect()
    };
    let mut all = links(&format!("{path}/slaves"), "");
    all.extend(links(path, "lower_"));
    // The links are relative to the device's own directory.
    all.iter()
        .filter_map(|link| real(root, join(link, &root.link(link).ok()??)?))
        .collect()
}
