//! Selects the machine that a reading command reads.

use clap::Args;
use machine::kernel;
use root::{Failure, Root, Status};
use session::Session;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Which machine a reading command reads.
#[derive(Args, Clone, Debug, Default)]
pub struct ReadingArgs {
    /// Read a captured machine: a directory or an archive (see `quietcore snapshot`)
    #[arg(long, value_name = "PATH")]
    pub root: Option<PathBuf>,
}

impl ReadingArgs {
    /// Opens the running machine, or the captured machine that was named.
    ///
    /// # Errors
    /// The captured root does not exist, is not an archive, or is hostile.
    pub fn open<'s>(&self, session: &'s Session) -> Result<Machines<'s>, Failure> {
        match &self.root {
            None => Ok(Machines::Running(session)),
            Some(path) => Ok(Machines::Captured(Box::new(captured(session, path)?))),
        }
    }
}

/// The session of a reading command.
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

/// Opens a captured machine. Where the path does not exist, the error is wrong usage, not a fault of the machine.
///
/// # Errors
/// As [`ReadingArgs::open`].
pub fn captured(session: &Session, path: &Path) -> Result<Session, Failure> {
    let captured = session.captured(open(path)?);
    warn_of_kernel(&captured);
    Ok(captured)
}

/// Warns, in every command, if the kernel of a captured machine is older than quietcore supports.
fn warn_of_kernel(session: &Session) {
    let release = kernel::release(session.root());
    let machine = kernel::Kernel {
        version: release.as_deref().and_then(kernel::parse_version),
        release,
        ..kernel::Kernel::default()
    };
    if let Some(finding) = plan::unsupported_kernel(&machine) {
        session.warn(&Failure::new(
            Status::Unable,
            format!("this captured machine has an unsupported kernel ({})", finding.id),
            finding.message,
            finding.fix,
        ));
    }
}

fn open(path: &Path) -> Result<Root, Failure> {
    Root::open(path).map_err(|error| match error.errno() {
        Some(libc::ENOENT | libc::ENOTDIR) => Failure::usage(
            format!("there is no captured machine `{}`", report::safe_path(path)),
            "there is no such file or directory",
            "specify a directory or an archive that `quietcore snapshot` wrote",
        ),
        _ => error.into(),
    })
}
