//! Parses datagrams of the kernel's sockets into notifications. Sizes in them are not trusted.

use super::{Notification, Process};

/// Bytes before the event: `nlmsghdr` (16) and `cn_msg` (20).
const TO_EVENT: usize = 36;

/// Bytes of an event before its own data: `what`, `cpu`, `timestamp_ns` (`struct proc_event`).
const TO_DATA: usize = TO_EVENT + 16;

/// Values of `enum proc_cn_event`.
const FORK: u32 = 0x1;
const EXEC: u32 = 0x2;
const UID: u32 = 0x4;
const COMM: u32 = 0x200;
const EXIT: u32 = 0x8000_0000;

/// Parses a datagram of the process connector; `None` for unused kinds (acknowledgements, groups, traces).
#[must_use]
pub fn processes(bytes: &[u8]) -> Option<Process> {
    let word = |at: usize| -> Option<u32> {
        let bytes = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    match word(TO_EVENT)? {
        // Thread and process of the parent, then of the child. For a new thread the kernel reports the parent of its process
        // (`real_parent`), but its mask comes from a thread of its own process.
        FORK => Some(Process::Created {
            parent: match (word(TO_DATA + 8)?, word(TO_DATA + 12)?) {
                (tid, process) if tid == process => word(TO_DATA)?,
                (_, process) => process,
            },
            tid: word(TO_DATA + 8)?,
        }),
        EXEC | COMM | UID => Some(Process::Became { tid: word(TO_DATA)? }),
        EXIT => Some(Process::Ended { tid: word(TO_DATA)? }),
        _ => None,
    }
}

/// Parses a uevent: `ACTION@PATH`, then `KEY=VALUE`, each with a NUL. `None` for messages of udev to its own listeners.
#[must_use]
pub fn uevent(bytes: &[u8]) -> Option<Notification> {
    let head = bytes.split(|byte| *byte == 0).next()?;
    let (action, path) = std::str::from_utf8(head).ok()?.split_once('@')?;
    path.starts_with('/').then(|| Notification::Device {
        action: action.to_owned(),
        path: path.to_owned(),
    })
}

/// Whether a message of rtnetlink is about a link or an address (`RTM_NEWLINK` 16 to `RTM_DELADDR` 21).
#[must_use]
pub fn link(bytes: &[u8]) -> Option<Notification> {
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    matches!(kind, 16 | 17 | 20 | 21).then_some(Notification::Network)
}
