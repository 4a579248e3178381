//! Reads the records of a guest: frames on the second serial port, where kernel messages never appear.
//!
//! A record with a wrong length or checksum is counted as damaged and never used. The last record is named [`DONE`];
//! without it the guest did not finish.

pub use guest::frames::framed;

use guest::frames::{FrameItem, first};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name of the record that marks the end of the scenario.
pub const DONE: &str = "LAB-DONE";

/// The result of one command in a guest.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct CommandRecord {
    /// Exit status; 128 + n for a signal.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Wall time in the guest, milliseconds.
    pub ms: u64,
    /// Maximum resident memory, KiB (`ru_maxrss`).
    #[serde(default)]
    pub peak_kib: u64,
}

impl CommandRecord {
    /// The standard output as JSON; `Null` when it is not JSON, so that a look-up inside it fails the assertion.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or(serde_json::Value::Null)
    }

    /// Standard output without white space at both ends.
    #[must_use]
    pub fn text(&self) -> &str {
        self.stdout.trim()
    }
}

/// All records of one guest, by name. If a name was recorded twice, the last record is kept.
#[derive(Debug, Default)]
pub struct GuestRecords {
    by_name: BTreeMap<String, CommandRecord>,
    /// Number of frames with a wrong length or checksum.
    pub damaged: usize,
    /// Whether the guest reported its end.
    pub has_ended: bool,
}

impl GuestRecords {
    /// Reads the output of the serial port so far.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> GuestRecords {
        let mut records = GuestRecords::default();
        let mut rest = bytes;
        loop {
            let end = match first(rest) {
                FrameItem::Whole { name, body, end } => {
                    records.take(name, body);
                    end
                }
                FrameItem::Damaged { end } => {
                    records.damaged += 1;
                    end
                }
                // No more bytes will arrive, so an incomplete frame stays incomplete.
                FrameItem::Incomplete { start } => {
                    records.damaged += 1;
                    start + 1
                }
                FrameItem::Nothing { .. } => break,
            };
            rest = rest.get(end..).unwrap_or_default();
        }
        records
    }

    /// The record with a name, or an empty one with status -1 if the guest sent none.
    #[must_use]
    pub fn get(&self, name: &str) -> CommandRecord {
        let none = || CommandRecord {
            status: -1,
            stderr: format!("no record {name}"),
            ..CommandRecord::default()
        };
        self.by_name.get(name).cloned().unwrap_or_else(none)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Adds the records of a later guest.
    pub fn join(&mut self, later: GuestRecords) {
        self.by_name.extend(later.by_name);
        self.damaged += later.damaged;
        self.has_ended |= later.has_ended;
    }

    fn take(&mut self, name: &str, body: &[u8]) {
        if name == DONE {
            self.has_ended = true;
        } else if let Ok(record) = serde_json::from_slice(body) {
            self.by_name.insert(name.to_owned(), record);
        } else {
            self.damaged += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Vec<u8> {
        serde_json::to_vec(&CommandRecord {
            stdout: text.to_owned(),
            ..CommandRecord::default()
        })
        .unwrap()
    }

    #[test]
    fn records_survive_noise_between_them_and_headers_inside_them() {
        let mut port = b"[    1.0] noise FRAME of a kernel".to_vec();
        port.extend(framed("one", &record("FRAME two 3 00000000\nx")));
        port.extend(b"more noise\n");
        port.extend(framed(DONE, b"{}"));
        let records = GuestRecords::parse(&port);
        assert_eq!(records.get("one").stdout, "FRAME two 3 00000000\nx");
        assert_eq!(records.get("two").status, -1);
        assert!(records.has_ended);
    }

    #[test]
    fn a_damaged_record_is_counted_and_not_used() {
        let mut port = framed("one", &record("text"));
        let last = port.len() - 4;
        port[last] ^= 1;
        let records = GuestRecords::parse(&port);
        assert_eq!((records.damaged, records.get("one").status), (1, -1));
        let mut torn = framed("one", &record("text"));
        torn.truncate(torn.len() - 5);
        assert!(!GuestRecords::parse(&torn).has_ended);
    }
}
