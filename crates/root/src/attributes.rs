//! Copies the attributes that a file keeps when it is replaced: owner, group, permission bits, access list, extended
//! attributes.

use rustix::fs::{Gid, Mode, Stat, Uid, XattrFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::os::fd::AsFd;

/// The access list (`acl(5)`), which the kernel stores as an attribute.
const ACCESS_LIST: &CStr = c"system.posix_acl_access";

/// Attributes of the content rather than the file: hashes and signatures (IMA, EVM), and capabilities, which the kernel
/// itself removes from a file that is written to.
const OF_CONTENT: [&CStr; 3] = [c"security.ima", c"security.evm", c"security.capability"];

/// Copies the attributes of an old file to a new one.
///
/// # Errors
/// The errno of the step that failed: `EPERM` if the owner or an attribute may not be set.
pub(crate) fn copy(old: impl AsFd, new: impl AsFd) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(&old)?;
    let now = rustix::fs::fstat(&new)?;
    if (stat.st_uid, stat.st_gid) != (now.st_uid, now.st_gid) {
        rustix::fs::fchown(&new, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)))?;
    }
    rustix::fs::fchmod(&new, permissions(&stat))?;
    let (theirs, ours) = (names(&old)?, names(&new)?);
    // A default list of the directory was added to the new file.
    if ours.iter().any(|name| **name == *ACCESS_LIST) && !theirs.iter().any(|name| **name == *ACCESS_LIST) {
        rustix::fs::fremovexattr(&new, ACCESS_LIST)?;
    }
    for name in theirs {
        let value = value(&old, &name)?;
        let has_it = ours.contains(&name) && self::value(&new, &name).is_ok_and(|now| now == value);
        if !has_it {
            rustix::fs::fsetxattr(&new, &*name, &value, XattrFlags::empty())?;
        }
    }
    Ok(())
}

/// The permission bits.
pub(crate) fn permissions(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode & 0o7777)
}

/// The attributes to copy. A file system without support has none.
fn names(file: impl AsFd) -> Result<Vec<CString>, Errno> {
    let list = match whole(|buffer| rustix::fs::flistxattr(&file, buffer)) {
        Err(Errno::NOTSUP) => return Ok(Vec::new()),
        list => list?,
    };
    let names = list.split_inclusive(|byte| *byte == 0);
    let names = names.filter_map(|name| CStr::from_bytes_with_nul(name).ok().map(CStr::to_owned));
    Ok(names.filter(|name| !OF_CONTENT.contains(&&**name)).collect())
}

fn value(file: impl AsFd, name: &CStr) -> Result<Vec<u8>, Errno> {
    whole(|buffer| rustix::fs::fgetxattr(&file, name, buffer))
}

/// Reads a list or a value, which has at most 64 KiB (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
fn whole(ask: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; 1 << 16];
    let size = ask(&mut buffer)?;
    buffer.truncate(size);
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn mode_and_attributes_are_copied_to_the_new_file() {
        let dir = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| std::fs::File::create(dir.path().join(name)).unwrap());
        old.set_permissions(std::fs::Permissions::from_mode(0o640)).unwrap();
        rustix::fs::fsetxattr(&old, c"user.note", b"kept", XattrFlags::empty()).unwrap();
        copy(&old, &new).unwrap();
        assert_eq!(new.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
        assert_eq!(value(&new, c"user.note").unwrap(), b"kept");
    }

    /// Entries of an access list as in `posix_acl_xattr.h`: version 2, then tag, permissions and number of each.
    #[test]
    fn an_access_list_is_copied_and_a_default_one_is_not_added() {
        let entry = |tag: u16, permissions: u16, id: u32| {
            [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        let nobody = u32::MAX;
        let entries = [
            entry(1, 6, nobody),
            entry(2, 4, 4242),
            entry(4, 4, nobody),
            entry(16, 4, nobody),
            entry(32, 0, nobody),
        ];
        let list = [2_u32.to_le_bytes().to_vec(), entries.concat()].concat();
        let dir = tempfile::tempdir().unwrap();
        let [plain, listed, new, other] =
            ["plain", "listed", "new", "other"].map(|name| std::fs::File::create(dir.path().join(name)).unwrap());
        rustix::fs::fsetxattr(&listed, ACCESS_LIST, &list, XattrFlags::empty()).unwrap();
        copy(&listed, &new).unwrap();
        assert_eq!(value(&new, ACCESS_LIST).unwrap(), list);
        rustix::fs::fsetxattr(&other, ACCESS_LIST, &list, XattrFlags::empty()).unwrap();
        copy(&plain, &other).unwrap();
        assert_eq!(value(&other, ACCESS_LIST).err(), Some(Errno::NODATA));
    }
}
