//! Filters processes by owner, because any user may give a process any name.

use crate::accounts;
use root::{Failure, Root};
use std::collections::BTreeMap;

/// The selected users, and the names of users.
pub(super) struct Owners<'a> {
    root: &'a Root,
    only: Option<u32>,
    names: BTreeMap<u32, String>,
}

impl<'a> Owners<'a> {
    /// Of all users, or of only one by name or number.
    ///
    /// # Errors
    /// A name that does not exist.
    pub fn new(root: &'a Root, only: Option<&str>) -> Result<Owners<'a>, Failure> {
        Ok(Owners {
            root,
            only: only.map(|user| accounts::user(root, user)).transpose()?,
            names: accounts::user_names(root),
        })
    }

    /// Whether a process is selected: real and effective user must both be the requested one. A setuid program belongs to
    /// neither user.
    pub fn mean(&self, pid: u32) -> bool {
        self.only
            .is_none_or(|user| machine::tasks::users_of(self.root, pid) == Some([user; 2]))
    }

    /// The real user of a thread by name, or by number if it has no name; `None` if the thread is gone.
    pub fn name(&self, tid: u32) -> Option<String> {
        let [user, _] = machine::tasks::users_of(self.root, tid)?;
        Some(self.names.get(&user).cloned().unwrap_or_else(|| user.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes with their real and effective users.
    const PROCESSES: [(u32, [u32; 2]); 5] = [
        (10, [0, 0]),
        (20, [1000, 1000]),
        (21, [1000, 0]),
        (22, [0, 1000]),
        (30, [4242, 4242]),
    ];

    /// A machine with an account `ana`, number 1000.
    fn machine() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (pid, [real, effective]) in PROCESSES {
            let process = dir.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&process).unwrap();
            let status = format!("Name:\tapp\nUid:\t{real}\t{effective}\t{effective}\t{effective}\nGid:\t0\t0\t0\t0\n");
            std::fs::write(process.join("status"), status).unwrap();
        }
        std::fs::create_dir(dir.path().join("etc")).unwrap();
        let accounts = "root:x:0:0::/:/bin/sh\nana:x:1000:1000::/:/bin/sh\nalias:x:1000:5::/:/bin/sh\n";
        std::fs::write(dir.path().join("etc/passwd"), accounts).unwrap();
        dir
    }

    fn meant(root: &Root, user: Option<&str>) -> Vec<u32> {
        let owners = Owners::new(root, user).unwrap();
        let all = PROCESSES.iter().map(|(pid, _)| *pid);
        all.filter(|pid| owners.mean(*pid)).collect()
    }

    #[test]
    fn only_processes_with_all_ids_of_the_user_match() {
        let dir = machine();
        let root = Root::open(dir.path()).unwrap();
        assert_eq!(meant(&root, None), [10, 20, 21, 22, 30]);
        for (user, pids) in [
            ("ana", &[20][..]),
            ("alias", &[20]),
            ("1000", &[20]),
            ("root", &[10]),
            ("4242", &[30]),
            ("4243", &[]),
        ] {
            assert_eq!(meant(&root, Some(user)), pids, "{user}");
        }
        for user in ["", "ben", "-1", "4294967295"] {
            assert!(Owners::new(&root, Some(user)).is_err(), "{user}");
        }
        assert!(
            !Owners::new(&root, Some("ana")).unwrap().mean(99),
            "it no longer exists"
        );
    }

    #[test]
    fn owners_are_existing_users_by_name_or_number() {
        let dir = machine();
        let root = Root::open(dir.path()).unwrap();
        let owners = Owners::new(&root, None).unwrap();
        for (pid, name) in [
            (10, Some("root")),
            (20, Some("ana")),
            (21, Some("ana")),
            (22, Some("root")),
            (30, Some("4242")),
            (99, None),
        ] {
            assert_eq!(owners.name(pid).as_deref(), name, "{pid}");
        }
    }
}
