//! Reads one CPU's buffer as a stream of pages, with `read` or through a memory mapping where the kernel has it (6.10).
//!
//! Both return the same: whole pages, and only the new events of a page that is not full. `blame` uses `read`, because it is
//! faster: `examples/reading_speed.rs` on 6.18 (unoptimised, medians, three times within 10 %) takes 1.6 us for a full page,
//! against 2.2 us mapped. A page with five new events takes 2.4 us, against 34 us mapped. `read` swaps a full page for an
//! empty one without copying. A mapped page stays in the buffer, so the kernel walks over its events one by one to count them
//! as read, and we walk over the older ones to know the time. Only a check without new events is faster mapped: 0.32 us
//! against 0.38 us. A record to disk uses splice, which touches no page.

use crate::TraceError;
use events::{Page, PageLayout};
use root::pipe::Pipe;
use root::ring::{ReaderPage, Ring};

/// Bits in the byte count that mean: events were lost before the page, and their number follows the data.
const LOST: u64 = 3 << 30;

/// How pages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageAccess {
    /// Mapped if the kernel supports it.
    Mapped,
    /// With `read`, which every kernel supports.
    Read,
}

/// The open buffer of one CPU.
#[derive(Debug)]
pub enum BufferSource {
    /// Read into memory.
    Read(Pipe),
    /// Mapped: the buffer, and the data it returned last.
    Mapped(Ring, Option<ReaderPage>),
}

impl BufferSource {
    /// Opens the `trace_pipe_raw` of a CPU.
    ///
    /// # Errors
    /// The errno of open.
    pub fn open(path: &str, way: PageAccess) -> Result<BufferSource, TraceError> {
        if way == PageAccess::Mapped
            && let Some(ring) = Ring::open(path)?
        {
            return Ok(BufferSource::Mapped(ring, None));
        }
        Ok(BufferSource::Read(Pipe::open(path)?))
    }

    /// Reads a page, or its available part, without waiting. Returns the number of bytes; 0 if nothing is new.
    ///
    /// # Errors
    /// The errno of read, or of ioctl; an invalid page.
    pub fn read(&mut self, page: &mut [u8], layout: &PageLayout) -> Result<usize, TraceError> {
        let (ring, last) = match self {
            BufferSource::Read(pipe) => return Ok(pipe.read(page)?),
            BufferSource::Mapped(ring, last) => (ring, last),
        };
        let now = ring.take(page)?;
        let known = last.replace(now).filter(|last| last.id == now.id);
        let from = known.map_or(0, |last| last.read);
        if now.read <= from {
            return Ok(0);
        }
        Ok(cut(page, from, now.read, layout))
    }
}

/// Makes the bytes `from..to` of a page's data a page of its own, whose time is that of the preceding event. Returns the
/// length of the page; 0 if the data is invalid.
fn cut(page: &mut [u8], from: usize, to: usize, layout: &PageLayout) -> usize {
    let count = layout.commit_at..layout.commit_at + layout.commit_len;
    let bytes = page.get(count.clone()).and_then(|count| layout.endian.number(count));
    let Some(lost) = bytes.map(|counter| counter & LOST) else {
        return 0;
    };
    if from == 0 {
        write(page, count, lost | to as u64, layout);
        return page.len();
    }
    write(page, count.clone(), from as u64, layout);
    let Some(at) = Page::parse(page, layout).ok().and_then(Page::end) else {
        return 0;
    };
    let (from, to) = (layout.data_at + from, layout.data_at + to);
    if to > page.len() {
        return 0;
    }
    page.copy_within(from..to, layout.data_at);
    write(page, 0..8, at, layout);
    write(page, count, (to - from) as u64, layout);
    layout.data_at + to - from
}

/// Writes a number to a field of 4 or 8 bytes.
fn write(page: &mut [u8], at: std::ops::Range<usize>, number: u64, layout: &PageLayout) {
    let Some(place) = page.get_mut(at) else { return };
    let bytes = match layout.endian {
        events::Endian::Little => number.to_le_bytes(),
        events::Endian::Big => number.to_be_bytes(),
    };
    let skip = match layout.endian {
        events::Endian::Little => 0,
        events::Endian::Big => 8 - place.len().min(8),
    };
    for (to, byte) in place.iter_mut().zip(bytes.iter().skip(skip)) {
        *to = *byte;
    }
}
