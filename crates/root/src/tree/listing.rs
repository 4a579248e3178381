//! Encodes a folder of an unpacked archive for the store: the number of its entries, one record of fixed size for each,
//! sorted by name, then the names.

use super::store::Span;
use std::sync::Arc;

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// A folder; its span is its listing.
    Dir,
    /// A file; its span is its content.
    File,
    /// A symbolic link; its span is its target.
    Link,
}

/// One entry of a listing of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub sort: Sort,
    /// Permission bits.
    pub mode: u16,
    pub span: Span,
}

const COUNT: usize = 4;
const RECORD: usize = 16;

/// Encodes a listing. The entries must be sorted by name.
pub(super) fn encode<'a>(entries: impl ExactSizeIterator<Item = (&'a [u8], Record)>, out: &mut Vec<u8>) {
    out.clear();
    let mut names = Vec::new();
    out.extend(u32_of(entries.len()).to_le_bytes());
    for (name, record) in entries {
        names.extend_from_slice(name);
        out.extend(u32_of(names.len()).to_le_bytes());
        let sort: u16 = match record.sort {
            Sort::Dir => 0,
            Sort::File => 1,
            Sort::Link => 2,
        };
        out.extend((record.mode & 0o7777 | sort << 12).to_le_bytes());
        out.extend([0, 0]);
        out.extend(record.span.start.to_le_bytes());
        out.extend(record.span.len.to_le_bytes());
    }
    out.append(&mut names);
}

/// A listing that was read from the store.
#[derive(Clone)]
pub(super) struct Listing {
    bytes: Arc<Vec<u8>>,
}

impl Listing {
    pub(super) fn new(bytes: Vec<u8>) -> Listing {
        Listing {
            bytes: Arc::new(bytes),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.u32_at(0) as usize
    }

    /// The entry with this name.
    pub(super) fn find(&self, name: &[u8]) -> Option<Record> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.name(middle).cmp(name) {
                std::cmp::Ordering::Equal => return Some(self.record(middle)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// All entries, sorted by name.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u8], Record)> {
        (0..self.len()).map(|place| (self.name(place), self.record(place)))
    }

    fn name(&self, place: usize) -> &[u8] {
        let names = COUNT + self.len() * RECORD;
        let end = |place: usize| self.u32_at(COUNT + place * RECORD) as usize;
        let start = place.checked_sub(1).map_or(0, end);
        self.bytes
            .get(names + start..names + end(place))
            .unwrap_or_default()
    }

    fn record(&self, place: usize) -> Record {
        let at = COUNT + place * RECORD;
        let word = self.u32_at(at + 4);
        Record {
            sort: match word >> 12 & 3 {
                0 => Sort::Dir,
                1 => Sort::File,
                _ => Sort::Link,
            },
            mode: (word & 0o7777) as u16,
            span: Span {
                start: self.u32_at(at + 8),
                len: self.u32_at(at + 12),
            },
        }
    }

    fn u32_at(&self, at: usize) -> u32 {
        let bytes = self.bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }
}

/// Counts and positions fit: the limits on entries and bytes of an archive are below 4 Gi.
pub(super) fn u32_of(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back() {
        let record = |sort, mode, start| Record {
            sort,
            mode,
            span: Span {
                start,
                len: start * 3,
            },
        };
        let entries: Vec<(&[u8], Record)> = vec![
            (b"a", record(Sort::File, 0o4755, 7)),
            (b"ab", record(Sort::Dir, 0o555, 1 << 30)),
            (b"b\xff", record(Sort::Link, 0o777, 0)),
        ];
        for count in 0..=entries.len() {
            let mut bytes = vec![9; 3];
            encode(entries.iter().take(count).copied(), &mut bytes);
            let listing = Listing::new(bytes);
            assert_eq!(listing.entries().collect::<Vec<_>>(), entries[..count]);
            for (place, (name, record)) in entries.iter().enumerate() {
                assert_eq!(listing.find(name), (place < count).then_some(*record));
            }
            for absent in [&b""[..], b"aa", b"c"] {
                assert_eq!(listing.find(absent), None);
            }
        }
    }
}
