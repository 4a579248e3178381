//! Makes the three calls of systemd's bus interface that we need (org.freedesktop.systemd1(5)), over systemd's own socket.
//!
//! Every systemd listens at [`SOCKET`] for root, even if no bus daemon runs. The protocol there is D-Bus between two peers: a
//! line of authentication, then messages. For three calls and their answers, `wire` is smaller than any library.

pub mod wire;

use machine::CpuSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use wire::{Body, Reply};

/// Where systemd listens.
pub(crate) const SOCKET: &str = "/run/systemd/private";

/// How long systemd may take to answer: it does not answer while it reloads its units.
const PATIENCE: Duration = Duration::from_secs(25);

/// A longer answer is not from systemd.
const LONGEST: usize = 1 << 20;

/// Why a systemd call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// No process listens, or it does not accept us.
    #[error("{socket}: {}", std::io::Error::from_raw_os_error(*errno))]
    Unreachable {
        /// The socket.
        socket: String,
        /// The system's reason; ETIMEDOUT if no answer came.
        errno: i32,
    },
    /// systemd refused.
    #[error("{message} ({name})")]
    Refused {
        /// Name of the error: `org.freedesktop.systemd1.UnitExists`.
        name: String,
        /// systemd's message.
        message: String,
    },
    /// The answer is not D-Bus.
    #[error("{socket}: the answer cannot be parsed: {what}")]
    Garbled {
        /// The socket.
        socket: String,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl BusError {
    /// There is no systemd to call.
    pub(crate) fn none() -> BusError {
        BusError::Unreachable {
            socket: SOCKET.to_owned(),
            errno: libc::ENOENT,
        }
    }

    /// For the journal. Only ETIMEDOUT and EPROTO leave open whether the call took effect anyway.
    pub(crate) fn errno(&self) -> i32 {
        match self {
            BusError::Unreachable { errno, .. } => *errno,
            BusError::Refused { .. } => libc::ECONNREFUSED,
            BusError::Garbled { .. } => libc::EPROTO,
        }
    }
}

/// Starts an empty transient slice that requests memory nodes, and so the cpuset controller. systemd answers when the
/// job is queued.
pub(crate) fn start_slice(socket: &Path, unit: &str, nodes: &CpuSet) -> Result<(), BusError> {
    let mut body = Body::default();
    body.text(unit);
    body.text("fail");
    body.array(8, |list| {
        list.structure(|one| {
            one.text("Description");
            one.signature("s");
            one.text("Keeps the cpuset controller enabled for the CPU partitions of quietcore");
        });
        list.structure(|one| {
            one.text("AllowedMemoryNodes");
            one.signature("ay");
            one.bytes(&bits(nodes));
        });
    });
    // No further units.
    body.array(8, |_| {});
    call(socket, "StartTransientUnit", "ssa(sv)a(sa(sv))", &body).map(|_| ())
}

/// Stops a unit. systemd answers when the job is queued.
pub(crate) fn stop_unit(socket: &Path, unit: &str) -> Result<(), BusError> {
    let mut body = Body::default();
    body.text(unit);
    body.text("replace");
    match call(socket, "StopUnit", "ss", &body) {
        Err(BusError::Refused { name, .. }) if name == "org.freedesktop.systemd1.NoSuchUnit" => Ok(()),
        other => other.map(|_| ()),
    }
}

/// Restarts the machine in order, with the same call as `systemctl reboot`. systemd answers when the job is queued, and
/// stops units at once. A child of ours that made the call would be killed before it could report the result.
pub(crate) fn restart(socket: &Path) -> Result<(), BusError> {
    let mut body = Body::default();
    body.text("reboot.target");
    body.text("replace-irreversibly");
    call(socket, "StartUnit", "ss", &body).map(|_| ())
}

/// The format of CPU and node sets in systemd's properties: bit N of byte N/8, the lowest first.
fn bits(set: &CpuSet) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in set.iter().map(|id| id.0) {
        let place = (number / 8) as usize;
        if bytes.len() <= place {
            bytes.resize(place + 1, 0_u8);
        }
        if let Some(byte) = bytes.get_mut(place) {
            *byte |= 1 << (number % 8);
        }
    }
    bytes
}

