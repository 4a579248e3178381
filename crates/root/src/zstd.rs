//! Decodes Zstandard files with any number of frames. Our decoder reads one frame and leaves the rest, and its
//! checksum, to the caller.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{BufRead, Error, ErrorKind, Read};

/// Bytes decoded at a time.
const STEP: usize = 1 << 17;

/// An empty frame (RFC 8878: magic number, one segment of 0 bytes, a last raw block of 0 bytes).
const EMPTY_FRAME: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0];

pub(crate) struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    state: FrameState,
}

#[derive(PartialEq, Eq)]
enum FrameState {
    BetweenFrames,
    InFrame,
    Ended,
}

impl<R: BufRead> ZstdFrames<R> {
    pub(crate) fn new(source: R) -> ZstdFrames<R> {
        ZstdFrames {
            source,
            decoder: FrameDecoder::new(),
            state: FrameState::BetweenFrames,
        }
    }

    fn next_frame(&mut self) -> Result<(), Error> {
        if self.source.fill_buf()?.is_empty() {
            self.state = FrameState::Ended;
            return Ok(());
        }
        // Only a decoder that has decoded a frame refuses a window that is too large for memory (100 MiB).
        let first = self.decoder.reset(EMPTY_FRAME);
        match first.and_then(|()| self.decoder.reset(&mut self.source)) {
            Ok(()) => self.state = FrameState::InFrame,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let skipped = std::io::copy(&mut self.source.by_ref().take(length.into()), &mut std::io::sink())?;
                if skipped < u64::from(length) {
                    return Err(Error::from(std::io::ErrorKind::UnexpectedEof));
                }
            }
            Err(FrameDecoderError::WindowSizeTooBig { .. }) => return Err(ErrorKind::OutOfMemory.into()),
            Err(error) => return Err(Error::other(error.to_string())),
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        loop {
            match self.state {
                FrameState::Ended => return Ok(0),
                FrameState::BetweenFrames => self.next_frame()?,
                FrameState::InFrame => {
                    let read = self.decoder.read(buffer)?;
                    if read > 0 || buffer.is_empty() {
                        return Ok(read);
                    }
                    if self.decoder.is_finished() {
                        let stored = self.decoder.get_checksum_from_data();
                        if stored.is_some() && stored != self.decoder.get_calculated_checksum() {
                            return Err(Error::other("a zstd checksum does not match"));
                        }
                        self.state = FrameState::BetweenFrames;
                        continue;
                    }
                    let strategy = BlockDecodingStrategy::UptoBytes(STEP);
                    self.decoder
                        .decode_blocks(&mut self.source, strategy)
                        .map_err(|error| Error::other(error.to_string()))?;
                }
            }
        }
    }
}
