//! Receives messages from kernel sockets: the process connector, uevents, and changes of links and addresses.

use crate::RootError;
use crate::error::{OnPath, failed};
use rustix::io::Errno;
use rustix::net::netlink::{CONNECTOR, KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Size of the kernel's receive buffer in bytes: enough for some ten thousand processes.
const ROOM: usize = 4 << 20;

/// No message of these sources is larger (`UEVENT_BUFFER_SIZE` is 2,048; a link with many attributes has some 2,000).
const MESSAGE: usize = 16 << 10;

/// `CN_IDX_PROC`, also the group.
const PROCESSES: u32 = 1;

/// `RTMGRP_LINK`, `RTMGRP_IPV4_IFADDR`, `RTMGRP_IPV6_IFADDR`.
const LINKS: u32 = 0x1 | 0x10 | 0x100;

/// The group of the kernel's own uevents; the other is udev's.
const OF_KERNEL: u32 = 1;

/// One of these sockets.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    name: &'static str,
}

/// The result of receiving messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveOutcome {
    /// All available messages.
    All,
    /// The requested number; there may be more.
    Some,
    /// The kernel's buffer was full and messages were lost.
    Lost,
}

impl Netlink {
    /// Processes and threads that start, change and end. It needs `CAP_NET_ADMIN` in the initial user namespace.
    ///
    /// # Errors
    /// The errno: `EPERM` without the privilege, `EPROTONOSUPPORT` or `ECONNREFUSED` for a kernel without it.
    pub fn processes() -> Result<Netlink, RootError> {
        let source = Netlink::open("the process connector", CONNECTOR, PROCESSES)?;
        source.listen().on(source.name, "listen to")?;
        Ok(source)
    }

    /// Devices, including CPUs, that are added, removed or changed.
    ///
    /// # Errors
    /// The errno of the socket.
    pub fn uevents() -> Result<Netlink, RootError> {
        Netlink::open("uevents", KOBJECT_UEVENT, OF_KERNEL)
    }

    /// Network interfaces and their addresses, in this network namespace.
    ///
    /// # Errors
    /// The errno of the socket.
    pub fn links() -> Result<Netlink, RootError> {
        // NETLINK_ROUTE is 0, the value of an unspecified protocol.
        Netlink::open("rtnetlink", None, LINKS)
    }

    fn open(name: &'static str, protocol: impl Into<Option<Protocol>>, groups: u32) -> Result<Netlink, RootError> {
        let failed = |errno: Errno| failed(name, "listen to", errno);
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol.into())
            .map_err(failed)?;
        // Without the privilege to exceed `rmem_max`, the allowed size must suffice.
        let more = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, ROOM);
        if more.is_err() {
            let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, ROOM);
        }
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, groups)).map_err(failed)?;
        Ok(Netlink { socket, name })
    }

    /// `PROC_CN_MCAST_LISTEN`: from 6.6 on the kernel sends only to sockets that have sent this themselves.
    fn listen(&self) -> Result<(), Errno> {
        const LENGTH: u32 = 16 + 20 + 4;
        let mut message = Vec::with_capacity(LENGTH as usize);
        message.extend(LENGTH.to_ne_bytes());
        // NLMSG_DONE, no flags, number and sender 0.
        message.extend(3_u16.to_ne_bytes());
        message.extend([0; 10]);
        // idx, val (CN_VAL_PROC), number, answer to, length, flags.
        message.extend(PROCESSES.to_ne_bytes());
        message.extend(1_u32.to_ne_bytes());
        message.extend([0; 8]);
        message.extend(4_u16.to_ne_bytes());
        message.extend([0; 2]);
        message.extend(1_u32.to_ne_bytes());
        rustix::net::send(&self.socket, &message, SendFlags::NOSIGNAL).map(|_| ())
    }

    /// Passes on the messages that have arrived, at most `most`.
    ///
    /// # Errors
    /// The errno of a socket that is no longer usable.
    pub fn take(&self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<ReceiveOutcome, RootError> {
        let mut message = vec![0_u8; MESSAGE];
        let mut outcome = ReceiveOutcome::All;
        for _ in 0..most {
            let received = rustix::net::recvfrom(&self.socket, &mut message[..], RecvFlags::empty());
            let (length, from) = match received {
                Ok((length, _, from)) => (length, from),
                Err(Errno::AGAIN) => return Ok(outcome),
                Err(Errno::INTR) => continue,
                Err(Errno::NOBUFS) => {
                    outcome = ReceiveOutcome::Lost;
                    continue;
                }
                Err(errno) => return Err(failed(self.name, "read", errno)),
            };
            // Privileged processes may also send to a group; only the kernel has number 0.
            let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
            if from.is_some_and(|from| from.pid() == 0) {
                each(message.get(..length).unwrap_or_default());
            }
        }
        Ok(match outcome {
            ReceiveOutcome::All => ReceiveOutcome::Some,
            other => other,
        })
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
