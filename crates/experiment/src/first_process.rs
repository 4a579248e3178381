//! Runs quietcore as PID 1 of a study's guest: mounts file systems, runs the guest's part of the study, and powers off.

use crate::guest_task;
use root::{Status, first};
use session::Reporter;
use std::path::Path;
use std::process::Command;

/// The path at which the kernel starts it.
pub const NAME: &str = "/init";

/// Whether this process is PID 1 of a guest with a task.
#[must_use]
pub fn is_init_of_a_guest() -> bool {
    std::process::id() == 1
        && std::env::args_os().next().is_some_and(|name| name == NAME)
        && Path::new(guest_task::FILE).exists()
}

/// Runs the guest. The machine is powered off at the end.
pub fn run(reporter: &dyn Reporter) -> Status {
    for error in first::mount_all() {
        reporter.note(&format!("{error}\n"));
    }
    match Command::new(NAME).args(guest_task::WORDS).spawn() {
        Ok(child) => first::wait_for(child.id()),
        Err(error) => reporter.note(&format!("{NAME}: {error}\n")),
    }
    first::power_off();
    Status::Unable
}
