//! Reads and writes `trace.dat` files of trace-cmd and KernelShark: versions 6 and 7.
//!
//! Such a file holds all data to interpret its events anywhere: descriptions, names of functions and
//! threads, and the raw pages of each CPU's ring buffer. Sources: trace-cmd.dat.v6(5) and
//! trace-cmd.dat.v7(5); where they are silent (instances in version 6), files of trace-cmd 3.1.6 and its report of ours.

mod clock;
mod cursor;
mod description;
mod error;
mod merged;
mod option;
mod packed;
mod seven;
mod six;
mod write;

pub use clock::{Correction, TscToNanos};
pub use description::{Description, comms};
pub use error::DatError;
pub use merged::{BufferEvent, MergedStream};
pub use option::{DatOption, id};
pub use write::{DatWriter, Head, PlannedBuffer, planned, written};

use crate::endian::Endian;
use crate::layout::PageLayout;
use cursor::Cursor;
use std::borrow::Cow;

/// The start of every file.
pub const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// More CPUs than any kernel has.
const MOST_CPUS: u32 = 1 << 16;

/// A parsed `trace.dat`: its description, and the pages of every CPU.
#[derive(Clone, Debug)]
pub struct TraceFile<'a> {
    /// Version of the format: 6 or 7.
    pub version: u8,
    /// Bytes of a `long` of the programs on that machine.
    pub long_len: u8,
    /// Bytes of a page of that machine.
    pub page_len: usize,
    /// The description of its events.
    pub description: Description,
    /// Other options from its writer, in order.
    pub options: Vec<DatOption>,
    /// Its trace buffers: the top one first, then one for each instance.
    pub buffers: Vec<Buffer<'a>>,
}

/// The content of one trace buffer: the top one, or that of an instance.
#[derive(Clone, Debug)]
pub struct Buffer<'a> {
    /// Name of the instance; empty for the top one.
    pub name: String,
    /// Its clock, without the brackets of `trace_clock`; empty if not stated.
    pub clock: String,
    /// The layout of its pages.
    pub layout: PageLayout,
    /// Pages of its CPUs.
    pub cpus: Vec<CpuPages<'a>>,
    /// The text of `trace` instead of pages, for a latency tracer.
    pub text: Option<Cow<'a, [u8]>>,
}

/// Pages of one CPU.
#[derive(Clone, Debug)]
pub struct CpuPages<'a> {
    /// The CPU.
    pub cpu: u32,
    /// Its pages, one after the other.
    pub bytes: Cow<'a, [u8]>,
}

impl<'a> TraceFile<'a> {
    /// Whether these bytes start like a `trace.dat`.
    #[must_use]
    pub fn has_magic(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Parses a whole file. Uncompressed data are not copied; compressed data are decompressed, at most `unpacked_limit`
    /// bytes in total.
    ///
    /// # Errors
    /// A truncated file, invalid data, or an unknown compression.
    pub fn parse(bytes: &'a [u8], unpacked_limit: usize) -> Result<TraceFile<'a>, DatError> {
        let mut cursor = Cursor::new(bytes, Endian::Little);
        if cursor.bytes(MAGIC.len(), "the magic number").ok() != Some(MAGIC) {
            return Err(DatError::NotOne);
        }
        let version = cursor.text("the version")?;
        let endian = match cursor.bytes(1, "the order of bytes")? {
            [0] => Endian::Little,
            [1] => Endian::Big,
            _ => return Err(cursor.wrong("0 or 1 for the order of bytes")),
        };
        cursor.endian = endian;
        let long_len = match cursor.bytes(1, "the bytes of a long")? {
            [4] => 4,
            [8] => 8,
            _ => return Err(cursor.wrong("4 or 8 bytes of a long")),
        };
        let page_len = cursor.u32("the bytes of a page")? as usize;
        if !(64..=1 << 24).contains(&page_len) {
            return Err(cursor.wrong("a page of 64 bytes to 16 MiB"));
        }
        let start = FileStart { long_len, page_len };
        match version.as_str() {
            "6" => six::read(cursor, start),
            "7" => seven::read(cursor, start, unpacked_limit),
            _ => Err(DatError::Version {
                version: version.chars().take(20).collect(),
            }),
        }
    }

    /// The conversion of its events' times to nanoseconds of the writer's clock.
    #[must_use]
    pub fn correction(&self) -> Correction {
        Correction::of(&self.options)
    }

    /// The recorded kernel and machine (`uname`), if stated.
    #[must_use]
    pub fn machine(&self) -> Option<String> {
        let mut all = self.options.iter();
        all.find(|option| option.id == id::UNAME).map(DatOption::text)
    }

    /// All events of all its buffers, sorted by time.
    #[must_use]
    pub fn events(&self) -> MergedStream<'_> {
        MergedStream::of(&self.buffers)
    }
}

impl Buffer<'_> {
    /// Its pages of one CPU, one by one.
    pub fn pages<'b>(&'b self, of: &'b CpuPages<'_>) -> std::slice::Chunks<'b, u8> {
        of.bytes.chunks(self.layout.page_len)
    }
}

/// The common start of both versions.
#[derive(Clone, Copy)]
struct FileStart {
    long_len: u8,
    page_len: usize,
}
