//! Merges the pages of several CPUs into one stream sorted by time.
//!
//! Each CPU's entries are already sorted. Lost entries, and pages that cannot be read, are items of the stream too, because
//! consumers that count events need them.

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
        /// CPU on which it was recorded.
        cpu: u32,
        /// Time and payload.
        record: Record<'a>,
    },
    /// Events of this CPU are missing before what follows.
    Lost {
        /// The CPU.
        cpu: u32,
        /// The number; `None` if the kernel does not report it.
        count: Option<u64>,
    },
    /// A page is invalid from one of its entries on. The stream continues with the next page.
    Broken {
        /// The CPU.
        cpu: u32,
        /// The error in the page.
        error: PageError,
    },
}

/// The read position in the pages of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of finished pages.
    pub(crate) pages: usize,
    /// Position in the next page; `None` before that page is started.
    pub(crate) within: Option<(usize, u64)>,
}

/// The pages of one CPU, in order.
pub struct Source<'a, I: Iterator<Item = &'a [u8]>> {
    cpu: u32,
    layout: Layout,
    pages: I,
    /// Number of pages that were removed from `pages`.
    taken: usize,
    records: Option<Records<'a>>,
    next: Option<Record<'a>>,
    /// Items before the next record that are not records.
    told: Vec<Event<'a>>,
    /// The position of the first of them.
    before: Place,
}

impl<'a, I: Iterator<Item = &'a [u8]>> Source<'a, I> {
    /// A source for a CPU whose pages arrive one by one.
    pub fn new(cpu: u32, layout: Layout, pages: I) -> Self {
        Source::from(cpu, layout, pages, None)
    }

    /// The same, from a position in the first page on.
    pub(crate) fn from(cpu: u32, layout: Layout, mut pages: I, within: Option<(usize, u64)>) -> Self {
        let mut taken = 0;
        let records = within.and_then(|within| {
            taken = 1;
            let page = Page::parse(pages.next()?, &layout).ok()?;
            Some(page.records_from(within))
        });
        Source {
            cpu,
            layout,
            pages,
            taken,
            records,
            next: None,
            told: Vec::new(),
            before: Place::default(),
        }
    }

    /// The position of the first item that has not been returned yet.
    pub(crate) const fn place(&self) -> Place {
        self.before
    }

    /// Advances to the next record. Other items before it are put into `told`.
    fn advance(&mut self) {
        let cpu = self.cpu;
        let within = self.records.as_ref().and_then(Records::place);
        self.before = Place {
            pages: self.taken - usize::from(within.is_some()),
            within,
        };
        loop {
            match self.records.as_mut().and_then(Iterator::next) {
                Some(Ok(record)) => {
                    self.next = Some(record);
                    return;
                }
                Some(Err(error)) => self.told.push(Event::Broken { cpu, error }),
                None => {}
            }
            self.records = None;
            let Some(bytes) = self.pages.next() else {
                self.next = None;
                return;
            };
            self.taken += 1;
            match Page::parse(bytes, &self.layout) {
                Ok(page) => {
                    match page.lost {
                        Lost::None => {}
                        Lost::Counted(count) => self.told.push(Event::Lost {
                            cpu,
                            count: Some(count),
                        }),
                        Lost::Uncounted => self.told.push(Event::Lost { cpu, count: None }),
                    }
                    self.records = Some(page.records());
                }
                Err(error) => self.told.push(Event::Broken { cpu, error }),
            }
        }
    }
}

/// The stream. Reports of lost or invalid data directly precede the next event of their CPU: the order of items is the same
/// wherever the stream is split.
pub struct Merge<'a, I: Iterator<Item = &'a [u8]>> {
    sources: Vec<Source<'a, I>>,
    /// Time of each source's next record, earliest on top; equal times in the order of the sources.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    /// The next items to return, last first.
    told: Vec<Event<'a>>,
}

impl<'a, I: Iterator<Item = &'a [u8]>> Merge<'a, I> {
    /// Merges the events of these CPUs, sorted by time.
    #[must_use]
    pub fn new(sources: Vec<Source<'a, I>>) -> Self {
        let mut merge = Merge {
            order: BinaryHeap::with_capacity(sources.len()),
            sources,
            told: Vec::new(),
        };
        for (place, source) in merge.sources.iter_mut().enumerate() {
            source.advance();
            if let Some(record) = source.next {
                merge.order.push(Reverse((record.at, place)));
            }
        }
        merge
    }

    /// The next item, unless it belongs to a record at or after that time. Items after the last record of a CPU are returned
    /// only if no time is given, at the end.
    pub(crate) fn next_before(&mut self, until: Option<u64>) -> Option<Event<'a>> {
        if let Some(event) = self.told.pop() {
            return Some(event);
        }
        let Some(mut top) = self.order.peek_mut() else {
            let mut sources = self.sources.iter_mut().filter(|_| until.is_none());
            let source = sources.find(|source| !source.told.is_empty())?;
            return Some(source.told.remove(0));
        };
        let Reverse((at, place)) = *top;
        if until.is_some_and(|until| at >= until) {
            return None;
        }
        let source = self.sources.get_mut(place)?;
        let event = Event::Record {
            cpu: source.cpu,
            record: source.next?,
        };
        let is_first = source.told.is_empty();
        if !is_first {
            self.told.push(event);
            self.told.extend(source.told.drain(..).rev());
        }
        source.advance();
        match source.next {
            Some(next) => *top = Reverse((next.at, place)),
            None => drop(PeekMut::pop(top)),
        }
        match is_first {
            true => Some(event),
            false => self.told.pop(),
        }
    }

    /// Whether there is no unreturned item before the next record.
    pub(crate) const fn is_whole(&self) -> bool {
        self.told.is_empty()
    }

    /// The position of each source, in order.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.sources.iter().map(Source::place)
    }
}

impl<'a, I: Iterator<Item = &'a [u8]>> Iterator for Merge<'a, I> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        self.next_before(None)
    }
}
