//! The pages of several CPUs as one stream in the order of time.
//!
//! Each CPU's entries are in order by themselves. What was lost on a CPU, and a page that cannot be read, are items of
//! the stream as well: whoever counts must see them.

use crate::error::PageError;
use crate::layout::Layout;
use crate::page::{Lost, Page, Record, Records};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// One item of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// An event.
    Record {
        /// CPU on which it was written.
        cpu: u32,
        /// Time and payload.
        record: Record<'a>,
    },
    /// Events of this CPU are missing before what follows.
    Lost {
        /// The CPU.
        cpu: u32,
        /// How many; nothing when the kernel does not tell.
        count: Option<u64>,
    },
    /// A page, from one of its entries on, is not what a kernel writes. The stream goes on with the page after it.
    Broken {
        /// The CPU.
        cpu: u32,
        /// Why.
        error: PageError,
    },
}

/// The pages of one CPU, in their order.
pub struct Source<'a, I: Iterator<Item = &'a [u8]>> {
    cpu: u32,
    layout: Layout,
    pages: I,
    records: Option<Records<'a>>,
    next: Option<Record<'a>>,
}

impl<'a, I: Iterator<Item = &'a [u8]>> Source<'a, I> {
    /// Of a CPU whose pages come one by one.
    pub fn new(cpu: u32, layout: Layout, pages: I) -> Self {
        Source {
            cpu,
            layout,
            pages,
            records: None,
            next: None,
        }
    }

    /// Goes to the next record. What stands before it and is no record is put into `told`.
    fn advance(&mut self, told: &mut Vec<Event<'a>>) {
        let cpu = self.cpu;
        loop {
            match self.records.as_mut().and_then(Iterator::next) {
                Some(Ok(record)) => {
                    self.next = Some(record);
                    return;
                }
                Some(Err(error)) => told.push(Event::Broken { cpu, error }),
                None => {}
            }
            let Some(bytes) = self.pages.next() else {
                self.records = None;
                self.next = None;
                return;
            };
            self.records = None;
            match Page::parse(bytes, &self.layout) {
                Ok(page) => {
                    match page.lost {
                        Lost::None => {}
                        Lost::Counted(count) => told.push(Event::Lost {
                            cpu,
                            count: Some(count),
                        }),
                        Lost::Uncounted => told.push(Event::Lost { cpu, count: None }),
                    }
                    self.records = Some(page.records());
                }
                Err(error) => told.push(Event::Broken { cpu, error }),
            }
        }
    }
}

/// The stream.
pub struct Merge<'a, I: Iterator<Item = &'a [u8]>> {
    sources: Vec<Source<'a, I>>,
    /// Time of each source's next record, earliest on top; equal times in the order of the sources.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    /// What is to be told before the next record, last first.
    told: Vec<Event<'a>>,
}

impl<'a, I: Iterator<Item = &'a [u8]>> Merge<'a, I> {
    /// Of these CPUs.
    #[must_use]
    pub fn new(sources: Vec<Source<'a, I>>) -> Self {
        let mut merge = Merge {
            order: BinaryHeap::with_capacity(sources.len()),
            sources,
            told: Vec::new(),
        };
        for (place, source) in merge.sources.iter_mut().enumerate() {
            source.advance(&mut merge.told);
            if let Some(record) = source.next {
                merge.order.push(Reverse((record.at, place)));
            }
        }
        merge.told.reverse();
        merge
    }
}

impl<'a, I: Iterator<Item = &'a [u8]>> Iterator for Merge<'a, I> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        if let Some(event) = self.told.pop() {
            return Some(event);
        }
        let mut top = self.order.peek_mut()?;
        let Reverse((_, place)) = *top;
        let source = self.sources.get_mut(place)?;
        let record = source.next?;
        source.advance(&mut self.told);
        self.told.reverse();
        match source.next {
            Some(next) => *top = Reverse((next.at, place)),
            None => drop(PeekMut::pop(top)),
        }
        Some(Event::Record {
            cpu: source.cpu,
            record,
        })
    }
}
