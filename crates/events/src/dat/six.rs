//! Reads version 6: all sections in a fixed order, followed by the offsets of the pages.

use super::cursor::Cursor;
use super::description::Description;
use super::error::DatError;
use super::option::{DatOption, chosen_clock, id};
use super::{Buffer, CpuPages, MOST_CPUS, Start, TraceFile};
use crate::layout::Layout;
use std::borrow::Cow;

/// Section identifiers, ten bytes each including the last.
const OPTIONS: &[u8] = b"options  \0";
const LATENCY: &[u8] = b"latency  \0";
const FLYRECORD: &[u8] = b"flyrecord\0";

pub(super) fn read(mut cursor: Cursor, start: Start) -> Result<TraceFile, DatError> {
    let mut description = Description {
        endian: cursor.endian,
        ..Description::default()
    };
    description.read_header(&mut cursor)?;
    description.read_ftrace(&mut cursor)?;
    description.read_events(&mut cursor)?;
    description.read_kallsyms(&mut cursor)?;
    description.read_printk(&mut cursor)?;
    description.read_comms(&mut cursor)?;
    let mut cpus = cursor.u32("the number of CPUs")?;
    let mut options = Vec::new();
    let before = cursor.at;
    if cursor.bytes(OPTIONS.len(), "what kind of trace it is")? == OPTIONS {
        loop {
            let mut ahead = cursor;
            if ahead.u16("an option")? == id::DONE {
                cursor = ahead;
                break;
            }
            options.push(DatOption::read(&mut cursor)?);
        }
    } else {
        cursor.at = before;
    }
    let count = options.iter().find(|option| option.id == id::CPUCOUNT);
    if let Some(count) = count.and_then(|option| cursor.endian.number(&option.bytes)) {
        cpus = u32::try_from(count).unwrap_or(u32::MAX);
    }
    if cpus > MOST_CPUS {
        return Err(cursor.wrong("a number of CPUs that a machine can have"));
    }
    let layout = Layout {
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
        let mut place = Cursor::new(&option.bytes, cursor.endian);
        let at = place.u64("a buffer")?;
        let mut buffer = Buffer {
            name: place.text("the name of a buffer")?,
            clock: String::new(),
            layout,
            cpus: Vec::new(),
            text: None,
        };
        let mut cpus = cpus;
        // Later writers append the number of its CPUs.
        if let Ok(count) = place.u32("the number of CPUs") {
            cpus = count.min(MOST_CPUS);
        }
        read_buffer(&mut cursor.seek(at, "a buffer")?, cpus, &mut buffer)?;
        buffers.push(buffer);
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
        let bytes = if len == 0 {
            &[]
        } else {
            cursor.range(at, len, WHAT)?
        };
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
