//! Merges pages of several CPUs, as they arrive, into one stream of events sorted by time.
//!
//! CPUs deliver at different speeds. Events are therefore returned only up to a time before which every CPU has delivered
//! everything, and the rest waits. The stream is the same wherever it is split.

use crate::layout::PageLayout;
use crate::merge::{Merge, PageSource, StreamItem};
use crate::page::Page;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// The waiting pages, and the finished pages that are still kept.
#[derive(Clone, Debug)]
pub struct Flow {
    layout: PageLayout,
    lanes: Vec<PageLane>,
    /// Maximum number of finished pages that are kept per CPU.
    max_finished: usize,
    /// All events before this time have been returned.
    until: u64,
    late: u64,
    waiting: usize,
}

#[derive(Clone, Debug)]
struct PageLane {
    cpu: u32,
    pages: VecDeque<Vec<u8>>,
    /// The number of these pages, from the front, that are finished.
    finished: usize,
    within: Option<(usize, u64)>,
}

impl Flow {
    /// Creates a flow for these CPUs, which keeps this many finished pages of each, for [`Flow::max_finished`].
    #[must_use]
    pub fn of(cpus: &[u32], layout: PageLayout, max_finished: usize) -> Flow {
        let lane = |cpu: &u32| PageLane {
            cpu: *cpu,
            pages: VecDeque::new(),
            finished: 0,
            within: None,
        };
        Flow {
            layout,
            lanes: cpus.iter().map(lane).collect(),
            max_finished,
            until: 0,
            late: 0,
            waiting: 0,
        }
    }

    /// Adds a page of the CPU at this index of the list.
    pub fn add_page(&mut self, place: usize, page: &[u8]) {
        if let Some(lane) = self.lanes.get_mut(place) {
            self.waiting += self.layout.page_len;
            lane.pages.push_back(page.to_vec());
        }
    }

    /// Start time of the last page of the CPU at this index: no older events will arrive from it.
    #[must_use]
    pub fn newest(&self, place: usize) -> Option<u64> {
        let page = self.lanes.get(place)?.pages.back()?;
        Page::parse(page, &self.layout).ok().map(|page| page.timestamp)
    }

    /// Bytes of the unfinished pages.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Events that arrived after their time had been returned. Each was reported as lost.
    #[must_use]
    pub const fn late(&self) -> u64 {
        self.late
    }

    /// Returns events before that time, or all of them, until `each` has enough: about `most` items per call.
    /// Whether these were all.
    pub fn take(
        &mut self,
        until: Option<u64>,
        most: usize,
        mut each: impl FnMut(StreamItem<'_>) -> ControlFlow<()>,
    ) -> bool {
        if until.is_some_and(|until| until <= self.until) {
            return true;
        }
        let source = |lane| -> PageSource<'_, _> {
            let lane: &PageLane = lane;
            let pages = lane.pages.iter().skip(lane.finished).map(Vec::as_slice);
            PageSource::from(lane.cpu, self.layout, pages, lane.within)
        };
        let mut merge = Merge::new(self.lanes.iter().map(source).collect());
        let (mut newest, mut count, mut is_all) = (self.until, 0, true);
        while let Some(event) = merge.next_before(until) {
            count += 1;
            let event = match event {
                StreamItem::Record { cpu, record } if record.at < self.until => {
                    self.late += 1;
                    StreamItem::Lost { cpu, count: Some(1) }
                }
                event => event,
            };
            let is_record = matches!(event, StreamItem::Record { .. });
            if let StreamItem::Record { record, .. } = event {
                newest = record.at;
            }
            if each(event).is_break() {
                break;
            }
            // A report of lost data and the next event are returned together; so are items after the last events.
            if count >= most && is_record && merge.is_whole() {
                is_all = false;
                break;
            }
        }
        let places: Vec<_> = merge.places().collect();
        drop(merge);
        self.until = until.filter(|_| is_all).unwrap_or(newest);
        for (lane, place) in self.lanes.iter_mut().zip(places) {
            lane.finished += place.pages;
            self.waiting -= place.pages * self.layout.page_len;
            lane.within = place.within;
            let old = lane.finished.saturating_sub(self.max_finished);
            lane.pages.drain(..old);
            lane.finished -= old;
        }
        is_all
    }

    /// All events of the stored pages, finished or not.
    pub fn stored_events(&self) -> impl Iterator<Item = StreamItem<'_>> {
        let source = |lane| -> PageSource<'_, _> {
            let lane: &PageLane = lane;
            PageSource::new(lane.cpu, self.layout, lane.pages.iter().map(Vec::as_slice))
        };
        Merge::new(self.lanes.iter().map(source).collect())
    }
}
