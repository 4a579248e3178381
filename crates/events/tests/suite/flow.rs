//! Pages that arrive in pieces give the same events as pages that arrive at once.

use events::{Endian, Flow, Merge, PageLayout, PageSource, StreamItem};
use proptest::prelude::*;
use std::ops::ControlFlow;

const CPUS: [u32; 3] = [0, 1, 5];

fn layout() -> PageLayout {
    PageLayout::of_64_bit(Endian::Little, 256)
}

/// A page of events with one word each, at these distances in nanoseconds.
fn page(at: u64, deltas: &[u32], lost: Option<u64>) -> Vec<u8> {
    let mut page = at.to_le_bytes().to_vec();
    let says = deltas.len() as u64 * 8;
    let flags = if lost.is_some() { 3 << 30 } else { 0 };
    page.extend((says | flags).to_le_bytes());
    for (number, delta) in deltas.iter().enumerate() {
        page.extend((delta << 5 | 1).to_le_bytes());
        page.extend((number as u32).to_le_bytes());
    }
    page.extend(lost.unwrap_or(0).to_le_bytes());
    page.resize(256, 0);
    page
}

/// Takes the available items, three at a time.
fn take_some(flow: &mut Flow, until: Option<u64>, mut each: impl FnMut(StreamItem<'_>) -> ControlFlow<()>) {
    while !flow.take(until, 3, &mut each) {}
}

/// The pages of each CPU, with the time of the last event of each page.
type Pages = Vec<Vec<(u64, Vec<u8>)>>;

fn pages(all: &[Vec<(Vec<u32>, Option<u64>)>]) -> Pages {
    let of = |one: &Vec<(Vec<u32>, Option<u64>)>| {
        let mut now = 1_000;
        let mut page_of = |(deltas, lost): &(Vec<u32>, Option<u64>)| {
            let first = now;
            now += deltas.iter().map(|delta| u64::from(*delta)).sum::<u64>();
            // An occasional unreadable page.
            match lost {
                Some(77) => (first, vec![0xff; 20]),
                _ => (now, page(first, deltas, *lost)),
            }
        };
        one.iter().map(&mut page_of).collect()
    };
    all.iter().map(of).collect()
}

fn at_once(pages: &Pages) -> Vec<String> {
    let source = |(cpu, pages): (&u32, &Vec<(u64, Vec<u8>)>)| -> Vec<Vec<u8>> {
        let _ = cpu;
        pages.iter().map(|(_, page)| page.clone()).collect()
    };
    let all: Vec<Vec<Vec<u8>>> = CPUS.iter().zip(pages).map(source).collect();
    let sources = CPUS
        .iter()
        .zip(&all)
        .map(|(cpu, pages)| PageSource::new(*cpu, layout(), pages.iter().map(Vec::as_slice)))
        .collect();
    Merge::new(sources).map(|event| format!("{event:?}")).collect()
}

fn everything() -> impl Strategy<Value = Vec<Vec<(Vec<u32>, Option<u64>)>>> {
    let page = (
        prop::collection::vec(0_u32..200, 0..20),
        prop_oneof![3 => Just(None), 1 => Just(Some(3)), 1 => Just(Some(77))],
    );
    prop::collection::vec(prop::collection::vec(page, 0..12), 3..=3)
}

proptest! {
    #[test]
    fn the_event_stream_does_not_depend_on_the_cuts(all in everything(), mut cuts in prop::collection::vec(900_u64..5_000, 0..20)) {
        let pages = pages(&all);
        cuts.sort_unstable();
        let mut flow = Flow::of(&CPUS, layout(), 0);
        let mut given = vec![0; CPUS.len()];
        let mut got = Vec::new();
        for cut in cuts {
            for (place, pages) in pages.iter().enumerate() {
                // The pages with an event before the cut have arrived, and no others.
                let has_come = pages.iter().rposition(|(last, _)| *last < cut).map_or(0, |last| last + 1);
                let needed = (has_come + 1).min(pages.len());
                for (_, page) in &pages[given[place]..needed.max(given[place])] {
                    flow.add_page(place, page);
                }
                given[place] = needed.max(given[place]);
            }
            take_some(&mut flow, Some(cut), |event| {
                got.push(format!("{event:?}"));
                ControlFlow::Continue(())
            });
        }
        for (place, pages) in pages.iter().enumerate() {
            pages[given[place]..].iter().for_each(|(_, page)| flow.add_page(place, page));
        }
        take_some(&mut flow, None, |event| {
            got.push(format!("{event:?}"));
            ControlFlow::Continue(())
        });
        prop_assert_eq!(got, at_once(&pages));
        prop_assert_eq!(flow.late(), 0);
    }
}

#[test]
fn events_that_arrive_too_late_are_counted_as_lost() {
    let mut flow = Flow::of(&CPUS, layout(), 0);
    flow.add_page(0, &page(1_000, &[0, 500], None));
    take_some(&mut flow, Some(2_000), |_| ControlFlow::Continue(()));
    assert_eq!(flow.waiting(), 0);
    flow.add_page(1, &page(1_400, &[0, 900], None));
    let mut got = Vec::new();
    take_some(&mut flow, None, |event| {
        got.push(match event {
            StreamItem::Lost { cpu: 1, count: Some(1) } => 0,
            StreamItem::Record { record, .. } => record.at,
            other => panic!("{other:?}"),
        });
        ControlFlow::Continue(())
    });
    assert_eq!((got, flow.late()), (vec![0, 2_300], 1));
}

#[test]
fn finished_pages_are_dropped_except_the_last_ones() {
    let mut flow = Flow::of(&CPUS, layout(), 2);
    for number in 0..10 {
        flow.add_page(0, &page(number * 100, &[50], None));
        take_some(&mut flow, Some(number * 100 + 60), |_| ControlFlow::Continue(()));
        assert_eq!(flow.waiting(), 0);
    }
    let kept: Vec<u64> = flow
        .stored_events()
        .map(|event| match event {
            StreamItem::Record { record, .. } => record.at,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kept, [850, 950]);
}
