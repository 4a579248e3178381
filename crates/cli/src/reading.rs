//! What every reading verb takes: which machine to read.

use crate::CommandError;
use crate::screen::warn;
use clap::Args;
use machine::kernel;
use root::Root;
use std::path::{Path, PathBuf};

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
            Some(path) => captured(path),
        }
    }
}

/// Opens a captured machine that the user named: where nothing is there, the name is wrong and not the machine.
///
/// # Errors
/// As [`Reading::open`].
pub fn captured(path: &Path) -> Result<Root, CommandError> {
    let root = open(path)?;
    warn_of_kernel(&root);
    Ok(root)
}

/// Warns of a captured machine with a kernel older than those that quietcore is made for, whatever the command.
fn warn_of_kernel(root: &Root) {
    let release = kernel::release(root);
    let machine = kernel::Kernel {
        version: release.as_deref().and_then(kernel::parse_version),
        release,
        ..kernel::Kernel::default()
    };
    if let Some(finding) = plan::unsupported_kernel(&machine) {
        warn(
            &format!("this captured machine has an unsupported kernel ({})", finding.id),
            &finding.message,
            &finding.fix,
        );
    }
}

fn open(path: &Path) -> Result<Root, CommandError> {
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
