//! Temporarily restricts work that may run on any CPU to the measured one.

use super::setting::ChangedFile;
use super::{Disturbance, InjectionSite, ProbePolicy};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::fs::File;
use std::io::{Error, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "unbound-work",
    about: "a terminal is written to while unbound work may run there only: flush_to_ldisc in a kworker",
    probe: ProbePolicy::Other,
    possible,
    expected: ExpectedBlame {
        classes: &["work"],
        name: &["flush_to_ldisc"],
        culprit: ExpectedCulprit::Injector,
        callsite: &[],
        reporting_events: &["workqueue/workqueue_queue_work"],
    },
    inject,
};

const CPUMASK: &str = "/sys/devices/virtual/workqueue/cpumask";

fn possible(place: &InjectionSite) -> Result<(), String> {
    if !place.alone {
        return Err("it changes where all unbound work of the machine may run".to_owned());
    }
    ChangedFile::save(CPUMASK).map(drop)
}

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    if place.measured >= 32 {
        return Err(format!("CPU {} is beyond the masks that this writes", place.measured));
    }
    let _there = ChangedFile::replace(CPUMASK, &format!("{:x}", 1_u32 << place.measured))?;
    let (mut master, mut slave) = terminal()?;
    // The kernel's work passes a line from one end of the terminal to the other. Reading waits for it.
    place.perform_repeatedly(count, || {
        let failed = |error: Error| format!("a terminal: {error}");
        slave.write_all(b"line\n").map_err(failed)?;
        let mut read = 0;
        while read < b"line\r\n".len() {
            read += master.read(&mut [0; 16]).map_err(failed)?;
        }
        Ok(())
    })
}

/// Both ends of a new pseudo-terminal, from a private mount of this thread: guests may have no `/dev/pts`.
fn terminal() -> Result<(File, File), String> {
    let failed = |what: &str| format!("{what}: {}", Error::last_os_error());
    // SAFETY: plain calls on NUL-terminated strings. The files own the new descriptors.
    unsafe {
        let nothing = std::ptr::null();
        let own = libc::MS_REC | libc::MS_PRIVATE;
        if libc::unshare(libc::CLONE_NEWNS) != 0
            || libc::mount(c"none".as_ptr(), c"/".as_ptr(), nothing, own, nothing.cast()) != 0
            || libc::mount(
                c"devpts".as_ptr(),
                c"/tmp".as_ptr(),
                c"devpts".as_ptr(),
                0,
                nothing.cast(),
            ) != 0
        {
            return Err(failed("a mount of devpts"));
        }
        let access = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
        let master = libc::open(c"/tmp/ptmx".as_ptr(), access);
        if master < 0 {
            return Err(failed("a terminal"));
        }
        let master = File::from_raw_fd(master);
        let unlocked: libc::c_int = 0;
        // TIOCSPTLCK and TIOCGPTPEER (`include/uapi/asm-generic/ioctls.h`) unlock the other end and open it.
        if libc::ioctl(master.as_raw_fd(), 0x4004_5431_u32 as _, &raw const unlocked) != 0 {
            return Err(failed("the lock of a terminal"));
        }
        let slave = libc::ioctl(master.as_raw_fd(), 0x5441_u32 as _, access);
        if slave < 0 {
            return Err(failed("the other end of a terminal"));
        }
        Ok((master, File::from_raw_fd(slave)))
    }
}
