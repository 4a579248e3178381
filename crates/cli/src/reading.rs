//! What every reading verb takes: which machine to read.

use crate::CommandError;
use clap::Args;
use root::Root;
use std::path::PathBuf;

/// Which machine a reading verb reads.
#[derive(Args, Clone, Debug, Default)]
pub struct Reading {
    /// Read a captured machine: a directory, or an archive (tar, also gz, bz2, xz, zst)
    #[arg(long, value_name = "PATH")]
    pub root: Option<PathBuf>,
}

impl Reading {
    /// Opens it.
    ///
    /// # Errors
    /// A captured root that does not exist, is no archive, or is hostile.
    pub fn open(&self) -> Result<Root, CommandError> {
        match &self.root {
            None => Ok(Root::live()),
            Some(path) => Ok(Root::open(path)?),
        }
    }
}
