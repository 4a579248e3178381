//! Receives the kernel's notifications, one source per file: its own sockets (netlink), and which processes write its
//! files (fanotify).
//!
//! Each source has a descriptor that becomes readable, and returns whole messages unchanged. The caller interprets them.

mod netlink;
mod signals;
mod writes;

pub use netlink::{Netlink, ReceiveOutcome};
pub use signals::Signals;
pub use writes::{WriteListener, WriteMessage};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Waits until one of these is readable, at most for `limit`; returns which are. If interrupted, it returns none.
#[must_use]
pub fn wait(sources: &[BorrowedFd], limit: Duration) -> Vec<bool> {
    let mut polled: Vec<PollFd> = sources.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let limit = Timespec {
        tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    };
    match poll(&mut polled, Some(&limit)) {
        Ok(_) => polled.iter().map(|one| !one.revents().is_empty()).collect(),
        Err(_) => vec![false; sources.len()],
    }
}
