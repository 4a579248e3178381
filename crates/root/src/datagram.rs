//! Sends one datagram to a local socket: service notifications for systemd, and lines for its journal.

use crate::RootError;
use crate::error::failed;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

/// The socket on which journald accepts lines in its own format (`systemd.journal-fields(7)`).
pub const JOURNAL: &str = "/run/systemd/journal/socket";

/// Sends it to a path, or to an abstract name that starts with `@`, as in `NOTIFY_SOCKET`. It never blocks.
///
/// # Errors
/// The errno: `ENOENT` or `ECONNREFUSED` if no process listens, `EAGAIN` if the receiver's queue is full.
pub fn send(address: &str, message: &[u8]) -> Result<(), RootError> {
    let failed = |errno: Errno| failed(address, "send to", errno);
    let name = match address.strip_prefix('@') {
        Some(name) => SocketAddrUnix::new_abstract_name(name.as_bytes()),
        None => SocketAddrUnix::new(address),
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None).map_err(failed)?;
    let sent = rustix::net::sendto(&socket, message, SendFlags::NOSIGNAL, &name.map_err(failed)?);
    sent.map(|_| ()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_delivered_or_the_missing_socket_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let shown = path.to_str().unwrap();
        assert_eq!(send(shown, b"x").unwrap_err().errno(), Some(libc::ENOENT));
        let listener = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        send(shown, b"READY=1").unwrap();
        let mut received = [0; 32];
        let length = listener.recv(&mut received).unwrap();
        assert_eq!(&received[..length], b"READY=1");
        assert!(send("@no such name of quietcore", b"x").is_err());
    }
}
