//! What every reading verb takes: which machine to read.

use crate::CommandError;
use clap::Args;
use root::Root;
use session::Session;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Which machine a reading verb reads.
#[derive(Args, Clone, Debug, Default)]
pub struct Reading {
    /// Read a captured machine: a directory, or an archive (tar, also gz, bz2, xz, zst)
    #[arg(long, value_name = "PATH")]
    pub root: Option<PathBuf>,
}

impl Reading {
    /// Opens it: the machine of this session, or the captured one that was named.
    ///
    /// # Errors
    /// A captured root that does not exist, is no archive, or is hostile.
    pub fn open<'s>(&self, session: &'s Session) -> Result<Machines<'s>, CommandError> {
        match &self.root {
            None => Ok(Machines::Running(session)),
            Some(path) => Ok(Machines::Captured(Box::new(session.captured(captured(path)?)))),
        }
    }
}

/// The session of a reading verb.
pub enum Machines<'s> {
    /// The running machine.
    Running(&'s Session),
    /// A captured one.
    Captured(Box<Session>),
}

impl Deref for Machines<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        match self {
            Machines::Running(session) => session,
            Machines::Captured(session) => session,
        }
    }
}

/// Opens a captured machine that the user named: where nothing is there, the name is wrong and not the machine.
///
/// # Errors
/// As [`Reading::open`].
pub fn captured(path: &Path) -> Result<Root, CommandError> {
    Root::open(path).map_err(|error| match error.errno() {
        Some(libc::ENOENT | libc::ENOTDIR) => CommandError::usage(
            format!(
                "there is no captured machine `{}`",
                report::safe(&path.display().to_string())
            ),
            "there is no such file or directory",
            "name a directory or an archive that `quietcore snapshot` wrote",
        ),
        _ => error.into(),
    })
}
