//! Network: datagrams to itself over loopback; a softirq of the sending CPU receives each of them.

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Ipv4Addr, RecvFlags, SendFlags, SocketAddrV4, SocketFlags, SocketType, bind, connect, getsockname,
    recv, send, socket_with,
};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Number of datagrams in flight; far fewer than a socket buffer holds.
const BURST: usize = 16;

/// Never returns, unless loopback is down or a filter drops the datagrams.
pub(super) fn run() {
    let Ok(socket) = own_echo() else { return };
    let mut datagram = [0_u8; 1024];
    loop {
        for _ in 0..BURST {
            if send(&socket, &datagram, SendFlags::empty()).is_err() {
                return;
            }
        }
        for _ in 0..BURST {
            if recv(&socket, &mut datagram[..], RecvFlags::empty()).is_err() {
                return;
            }
        }
    }
}

/// A socket that is connected to itself, with a receive timeout.
fn own_echo() -> rustix::io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    connect(&socket, &getsockname(&socket)?)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_secs(1)))?;
    Ok(socket)
}
