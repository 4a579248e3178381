//! Pages of the ring buffer: every kind of entry, both byte orders, and invalid bytes.

use events::{Endian, LostEntries, Merge, Page, PageError, PageLayout, PageSource, StreamItem};
use proptest::prelude::*;

/// An entry of a page.
#[derive(Clone, Debug)]
enum TestEntry {
    Short { delta: u32, words: Vec<u32> },
    Long { delta: u32, payload: Vec<u8> },
    Discarded { delta: u32, words: u32 },
    Extend { delta: u32, more: u32 },
    Absolute { low: u32, high: u32 },
}

fn word(endian: Endian, word: u32) -> [u8; 4] {
    match endian {
        Endian::Little => word.to_le_bytes(),
        Endian::Big => word.to_be_bytes(),
    }
}

fn header(endian: Endian, kind: u32, delta: u32) -> [u8; 4] {
    word(
        endian,
        match endian {
            Endian::Little => kind | (delta << 5),
            Endian::Big => (kind << 27) | delta,
        },
    )
}

fn page(endian: Endian, timestamp: u64, entries: &[TestEntry]) -> Vec<u8> {
    let mut data = Vec::new();
    for entry in entries {
        match entry {
            TestEntry::Short { delta, words } => {
                data.extend(header(endian, words.len() as u32, *delta));
                words.iter().for_each(|one| data.extend(word(endian, *one)));
            }
            TestEntry::Long { delta, payload } => {
                data.extend(header(endian, 0, *delta));
                data.extend(word(endian, payload.len() as u32 + 4));
                data.extend(payload);
            }
            TestEntry::Discarded { delta, words } => {
                data.extend(header(endian, 29, *delta));
                data.extend(word(endian, 4 + words * 4));
                (0..*words).for_each(|_| data.extend([0xaa; 4]));
            }
            TestEntry::Extend { delta, more } => {
                data.extend(header(endian, 30, *delta));
                data.extend(word(endian, *more));
            }
            TestEntry::Absolute { low, high } => {
                data.extend(header(endian, 31, *low));
                data.extend(word(endian, *high));
            }
        }
    }
    let mut page = match endian {
        Endian::Little => timestamp.to_le_bytes().to_vec(),
        Endian::Big => timestamp.to_be_bytes().to_vec(),
    };
    page.extend(match endian {
        Endian::Little => (data.len() as u64).to_le_bytes(),
        Endian::Big => (data.len() as u64).to_be_bytes(),
    });
    page.extend(data);
    page
}

fn read(endian: Endian, bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let layout = PageLayout::of_64_bit(endian, 4096);
    let page = Page::parse(bytes, &layout).unwrap();
    page.records()
        .map(|record| record.unwrap())
        .map(|record| (record.at, record.payload.to_vec()))
        .collect()
}

#[test]
fn every_kind_of_entry_is_read_in_both_byte_orders() {
    for endian in [Endian::Little, Endian::Big] {
        let bytes = page(
            endian,
            1_000,
            &[
                TestEntry::Short {
                    delta: 5,
                    words: vec![1, 2],
                },
                TestEntry::Extend { delta: 3, more: 2 },
                TestEntry::Long {
                    delta: 1,
                    payload: vec![9; 200],
                },
                TestEntry::Discarded { delta: 7, words: 3 },
                TestEntry::Short {
                    delta: 1,
                    words: vec![7; 28],
                },
                TestEntry::Absolute { low: 11, high: 4 },
                TestEntry::Short {
                    delta: 2,
                    words: vec![3],
                },
            ],
        );
        let extended = 1_005 + 3 + (2 << 27) + 1;
        let times: Vec<u64> = read(endian, &bytes).iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [1_005, extended, extended + 8, (4 << 27) + 11 + 2]);
        let lengths: Vec<usize> = read(endian, &bytes).iter().map(|(_, payload)| payload.len()).collect();
        assert_eq!(lengths, [8, 200, 112, 4]);
    }
}

