//! Boots one guest and waits until it stops, sends its last record, or reaches the time limit.

use crate::error::LabError;
use crate::records::GuestRecords;
use crate::scenario::{GuestInit, ScenarioCell};
use guest::qemu::Accelerator;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How a guest ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmEnd {
    /// The guest sent its last record.
    Done,
    /// The guest stopped without its last record.
    Stopped,
    /// The time limit was reached.
    TimeOut,
    /// The first guest failed to install its disk.
    NotInstalled,
    /// A fault of the emulator itself (see [`emulator_fault`]).
    Emulator,
}

/// The results of a guest.
pub struct VmOutcome {
    /// How it ended.
    pub end: VmEnd,
    /// Its records.
    pub records: GuestRecords,
    /// Wall time on the host.
    pub duration: Duration,
    /// The kernel's console.
    pub console: PathBuf,
}

/// The machine of a guest.
#[derive(Clone, Copy, Debug)]
pub struct VmMachine<'a> {
    /// Its shape and its kernel.
    pub cell: &'a ScenarioCell,
    /// What executes its instructions.
    pub accelerator: Accelerator,
}

/// What the machine boots.
pub enum VmBoot<'a> {
    /// A kernel that QEMU itself loads, with an initramfs and the lab's own or another command line. The machine stops
    /// when the guest reboots.
    Kernel {
        /// The kernel.
        image: &'a Path,
        /// The archive.
        initramfs: &'a [u8],
        /// Replaces the lab's own command line.
        line: Option<&'a str>,
    },
    /// The boot loader that the firmware finds on the disk. The machine reboots as often as the guest requests.
    Disk,
}

/// Boots a guest and collects its records. `dir` gets `console`, `records` and `initramfs` (removed at the end).
/// `devices` are QEMU arguments in addition to those of the machine's cell.
///
/// # Errors
/// [`LabError`] when QEMU cannot be started or `dir` cannot be written.
pub fn boot(start: &VmBoot, devices: &[String], machine: &VmMachine, dir: &Path) -> Result<VmOutcome, LabError> {
    let cell = machine.cell;
    std::fs::create_dir_all(dir).map_err(LabError::file(dir))?;
    let (console, port, initrd) = (dir.join("console"), dir.join("records"), dir.join("initramfs"));
    for file in [&console, &port] {
        File::create(file).map_err(LabError::file(file))?;
    }
    let mut command = emulator(machine, &console, &port);
    command.args(devices);
    if let VmBoot::Kernel { image, initramfs, line } = start {
        std::fs::write(&initrd, initramfs).map_err(LabError::file(&initrd))?;
        command.arg("-no-reboot");
        command.arg("-kernel").arg(image).arg("-initrd").arg(&initrd);
        command
            .arg("-append")
            .arg(line.map_or_else(|| own_line(cell), str::to_owned));
    }
    let started = Instant::now();
    let mut child = spawn(command, &dir.join("qemu"))?;
    let ended = wait(&mut child, &port, started + cell.patience())?;
    let took = started.elapsed();
    std::fs::remove_file(&initrd).ok();
    let records = GuestRecords::parse(&std::fs::read(&port).map_err(LabError::file(&port))?);
    let text = std::fs::read(&console).map_err(LabError::file(&console))?;
    let end = match ended {
        _ if records.has_ended => VmEnd::Done,
        _ if emulator_fault(&String::from_utf8_lossy(&text)) => VmEnd::Emulator,
        other => other,
    };
    Ok(VmOutcome {
        end,
        records,
        duration: took,
        console,
    })
}

/// Whether a console shows a known fault of the emulator: QEMU's translator races with live patching of kernel text, so
/// the guest hits a breakpoint that the kernel has already removed.
#[must_use]
pub fn emulator_fault(console: &str) -> bool {
    console.contains("Oops: int3") || console.contains("int3: 0000 [#1]")
}

/// QEMU with the machine, without anything to boot.
fn emulator(machine: &VmMachine, console: &Path, port: &Path) -> Command {
    let cell = machine.cell;
    let program = match cell.kernel.arch {
        "arm64" => "qemu-system-aarch64",
        "armhf" => "qemu-system-arm",
        _ => "qemu-system-x86_64",
    };
    let mut command = Command::new(program);
    match cell.kernel.arch {
        "arm64" => command.args(["-M", "virt", "-cpu", "cortex-a72"]),
        "armhf" => command.args(["-M", "virt", "-cpu", "cortex-a15"]),
        _ => command.args(["-M", "q35"]).args(machine.accelerator.arguments()),
    };
    if cell.kernel.arch != "amd64" {
        // With a single emulation thread, 32-bit arm guests with several CPUs hang when they open their console.
        command.args(["-accel", "tcg,thread=multi"]);
    }
    command
        .args(["-display", "none", "-monitor", "none"])
        .args(["-net", "none", "-nodefaults"])
        .args(cell.shape.arguments())
        .arg("-serial")
        .arg(format!("file:{}", console.display()))
        .args(ports(cell, port));
    command
}

