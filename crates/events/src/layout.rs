//! How a page of the ring buffer is laid out on the kernel that wrote it.
//!
//! `events/header_page` says where the head of a page has its time stamp and its count of bytes, and how many bytes of
//! data follow. A 32-bit kernel and a kernel with larger sub-buffers (`buffer_subbuf_size_kb`, 6.8) say other numbers.

use crate::error::FormatError;
use crate::format::{Line, declared};

/// Order of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endian {
    /// Lowest byte first.
    #[default]
    Little,
    /// Highest byte first.
    Big,
}

impl Endian {
    /// The order of the machine that runs this.
    #[must_use]
    pub const fn native() -> Endian {
        if cfg!(target_endian = "big") {
            Endian::Big
        } else {
            Endian::Little
        }
    }

    /// A number of 2 bytes.
    #[must_use]
    #[inline]
    pub const fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Endian::Little => u16::from_le_bytes(bytes),
            Endian::Big => u16::from_be_bytes(bytes),
        }
    }

    /// A number of 4 bytes.
    #[must_use]
    #[inline]
    pub const fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Endian::Little => u32::from_le_bytes(bytes),
            Endian::Big => u32::from_be_bytes(bytes),
        }
    }

    /// A number of 8 bytes.
    #[must_use]
    #[inline]
    pub const fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Endian::Little => u64::from_le_bytes(bytes),
            Endian::Big => u64::from_be_bytes(bytes),
        }
    }

    /// A number of as many bytes as there are: 1, 2, 4 or 8; nothing for other lengths.
    #[must_use]
    #[inline]
    pub fn number(self, bytes: &[u8]) -> Option<u64> {
        match *bytes {
            [a] => Some(u64::from(a)),
            [a, b] => Some(u64::from(self.u16([a, b]))),
            [a, b, c, d] => Some(u64::from(self.u32([a, b, c, d]))),
            [a, b, c, d, e, f, g, h] => Some(self.u64([a, b, c, d, e, f, g, h])),
            _ => None,
        }
    }
}

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
