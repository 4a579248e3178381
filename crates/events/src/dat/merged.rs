//! Merges all buffers of a file into one stream sorted by time.

use super::{Buffer, CpuPages};
use crate::merge::{Event, Merge, Source};
use std::iter::Peekable;
use std::slice::Chunks;

/// An item of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfBuffer<'a> {
    /// Index of its buffer in the file's list.
    pub buffer: usize,
    /// The item.
    pub event: Event<'a>,
}

/// The stream. Reports of lost or invalid data precede the next event of their buffer.
pub struct Merged<'a> {
    buffers: Vec<Peekable<Merge<'a, Chunks<'a, u8>>>>,
}

impl<'a> Merged<'a> {
    pub(super) fn of(buffers: &'a [Buffer<'a>]) -> Merged<'a> {
        let of = |buffer: &'a Buffer<'a>| {
            let source = |of: &'a CpuPages<'a>| Source::new(of.cpu, buffer.layout, buffer.pages(of));
            Merge::new(buffer.cpus.iter().map(source).collect()).peekable()
        };
        Merged {
            buffers: buffers.iter().map(of).collect(),
        }
    }
}

impl<'a> Iterator for Merged<'a> {
    type Item = OfBuffer<'a>;

    fn next(&mut self) -> Option<OfBuffer<'a>> {
        let mut first: Option<(usize, u64)> = None;
        for (place, stream) in self.buffers.iter_mut().enumerate() {
            let at = match stream.peek() {
                Some(Event::Record { record, .. }) => record.at,
                Some(_) => 0,
                None => continue,
            };
            if first.is_none_or(|(_, earliest)| at < earliest) {
                first = Some((place, at));
            }
        }
        let (buffer, _) = first?;
        let event = self.buffers.get_mut(buffer)?.next()?;
        Some(OfBuffer { buffer, event })
    }
}
