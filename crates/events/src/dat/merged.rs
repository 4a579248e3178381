//! Merges all buffers of a file into one stream sorted by time.

use super::{Buffer, CpuPages};
use crate::merge::{Merge, PageSource, StreamItem};
use std::iter::Peekable;
use std::slice::Chunks;

/// An item of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferEvent<'a> {
    /// Index of its buffer in the file's list.
    pub buffer: usize,
    /// The item.
    pub event: StreamItem<'a>,
}

/// The stream. Reports of lost or invalid data precede the next event of their buffer.
pub struct MergedStream<'a> {
    buffers: Vec<Peekable<Merge<'a, Chunks<'a, u8>>>>,
}

impl<'a> MergedStream<'a> {
    pub(super) fn of(buffers: &'a [Buffer<'a>]) -> MergedStream<'a> {
        let of = |buffer: &'a Buffer<'a>| {
            let source = |of: &'a CpuPages<'a>| PageSource::new(of.cpu, buffer.layout, buffer.pages(of));
            Merge::new(buffer.cpus.iter().map(source).collect()).peekable()
        };
        MergedStream {
            buffers: buffers.iter().map(of).collect(),
        }
    }
}

impl<'a> Iterator for MergedStream<'a> {
    type Item = BufferEvent<'a>;

    fn next(&mut self) -> Option<BufferEvent<'a>> {
        let mut first: Option<(usize, u64)> = None;
        for (place, stream) in self.buffers.iter_mut().enumerate() {
            let at = match stream.peek() {
                Some(StreamItem::Record { record, .. }) => record.at,
                Some(_) => 0,
                None => continue,
            };
            if first.is_none_or(|(_, earliest)| at < earliest) {
                first = Some((place, at));
            }
        }
        let (buffer, _) = first?;
        let event = self.buffers.get_mut(buffer)?.next()?;
        Some(BufferEvent { buffer, event })
    }
}
