//! Reads version 7: sections in any order, located by options, optionally compressed.

use super::cursor::Cursor;
use super::description::Description;
use super::error::DatError;
use super::option::{DatOption, chosen_clock, id};
use super::packed::{SectionCompression, Unpacker};
use super::{Buffer, CpuPages, FileStart, MOST_CPUS, TraceFile};
use crate::layout::PageLayout;
use std::borrow::Cow;

/// Flag of a compressed section.
const PACKED: u16 = 1;
/// Maximum number of chained option sections; real files have a few.
const MOST_SECTIONS: usize = 1_000;

pub(super) fn read(mut cursor: Cursor, start: FileStart, limit: usize) -> Result<TraceFile, DatError> {
    let packing = SectionCompression::named(&cursor.text("how it is packed")?)?;
    cursor.text("how it is packed")?;
    let first = cursor.u64("the place of the options")?;
    let mut file = DatReader {
        cursor,
        unpacker: Unpacker::new(packing, limit),
    };
    let options = file.options(first)?;
    let description = file.description(&options)?;
    let layout = description.layout()?;
    let mut buffers = Vec::new();
    for option in &options {
        if matches!(option.id, id::BUFFER | id::BUFFER_TEXT) {
            buffers.push(file.buffer(option, layout)?);
        }
    }
    // The top buffer first: its name is empty. Instances keep their order.
    buffers.sort_by_key(|buffer: &Buffer| !buffer.name.is_empty());
    Ok(TraceFile {
        version: 7,
        long_len: start.long_len,
        page_len: start.page_len,
        description,
        options,
        buffers,
    })
}

struct DatReader<'a> {
    cursor: Cursor<'a>,
    unpacker: Unpacker,
}

impl<'a> DatReader<'a> {
    /// The content of the section at that offset, and whether it was compressed.
    fn section(&mut self, at: u64, expected: u16) -> Result<(Cow<'a, [u8]>, u16), DatError> {
        const WHAT: &str = "a section";
        let mut cursor = self.cursor.seek(at, WHAT)?;
        if cursor.u16(WHAT)? != expected {
            return Err(cursor.wrong("the number of the section that the options name"));
        }
        let flags = cursor.u16(WHAT)?;
        cursor.u32(WHAT)?;
        let len = usize::try_from(cursor.u64(WHAT)?).unwrap_or(usize::MAX);
        if flags & PACKED == 0 {
            return Ok((Cow::Borrowed(cursor.bytes(len, WHAT)?), flags));
        }
        let packed = cursor.u32(WHAT)? as usize;
        let whole = cursor.u32(WHAT)? as usize;
        let place = cursor.at;
        let mut out = Vec::new();
        self.unpacker
            .unpack(cursor.bytes(packed, WHAT)?, whole, place, &mut out)?;
        Ok((Cow::Owned(out), flags))
    }

    fn options(&mut self, first: u64) -> Result<Vec<DatOption>, DatError> {
        let mut options = Vec::new();
        let mut next = first;
        for _ in 0..MOST_SECTIONS {
            if next == 0 {
                break;
            }
            let (bytes, _) = self.section(next, 0)?;
            let mut cursor = Cursor::new(&bytes, self.cursor.endian);
            next = loop {
                let option = DatOption::read(&mut cursor)?;
                if option.id == id::DONE {
                    break cursor.endian.number(&option.bytes).unwrap_or(0);
                }
                options.push(option);
            };
        }
        Ok(options)
    }

    fn description(&mut self, options: &[DatOption]) -> Result<Description, DatError> {
        let mut description = Description {
            endian: self.cursor.endian,
            ..Description::default()
        };
        type Read = fn(&mut Description, &mut Cursor) -> Result<(), DatError>;
        const PARTS: [(u16, Read); 6] = [
            (id::HEADER_INFO, Description::read_header),
            (id::FTRACE_EVENTS, Description::read_ftrace),
            (id::EVENT_FORMATS, Description::read_events),
            (id::KALLSYMS, Description::read_kallsyms),
            (id::PRINTK, Description::read_printk),
            (id::CMDLINES, Description::read_comms),
        ];
        for (part, read) in PARTS {
            let Some(option) = options.iter().find(|option| option.id == part) else {
                continue;
            };
            let at = Cursor::new(&option.bytes, self.cursor.endian).u64("the place of a section")?;
            let (bytes, _) = self.section(at, part)?;
            read(&mut description, &mut Cursor::new(&bytes, self.cursor.endian))?;
        }
        Ok(description)
    }

    fn buffer(&mut self, option: &DatOption, layout: PageLayout) -> Result<Buffer<'a>, DatError> {
        const WHAT: &str = "a buffer";
        let mut cursor = Cursor::new(&option.bytes, self.cursor.endian);
        let at = cursor.u64(WHAT)?;
        let mut buffer = Buffer {
            name: cursor.text(WHAT)?,
            clock: chosen_clock(&cursor.text(WHAT)?),
            layout,
            cpus: Vec::new(),
            text: None,
        };
        if option.id == id::BUFFER_TEXT {
            let (text, _) = self.section(at, id::BUFFER_TEXT)?;
            buffer.text = Some(text);
            return Ok(buffer);
        }
        buffer.layout.page_len = cursor.u32(WHAT)? as usize;
        if !(64..=1 << 24).contains(&buffer.layout.page_len) {
            return Err(cursor.wrong("a page of 64 bytes to 16 MiB"));
        }
        let mut section = self.cursor.seek(at, WHAT)?;
        section.u16(WHAT)?;
        let packed = section.u16(WHAT)? & PACKED != 0;
        for _ in 0..cursor.u32(WHAT)? {
            let cpu = cursor.u32(WHAT)?;
            if cpu >= MOST_CPUS {
                return Err(cursor.wrong("the number of a CPU that a machine can have"));
            }
            let (at, len) = (cursor.u64(WHAT)?, cursor.u64(WHAT)?);
            let bytes = match len {
                0 => Cow::Borrowed(&[] as &[u8]),
                _ if packed => Cow::Owned(self.chunks(at)?),
                _ => Cow::Borrowed(self.cursor.range(at, len, "the pages of a CPU")?),
            };
            buffer.cpus.push(CpuPages { cpu, bytes });
        }
        Ok(buffer)
    }

    /// Pages that are compressed in groups.
    fn chunks(&mut self, at: u64) -> Result<Vec<u8>, DatError> {
        const WHAT: &str = "the pages of a CPU";
        let mut cursor = self.cursor.seek(at, WHAT)?;
        let mut out = Vec::new();
        for _ in 0..cursor.u32(WHAT)? {
            let packed = cursor.u32(WHAT)? as usize;
            let whole = cursor.u32(WHAT)? as usize;
            let place = cursor.at;
            self.unpacker
                .unpack(cursor.bytes(packed, WHAT)?, whole, place, &mut out)?;
        }
        Ok(out)
    }
}
