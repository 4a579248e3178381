//! Notifications of the running kernel about actions of these tests. Without root the tests are skipped.

use root::notification::{Netlink, ReceiveOutcome, WriteListener, WriteMessage, wait};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Reads messages of a source for some seconds, until `wanted` matches one.
fn until<T>(mut more: impl FnMut(&mut Vec<T>), wanted: impl Fn(&T) -> bool) -> Vec<T> {
    let started = Instant::now();
    let mut reported = Vec::new();
    while !reported.iter().any(&wanted) && started.elapsed() < Duration::from_secs(10) {
        more(&mut reported);
        std::thread::sleep(Duration::from_millis(5));
    }
    reported
}

fn is_root() -> bool {
    let is = rustix::process::geteuid().is_root();
    if !is {
        println!("SKIP: these sources need root");
    }
    is
}

#[test]
fn process_events_are_received() {
    if !is_root() {
        return;
    }
    let source = match Netlink::processes() {
        Ok(source) => source,
        Err(error) => return println!("SKIP: {error}"),
    };
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let pid = child.id();
    let _ = child.wait();
    let exec = |message: &Vec<u8>| {
        let word = |at: usize| {
            message
                .get(at..at + 4)
                .map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap()))
        };
        word(36) == Some(2) && word(52) == Some(pid)
    };
    let reported = until(
        |reported| _ = source.take(1_000, &mut |one| reported.push(one.to_vec())).unwrap(),
        exec,
    );
    assert!(
        reported.iter().any(exec),
        "{} messages, none of process {pid}",
        reported.len()
    );
}

/// The kernel sends a requested uevent (a device's `uevent` file accepts the name of the action).
#[test]
fn device_events_are_received() {
    if !is_root() {
        return;
    }
    let source = Netlink::uevents().unwrap();
    if let Err(error) = std::fs::write("/sys/devices/system/cpu/cpu0/uevent", "change") {
        return println!("SKIP: /sys/devices/system/cpu/cpu0/uevent: {error}");
    }
    let wanted = |message: &Vec<u8>| message.starts_with(b"change@/devices/system/cpu/cpu0\0");
    let reported = until(
        |reported| _ = source.take(1_000, &mut |one| reported.push(one.to_vec())).unwrap(),
        wanted,
    );
    assert!(reported.iter().any(wanted));
}

#[test]
fn writers_of_kernel_files_are_received() {
    if !is_root() {
        return;
    }
    let writes = WriteListener::listen().unwrap();
    writes.add("/proc").unwrap();
    writes.add("/sys").unwrap();
    assert_eq!(writes.add("/no/such/place").unwrap_err().errno(), Some(libc::ENOENT));
    for path in [
        "/proc/sys/kernel/printk_ratelimit",
        "/sys/devices/virtual/workqueue/cpumask",
    ] {
        let Ok(value) = std::fs::read_to_string(path) else {
            println!("SKIP: no {path} here");
            continue;
        };
        // A write-only file, which no process can read, must not end the listening.
        let script = format!(
            "echo change >/sys/devices/system/cpu/cpu0/uevent; printf %s '{}' >{path}",
            value.trim()
        );
        let mut child = std::process::Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let pid = child.id();
        let _ = child.wait();
        let wanted = WriteMessage::By {
            pid,
            path: path.to_owned(),
        };
        let reported = until(
            |reported| writes.take(&mut |one| reported.push(one)).unwrap(),
            |one| *one == wanted,
        );
        assert!(reported.contains(&wanted), "{reported:?}");
    }
    // Our own writes are omitted.
    std::fs::write("/proc/self/comm", "renamed").unwrap();
    writes
        .take(&mut |one| assert!(!matches!(&one, WriteMessage::By { pid, .. } if *pid == std::process::id())))
        .unwrap();
}

#[test]
fn waiting_ends_at_the_timeout_or_with_data() {
    let (read, write) = rustix::pipe::pipe().unwrap();
    let started = Instant::now();
    assert_eq!(wait(&[read.as_fd()], Duration::from_millis(20)), [false]);
    assert!(started.elapsed() >= Duration::from_millis(20));
    rustix::io::write(&write, b"x").unwrap();
    assert_eq!(wait(&[read.as_fd()], Duration::from_secs(600)), [true]);
}

#[test]
fn link_events_need_no_root() {
    let source = Netlink::links().unwrap();
    assert_eq!(source.take(10, &mut |_| ()).unwrap(), ReceiveOutcome::All);
}