#[test]
fn an_absolute_time_stamp_takes_its_upper_bits_from_the_last_one() {
    let first = (3 << 59) | 500;
    let bytes = page(
        Endian::Little,
        first,
        &[
            TestEntry::Absolute { low: 900, high: 0 },
            TestEntry::Short {
                delta: 1,
                words: vec![0],
            },
            // Less than the previous time: the 59 bits have wrapped around.
            TestEntry::Absolute { low: 10, high: 0 },
            TestEntry::Short {
                delta: 0,
                words: vec![0],
            },
        ],
    );
    let times: Vec<u64> = read(Endian::Little, &bytes).iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [(3 << 59) | 901, (4 << 59) | 10]);
}

#[test]
fn padding_ends_a_page() {
    let mut bytes = page(
        Endian::Little,
        1,
        &[TestEntry::Short {
            delta: 1,
            words: vec![1],
        }],
    );
    let data = bytes.len() - 16 + 8;
    bytes.extend([29, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    bytes[8..16].copy_from_slice(&(data as u64).to_le_bytes());
    assert_eq!(read(Endian::Little, &bytes).len(), 1);
}

#[test]
fn lost_events_are_reported_with_their_count_if_known() {
    let layout = PageLayout::of_64_bit(Endian::Little, 4096);
    let whole = page(
        Endian::Little,
        1,
        &[TestEntry::Short {
            delta: 1,
            words: vec![1],
        }],
    );
    let lost = |bits: u64, count: Option<u64>| {
        let mut bytes = whole.clone();
        bytes[8..16].copy_from_slice(&((whole.len() as u64 - 16) | bits).to_le_bytes());
        bytes.extend(count.map_or(Vec::new(), |count| count.to_le_bytes().to_vec()));
        Page::parse(&bytes, &layout).unwrap().lost
    };
    assert_eq!(lost(0, None), LostEntries::None);
    assert_eq!(lost(1 << 31, None), LostEntries::Uncounted);
    assert_eq!(lost(3 << 30, Some(12)), LostEntries::Counted(12));
    assert_eq!(
        lost(3 << 30, None),
        LostEntries::Uncounted,
        "said to be stored, and is not there"
    );
}

#[test]
fn truncated_pages_are_errors_and_never_wrong_events() {
    let layout = PageLayout::of_64_bit(Endian::Little, 4096);
    let whole = page(
        Endian::Little,
        1,
        &[
            TestEntry::Short {
                delta: 1,
                words: vec![1, 2],
            },
            TestEntry::Long {
                delta: 1,
                payload: vec![1; 64],
            },
        ],
    );
    for len in 0..16 {
        assert!(matches!(
            Page::parse(&whole[..len], &layout),
            Err(PageError::NoHead { .. })
        ));
    }
    for len in 16..whole.len() {
        assert!(matches!(
            Page::parse(&whole[..len], &layout),
            Err(PageError::TooLong { .. })
        ));
        // The stated length of the page is shorter than its entries.
        let mut cut = whole.clone();
        cut[8..16].copy_from_slice(&(len as u64 - 16).to_le_bytes());
        let records: Vec<_> = Page::parse(&cut, &layout).unwrap().records().collect();
        let good = records.iter().filter(|record| record.is_ok()).count();
        let whole_entries = usize::from(len >= 28);
        assert_eq!(good, whole_entries, "{len}");
        let at_an_end = matches!(len, 16 | 28);
        assert_eq!(
            records.len() - good,
            usize::from(!at_an_end),
            "{len}: one error and then no more"
        );
    }
}

#[test]
fn a_broken_page_does_not_hide_the_next() {
    let layout = PageLayout::of_64_bit(Endian::Little, 4096);
    let good = page(
        Endian::Little,
        100,
        &[TestEntry::Short {
            delta: 1,
            words: vec![1],
        }],
    );
    let broken = [0xff_u8; 64];
    let pages: Vec<&[u8]> = vec![&good, &broken, &good];
    let events: Vec<StreamItem> = Merge::new(vec![PageSource::new(0, layout, pages.into_iter())]).collect();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| match event {
            StreamItem::Record { .. } => "record",
            StreamItem::Lost { .. } => "lost",
            StreamItem::Broken { .. } => "broken",
        })
        .collect();
    assert_eq!(kinds, ["record", "broken", "record"]);
}

fn entry() -> impl Strategy<Value = TestEntry> {
    let delta = 0_u32..1 << 27;
    prop_oneof![
        (delta.clone(), prop::collection::vec(any::<u32>(), 1..=28))
            .prop_map(|(delta, words)| TestEntry::Short { delta, words }),
        (delta.clone(), prop::collection::vec(any::<u8>(), 0..60))
            .prop_map(|(delta, payload)| TestEntry::Long { delta, payload }),
        (1_u32..1 << 27, 0_u32..8).prop_map(|(delta, words)| TestEntry::Discarded { delta, words }),
        (delta, 0_u32..1 << 20).prop_map(|(delta, more)| TestEntry::Extend { delta, more }),
    ]
}

proptest! {
    #[test]
    fn written_entries_are_read_back_unchanged(entries in prop::collection::vec(entry(), 0..30), at in 0_u64..1 << 40) {
        for endian in [Endian::Little, Endian::Big] {
            let mut now = at;
            let mut expected = Vec::new();
            for entry in &entries {
                match entry {
                    TestEntry::Short { delta, words } => {
                        now += u64::from(*delta);
                        expected.push((now, words.iter().flat_map(|one| word(endian, *one)).collect::<Vec<u8>>()));
                    }
                    TestEntry::Long { delta, payload } => {
                        now += u64::from(*delta);
                        expected.push((now, payload.clone()));
                    }
                    TestEntry::Discarded { delta, .. } => now += u64::from(*delta),
                    TestEntry::Extend { delta, more } => now += (u64::from(*more) << 27) + u64::from(*delta),
                    TestEntry::Absolute { .. } => {}
                }
            }
            prop_assert_eq!(read(endian, &page(endian, at, &entries)), expected);
        }
    }

    #[test]
    fn events_of_several_cpus_are_merged_in_time_order(all in prop::collection::vec(prop::collection::vec(0_u32..1 << 20, 0..40), 1..9)) {
        let layout = PageLayout::of_64_bit(Endian::Little, 4096);
        let pages: Vec<Vec<Vec<u8>>> = all
            .iter()
            .map(|deltas| {
                let mut now = 0;
                deltas
                    .chunks(7)
                    .map(|some| {
                        let first = now;
                        now += some.iter().map(|delta| u64::from(*delta)).sum::<u64>();
                        let entries: Vec<TestEntry> =
                            some.iter().map(|delta| TestEntry::Short { delta: *delta, words: vec![1] }).collect();
                        page(Endian::Little, first, &entries)
                    })
                    .collect()
            })
            .collect();
        let sources = pages
            .iter()
            .enumerate()
            .map(|(cpu, pages)| PageSource::new(cpu as u32, layout, pages.iter().map(Vec::as_slice)))
            .collect();
        let mut per_cpu = vec![0; all.len()];
        let mut last = 0;
        for event in Merge::new(sources) {
            let StreamItem::Record { cpu, record } = event else { panic!("{event:?}") };
            prop_assert!(record.at >= last);
            last = record.at;
            per_cpu[cpu as usize] += 1;
        }
        let expected: Vec<usize> = all.iter().map(Vec::len).collect();
        prop_assert_eq!(per_cpu, expected);
    }

    #[test]
    fn no_bytes_cause_a_panic_or_an_endless_loop(bytes in prop::collection::vec(any::<u8>(), 0..300), says in 0_u64..320) {
        let mut bytes = bytes;
        if bytes.len() >= 16 {
            bytes[8..16].copy_from_slice(&says.to_le_bytes());
        }
        let layout = PageLayout::of_64_bit(Endian::Little, 4096);
        if let Ok(page) = Page::parse(&bytes, &layout) {
            prop_assert!(page.records().count() <= bytes.len());
        }
    }
}
