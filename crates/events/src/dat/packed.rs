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

/// An empty Zstandard frame (RFC 8878: magic number, one segment of 0 bytes, a last raw block of 0 bytes).
const EMPTY_FRAME: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0];

/// What a Zstandard decoder reports.
#[derive(Debug, thiserror::Error)]
enum ZstdError {
    /// The frame is broken.
    #[error(transparent)]
    Frame(#[from] FrameDecoderError),
    /// Its content could not be collected.
    #[error(transparent)]
    Collected(#[from] std::io::Error),
}

fn zstd(packed: &[u8], len: usize, out: &mut Vec<u8>) -> Result<(), ZstdError> {
    let mut source = packed;
    let mut decoder = FrameDecoder::new();
    // Only a decoder that has seen a frame refuses a window that is too large for memory (100 MiB).
    decoder.reset(EMPTY_FRAME)?;
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
