//! Finds where a device with a given name could be in the tree of `/sys`.

use crate::links::{join, real};
use crate::reading::RootReader;
use root::Root;

/// Directories where a device with this name could be, the most likely first; `None` for an impossible name.
pub(super) fn candidates(root: &Root, reader: &RootReader, name: &str) -> Option<Vec<String>> {
    if name.starts_with("/sys/") && !name.split('/').any(|part| part == "..") {
        return Some(vec![name.trim_end_matches('/').to_owned()]);
    }
    // Names below /dev may be links to the device: /dev/disk/by-id/..., /dev/mapper/...
    let name = &name
        .strip_prefix("/dev/")
        .map_or(name.to_owned(), |_| link_target(root, name));
    // The kernel writes the `/` in the name of a device as `!`.
    let plain = name.strip_prefix("/dev/").unwrap_or(name);
    let plain = if plain == name.as_str() {
        plain.to_owned()
    } else {
        plain.replace('/', "!")
    };
    if plain.is_empty() || plain.contains('/') || plain == "." || plain == ".." {
        return None;
    }
    let mut places = Vec::new();
    if is_pci(&plain) {
        let domain = if plain.matches(':').count() == 1 { "0000:" } else { "" };
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

/// The target of a path below `/dev`, or the path itself.
fn link_target(root: &Root, path: &str) -> String {
    let target = root.link(path).ok().flatten();
    let real = target.and_then(|target| real(root, join(path, &target)?));
    real.filter(|path| path.starts_with("/dev/"))
        .unwrap_or_else(|| path.to_owned())
}
