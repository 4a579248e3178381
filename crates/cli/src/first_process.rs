//! quietcore as the first process of a guest that a study has made: it mounts, starts the part of the study that runs there,
//! and switches off.

use crate::verbs::study::task;
use crate::{Screen, Status};
use root::first;
use std::path::Path;
use std::process::Command;

/// As what the kernel starts it.
pub const NAME: &str = "/init";

/// Whether this process is that one: the first of a machine that has a task.
pub fn is_this() -> bool {
    std::process::id() == 1
        && std::env::args_os().next().is_some_and(|name| name == NAME)
        && Path::new(task::FILE).exists()
}

/// Does its work. The machine is off at the end.
pub fn run() -> Status {
    let screen = Screen::plain();
    for error in first::mount_all() {
        screen.note(&format!("{error}\n"));
    }
    match Command::new(NAME).args(task::WORDS).spawn() {
        Ok(child) => first::wait_for(child.id()),
        Err(error) => screen.note(&format!("{NAME}: {error}\n")),
    }
    first::power_off();
    Status::Unable
}
