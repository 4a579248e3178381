//! How a page of the ring buffer is laid out on the kernel that wrote it.
//!
//! `events/header_page` says where the head of a page has its time stamp and its count of bytes, and how many bytes of
//! data follow. A 32-bit kernel and a kernel with larger sub-buffers (`buffer_subbuf_size_kb`, 6.8) say other numbers.

use crate::endian::Endian;
use crate::error::FormatError;
use crate::format::{Line, declared};

/// Layout of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Order of bytes.
    pub endian: Endian,
    /// Byte at which the count of data bytes begins.
    pub commit_at: usize,
    /// Bytes of that count, which are the bytes of a `long` of that kernel: 4 or 8.
    pub commit_len: usize,
    /// Byte at which the data begin.
    pub data_at: usize,
    /// Bytes of a whole page, head and data.
    pub page_len: usize,
}

impl Layout {
    /// Layout of 64-bit kernels with pages of `page_len` bytes, for when nothing describes it.
    #[must_use]
    pub const fn of_64_bit(endian: Endian, page_len: usize) -> Layout {
        Layout {
            endian,
            commit_at: 8,
            commit_len: 8,
            data_at: 16,
            page_len,
        }
    }

    /// From the text of `events/header_page`.
    ///
    /// # Errors
    /// Which line is none of such a file, or which of the three fields is missing or cannot be.
    pub fn parse(text: &str, endian: Endian) -> Result<Layout, FormatError> {
        let (mut timestamp, mut commit, mut data) = (None, None, None);
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let line = Line {
                number: number + 1,
                text: line,
            };
            let field = declared(&line)?;
            match field.name.as_str() {
                "timestamp" => timestamp = Some(field),
                "commit" => commit = Some(field),
                "data" => data = Some(field),
                _ => {}
            }
        }
        let of = |field: Option<crate::Field>, missing| field.ok_or(FormatError::Missing { missing });
        let timestamp = of(timestamp, "the field timestamp")?;
        let commit = of(commit, "the field commit")?;
        let data = of(data, "the field data")?;
        let possible = timestamp.offset == 0
            && timestamp.size == 8
            && matches!(commit.size, 4 | 8)
            && commit.offset >= 8
            && data.offset >= commit.offset + commit.size
            && data.offset <= 64
            && (1..=1 << 24).contains(&data.size);
        if !possible {
            return Err(FormatError::Missing {
                missing: "a head that a page can have (8 bytes of time stamp, a count, the data)",
            });
        }
        Ok(Layout {
            endian,
            commit_at: commit.offset,
            commit_len: commit.size,
            data_at: data.offset,
            page_len: data.offset + data.size,
        })
    }
}
