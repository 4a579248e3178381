//! Transfers data out of a guest in frames over a serial port. Kernel messages never appear on this port, but bytes may be
//! lost.
//!
//! A frame is a header line `FRAME NAME LENGTH CRC32`, then exactly LENGTH bytes, then a newline. Frames with a wrong
//! checksum are never used.

const MARK: &[u8] = b"FRAME ";

/// Maximum length of a body: the result of a whole day is shorter. A header with a larger length is damaged.
pub const MOST_BYTES: usize = 64 << 20;

/// Maximum length of a header: a name and two numbers.
const MOST_HEADER: usize = 256;

/// The first item in bytes from a port. The numbers count the bytes up to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameItem<'a> {
    /// A complete frame.
    Whole {
        /// Its name.
        name: &'a str,
        /// Its body.
        body: &'a [u8],
        /// Bytes up to its end.
        end: usize,
    },
    /// An invalid header, or a body with another checksum.
    Damaged {
        /// Bytes that can be discarded.
        end: usize,
    },
    /// An incomplete frame.
    Incomplete {
        /// Bytes before it.
        start: usize,
    },
    /// No frame.
    Nothing {
        /// Bytes that cannot be part of a frame.
        end: usize,
    },
}

/// Finds the first item in these bytes.
#[must_use]
pub fn first(bytes: &[u8]) -> FrameItem<'_> {
    let mut unlimited = ChecksumBudget {
        before: u64::MAX / 2,
        ..ChecksumBudget::default()
    };
    within(bytes, &mut unlimited)
}

/// As [`first`]. The length of a damaged body is charged to the budget; a body for which it does not
/// suffice counts as damaged, unchecked.
fn within<'a>(bytes: &'a [u8], budget: &mut ChecksumBudget) -> FrameItem<'a> {
    let Some(start) = bytes.windows(MARK.len()).position(|window| window == MARK) else {
        // The mark itself may be incomplete.
        return FrameItem::Nothing {
            end: bytes.len().saturating_sub(MARK.len() - 1),
        };
    };
    let rest = bytes.get(start..).unwrap_or_default();
    let damaged = FrameItem::Damaged {
        end: start + MARK.len(),
    };
    let Some(line) = rest.iter().take(MOST_HEADER).position(|&byte| byte == b'\n') else {
        return match rest.len() < MOST_HEADER {
            true => FrameItem::Incomplete { start },
            false => damaged,
        };
    };
    let Some((name, length, checksum)) = header(rest.get(..line).unwrap_or_default()) else {
        return damaged;
    };
    let Some(body) = rest.get(line + 1..line + 1 + length) else {
        return FrameItem::Incomplete { start };
    };
    let end = start + line + 1 + length;
    if !budget.allows(length, end) {
        return damaged;
    }
    if crc32fast::hash(body) != checksum {
        budget.charge(length);
        return damaged;
    }
    FrameItem::Whole { name, body, end }
}

/// Encodes one frame. The name is one word.
#[must_use]
pub fn framed(name: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("\nFRAME {name} {} {:08x}\n", body.len(), crc32fast::hash(body)).into_bytes();
    bytes.extend_from_slice(body);
    bytes.push(b'\n');
    bytes
}

/// Decodes frames that arrive piece by piece. The work is proportional to the number of bytes, whatever they contain.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// Bytes at the start that are already processed.
    consumed: usize,
    damaged: usize,
    budget: ChecksumBudget,
}

/// Limits checksums of bodies that turn out to be damaged. Damage is rare; a body that contains many headers would otherwise
/// have each of them checksummed again. The limit depends on the stream only, not on how it was cut into pieces.
#[derive(Debug, Default)]
struct ChecksumBudget {
    /// Bytes of the stream before those that are searched.
    before: u64,
    /// The furthest end of a body that was judged, in bytes of the stream.
    furthest: u64,
    /// Bytes of damaged bodies that were checksummed.
    spent: u64,
}

/// Bytes of damaged bodies that may be checksummed, per byte of the stream.
const CHECKSUMMED_PER_BYTE: u64 = 8;

/// Bodies up to this length cost as little as their header, and are always checksummed.
const FREE_BYTES: usize = MOST_HEADER;

impl ChecksumBudget {
    /// Whether a body of this length, which ends there, may be checksummed.
    fn allows(&mut self, length: usize, end: usize) -> bool {
        self.furthest = self.furthest.max(self.before + end as u64);
        length <= FREE_BYTES || length as u64 + self.spent <= self.furthest.saturating_mul(CHECKSUMMED_PER_BYTE)
    }

    fn charge(&mut self, length: usize) {
        if length > FREE_BYTES {
            self.spent += length as u64;
        }
    }
}

