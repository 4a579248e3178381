//! Describes the layout of a ring buffer page on the kernel that wrote it.
//!
//! `events/header_page` states the offsets of the time stamp and the byte count in the header of a page, and the number of
//! data bytes. They differ on 32-bit kernels and with larger sub-buffers (`buffer_subbuf_size_kb`, 6.8).

use crate::endian::Endian;
use crate::error::FormatError;
use crate::format::{FormatLine, declared};

/// Layout of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    /// Byte order.
    pub endian: Endian,
    /// Offset of the count of data bytes.
    pub commit_at: usize,
    /// Size of that count, which is the size of a `long` on that kernel: 4 or 8.
    pub commit_len: usize,
    /// Offset of the data.
    pub data_at: usize,
    /// Size of a whole page, header and data.
    pub page_len: usize,
}

impl PageLayout {
    /// Layout of 64-bit kernels with pages of `page_len` bytes, for use without a description.
    #[must_use]
    pub const fn of_64_bit(endian: Endian, page_len: usize) -> PageLayout {
        PageLayout {
            endian,
            commit_at: 8,
            commit_len: 8,
            data_at: 16,
            page_len,
        }
    }

    /// Parses the text of `events/header_page`.
    ///
    /// # Errors
    /// An invalid line, or one of the three fields that is missing or has an impossible value.
    pub fn parse(text: &str, endian: Endian) -> Result<PageLayout, FormatError> {
        let (mut timestamp, mut commit, mut data) = (None, None, None);
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let line = FormatLine {
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
        Ok(PageLayout {
            endian,
            commit_at: commit.offset,
            commit_len: commit.size,
            data_at: data.offset,
            page_len: data.offset + data.size,
        })
    }
}
