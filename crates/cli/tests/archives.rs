//! In its own process, because the kernel counts the memory of the parent as the child's until `exec`.
//!
//! Reading a large archive does not keep its unpacked content in memory.

#![allow(clippy::unwrap_used)]

use root::snapshot::Snapshot;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// The size of an unpacked archive of a machine with about 20,000 threads.
const UNPACKED: usize = 72 << 20;

/// Writes small files: until `exec`, the kernel counts the memory of this process as the child's too.
fn write(path: &Path) {
    let mut snapshot = Snapshot::create(path, "machine", 1).unwrap();
    snapshot
        .file("/proc/version", 0o444, b"Linux version 6.12.0\n")
        .unwrap();
    let status = format!("Name:\tx\n{}Cpus_allowed_list:\t0\n", "Filler:\t0 kB\n".repeat(230));
    for pid in 1..=UNPACKED / status.len() {
        snapshot
            .file(&format!("/proc/{pid}/status"), 0o444, status.as_bytes())
            .unwrap();
    }
    snapshot.finish().unwrap();
}

#[test]
#[allow(clippy::zombie_processes)] // `wait4` below waits for it, and tells its memory.
fn a_large_archive_is_read_in_memory_far_below_its_size() {
    if tempfile::tempfile_in("/var/tmp").is_err() && tempfile::tempfile().is_err() {
        println!("SKIP: a_large_archive: no temporary file can be made here, so memory must do");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.tar");
    write(&path);
    let child = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["inspect", "--json", "--root"])
        .arg(&path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut status = 0;
    // SAFETY: `rusage` is plain data that the call fills. The child is ours, and nothing else waits for it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage);
        usage
    };
    assert!(ExitStatus::from_raw(status).success());
    let peak = usize::try_from(usage.ru_maxrss).unwrap() << 10;
    assert!(peak < UNPACKED / 2, "{} MiB for {} MiB", peak >> 20, UNPACKED >> 20);
}
