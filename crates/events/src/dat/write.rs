//! Writes version 6, uncompressed: every trace-cmd since 2010 and every KernelShark reads it.
//!
//! The pages of a recording are large, so only the part before them is created here, with the offset of each CPU's pages:
//! the caller writes them there as they arrive.

use super::description::{Description, FTRACE};
use super::option::{DatOption, id};
use super::{Buffer, MAGIC};
use crate::endian::Endian;

/// One trace buffer to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedBuffer {
    /// Name of the instance; empty for the top one, which comes first.
    pub name: String,
    /// Name of its clock.
    pub clock: String,
    /// Bytes of the pages of CPU 0, 1 and so on; 0 for a CPU without pages.
    pub cpus: Vec<u64>,
}

/// Everything to write, except the pages.
#[derive(Clone, Debug)]
pub struct DatWriter<'a> {
    /// The description of the events.
    pub description: &'a Description,
    /// Bytes of a page of the ring buffer.
    pub page_len: u32,
    /// Bytes of a `long`: 4 or 8.
    pub long_len: u8,
    /// Further options: `uname`, the program's version. Buffers, clock and number of CPUs need none.
    pub options: &'a [DatOption],
    /// The buffers, the top one first.
    pub buffers: &'a [PlannedBuffer],
}

/// The part before the pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Offsets of the pages of each CPU of each buffer: ascending, each at a multiple of the page's length.
    pub places: Vec<Vec<u64>>,
    /// Bytes of the whole file.
    pub len: u64,
}

impl DatWriter<'_> {
    /// Creates the part before the pages.
    #[must_use]
    pub fn head(&self) -> Head {
        // The offsets of the pages depend on the length before them, which does not depend on the offsets.
        let none: Vec<Vec<u64>> = self.buffers.iter().map(|buffer| vec![0; buffer.cpus.len()]).collect();
        let (before, blocks) = self.bytes(&none, &vec![0; self.buffers.len()]);
        let page = u64::from(self.page_len.max(1));
        let mut next = (before.len() as u64).next_multiple_of(page);
        let mut places = Vec::new();
        for buffer in self.buffers {
            let mut of_buffer = Vec::new();
            for len in &buffer.cpus {
                of_buffer.push(next);
                next = (next + len).next_multiple_of(page);
            }
            places.push(of_buffer);
        }
        let (bytes, _) = self.bytes(&places, &blocks);
        Head {
            bytes,
            places,
            len: next,
        }
    }

    /// The bytes, and the offset of each buffer's list in them.
    fn bytes(&self, places: &[Vec<u64>], blocks: &[u64]) -> (Vec<u8>, Vec<u64>) {
        let mut out = ByteWriter {
            bytes: MAGIC.to_vec(),
            endian: self.description.endian,
        };
        out.bytes.extend_from_slice(b"6\0");
        out.bytes.push(u8::from(self.description.endian == Endian::Big));
        out.bytes.push(self.long_len);
        out.u32(self.page_len);
        out.description(self.description);
        let cpus = self.buffers.iter().map(|buffer| buffer.cpus.len()).max();
        out.u32(cpus.unwrap_or(0) as u32);
        out.bytes.extend_from_slice(b"options  \0");
        if let Some(top) = self.buffers.first() {
            out.option(&DatOption::of_text(id::TRACECLOCK, &format!("[{}]\n", top.clock)));
        }
        for option in self.options {
            out.option(option);
        }
        for (buffer, block) in self.buffers.iter().zip(blocks).skip(1) {
            let mut option = ByteWriter {
                bytes: Vec::new(),
                endian: self.description.endian,
            };
            option.u64(*block);
            option.text(&buffer.name);
            out.option(&DatOption {
                id: id::BUFFER,
                bytes: option.bytes,
            });
        }
        out.u16(id::DONE);
        let mut starts = Vec::new();
        for (buffer, places) in self.buffers.iter().zip(places) {
            starts.push(out.bytes.len() as u64);
            out.bytes.extend_from_slice(b"flyrecord\0");
            for cpu in 0..cpus.unwrap_or(0) {
                let len = buffer.cpus.get(cpu).copied().unwrap_or(0);
                out.u64(places.get(cpu).copied().unwrap_or(0));
                out.u64(len);
            }
            out.counted(8, &format!("[{}]", buffer.clock));
        }
        (out.bytes, starts)
    }
}

