//! Places a watched command, and redirects its output.

use crate::blame_options::CommandOptions;
use machine::{CpuSet, Machine};
use root::{Failure, Status};
use session::{Session, cpuset_entry};

/// Prepares this process for executing the command: its standard output, the partition that owns the CPUs, and its affinity.
///
/// # Errors
/// CPUs that are offline, or that this process may not use.
pub fn place(
    session: &Session,
    machine: &Machine,
    cpus: Option<&CpuSet>,
    options: &CommandOptions,
) -> Result<(), Failure> {
    let root = session.root();
    if let Some(stdout) = options.stdout {
        let _ = rustix::stdio::dup2_stdout(stdout);
    }
    let Some(cpus) = cpus else {
        return Ok(());
    };
    let failed = |why: String| {
        Failure::new(
            Status::Unable,
            format!("the command cannot be placed on CPU {cpus}"),
            why,
            "choose CPUs that are online and that this process may use, or run it as root",
        )
    };
    if let Some(door) = cpuset_entry::door(root, machine, cpus) {
        cpuset_entry::enter(session, Some(&door), std::process::id()).map_err(|error| failed(error.why))?;
    }
    root::sched::set_affinity(0, cpus.words())
        .map_err(|errno| failed(std::io::Error::from_raw_os_error(errno).to_string()))
}
