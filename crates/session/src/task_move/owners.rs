//! Whose the processes are: any user may give a process any name.

use crate::accounts;
use root::{Failure, Root};
use std::collections::BTreeMap;

/// Which users' processes are meant, and what users are called.
pub(super) struct Owners<'a> {
    root: &'a Root,
    only: Option<u32>,
    names: BTreeMap<u32, String>,
}

impl<'a> Owners<'a> {
    /// Of all users, or only of one by name or number.
    ///
    /// # Errors
    /// A name that is not there.
    pub fn new(root: &'a Root, only: Option<&str>) -> Result<Owners<'a>, Failure> {
        Ok(Owners {
            root,
            only: only.map(|user| accounts::user(root, user)).transpose()?,
            names: accounts::user_names(root),
        })
    }

    /// Whether a process is meant: real and effective user are the one that was asked for. What a user starts with the rights of
    /// another belongs to neither.
    pub fn mean(&self, pid: u32) -> bool {
        self.only
            .is_none_or(|user| machine::tasks::users_of(self.root, pid) == Some([user; 2]))
    }

    /// The real user of a thread by name, or by number where that has none; `None` when the thread is gone.
    pub fn name(&self, tid: u32) -> Option<String> {
        let [user, _] = machine::tasks::users_of(self.root, tid)?;
        Some(self.names.get(&user).cloned().unwrap_or_else(|| user.to_string()))
    }
}
