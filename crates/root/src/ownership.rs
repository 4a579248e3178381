//! Represents the ownership of a file as one word of text, as the journal stores and restores it; and finds other users
//! who may change a file.

use crate::RootError;
use crate::error::OnPath;
use std::fmt;
use std::path::{Path, PathBuf};

/// Owner, group and permission bits of a file. As text `UID:GID MODE`, the mode in octal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Permission bits.
    pub mode: u32,
}

impl Ownership {
    /// Parses the output of `Display`; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Ownership> {
        let (ids, mode) = text.trim().split_once(' ')?;
        let (uid, gid) = ids.split_once(':')?;
        Some(Ownership {
            uid: uid.parse().ok()?,
            gid: gid.parse().ok()?,
            mode: u32::from_str_radix(mode, 8).ok()?,
        })
    }

    /// The ownership after giving the file to a user and, if named, to a group that may then write too.
    #[must_use]
    pub fn given_to(self, uid: u32, gid: Option<u32>) -> Ownership {
        match gid {
            None => Ownership { uid, ..self },
            Some(gid) => Ownership {
                uid,
                gid,
                mode: self.mode | 0o020,
            },
        }
    }
}

/// The first of a file and its parent directories that users other than root may change, as owner or by its permission
/// bits. (Permissions of an access list are within the bits of the group, `acl(5)`.)
///
/// # Errors
/// The errno of `lstat(2)`.
pub fn changeable_by_others(path: &Path) -> Result<Option<(PathBuf, Ownership)>, RootError> {
    const GROUP_OR_OTHERS_WRITE: u32 = 0o022;
    for place in path.ancestors() {
        let stat = rustix::fs::lstat(place).on(place, "stat")?;
        let ownership = Ownership {
            uid: stat.st_uid,
            gid: stat.st_gid,
            mode: stat.st_mode & 0o7777,
        };
        if ownership.uid != 0 || ownership.mode & GROUP_OR_OTHERS_WRITE != 0 {
            return Ok(Some((place.to_owned(), ownership)));
        }
    }
    Ok(None)
}

impl fmt::Display for Ownership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {:04o}", self.uid, self.gid, self.mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ownership_survives_a_round_trip_through_text() {
        let root = Ownership {
            uid: 0,
            gid: 0,
            mode: 0o644,
        };
        assert_eq!(root.to_string(), "0:0 0644");
        assert_eq!(Ownership::parse("0:0 0644\n"), Some(root));
        assert_eq!(root.given_to(7, None).to_string(), "7:0 0644");
        assert_eq!(root.given_to(7, Some(8)).to_string(), "7:8 0664");
        for wrong in ["", "0:0", "0 0644", "0:0 0648", "-1:0 0644"] {
            assert_eq!(Ownership::parse(wrong), None, "{wrong}");
        }
    }
}
