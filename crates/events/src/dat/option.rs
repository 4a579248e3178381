//! Parses options: numbered items that a writer stores next to its events. Readers skip unknown options.

use super::cursor::Cursor;
use super::error::DatError;

/// Numbers of options (trace-cmd.dat.v7(5)).
pub mod id {
    /// End of the options; in version 7 with the offset of the next section of options.
    pub const DONE: u16 = 0;
    /// Microseconds between the trace clock and the time of day, as text.
    pub const DATE: u16 = 1;
    /// `per_cpu/cpuN/stats` of a CPU.
    pub const CPUSTAT: u16 = 2;
    /// A trace buffer: the top one, or an instance's offset in the file.
    pub const BUFFER: u16 = 3;
    /// `trace_clock`.
    pub const TRACECLOCK: u16 = 4;
    /// `uname`.
    pub const UNAME: u16 = 5;
    /// Nanoseconds to add to each time, as text.
    pub const OFFSET: u16 = 7;
    /// Number of CPUs.
    pub const CPUCOUNT: u16 = 8;
    /// Name of the program that wrote the file.
    pub const VERSION: u16 = 9;
    /// Multiplier, shift and offset that convert the time stamp counter to nanoseconds.
    pub const TSC2NSEC: u16 = 14;
    /// Offset of `header_page` and `header_event` (version 7, like the following).
    pub const HEADER_INFO: u16 = 16;
    /// Offset of the formats of the kernel's own tracers.
    pub const FTRACE_EVENTS: u16 = 17;
    /// Offset of all other formats.
    pub const EVENT_FORMATS: u16 = 18;
    /// Offset of the names of functions.
    pub const KALLSYMS: u16 = 19;
    /// Offset of the printk formats.
    pub const PRINTK: u16 = 20;
    /// Offset of the names of threads.
    pub const CMDLINES: u16 = 21;
    /// A trace buffer as text.
    pub const BUFFER_TEXT: u16 = 22;
}

/// One option of a `trace.dat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatOption {
    /// Its number.
    pub id: u16,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl DatOption {
    /// An option that holds a text.
    #[must_use]
    pub fn of_text(id: u16, text: &str) -> DatOption {
        DatOption {
            id,
            bytes: [text.as_bytes(), &[0]].concat(),
        }
    }

    /// Its text, up to the first zero byte.
    #[must_use]
    pub fn text(&self) -> String {
        let end = memchr::memchr(0, &self.bytes).unwrap_or(self.bytes.len());
        String::from_utf8_lossy(self.bytes.get(..end).unwrap_or_default())
            .trim()
            .to_owned()
    }

    pub(super) fn read(cursor: &mut Cursor) -> Result<DatOption, DatError> {
        const WHAT: &str = "an option";
        let id = cursor.u16(WHAT)?;
        // In version 6 the last one has neither length nor content.
        let len = cursor.u32(WHAT)? as usize;
        Ok(DatOption {
            id,
            bytes: cursor.bytes(len, WHAT)?.to_vec(),
        })
    }
}

/// The clock in brackets of `[local] global counter`, or the whole text if there is none.
pub(super) fn chosen_clock(text: &str) -> String {
    let inside = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(clock, _)| clock);
    inside.unwrap_or(text).trim().to_owned()
}
