//! Sends one question to a daemon on a local socket and reads its answer, within a time limit.
//!
//! Some daemons accept settings over a socket instead of a file, and admit only root: the kernel provides the caller's
//! credentials (`SCM_CREDENTIALS`, see unix(7)).

use crate::error::failed;
use crate::{Live, RootError};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags,
    SocketType, UCred,
};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// The address of a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system.
    File(String),
    /// A name without a file (the kernel shows it with `@` in `/proc/net/unix`).
    Abstract(String),
}

/// Maximum length of an answer; no supported daemon sends more.
const MAX_ANSWER: usize = 1 << 20;

impl Live {
    /// Connects to the first of these addresses that exists, sends a question and reads until the other side closes. An
    /// empty answer is valid.
    ///
    /// # Errors
    /// The errno of connecting, `ENOENT` if no process listens, `EPERM` if the listener belongs to another user;
    /// `ETIMEDOUT` if it does not answer within `limit`.
    pub fn query(&self, addresses: &[Address], question: &str, limit: Duration) -> Result<String, RootError> {
        let mut failure = RootError::Io {
            path: addresses.first().map(Address::text).unwrap_or_default(),
            operation: "connect",
            errno: libc::ENOENT,
        };
        for address in addresses {
            match self.query_address(address, question, limit) {
                Ok(answer) => return Ok(answer),
                // If no process listens, the next address is tried; the first address is the usual one and appears in
                // the error.
                Err((SocketOperation::Connect, Errno::NOENT | Errno::CONNREFUSED)) => {}
                Err((doing, errno)) => {
                    failure = failed(address.text(), doing.text(), late(errno));
                    break;
                }
            }
        }
        Err(failure)
    }

    fn query_address(
        &self,
        address: &Address,
        question: &str,
        limit: Duration,
    ) -> Result<String, (SocketOperation, Errno)> {
        let until = Instant::now() + limit;
        let socket = self
            .connect(address, limit)
            .map_err(|errno| (SocketOperation::Connect, errno))?;
        send(&socket, question).map_err(|errno| (SocketOperation::Send, errno))?;
        answer(&socket, until).map_err(|errno| (SocketOperation::Receive, errno))
    }

    fn connect(&self, address: &Address, limit: Duration) -> Result<OwnedFd, Errno> {
        let name = match address {
            Address::File(path) => SocketAddrUnix::new(self.locate(path))?,
            // A rehearsal must not reach a daemon of the machine that it runs on.
            Address::Abstract(_) if !self.is_host() => return Err(Errno::NOENT),
            Address::Abstract(name) => SocketAddrUnix::new_abstract_name(name.as_bytes())?,
        };
        let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
        let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
        // Set before connecting, which blocks while the daemon's connection queue is full.
        set_socket_timeout(&socket, Timeout::Send, Some(limit))?;
        rustix::net::connect(&socket, &name)?;
        // The directory of a file shows its owner; any user may take an abstract name.
        let peer = socket_peercred(&socket)?;
        if !peer.uid.is_root() && peer.uid != rustix::process::geteuid() {
            return Err(Errno::PERM);
        }
        Ok(socket)
    }
}

#[derive(Clone, Copy)]
enum SocketOperation {
    Connect,
    Send,
    Receive,
}

impl SocketOperation {
    fn text(self) -> &'static str {
        match self {
            SocketOperation::Connect => "connect",
            SocketOperation::Send => "ask",
            SocketOperation::Receive => "wait for the answer",
        }
    }
}

fn send(socket: &OwnedFd, question: &str) -> Result<(), Errno> {
    let own = UCred {
        pid: rustix::process::getpid(),
        uid: rustix::process::geteuid(),
        gid: rustix::process::getegid(),
    };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmCredentials(own));
    let text = [IoSlice::new(question.as_bytes())];
    let sent = rustix::net::sendmsg(socket, &text, &mut control, SendFlags::NOSIGNAL)?;
    // Questions are a few hundred bytes: the kernel accepts them whole.
    if sent == question.len() {
        Ok(())
    } else {
        Err(Errno::MSGSIZE)
    }
}

fn answer(socket: &OwnedFd, until: Instant) -> Result<String, Errno> {
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Errno::TIMEDOUT);
        }
        set_socket_timeout(socket, Timeout::Recv, Some(left.max(Duration::from_millis(1))))?;
        match rustix::net::recv(socket, &mut part, RecvFlags::empty()) {
            // Closed with an unread question: the daemon refuses us.
            Ok((0, _)) => break,
            Ok((count, _)) => answer.extend_from_slice(part.get(..count).unwrap_or_default()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        if answer.len() > MAX_ANSWER {
            return Err(Errno::MSGSIZE);
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// An expired time limit is `EAGAIN` here, which users would not understand.
fn late(errno: Errno) -> Errno {
    if errno == Errno::AGAIN { Errno::TIMEDOUT } else { errno }
}

impl Address {
    /// The address as `/proc/net/unix` shows it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Address::File(path) => path.clone(),
            Address::Abstract(name) => format!("@{}", name.trim_end_matches('\0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    const AT: &str = "/run/d/d1.sock";

    fn place() -> (tempfile::TempDir, Live, UnixListener) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("run/d")).unwrap();
        let listener = UnixListener::bind(dir.path().join("run/d/d1.sock")).unwrap();
        let live = Live::rehearsal(dir.path());
        (dir, live, listener)
    }

    fn query(live: &Live, limit_ms: u64) -> Result<String, RootError> {
        let addresses = ["/run/d/none.sock", AT].map(|path| Address::File(path.to_owned()));
        live.query(&addresses, "setup", Duration::from_millis(limit_ms))
    }

    #[test]
    fn a_query_returns_the_whole_answer() {
        let (_dir, live, listener) = place();
        let daemon = std::thread::spawn(move || {
            let (mut caller, _) = listener.accept().unwrap();
            let mut question = [0; 64];
            let count = caller.read(&mut question).unwrap();
            caller.write_all(b"SLEEP 10 ").unwrap();
            std::thread::sleep(Duration::from_millis(20));
            caller.write_all(b"BANNED 8").unwrap();
            String::from_utf8_lossy(&question[..count]).into_owned()
        });
        assert_eq!(query(&live, 5000).unwrap(), "SLEEP 10 BANNED 8");
        assert_eq!(daemon.join().unwrap(), "setup");
    }

    #[test]
    fn an_unanswered_query_times_out() {
        let (_dir, live, listener) = place();
        // Nothing accepts: the queue takes the first callers, who get no answer, and then no more.
        for _ in 0..3 {
            let errno = query(&live, 100).unwrap_err().errno();
            assert_eq!(errno, Some(libc::ETIMEDOUT));
        }
        drop(listener);
        assert_eq!(query(&live, 100).unwrap_err().errno(), Some(libc::ENOENT));
        let unheard = Address::Abstract("quietcore has no such name".to_owned());
        let refused = Live::host().query(&[unheard], "x", Duration::from_millis(100));
        assert_eq!(refused.unwrap_err().errno(), Some(libc::ENOENT));
    }
}
