//! Builds the initramfs of a guest: this program as PID 1, its task, and the study.

use crate::first_process;
use crate::guest_task::{self as task, Task};
use guest::Archive;

/// The archive that the kernel unpacks. It is not compressed: an emulated processor decompresses slower than QEMU reads.
pub fn archive(program: &[u8], task: &Task, study: &[u8]) -> Vec<u8> {
    let mut archive = Archive::default();
    for dir in [
        "dev", "proc", "sys", "run", "tmp", "root", "var", "var/lib", "study",
    ] {
        archive.dir(dir);
    }
    archive.program(first_process::NAME, program);
    archive.file(task::STUDY, study);
    archive.file(task::FILE, &serde_json::to_vec(task).unwrap_or_default());
    archive.finish()
}
