//! Describes one field of an event: its position in the payload, and how to read it.

use crate::endian::Endian;

/// The content of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldShape {
    /// One number.
    Number,
    /// Text at a fixed position, ended by a zero byte or by the end of the field.
    Text,
    /// An array of numbers with this many bytes each.
    Numbers(usize),
    /// A word that locates the field's bytes in the payload: length in the upper half, offset in the lower.
    /// The offset counts from the start of the payload (`__data_loc`).
    Elsewhere,
    /// The same, counted from the end of that word (`__rel_loc`, 5.16).
    ElsewhereRelative,
}

/// A field of an event, as the event's `format` file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type as the kernel declares it, without the name and without brackets.
    pub declaration: String,
    /// Its offset in the payload.
    pub offset: usize,
    /// Its bytes.
    pub size: usize,
    /// Whether its numbers are signed.
    pub signed: bool,
    /// Its content.
    pub shape: FieldShape,
}

impl Field {
    /// The field's own bytes.
    #[must_use]
    #[inline]
    pub fn bytes<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        payload.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// Its number, without sign extension; `None` if the payload is too short or the field is not a number.
    #[must_use]
    #[inline]
    pub fn unsigned(&self, payload: &[u8], endian: Endian) -> Option<u64> {
        endian.number(self.bytes(payload)?)
    }

    /// Its number with its sign.
    #[must_use]
    #[inline]
    pub fn number(&self, payload: &[u8], endian: Endian) -> Option<i64> {
        let bits = self.unsigned(payload, endian)?;
        let shift = 64_usize.saturating_sub(self.size * 8) as u32;
        Some(if self.signed {
            ((bits << shift) as i64) >> shift
        } else {
            bits as i64
        })
    }

    /// The bytes of the field's value: its own, or those that it points to.
    #[must_use]
    pub fn content<'a>(&self, payload: &'a [u8], endian: Endian) -> Option<&'a [u8]> {
        let from_base = match self.shape {
            FieldShape::Elsewhere => 0,
            FieldShape::ElsewhereRelative => self.offset + self.size,
            _ => return self.bytes(payload),
        };
        let word = self.unsigned(payload, endian)?;
        let from = from_base + (word & 0xffff) as usize;
        payload.get(from..from + ((word >> 16) & 0xffff) as usize)
    }

    /// Its text up to the first zero byte.
    #[must_use]
    pub fn text<'a>(&self, payload: &'a [u8], endian: Endian) -> Option<&'a [u8]> {
        let content = self.content(payload, endian)?;
        let end = memchr::memchr(0, content).unwrap_or(content.len());
        content.get(..end)
    }
}
