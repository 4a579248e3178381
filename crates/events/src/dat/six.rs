//! Reads version 6: all sections in a fixed order, followed by the offsets of the pages.

use super::cursor::Cursor;
use super::description::Description;
use super::error::DatError;
use super::option::{DatOption, chosen_clock, id};
use super::{Buffer, CpuPages, FileStart, MOST_CPUS, TraceFile};
use crate::layout::PageLayout;
use std::borrow::Cow;

/// Section identifiers, ten bytes each including the last.
const OPTIONS: &[u8] = b"options  \0";
const LATENCY: &[u8] = b"latency  \0";
const FLYRECORD: &[u8] = b"flyrecord\0";

pub(super) fn read(mut cursor: Cursor, start: FileStart) -> Result<TraceFile, DatError> {
    let description = read_description(&mut cursor)?;
    let mut cpus = cursor.u32("the number of CPUs")?;
    let options = read_options(&mut cursor)?;
    let count = options.iter().find(|option| option.id == id::CPUCOUNT);
    if let Some(count) = count.and_then(|option| cursor.endian.number(&option.bytes)) {
        cpus = u32::try_from(count).unwrap_or(u32::MAX);
    }
    if cpus > MOST_CPUS {
        return Err(cursor.wrong("a number of CPUs that a machine can have"));
    }
    let layout = PageLayout {
        page_len: start.page_len,
        ..description.layout()?
    };
    let clock = options.iter().find(|option| option.id == id::TRACECLOCK);
    let mut buffers = vec![Buffer {
        name: String::new(),
        clock: clock.map_or(String::new(), |option| chosen_clock(&option.text())),
        layout,
        cpus: Vec::new(),
        text: None,
    }];
    if let Some(top) = buffers.first_mut() {
        read_buffer(&mut cursor, cpus, top)?;
    }
    for option in options.iter().filter(|option| option.id == id::BUFFER) {
        buffers.push(read_instance(cursor, option, cpus, layout)?);
    }
    Ok(TraceFile {
        version: 6,
        long_len: start.long_len,
        page_len: start.page_len,
        description,
        options,
        buffers,
    })
}

fn read_description(cursor: &mut Cursor) -> Result<Description, DatError> {
    let mut description = Description {
        endian: cursor.endian,
        ..Description::default()
    };
    description.read_header(cursor)?;
    description.read_ftrace(cursor)?;
    description.read_events(cursor)?;
    description.read_kallsyms(cursor)?;
    description.read_printk(cursor)?;
    description.read_comms(cursor)?;
    Ok(description)
}

/// Reads the options; older files have none.
fn read_options(cursor: &mut Cursor) -> Result<Vec<DatOption>, DatError> {
    let mut options = Vec::new();
    let before = cursor.at;
    if cursor.bytes(OPTIONS.len(), "what kind of trace it is")? != OPTIONS {
        cursor.at = before;
        return Ok(options);
    }
    loop {
        let mut ahead = *cursor;
        if ahead.u16("an option")? == id::DONE {
            *cursor = ahead;
            return Ok(options);
        }
        options.push(DatOption::read(cursor)?);
    }
}

/// Reads the buffer of an instance, whose offset and name are in an option.
fn read_instance<'a>(
    cursor: Cursor<'a>,
    option: &DatOption,
    cpus: u32,
    layout: PageLayout,
) -> Result<Buffer<'a>, DatError> {
    let mut place = Cursor::new(&option.bytes, cursor.endian);
    let at = place.u64("a buffer")?;
    let mut buffer = Buffer {
        name: place.text("the name of a buffer")?,
        clock: String::new(),
        layout,
        cpus: Vec::new(),
        text: None,
    };
    // Later writers append the number of its CPUs.
    let cpus = match place.u32("the number of CPUs") {
        Ok(count) => count.min(MOST_CPUS),
        Err(_) => cpus,
    };
    read_buffer(&mut cursor.seek(at, "a buffer")?, cpus, &mut buffer)?;
    Ok(buffer)
}

fn read_buffer<'a>(cursor: &mut Cursor<'a>, cpus: u32, buffer: &mut Buffer<'a>) -> Result<(), DatError> {
    let kind = cursor.bytes(FLYRECORD.len(), "what kind of trace it is")?;
    if kind == LATENCY {
        buffer.text = Some(Cow::Borrowed(cursor.rest()));
        return Ok(());
    }
    if kind != FLYRECORD {
        return Err(cursor.wrong("the word latency or flyrecord"));
    }
    for cpu in 0..cpus {
        const WHAT: &str = "the pages of a CPU";
        let at = cursor.u64(WHAT)?;
        let len = cursor.u64(WHAT)?;
        let bytes = if len == 0 { &[] } else { cursor.range(at, len, WHAT)? };
        buffer.cpus.push(CpuPages {
            cpu,
            bytes: Cow::Borrowed(bytes),
        });
    }
    // Writers since 2.8 append the clock; otherwise there is padding.
    if let Ok(clock) = cursor.counted(8, "the clock")
        && !clock.trim_matches('\0').is_empty()
    {
        buffer.clock = chosen_clock(clock.trim_matches('\0'));
    }
    Ok(())
}
