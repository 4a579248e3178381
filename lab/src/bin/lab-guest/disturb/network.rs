//! The measured CPU receives packets, because a thread there sends to itself or because packet steering (RPS) sends
//! them there. All of it runs in its own network namespace, so that no other packets are redirected.

use super::counted::{SOFTIRQS, each_counted};
use super::setting::ChangedFile;
use super::{Disturbance, InjectionSite, ProbePolicy, place_thread};
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::Error;
use std::net::UdpSocket;
use std::time::Duration;

/// Packets of a sender on the measured CPU.
pub(super) const LOCAL: Disturbance = Disturbance {
    name: "net-local",
    about: "a FIFO thread there sends a packet to this machine: NET_RX softirq",
    probe: ProbePolicy::Other,
    possible: |_| in_a_thread(|| namespace().map(drop)),
    expected: ExpectedBlame {
        classes: &["soft_net"],
        name: &["NET_RX"],
        culprit: ExpectedCulprit::Injector,
        callsite: &[],
        reporting_events: &["irq/softirq_raise"],
    },
    inject: local,
};

/// Packets that RPS steers to the measured CPU.
pub(super) const STEERED: Disturbance = Disturbance {
    name: "net-rps",
    about: "a packet that another CPU received is steered there (rps_cpus): NET_RX softirq",
    possible: |place| {
        let measured = place.measured;
        in_a_thread(move || namespace().and_then(|()| steer(measured)).map(drop))
    },
    expected: ExpectedBlame {
        // With PREEMPT_RT a thread receives steered packets.
        classes: &["soft_net", "kernel_thread"],
        name: &["NET_RX", "backlog_napi"],
        // The culprit acts through the interrupt that steering sends or, with PREEMPT_RT, by waking that thread.
        culprit: ExpectedCulprit::Injector,
        callsite: &[],
        reporting_events: &["irq/softirq_raise", "ipi/ipi_send_cpu"],
    },
    inject: steered,
    ..LOCAL
};

/// Moves the calling thread into its own network namespace with an active loopback.
fn namespace() -> Result<(), String> {
    let failed = |what: &str| format!("{what}: {}", Error::last_os_error());
    // SAFETY: plain calls; the request names a device and is as large as the kernel reads.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNET) != 0 {
            return Err(failed("a network namespace"));
        }
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(failed("a socket"));
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let status = libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const request);
        let done = if status == 0 { Ok(()) } else { Err(failed("loopback")) };
        libc::close(socket);
        done
    }
}

/// Steers the packets of this namespace's loopback. A private mount of sysfs in this thread shows the setting.
fn steer(cpu: u32) -> Result<ChangedFile, String> {
    // SAFETY: plain calls on NUL-terminated strings. The mount disappears with the thread's namespace.
    let mounted = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                c"none".as_ptr(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                std::ptr::null(),
            ) == 0
            && libc::mount(
                c"sysfs".as_ptr(),
                c"/sys".as_ptr(),
                c"sysfs".as_ptr(),
                0,
                std::ptr::null(),
            ) == 0
    };
    if !mounted {
        return Err(format!("sysfs of a network namespace: {}", Error::last_os_error()));
    }
    // A hexadecimal mask in groups of 32 CPUs, the highest group first.
    let groups = vec!["0"; cpu as usize / 32];
    let mask = format!(
        "{:x}{}",
        1_u32 << (cpu % 32),
        groups.iter().map(|_| ",00000000").collect::<String>()
    );
    ChangedFile::replace("/sys/class/net/lo/queues/rx-0/rps_cpus", &mask)
}

/// Runs this in a separate thread: the namespace disappears when the thread that entered it ends.
fn in_a_thread(does: impl FnOnce() -> Result<(), String> + Send) -> Result<(), String> {
    std::thread::scope(|scope| match scope.spawn(does).join() {
        Ok(done) => done,
        Err(_) => Err("the thread of a namespace failed".to_owned()),
    })
}

/// A socket that sends to itself.
fn socket() -> Result<UdpSocket, String> {
    let failed = |error: Error| format!("a UDP socket: {error}");
    let socket = UdpSocket::bind("127.0.0.1:0").map_err(failed)?;
    socket.connect(socket.local_addr().map_err(failed)?).map_err(failed)?;
    socket.set_read_timeout(Some(Duration::from_secs(5))).map_err(failed)?;
    Ok(socket)
}

/// Sends a packet and waits until it has arrived.
fn there_and_back(socket: &UdpSocket) -> Result<(), String> {
    let failed = |error: Error| format!("a packet: {error}");
    socket.send(&[1]).map_err(failed)?;
    socket.recv(&mut [0; 8]).map(drop).map_err(failed)
}

fn local(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    namespace()?;
    let socket = socket()?;
    place_thread(LOCAL.name, place.measured, "fifo:60")?;
    let measured = place.measured;
    each_counted((SOFTIRQS, "NET_RX"), measured, || {
        place.perform_repeatedly(count, || there_and_back(&socket))
    })
}

fn steered(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    namespace()?;
    let _steered = steer(place.measured)?;
    let socket = socket()?;
    place.perform_repeatedly(count, || there_and_back(&socket))
}
