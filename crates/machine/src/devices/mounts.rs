//! Finds the disk that holds a path: its mount, and the device of that mount (`/proc/self/mountinfo`).

use super::names;
use crate::cgroups::unescape;
use crate::links::{join, real};
use crate::reading::RootReader;
use root::Root;
use std::fmt;

/// The needed fields of one line of mountinfo.
struct MountinfoLine {
    /// `major:minor`; major 0 is a file system without its own disk number (btrfs, overlay, tmpfs).
    number: String,
    point: String,
    kind: String,
    source: String,
}

/// Why no device holds a path.
pub(super) enum NoDisk {
    /// The path does not exist.
    NoFile,
    /// No mount holds it.
    NoMount,
    /// Its file system has no disk.
    NotOnDisk {
        /// Its type.
        kind: String,
        /// Where it is mounted.
        point: String,
    },
}

impl fmt::Display for NoDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoDisk::NoFile => {
                f.write_str("there is no such file; on a captured machine, only paths below /dev and /sys are known")
            }
            NoDisk::NoMount => f.write_str("no mount in /proc/self/mountinfo contains it"),
            NoDisk::NotOnDisk { kind, point } => {
                write!(f, "its file system ({kind} on {point}) is not on a disk")
            }
        }
    }
}

/// The directory below `/sys` of the device that holds a path.
pub(super) fn device_of(root: &Root, reader: &RootReader, path: &str) -> Result<String, NoDisk> {
    if reader.kind(path).is_none() {
        return Err(NoDisk::NoFile);
    }
    let path = resolved(root, path);
    let text = reader.text("/proc/self/mountinfo").unwrap_or_default();
    // Of two mounts on one point the later one is visible.
    let mount = text
        .lines()
        .filter_map(mount)
        .filter(|mount| contains(&mount.point, &path))
        .max_by_key(|mount| mount.point.len());
    let Some(mount) = mount else {
        return Err(NoDisk::NoMount);
    };
    if !mount.number.starts_with("0:") {
        return Ok(format!("/sys/dev/block/{}", mount.number));
    }
    let named = mount
        .source
        .starts_with("/dev/")
        .then(|| names::candidates(root, reader, &mount.source))
        .flatten();
    let named = named.and_then(|places| places.into_iter().find(|place| reader.kind(place).is_some()));
    named.ok_or(NoDisk::NotOnDisk {
        kind: mount.kind,
        point: mount.point,
    })
}

/// The path with all links resolved, as far as possible.
fn resolved(root: &Root, path: &str) -> String {
    let path = path.trim_end_matches('/');
    let above = real(root, path.to_owned()).unwrap_or_else(|| path.to_owned());
    let target = root.link(&above).ok().flatten();
    let led_to = target.and_then(|target| real(root, join(&above, &target)?));
    led_to.unwrap_or(above)
}

fn contains(point: &str, path: &str) -> bool {
    point == "/" || crate::is_within(path, point)
}

fn mount(line: &str) -> Option<MountinfoLine> {
    let (place, source) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(2);
    let number = place.next()?.to_owned();
    let point = unescape(place.nth(1)?);
    let mut source = source.split(' ');
    Some(MountinfoLine {
        number,
        point,
        kind: source.next()?.to_owned(),
        source: unescape(source.next()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_and_mount_point_are_parsed_from_mountinfo() {
        let one = mount("36 27 8:1 / /mnt/a\\040b rw,relatime shared:1 - ext4 /dev/sda1 rw").unwrap();
        assert_eq!((one.number.as_str(), one.point.as_str()), ("8:1", "/mnt/a b"));
        assert_eq!((one.kind.as_str(), one.source.as_str()), ("ext4", "/dev/sda1"));
        assert!(mount("rubbish").is_none() && mount("1 2 3 - ").is_none());
        assert_eq!(unescape("a\\x\\"), "a\\x\\");
    }

    #[test]
    fn a_mount_point_contains_only_paths_below_it() {
        assert!(contains("/", "/srv/x") && contains("/srv", "/srv/x") && contains("/srv", "/srv"));
        assert!(!contains("/srv", "/srvx") && !contains("/srv/x", "/srv"));
    }
}
