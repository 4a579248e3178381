//! What the kernel's sockets tell, as bytes -> happenings. Sizes in it are not believed.

use super::{Notification, Process};

/// Bytes before the event: `nlmsghdr` (16) and `cn_msg` (20).
const TO_EVENT: usize = 36;

/// Bytes of an event before what is its own: `what`, `cpu`, `timestamp_ns` (`struct proc_event`).
const TO_DATA: usize = TO_EVENT + 16;

/// Rows of `enum proc_cn_event`.
const FORK: u32 = 0x1;
const EXEC: u32 = 0x2;
const UID: u32 = 0x4;
const COMM: u32 = 0x200;
const EXIT: u32 = 0x8000_0000;

/// What a datagram of the process connector tells; `None` for what nobody needs (acknowledgements, groups, traces).
#[must_use]
pub fn processes(bytes: &[u8]) -> Option<Process> {
    let word = |at: usize| -> Option<u32> {
        let bytes = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    match word(TO_EVENT)? {
        // Thread and process of the parent, then of the child; of a new thread the parent of its process is told
        // (`real_parent`), and its mask comes from one of its own process.
        FORK => Some(Process::Born {
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

/// What a uevent tells: `ACTION@PATH`, then `KEY=VALUE`, each with a NUL. `None` for what udev sends to its own listeners.
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
