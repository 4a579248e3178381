//! Where a command stands that is started to be looked at.

use crate::{CommandError, Status};
use machine::{CpuSet, Machine};
use session::{Session, cpuset_entry};
use terminal::Form;

/// Puts this process where the command shall run: into the partition that owns the CPUs, and onto them.
///
/// # Errors
/// CPUs that are offline, or that this process may not use.
pub fn place(
    session: &Session,
    machine: &Machine,
    cpus: Option<&CpuSet>,
    form: Form,
) -> Result<(), CommandError> {
    let root = session.root();
    if form == Form::Json {
        // Standard output is the answer's.
        let _ = rustix::stdio::dup2_stdout(rustix::stdio::stderr());
    }
    let Some(cpus) = cpus else {
        return Ok(());
    };
    let failed = |why: String| {
        CommandError::new(
            Status::Unable,
            format!("the command cannot be placed on CPU {cpus}"),
            why,
            "choose CPUs that are online and that this process may use, or run it as root",
        )
    };
    if let Some(door) = cpuset_entry::door(root, machine, cpus) {
        cpuset_entry::enter(session, &door, std::process::id()).map_err(failed)?;
    }
    root::sched::set_affinity(0, cpus.words())
        .map_err(|errno| failed(std::io::Error::from_raw_os_error(errno).to_string()))
}