impl Frames {
    /// Adds bytes from the port.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.consumed);
        self.consumed = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete frame: its name and its body. `None` until more bytes arrive.
    pub fn take(&mut self) -> Option<(String, Vec<u8>)> {
        loop {
            let rest = self.bytes.get(self.consumed..).unwrap_or_default();
            let (frame, end) = match within(rest, &mut self.budget) {
                FrameItem::Whole { name, body, end } => (Some((name.to_owned(), body.to_vec())), end),
                FrameItem::Damaged { end } => {
                    self.damaged += 1;
                    (None, end)
                }
                FrameItem::Nothing { end } | FrameItem::Incomplete { start: end } => {
                    self.advance(end);
                    return None;
                }
            };
            self.advance(end);
            if frame.is_some() {
                return frame;
            }
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.consumed += bytes;
        self.budget.before += bytes as u64;
    }

    /// The number of damaged frames so far.
    #[must_use]
    pub fn damaged(&self) -> usize {
        self.damaged
    }
}

/// Parses name, length and checksum of a header line.
fn header(line: &[u8]) -> Option<(&str, usize, u32)> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ').skip(1);
    let (name, length, checksum) = (words.next()?, words.next()?, words.next()?);
    let length: usize = length.parse().ok().filter(|length| *length <= MOST_BYTES)?;
    let is_last = words.next().is_none();
    let checksum = u32::from_str_radix(checksum, 16).ok()?;
    is_last.then_some((name, length, checksum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_reassembled_from_arbitrary_pieces() {
        let mut port = b"noise FRAME of a kernel\n".to_vec();
        port.extend(framed("one", b"FRAME two 3 00000000\nx"));
        port.extend(b"\n\nFRAM");
        port.extend(framed("three", b""));
        for piece in [1, 2, 7, port.len()] {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for bytes in port.chunks(piece) {
                frames.push(bytes);
                while let Some(frame) = frames.take() {
                    found.push(frame);
                }
            }
            let wanted = [
                ("one".to_owned(), b"FRAME two 3 00000000\nx".to_vec()),
                ("three".to_owned(), Vec::new()),
            ];
            assert_eq!((found.as_slice(), frames.damaged()), (&wanted[..], 1), "{piece}");
        }
    }

    /// A damaged body contains headers, each with a long body of its own: the work stays proportional to the bytes.
    #[test]
    fn checksum_work_on_false_headers_is_limited() {
        let header = format!("FRAME x {} 00000000\n", 1 << 20);
        let mut frames = Frames::default();
        let hostile = header.repeat((2 << 20) / header.len());
        frames.push(hostile.as_bytes());
        assert_eq!(frames.take(), None);
        assert!(frames.damaged() > 40_000, "{}", frames.damaged());
        let most = CHECKSUMMED_PER_BYTE * hostile.len() as u64;
        let spent = frames.budget.spent;
        assert!((most / 2..=most).contains(&spent), "{spent} of {most}");
        // The next frame is still decoded.
        frames.push(&[b'.'; 1 << 20]);
        frames.push(&framed("good", b"text"));
        let found: Vec<_> = std::iter::from_fn(|| frames.take()).collect();
        assert_eq!(found, [("good".to_owned(), b"text".to_vec())]);
    }

    /// False headers with bodies of all lengths use up the budget; the pieces in which they arrive must not matter.
    #[test]
    fn frames_after_many_false_headers_do_not_depend_on_the_pieces() {
        let decoded = |stream: &[u8], piece: usize| {
            let mut frames = Frames::default();
            let mut found = 0;
            for bytes in stream.chunks(piece) {
                frames.push(bytes);
                found += std::iter::from_fn(|| frames.take()).count();
            }
            (found, frames.damaged())
        };
        let mut decoded_frames = 0;
        for seed in 0..40_u32 {
            let mut random = seed;
            let mut stream = Vec::new();
            for _ in 0..300 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                match random >> 29 {
                    0 => stream.extend(framed("good", b"text")),
                    kind => stream.extend(format!("FRAME x {} 00000000\n", 10_usize.pow(kind % 4)).bytes()),
                }
            }
            let whole = decoded(&stream, stream.len());
            for piece in [1, 7, 64, 1_000] {
                assert_eq!(decoded(&stream, piece), whole, "seed {seed}, pieces of {piece} bytes");
            }
            decoded_frames += whole.0;
        }
        assert!(decoded_frames > 1_000, "{decoded_frames}");
    }

    /// Each byte is scanned once, not once for each mark before it.
    #[test]
    fn a_stream_of_markers_is_scanned_once() {
        let mut frames = Frames::default();
        let marks = [b"FRAME \n".repeat(1 << 20), framed("good", b"text")].concat();
        let mut found = Vec::new();
        for part in marks.chunks(1 << 16) {
            frames.push(part);
            found.extend(std::iter::from_fn(|| frames.take()));
        }
        assert_eq!(found, [("good".to_owned(), b"text".to_vec())]);
    }

    #[test]
    fn damaged_frames_are_dropped_and_later_frames_are_read() {
        let good = framed("good", b"text");
        for place in 0..good.len() - 1 {
            let mut frames = Frames::default();
            let mut bad = good.clone();
            bad[place] ^= 0x10;
            frames.push(&bad);
            let mut found: Vec<_> = std::iter::from_fn(|| frames.take()).collect();
            // The newline before a frame is not part of it, and its name has no checksum.
            found.retain(|(name, body)| place != 0 && name == "good" && body == b"text");
            assert!(found.is_empty(), "{place}: {found:?}");
        }
        let mut frames = Frames::default();
        frames.push(format!("FRAME huge {} 00000000\n", usize::MAX).as_bytes());
        frames.push(&[b'x'; 300]);
        frames.push(&good);
        assert_eq!(frames.take(), Some(("good".to_owned(), b"text".to_vec())));
        assert_eq!((frames.damaged(), frames.take()), (1, None));
    }
}
