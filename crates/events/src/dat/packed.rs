//! Decompresses the sections of a version 7 file, with a size limit.

use super::error::DatError;
use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::Read;

/// The compression of the sections of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionCompression {
    None,
    Zlib,
    Zstd,
}

impl SectionCompression {
    pub(super) fn named(name: &str) -> Result<SectionCompression, DatError> {
        match name {
            "none" => Ok(SectionCompression::None),
            "zlib" => Ok(SectionCompression::Zlib),
            "zstd" => Ok(SectionCompression::Zstd),
            _ => Err(DatError::Packing {
                name: name.chars().take(20).collect(),
            }),
        }
    }
}

/// Decompresses sections; their total size is limited.
pub(super) struct Unpacker {
    pub(super) packing: SectionCompression,
    limit: usize,
    left: usize,
}

impl Unpacker {
    pub(super) const fn new(packing: SectionCompression, limit: usize) -> Unpacker {
        Unpacker {
            packing,
            limit,
            left: limit,
        }
    }

    /// Appends the decompressed content of `packed`, which is at offset `at` of the file and has a stated length of `len` bytes.
    pub(super) fn unpack(&mut self, packed: &[u8], len: usize, at: usize, out: &mut Vec<u8>) -> Result<(), DatError> {
        if len > self.left {
            return Err(DatError::TooLarge { limit: self.limit });
        }
        self.left -= len;
        let before = out.len();
        let broken = |why: String| DatError::Unpack { at, why };
        match self.packing {
            SectionCompression::None => out.extend_from_slice(packed),
            // One byte more than stated reveals a longer content.
            SectionCompression::Zlib => {
                let mut reader = flate2::read::ZlibDecoder::new(packed).take(len as u64 + 1);
                reader.read_to_end(out).map_err(|error| broken(error.to_string()))?;
            }
            SectionCompression::Zstd => zstd(packed, len, out).map_err(|error| broken(error.to_string()))?,
        }
        if out.len() - before == len {
            Ok(())
        } else {
            Err(broken(format!(
                "it becomes {} bytes where {len} are promised",
                out.len() - before
            )))
        }
    }
}

/// The size of one decoding step.
const STEP: usize = 1 << 17;

/// The largest window of a Zstandard frame, in bytes, unless its content is larger. Every decoder should support it (RFC 8878,
/// 3.1.1.1.2), and trace-cmd's encoder uses less. A decoder allocates the window before it sees any content.
const MOST_WINDOW: u64 = 8 << 20;

/// What a Zstandard decoder reports.
#[derive(Debug, thiserror::Error)]
enum ZstdError {
    /// The frame is broken.
    #[error(transparent)]
    Frame(#[from] FrameDecoderError),
    /// Its content could not be collected.
    #[error(transparent)]
    Collected(#[from] std::io::Error),
    /// It asks for more memory than its content can need.
    #[error("its window of {window} bytes is larger than {MOST_WINDOW} and than its content")]
    Window {
        /// The window that it states.
        window: u64,
    },
}

/// The window that a frame states: that of its descriptor, or its content if it is a single segment (RFC 8878, 3.1.1.1).
/// `None` for a truncated header, which the decoder refuses.
fn window(frame: &[u8]) -> Option<u64> {
    let descriptor = *frame.get(4)?;
    if descriptor & 0x20 == 0 {
        let window = *frame.get(5)?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let mut bytes = [0; 8];
    bytes
        .get_mut(..size)?
        .copy_from_slice(frame.get(5 + dictionary..5 + dictionary + size)?);
    let content = u64::from_le_bytes(bytes);
    Some(if size == 2 { content + 256 } else { content })
}

fn zstd(packed: &[u8], len: usize, out: &mut Vec<u8>) -> Result<(), ZstdError> {
    if let Some(window) = window(packed).filter(|window| *window > MOST_WINDOW.max(len as u64)) {
        return Err(ZstdError::Window { window });
    }
    let mut source = packed;
    let mut decoder = FrameDecoder::new();
    decoder.reset(&mut source)?;
    let end = out.len() + len;
    loop {
        let finished = decoder.is_finished();
        let mut some = Vec::new();
        // Until it finishes, the decoder withholds a window of its output, which is read at the end.
        decoder.collect_to_writer(&mut some)?;
        out.append(&mut some);
        if finished || out.len() > end {
            return Ok(());
        }
        decoder.decode_blocks(&mut source, BlockDecodingStrategy::UptoBytes(STEP))?;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A frame header: magic number, descriptor, and what follows.
    fn frame(rest: &[u8]) -> Vec<u8> {
        [&[0x28, 0xb5, 0x2f, 0xfd], rest].concat()
    }

    #[test]
    fn the_window_of_a_frame_is_read_in_each_form() {
        for (rest, expected) in [
            (&[0x00, 0x00][..], 1 << 10),
            (&[0x00, 0x58], 1 << 21),
            (&[0x00, 0x0f], (1 << 11) / 8 * 15),
            (&[0x20, 7], 7),
            (&[0x60, 0, 1], 512),
            (&[0xa0, 0, 0, 0, 2], 1 << 25),
            (&[0xe3, 9, 9, 9, 9, 1, 0, 0, 0, 1, 0, 0, 0], (1 << 32) + 1),
        ] {
            assert_eq!(window(&frame(rest)), Some(expected), "{rest:?}");
        }
        assert_eq!(window(&frame(&[0xe0, 1])), None);
    }

    #[test]
    fn a_window_that_the_content_cannot_need_is_refused_before_it_is_allocated() {
        let mut out = Vec::new();
        for (rest, is_refused) in [(&[0x00, 0x68, 1, 0, 0][..], false), (&[0x00, 0x69, 1, 0, 0], true)] {
            let answer = zstd(&frame(rest), 0, &mut out);
            assert_eq!(
                matches!(answer, Err(ZstdError::Window { .. })),
                is_refused,
                "{answer:?}"
            );
        }
        // A single segment of 32 MiB, where the file states as much.
        let single = frame(&[0xa0, 0, 0, 0, 2, 1, 0, 0]);
        assert!(matches!(
            zstd(&single, 1 << 10, &mut out),
            Err(ZstdError::Window { .. })
        ));
        assert!(!matches!(
            zstd(&single, 1 << 25, &mut out),
            Err(ZstdError::Window { .. })
        ));
    }
}
