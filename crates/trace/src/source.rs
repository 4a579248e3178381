//! One CPU's buffer as a stream of pages: read, or mapped into this process where the kernel offers that (6.10).
//!
//! Both give the same: whole pages, and of a page that is not full what was written since. `blame` reads, because that is
//! faster: `examples/reading_speed.rs` on 6.18 (unoptimised, medians, three times within 10 %) takes 1.6 us for a full page,
//! against 2.2 us mapped, and 2.4 us for a look at a page to which five events came, against 34 us mapped. `read` swaps a
//! full page for an empty one as it is; what is mapped stays in the buffer, so the kernel walks over its events one by one to
//! count them as read, and we walk over those that were there before to know the time. Only a look at nothing new is
//! cheaper: 0.32 us against 0.38 us. A record onto the disk is spliced, which touches no page.

use crate::TraceError;
use events::{Layout, Page};
use root::pipe::Pipe;
use root::ring::{Handed, Ring};

/// Bits of the count of bytes that say that events were lost before the page, and that their number stands behind the data.
const LOST: u64 = 3 << 30;

/// How pages are taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Mapped where the kernel offers it.
    Mapped,
    /// Read, as every kernel can.
    Read,
}

/// The buffer of one CPU, open for reading in one of the ways.
#[derive(Debug)]
pub enum Source {
    /// Read into memory.
    Read(Pipe),
    /// Mapped: the buffer, and what it handed over last.
    Mapped(Ring, Option<Handed>),
}

impl Source {
    /// Opens the `trace_pipe_raw` of a CPU.
    ///
    /// # Errors
    /// The errno of open.
    pub fn open(path: &str, way: Way) -> Result<Source, TraceError> {
        if way == Way::Mapped
            && let Some(ring) = Ring::open(path)?
        {
            return Ok(Source::Mapped(ring, None));
        }
        Ok(Source::Read(Pipe::open(path)?))
    }

    /// Reads a page, or what is there of one, without waiting: the bytes; 0 when nothing is new.
    ///
    /// # Errors
    /// The errno of read, or of ioctl; a page that is none.
    pub fn read(&mut self, page: &mut [u8], layout: &Layout) -> Result<usize, TraceError> {
        let (ring, last) = match self {
            Source::Read(pipe) => return Ok(pipe.read(page)?),
            Source::Mapped(ring, last) => (ring, last),
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

/// Makes a page of its own out of the bytes `from..to` of a page's data: its time is that of the event before them. The
/// length of the page; 0 when there is no sense in it.
fn cut(page: &mut [u8], from: usize, to: usize, layout: &Layout) -> usize {
    let count = layout.commit_at..layout.commit_at + layout.commit_len;
    let said = page
        .get(count.clone())
        .and_then(|count| layout.endian.number(count));
    let Some(lost) = said.map(|said| said & LOST) else {
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

/// Writes a number into a place of 4 or 8 bytes.
fn write(page: &mut [u8], at: std::ops::Range<usize>, number: u64, layout: &Layout) {
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
