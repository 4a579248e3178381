//! Merges the pages of several CPUs into one stream sorted by time.
//!
//! Each CPU's entries are already sorted. Lost entries, and pages that cannot be read, are items of the stream too, because
//! consumers that count events need them.

use crate::error::PageError;
use crate::layout::PageLayout;
use crate::page::{LostEntries, Page, PageRecord, PageRecords};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// One item of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamItem<'a> {
    /// An event.
    Record {
        /// CPU on which it was recorded.
        cpu: u32,
        /// Time and payload.
        record: PageRecord<'a>,
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
pub(crate) struct PagePosition {
    /// Number of finished pages.
    pub(crate) pages: usize,
    /// Position in the next page; `None` before that page is started.
    pub(crate) within: Option<(usize, u64)>,
}

/// The pages of one CPU, in order.
pub struct PageSource<'a, I: Iterator<Item = &'a [u8]>> {
    cpu: u32,
    layout: PageLayout,
    pages: I,
    /// Number of pages that were removed from `pages`.
    removed: usize,
    records: Option<PageRecords<'a>>,
    next: Option<PageRecord<'a>>,
    /// Items before the next record that are not records.
    queued_items: Vec<StreamItem<'a>>,
    /// The position of the first of them.
    before: PagePosition,
}

impl<'a, I: Iterator<Item = &'a [u8]>> PageSource<'a, I> {
    /// A source for a CPU whose pages arrive one by one.
    pub fn new(cpu: u32, layout: PageLayout, pages: I) -> Self {
        PageSource::from(cpu, layout, pages, None)
    }

    /// The same, from a position in the first page on.
    pub(crate) fn from(cpu: u32, layout: PageLayout, mut pages: I, within: Option<(usize, u64)>) -> Self {
        let mut taken = 0;
        let records = within.and_then(|within| {
            taken = 1;
            let page = Page::parse(pages.next()?, &layout).ok()?;
            Some(page.records_from(within))
        });
        PageSource {
            cpu,
            layout,
            pages,
            removed: taken,
            records,
            next: None,
            queued_items: Vec::new(),
            before: PagePosition::default(),
        }
    }

    /// The position of the first item that has not been returned yet.
    pub(crate) const fn place(&self) -> PagePosition {
        self.before
    }

    /// Advances to the next record. Other items before it are put into `queued_items`.
    fn advance(&mut self) {
        let cpu = self.cpu;
        let within = self.records.as_ref().and_then(PageRecords::place);
        self.before = PagePosition {
            pages: self.removed - usize::from(within.is_some()),
            within,
        };
        loop {
            match self.records.as_mut().and_then(Iterator::next) {
                Some(Ok(record)) => {
                    self.next = Some(record);
                    return;
                }
                Some(Err(error)) => self.queued_items.push(StreamItem::Broken { cpu, error }),
                None => {}
            }
            self.records = None;
            let Some(bytes) = self.pages.next() else {
                self.next = None;
                return;
            };
            self.removed += 1;
            match Page::parse(bytes, &self.layout) {
                Ok(page) => {
                    match page.lost {
                        LostEntries::None => {}
                        LostEntries::Counted(count) => self.queued_items.push(StreamItem::Lost {
                            cpu,
                            count: Some(count),
                        }),
                        LostEntries::Uncounted => self.queued_items.push(StreamItem::Lost { cpu, count: None }),
                    }
                    self.records = Some(page.records());
                }
                Err(error) => self.queued_items.push(StreamItem::Broken { cpu, error }),
            }
        }
    }
}

/// The stream. Reports of lost or invalid data directly precede the next event of their CPU: the order of items is the same
/// wherever the stream is split.
pub struct Merge<'a, I: Iterator<Item = &'a [u8]>> {
    sources: Vec<PageSource<'a, I>>,
    /// Time of each source's next record, earliest on top; equal times in the order of the sources.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    /// The next items to return, last first.
    queued_items: Vec<StreamItem<'a>>,
}

impl<'a, I: Iterator<Item = &'a [u8]>> Merge<'a, I> {
    /// Merges the events of these CPUs, sorted by time.
    #[must_use]
    pub fn new(sources: Vec<PageSource<'a, I>>) -> Self {
        let mut merge = Merge {
            order: BinaryHeap::with_capacity(sources.len()),
            sources,
            queued_items: Vec::new(),
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
    pub(crate) fn next_before(&mut self, until: Option<u64>) -> Option<StreamItem<'a>> {
        if let Some(event) = self.queued_items.pop() {
            return Some(event);
        }
        let Some(mut top) = self.order.peek_mut() else {
            let mut sources = self.sources.iter_mut().filter(|_| until.is_none());
            let source = sources.find(|source| !source.queued_items.is_empty())?;
            return Some(source.queued_items.remove(0));
        };
        let Reverse((at, place)) = *top;
        if until.is_some_and(|until| at >= until) {
            return None;
        }
        let source = self.sources.get_mut(place)?;
        let event = StreamItem::Record {
            cpu: source.cpu,
            record: source.next?,
        };
        let is_first = source.queued_items.is_empty();
        if !is_first {
            self.queued_items.push(event);
            self.queued_items.extend(source.queued_items.drain(..).rev());
        }
        source.advance();
        match source.next {
            Some(next) => *top = Reverse((next.at, place)),
            None => drop(PeekMut::pop(top)),
        }
        match is_first {
            true => Some(event),
            false => self.queued_items.pop(),
        }
    }

    /// Whether there is no unreturned item before the next record.
    pub(crate) const fn is_whole(&self) -> bool {
        self.queued_items.is_empty()
    }

    /// The position of each source, in order.
    pub(crate) fn places(&self) -> impl Iterator<Item = PagePosition> + '_ {
        self.sources.iter().map(PageSource::place)
    }
}

impl<'a, I: Iterator<Item = &'a [u8]>> Iterator for Merge<'a, I> {
    type Item = StreamItem<'a>;

    fn next(&mut self) -> Option<StreamItem<'a>> {
        self.next_before(None)
    }
}