fn call(socket: &Path, member: &str, signature: &str, body: &Body) -> Result<Reply, BusError> {
    let name = socket.display().to_string();
    let unreachable = |error: std::io::Error| {
        let late = matches!(
            error.kind(),
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
        );
        BusError::Unreachable {
            socket: name.clone(),
            errno: match late {
                true => libc::ETIMEDOUT,
                false => error.raw_os_error().unwrap_or(libc::EPROTO),
            },
        }
    };
    let garbled = |what| BusError::Garbled {
        socket: name.clone(),
        what,
    };
    let mut stream = UnixStream::connect(socket).map_err(unreachable)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(unreachable)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(unreachable)?;
    stream
        .write_all(&greeting(rustix::process::geteuid().as_raw()))
        .map_err(unreachable)?;
    let answer = line(&mut stream).map_err(unreachable)?;
    if !answer.starts_with(b"OK ") {
        return Err(garbled("it refuses the connection"));
    }
    // It does not matter whether systemd would accept file descriptors, but it must answer before the first message: it
    // drops a message that arrives together with the end of the authentication.
    line(&mut stream).map_err(unreachable)?;
    let message = wire::method_call(member, signature, body);
    stream.write_all(&message).map_err(unreachable)?;
    loop {
        let mut start = [0; wire::START];
        stream.read_exact(&mut start).map_err(unreachable)?;
        let rest = wire::rest_of(&start)
            .filter(|rest| *rest <= LONGEST)
            .ok_or_else(|| garbled("it sent an invalid D-Bus message"))?;
        let mut message = start.to_vec();
        message.resize(wire::START + rest, 0);
        let tail = message.get_mut(wire::START..).unwrap_or_default();
        stream.read_exact(tail).map_err(unreachable)?;
        // Signals may arrive in between.
        match wire::reply(&message) {
            None => {}
            Some(Reply::Error { name, message }) => return Err(BusError::Refused { name, message }),
            Some(reply) => return Ok(reply),
        }
    }
}

/// Authentication by user: the kernel gives systemd the user, and the user's number is sent in hexadecimal ASCII. All
/// lines are sent at once, as systemd's own programs do.
fn greeting(uid: u32) -> Vec<u8> {
    let digits: String = uid.to_string().bytes().map(|digit| format!("{digit:02x}")).collect();
    format!("\0AUTH EXTERNAL {digits}\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n").into_bytes()
}

/// Reads one line of the authentication, byte by byte, because messages follow.
fn line(stream: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\r\n") && line.len() < 512 {
        stream.read_exact(&mut byte)?;
        line.extend_from_slice(&byte);
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_sets_are_encoded_as_systemd_expects() {
        let bits = |text: &str| super::bits(&CpuSet::parse_list(text).unwrap());
        assert_eq!(bits("0"), [1]);
        assert_eq!(bits("0-1,9"), [3, 2]);
        assert_eq!(greeting(0), b"\0AUTH EXTERNAL 30\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n");
    }

    #[test]
    fn a_missing_socket_is_an_error_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("private");
        let error = stop_unit(&socket, "a.slice").unwrap_err();
        assert_eq!(error.errno(), libc::ENOENT);
        assert!(error.to_string().contains("private: No such file"), "{error}");
    }

    /// The listener is another kind of program, which closes the connection.
    #[test]
    fn a_listener_that_is_not_systemd_is_a_protocol_error() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("private");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let other = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut greeting = [0; 20];
            stream.read_exact(&mut greeting).unwrap();
            stream.write_all(b"REJECTED\r\n").unwrap();
        });
        let error = stop_unit(&socket, "a.slice").unwrap_err();
        other.join().unwrap();
        assert!(matches!(error, BusError::Garbled { .. }), "{error:?}");
    }
}