/// The kernel command line of every guest of a cell. Page-table isolation is off, because it makes every system call
/// flush the emulator's translations, which takes a third of a guest's time. A cell with its own command line tests
/// that line and gets no other words.
fn own_line(cell: &ScenarioCell) -> String {
    let console = if cell.kernel.arch == "amd64" {
        "ttyS0"
    } else {
        "ttyAMA0"
    };
    format!(
        "console={console} panic=-1 tsc=reliable lab.cgroup={} {} {}",
        cell.layout.word(),
        init(cell),
        if cell.shape.boot.is_empty() {
            "pti=off"
        } else {
            cell.shape.boot
        }
    )
}

fn spawn(mut command: Command, error_file: &Path) -> Result<Child, LabError> {
    let file = File::create(error_file).map_err(LabError::file(error_file))?;
    let both = file.try_clone().map_err(LabError::file(error_file))?;
    command.stdin(Stdio::null()).stdout(both).stderr(file);
    // SAFETY: prctl is async-signal-safe, and the closure accesses no memory of ours.
    unsafe {
        command.pre_exec(|| {
            // The guest must end when the lab ends.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    command.spawn().map_err(|error| LabError::Program {
        program: command.get_program().to_string_lossy().into_owned(),
        why: error.to_string(),
    })
}

/// The kernel parameter that selects the guest's init.
fn init(cell: &ScenarioCell) -> &'static str {
    match cell.init {
        GuestInit::Script => "",
        GuestInit::Systemd | GuestInit::Debian => {
            "lab.init=systemd systemd.unit=lab.service systemd.log_target=console"
        }
    }
}

/// The device for records: the second serial port on x86, a virtio console elsewhere.
fn ports(cell: &ScenarioCell, port: &Path) -> Vec<String> {
    let file = port.display();
    let words: &[&str] = if cell.kernel.arch == "amd64" {
        &["-serial", "file:FILE"]
    } else {
        &[
            "-chardev",
            "file,id=records,path=FILE",
            "-device",
            "virtio-serial-device",
            "-device",
            "virtconsole,chardev=records",
        ]
    };
    words
        .iter()
        .map(|word| word.replace("FILE", &file.to_string()))
        .collect()
}

fn wait(child: &mut Child, port: &Path, until: Instant) -> Result<VmEnd, LabError> {
    let failed = |error: std::io::Error| LabError::Program {
        program: "qemu".into(),
        why: error.to_string(),
    };
    let mut ready_since: Option<Instant> = None;
    loop {
        if child.try_wait().map_err(failed)?.is_some() {
            return Ok(VmEnd::Stopped);
        }
        // Some machines cannot power off. Their last record is the end.
        if ready_since.is_none() && ends_with_done(port) {
            ready_since = Some(Instant::now());
        }
        let lingers = ready_since.is_some_and(|since| since.elapsed() > Duration::from_secs(2));
        let late = Instant::now() >= until;
        if lingers || late {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            return Ok(if lingers { VmEnd::Stopped } else { VmEnd::TimeOut });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn ends_with_done(port: &Path) -> bool {
    use std::io::{Read, Seek, SeekFrom};
    let Ok(mut file) = File::open(port) else {
        return false;
    };
    let length = file.metadata().map_or(0, |meta| meta.len());
    let mut end = Vec::new();
    let read = file
        .seek(SeekFrom::Start(length.saturating_sub(200)))
        .and_then(|_| file.take(200).read_to_end(&mut end));
    read.is_ok() && GuestRecords::parse(&end).has_ended
}

#[cfg(test)]
mod tests {
    use super::emulator_fault;

    #[test]
    fn only_the_known_fault_counts_as_an_emulator_fault() {
        assert!(emulator_fault("[    1.2] Oops: int3: 0000 [#1] PREEMPT SMP"));
        assert!(!emulator_fault("[    1.2] BUG: kernel NULL pointer dereference"));
        assert!(!emulator_fault("Kernel panic - not syncing: Attempted to kill init!"));
    }
}