/// Converts buffers that were read to their form for writing, with their pages. The list of a version 6 file has no CPU
/// numbers, so a missing CPU gets an empty entry.
#[must_use]
pub fn planned<'b>(buffers: &'b [Buffer]) -> (Vec<PlannedBuffer>, Vec<Vec<&'b [u8]>>) {
    let pages = |buffer: &'b Buffer| {
        let mut pages: Vec<&[u8]> = Vec::new();
        for cpu in &buffer.cpus {
            let place = cpu.cpu as usize;
            pages.resize(pages.len().max(place + 1), &[]);
            if let Some(slot) = pages.get_mut(place) {
                *slot = &cpu.bytes;
            }
        }
        pages
    };
    let all: Vec<Vec<&[u8]>> = buffers.iter().map(pages).collect();
    let planned = buffers.iter().zip(&all).map(|(buffer, pages)| PlannedBuffer {
        name: buffer.name.clone(),
        clock: buffer.clock.clone(),
        cpus: pages.iter().map(|pages| pages.len() as u64).collect(),
    });
    (planned.collect(), all)
}

/// A whole file, for pages in memory: `pages` of each CPU of each buffer.
#[must_use]
pub fn written(writing: &DatWriter, pages: &[Vec<&[u8]>]) -> Vec<u8> {
    let head = writing.head();
    let mut file = head.bytes;
    for (places, pages) in head.places.iter().zip(pages) {
        for (place, pages) in places.iter().zip(pages) {
            file.resize(usize::try_from(*place).unwrap_or(file.len()).max(file.len()), 0);
            file.extend_from_slice(pages);
        }
    }
    file.resize(usize::try_from(head.len).unwrap_or(file.len()).max(file.len()), 0);
    file
}

struct ByteWriter {
    bytes: Vec<u8>,
    endian: Endian,
}

impl ByteWriter {
    fn number(&mut self, bytes: &[u8]) {
        // Numbers are little-endian.
        match self.endian {
            Endian::Little => self.bytes.extend(bytes),
            Endian::Big => self.bytes.extend(bytes.iter().rev()),
        }
    }

    fn u16(&mut self, number: u16) {
        self.number(&number.to_le_bytes());
    }

    fn u32(&mut self, number: u32) {
        self.number(&number.to_le_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.number(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    /// A text after its length, which takes 4 or 8 bytes.
    fn counted(&mut self, digits: usize, text: &str) {
        match digits {
            4 => self.u32(text.len() as u32),
            _ => self.u64(text.len() as u64),
        }
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn option(&mut self, option: &DatOption) {
        self.u16(option.id);
        self.u32(option.bytes.len() as u32);
        self.bytes.extend_from_slice(&option.bytes);
    }

    fn description(&mut self, description: &Description) {
        self.text("header_page");
        self.counted(8, &description.header_page);
        self.text("header_event");
        self.counted(8, &description.header_event);
        let of = |name: &str| {
            let all = description.formats.iter();
            all.filter(|(system, _)| system == name)
                .map(|(_, text)| text.as_str())
                .collect::<Vec<_>>()
        };
        let ftrace = of(FTRACE);
        self.u32(ftrace.len() as u32);
        ftrace.into_iter().for_each(|text| self.counted(8, text));
        let mut systems: Vec<&str> = Vec::new();
        for (system, _) in &description.formats {
            if system != FTRACE && !systems.contains(&system.as_str()) {
                systems.push(system);
            }
        }
        self.u32(systems.len() as u32);
        for system in systems {
            let formats = of(system);
            self.text(system);
            self.u32(formats.len() as u32);
            formats.into_iter().for_each(|text| self.counted(8, text));
        }
        self.counted(4, &description.kallsyms);
        self.counted(4, &description.printk_formats);
        self.counted(8, &description.saved_cmdlines);
    }
}
