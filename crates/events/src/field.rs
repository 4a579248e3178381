//! One field of an event: where it stands in the payload, and how it is read from there.

use crate::endian::Endian;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One number.
    Number,
    /// Text in a fixed place, ended by a zero byte or by the end of the field.
    Text,
    /// Numbers of so many bytes each, one after the other.
    Numbers(usize),
    /// A word that says where in the payload the field's bytes stand: length in the upper half, place in the lower.
    /// The place counts from the payload's beginning (`__data_loc`).
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
    /// Byte of the payload where it begins.
    pub offset: usize,
    /// Its bytes.
    pub size: usize,
    /// Whether its numbers have a sign.
    pub signed: bool,
    /// What it holds.
    pub shape: Shape,
}

impl Field {
    /// The field's own bytes.
    #[must_use]
    #[inline]
    pub fn bytes<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        payload.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// Its number with the bits as they are; nothing where the payload is too short or the field is no number.
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

    /// The bytes that the field means: its own, or those that it points at.
    #[must_use]
    pub fn content<'a>(&self, payload: &'a [u8], endian: Endian) -> Option<&'a [u8]> {
        let from_base = match self.shape {
            Shape::Elsewhere => 0,
            Shape::ElsewhereRelative => self.offset + self.size,
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
