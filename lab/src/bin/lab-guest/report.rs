//! Sends records over the serial port; see `lab::records` for the frame.

use lab::records::{CommandRecord, DONE, framed};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The possible ports for records, best first.
const PORTS: &[&str] = &["/dev/ttyS1", "/dev/hvc0"];

/// Runs a command and sends its result.
pub fn rec(name: &str, command: &[&str]) -> Result<(), String> {
    let (program, arguments) = command.split_first().ok_or("rec NAME COMMAND...")?;
    let started = Instant::now();
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let record = match output {
        Ok(output) => CommandRecord {
            status: output
                .status
                .code()
                .or_else(|| Some(128 + output.status.signal()?))
                .unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            ms,
            peak_kib: peak_kib(),
        },
        Err(error) => CommandRecord {
            status: 127,
            stderr: format!("{program}: {error}"),
            ms,
            ..CommandRecord::default()
        },
    };
    // A guest that boots several times counts its boots and adds the count to the name of each record.
    match std::env::var("LAB_BOOT") {
        Ok(boot) => send(&format!("{boot}/{name}"), &record),
        Err(_) => send(name, &record),
    }
}

/// Maximum memory of the command, which is the only child of this process, and of the command's own reaped children.
fn peak_kib() -> u64 {
    // SAFETY: rusage is plain data that the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    // A 32-bit long on armv7.
    #[allow(clippy::useless_conversion)]
    u64::try_from(i64::from(usage.ru_maxrss)).unwrap_or(0)
}

/// Reports that the scenario reached its end.
pub fn report_end() -> Result<(), String> {
    send(DONE, &CommandRecord::default())
}

fn send(name: &str, record: &CommandRecord) -> Result<(), String> {
    let body = serde_json::to_vec(record).map_err(|error| error.to_string())?;
    let opened = PORTS.iter().find_map(|port| {
        let file = std::fs::OpenOptions::new().write(true).open(port).ok()?;
        raw(file.as_raw_fd()).then_some(file)
    });
    let mut file = opened.ok_or("no port for records")?;
    file.write_all(&framed(name, &body))
        .map_err(|error| error.to_string())?;
    // SAFETY: a plain call on an open descriptor. It waits until the port has sent all bytes.
    unsafe { libc::tcdrain(file.as_raw_fd()) };
    Ok(())
}

/// Disables all processing of a terminal, so that bytes arrive unchanged.
pub fn raw(descriptor: i32) -> bool {
    // SAFETY: termios is plain data that tcgetattr fills before cfmakeraw and tcsetattr read it.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(descriptor, &raw mut settings) != 0 {
            return false;
        }
        libc::cfmakeraw(&raw mut settings);
        libc::tcsetattr(descriptor, libc::TCSANOW, &raw const settings) == 0
    }
}
