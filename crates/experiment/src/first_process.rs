//! quietcore as the first process of a guest that a study has made: it mounts, starts the part of the study that runs there,
//! and switches off.

use crate::guest_task;
use root::{Status, first};
use session::Reporter;
use std::path::Path;
use std::process::Command;

/// As what the kernel starts it.
pub const NAME: &str = "/init";

/// Whether this process is the first of a guest that has a task.
#[must_use]
pub fn is_init_of_a_guest() -> bool {
    std::process::id() == 1
        && std::env::args_os().next().is_some_and(|name| name == NAME)
        && Path::new(guest_task::FILE).exists()
}

/// Does its work. The machine is off at the end.
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
