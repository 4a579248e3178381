//! Encodes one journal record as a line: `qcFORMAT LENGTH CHECKSUM JSON`, with both numbers in hexadecimal.
//!
//! An interrupted write leaves a line whose length or checksum does not match: it is torn. The change that it announces
//! was never made, because records come first. Another version of quietcore wrote an intact line that cannot be
//! decoded. Such a line is never dropped: the command stops, and the file is not changed.

use crate::ApplyError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};

/// The format that this version writes. It reads this one and all earlier ones. A change that an older version could
/// not decode needs the next number.
const FORMAT: u32 = 1;
/// The prefix of the format number.
const MAGIC: &str = "qc";
/// The version of this program, as written to records.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why this version cannot decode a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FramingError {
    /// Its start, length or checksum is damaged.
    Torn(String),
    /// It is intact, and another version wrote it.
    OtherVersion(UnsupportedLine),
}

/// An intact line that this version cannot decode.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnsupportedLine {
    /// What cannot be decoded.
    why: String,
    /// The version that wrote it, if the record itself has it.
    writer: Option<String>,
}

impl UnsupportedLine {
    /// The error for record number `record` of a file. `writer` is the version that wrote the records before it.
    pub(crate) fn error(self, file: String, record: usize, writer: Option<&str>) -> ApplyError {
        ApplyError::OtherVersion {
            file,
            record,
            why: self.why,
            writer: self.writer.or_else(|| writer.map(str::to_owned)),
        }
    }
}

/// One line with length and checksum.
pub(crate) fn encode<T: Serialize>(record: &T) -> Result<Vec<u8>, ApplyError> {
    let body = serde_json::to_string(record).map_err(|error| ApplyError::Journal {
        record: 0,
        why: error.to_string(),
    })?;
    let checksum = crc32fast::hash(body.as_bytes());
    Ok(format!("{MAGIC}{FORMAT} {:08x} {checksum:08x} {body}\n", body.len()).into_bytes())
}

/// The record of a line.
pub(crate) fn decode_line<T: Serialize + DeserializeOwned>(line: &[u8]) -> Result<T, FramingError> {
    let (format, body) = intact(line).map_err(|why| FramingError::Torn(why.to_owned()))?;
    if format > FORMAT {
        return Err(other_version(
            body,
            format!("its format is {format} and this version reads formats up to {FORMAT}"),
        ));
    }
    let record: T = serde_json::from_str(body).map_err(|error| other_version(body, unknown(body, &error)))?;
    match unread(&record, body) {
        None => Ok(record),
        Some(field) => Err(other_version(
            body,
            format!("this version does not know its field `{field}`"),
        )),
    }
}

/// The format and the text of a completely written line.
fn intact(line: &[u8]) -> Result<(u32, &str), &'static str> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not text")?;
    let mut parts = text.splitn(4, ' ');
    let format = parts.next().and_then(|word| word.strip_prefix(MAGIC)?.parse().ok());
    let format = format.ok_or("it does not start like a record")?;
    let mut number = || {
        parts
            .next()
            .and_then(|word| u32::from_str_radix(word, 16).ok())
            .ok_or("its header is damaged")
    };
    let (length, checksum) = (number()? as usize, number()?);
    let body = parts.next().unwrap_or_default();
    if body.len() != length || crc32fast::hash(body.as_bytes()) != checksum {
        return Err("its length or checksum does not match");
    }
    Ok((format, body))
}

fn other_version(body: &str, why: String) -> FramingError {
    let record: Value = serde_json::from_str(body).unwrap_or_default();
    let writer = ["by", "tool"].iter().find_map(|field| record[field].as_str());
    FramingError::OtherVersion(UnsupportedLine {
        why,
        writer: writer.map(str::to_owned),
    })
}

fn unknown(body: &str, error: &serde_json::Error) -> String {
    let record: Value = serde_json::from_str(body).unwrap_or_default();
    match record["event"].as_str() {
        Some(event) => format!("this version cannot read its event `{event}`"),
        None => format!("this version cannot read it: {error}"),
    }
}

/// The first field of a record's text that decoding dropped. A record of this version encodes to the same text again,
/// which is the usual and fast case.
fn unread<T: Serialize>(record: &T, body: &str) -> Option<String> {
    let again = serde_json::to_string(record).ok()?;
    if again == body {
        return None;
    }
    let written = serde_json::from_str(body).ok()?;
    let read = serde_json::from_str(&again).ok()?;
    dropped(&written, &read)
}

fn dropped(written: &Value, read: &Value) -> Option<String> {
    match (written, read) {
        (Value::Object(written), Value::Object(read)) => {
            written.iter().find_map(|(key, value)| match read.get(key) {
                Some(read) => dropped(value, read).map(|inner| format!("{key}.{inner}")),
                // An older version may write an empty field that this one omits.
                None => (!is_nothing(value)).then(|| key.clone()),
            })
        }
        (Value::Array(written), Value::Array(read)) => written
            .iter()
            .zip(read)
            .find_map(|(written, read)| dropped(written, read)),
        _ => None,
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Whether the last record is torn, so that the next one needs a line of its own.
pub(crate) fn is_torn(bytes: &[u8]) -> bool {
    bytes.last().is_some_and(|&byte| byte != b'\n')
}

/// The wall clock, in nanoseconds since 1970.
pub(crate) fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JournalEvent, JournalRecord};

    fn line(format: u32, body: &str) -> Vec<u8> {
        let checksum = crc32fast::hash(body.as_bytes());
        format!("qc{format} {:08x} {checksum:08x} {body}", body.len()).into_bytes()
    }

    fn refusal(line: &[u8]) -> (String, Option<String>) {
        match decode_line::<JournalRecord>(line) {
            Err(FramingError::OtherVersion(UnsupportedLine { why, writer })) => (why, writer),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_complete_record_of_another_version_is_not_torn() {
        let event = line(1, r#"{"seq":1,"at_ns":7,"by":"9.1.0","event":"teleported"}"#);
        let (why, writer) = refusal(&event);
        assert!(why.contains("`teleported`"), "{why}");
        assert_eq!(writer.as_deref(), Some("9.1.0"));
        let format = line(2, r#"{"seq":1,"at_ns":7,"event":"confirmed","layer":null}"#);
        assert!(refusal(&format).0.contains("format is 2"));
        let field = line(1, r#"{"seq":1,"at_ns":7,"event":"confirmed","layer":null,"until":3}"#);
        assert!(refusal(&field).0.contains("`until`"));
        let inner = r#"{"seq":1,"at_ns":7,"event":"joined","task":{"tid":1,"start_time":2,"comm":"a","cgroup":null,"mask":"0","node":1}}"#;
        assert!(refusal(&line(1, inner)).0.contains("`task.node`"));
        for cut in 0..event.len() {
            assert!(
                matches!(decode_line::<JournalRecord>(&event[..cut]), Err(FramingError::Torn(_))),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn unknown_empty_fields_are_ignored() {
        let confirmed = line(1, r#"{"at_ns":7,"seq":1,"event":"confirmed","old":null,"older":[]}"#);
        let record: JournalRecord = decode_line(&confirmed).unwrap();
        assert!(matches!(record.event, JournalEvent::Confirmed { layer: None }));
    }
}
