//! Selects the processor of the guests: this machine's own through KVM if it works, or an emulated one.

use super::{KernelImage, not_started};
use guest::qemu::{self, Accelerator, GuestSize, PROGRAM, QUIT};
use root::Failure;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The time limit of a trial.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time for the first console output: a kernel on a real processor needs a second or two, even on a busy machine.
const FIRST_WORD: Duration = Duration::from_secs(20);

/// The best processor that QEMU can provide here. A device file alone proves little: some hosts reject what it promises.
/// Others accept everything and never run an instruction of the guest, so a kernel has to print something.
///
/// # Errors
/// QEMU cannot be started, or cannot create any machine.
pub fn accelerator(sizes: GuestSize, kernel: Option<&KernelImage>) -> Result<Accelerator, Failure> {
    let speaks = |kernel: &KernelImage| speaks(Accelerator::Kvm, sizes, &kernel.path);
    if Path::new("/dev/kvm").exists()
        && tried(Accelerator::Kvm)? == AcceleratorTrial::Works
        && kernel.map_or(Ok(true), speaks)?
    {
        return Ok(Accelerator::Kvm);
    }
    match tried(Accelerator::Tcg)? {
        AcceleratorTrial::Works => Ok(Accelerator::Tcg),
        AcceleratorTrial::Refused(why) => Err(Failure::usage(
            format!("{PROGRAM} cannot run a virtual machine here"),
            why,
            "install a complete QEMU of 2020 or later",
        )),
    }
}

/// Whether QEMU can create a machine.
#[derive(Debug, PartialEq, Eq)]
enum AcceleratorTrial {
    /// It can.
    Works,
    /// It cannot, with its message.
    Refused(String),
}

/// Tries to create such a machine.
fn tried(accelerator: Accelerator) -> Result<AcceleratorTrial, Failure> {
    let mut command = Command::new(PROGRAM);
    command
        .args(qemu::trial(accelerator))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| not_started(&error))?;
    if let Some(mut input) = child.stdin.take() {
        // If it has exited already, its status is read below.
        let _ = input.write_all(QUIT);
    }
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Ok(AcceleratorTrial::Refused("it did not end".to_owned()));
            }
            Err(error) => return Ok(AcceleratorTrial::Refused(error.to_string())),
        }
    };
    if status.success() {
        return Ok(AcceleratorTrial::Works);
    }
    let mut error_text = String::new();
    if let Some(errors) = child.stderr.as_mut() {
        let _ = errors.take(1 << 12).read_to_string(&mut error_text);
    }
    let line = error_text.lines().find(|line| !line.trim().is_empty());
    Ok(AcceleratorTrial::Refused(
        line.map_or_else(|| status.to_string(), report::safe),
    ))
}

/// Whether a kernel prints anything on its console with this accelerator. It is killed as soon as it does.
fn speaks(accelerator: Accelerator, sizes: GuestSize, kernel: &Path) -> Result<bool, Failure> {
    let mut child = Command::new(PROGRAM)
        .args(qemu::first_word(accelerator, sizes, kernel))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| not_started(&error))?;
    let (sender, hears) = mpsc::channel();
    let console = child.stdout.take();
    // The thread ends with the pipe, which ends with the child.
    std::thread::spawn(move || {
        let first = console.is_some_and(|mut console| console.read_exact(&mut [0]).is_ok());
        sender.send(first)
    });
    let speaks = hears.recv_timeout(FIRST_WORD).unwrap_or(false);
    let _ = child.kill();
    let _ = child.wait();
    Ok(speaks)
}
