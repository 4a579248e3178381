//! Selects what executes the instructions of guests on this host.
//!
//! The existence of `/dev/kvm` proves little: some hosts create a virtual machine through it but never execute an
//! instruction of it. KVM is used only after a kernel has printed something under it.

use guest::qemu::{Accelerator, GuestSize, PROGRAM, first_word};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Time limit for the first byte. On a real processor a kernel prints it within a second or two, even on a busy host.
const FIRST_WORD: Duration = Duration::from_secs(20);

/// Returns KVM if a kernel runs under it, otherwise emulation. `LAB_ACCEL=tcg` requests emulation.
#[must_use]
pub fn of_host(kernel: &Path) -> Accelerator {
    let is_refused = std::env::var("LAB_ACCEL").is_ok_and(|word| word == Accelerator::Tcg.word());
    if !is_refused && Path::new("/dev/kvm").exists() && prints(kernel) {
        Accelerator::Kvm
    } else {
        Accelerator::Tcg
    }
}

/// Whether a kernel prints anything under KVM. It is killed as soon as it does.
fn prints(kernel: &Path) -> bool {
    let sizes = GuestSize {
        cpus: 2,
        memory_mib: 512,
    };
    let started = Command::new(PROGRAM)
        .args(first_word(Accelerator::Kvm, sizes, kernel))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else {
        return false;
    };
    let (printed, hears) = mpsc::channel();
    let console = child.stdout.take();
    // The thread ends when the pipe closes, which happens when the child exits.
    std::thread::spawn(move || printed.send(console.is_some_and(|mut console| console.read_exact(&mut [0]).is_ok())));
    let prints = hears.recv_timeout(FIRST_WORD).unwrap_or(false);
    let _ = child.kill();
    let _ = child.wait();
    prints
}
