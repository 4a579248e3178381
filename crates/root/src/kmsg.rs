//! Reads the kernel's messages from `/dev/kmsg`, without ever waiting for new ones.
//!
//! `/proc/kmsg` is not used: reading it consumes the messages.

use crate::RootError;
use crate::error::{OnPath, failed};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;

/// The kernel's messages about its boot line are among the first few hundred records.
const MAX_RECORDS: usize = 4096;

/// The kernel returns each record whole, and none is larger (`CONSOLE_EXT_LOG_MAX`).
const RECORD: usize = 8192;

/// The first messages since boot, in order; `None` if there is no such file, or if the first of them are already overwritten.
///
/// # Errors
/// [`RootError::Denied`] without permission (`kernel.dmesg_restrict`), [`RootError::Io`] otherwise.
pub(crate) fn messages(path: &Path) -> Result<Option<Vec<String>>, RootError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NODEV | Errno::NXIO) => return Ok(None),
        Err(errno) => return Err(failed(path, "open", errno)),
    };
    let stat = rustix::fs::fstat(&file).on(path, "stat")?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::CharacterDevice {
        return Ok(None);
    }
    let mut record = [0_u8; RECORD];
    let mut messages = Vec::new();
    while messages.len() < MAX_RECORDS {
        let length = match rustix::io::read(&file, &mut record) {
            Ok(0) | Err(Errno::AGAIN) => break,
            Ok(length) => length,
            // Overwritten while we read: the next read continues after the gap.
            Err(Errno::PIPE | Errno::INTR) => continue,
            Err(errno) => return Err(failed(path, "read", errno)),
        };
        let text = String::from_utf8_lossy(record.get(..length).unwrap_or_default());
        let Some((sequence, message)) = split(&text) else {
            continue;
        };
        if messages.is_empty() && sequence != 0 {
            return Ok(None);
        }
        messages.push(message.to_owned());
    }
    Ok((!messages.is_empty()).then_some(messages))
}

/// Number and text of a record: `6,0,0,-;Linux version ...\n SUBSYSTEM=...`
/// (`Documentation/ABI/testing/dev-kmsg`).
fn split(record: &str) -> Option<(u64, &str)> {
    let (head, text) = record.split_once(';')?;
    let sequence = head.split(',').nth(1)?.parse().ok()?;
    Some((sequence, text.lines().next().unwrap_or_default()))
}

/// Messages from a text file such as `/var/log/dmesg`, without the time in brackets.
pub(crate) fn from_text(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| match line.strip_prefix('[') {
        Some(rest) => rest.split_once("] ").map_or(line, |(_, message)| message),
        None => line,
    });
    lines.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_log_records_are_split() {
        assert_eq!(
            split("6,339,5140900,-;NET: Registered\n SUBSYSTEM=net\n"),
            Some((339, "NET: Registered"))
        );
        assert_eq!(split("4,0,0,c;a;b"), Some((0, "a;b")));
        assert_eq!(split("rubbish"), None);
        assert_eq!(
            from_text("[    0.000000] Housekeeping: x\nplain"),
            ["Housekeeping: x", "plain"]
        );
    }

    #[test]
    fn a_file_that_is_no_device_is_refused_as_kernel_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kmsg");
        assert_eq!(messages(&path).unwrap(), None);
        std::fs::write(&path, "6,0,0,-;planted\n").unwrap();
        assert_eq!(messages(&path).unwrap(), None);
        // A fifo without a writer would block a reader that waits.
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(messages(&fifo).unwrap(), None);
    }
}
