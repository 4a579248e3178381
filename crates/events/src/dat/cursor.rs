//! Reads a file number by number, and reports the offset at which it ended too early.

use super::error::DatError;
use crate::endian::Endian;

/// A position in a file or in a decompressed section of it.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    all: &'a [u8],
    pub(super) at: usize,
    pub(super) endian: Endian,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(all: &'a [u8], endian: Endian) -> Cursor<'a> {
        Cursor { all, at: 0, endian }
    }

    /// Another position in the same bytes.
    pub(super) fn seek(&self, at: u64, what: &'static str) -> Result<Cursor<'a>, DatError> {
        match usize::try_from(at) {
            Ok(at) if at <= self.all.len() => Ok(Cursor { at, ..*self }),
            _ => Err(DatError::Cut {
                at: self.all.len(),
                what,
            }),
        }
    }

    pub(super) const fn wrong(&self, expected: &'static str) -> DatError {
        DatError::Wrong { at: self.at, expected }
    }

    pub(super) fn bytes(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], DatError> {
        let end = self.at.checked_add(len);
        let found = end.and_then(|end| self.all.get(self.at..end));
        let found = found.ok_or(DatError::Cut { at: self.at, what })?;
        self.at += len;
        Ok(found)
    }

    /// Bytes at another position.
    pub(super) fn range(&self, at: u64, len: u64, what: &'static str) -> Result<&'a [u8], DatError> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        self.seek(at, what)?.bytes(len, what)
    }

    /// All remaining bytes.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.all.get(self.at..).unwrap_or_default()
    }

    fn number(&mut self, len: usize, what: &'static str) -> Result<u64, DatError> {
        let at = self.at;
        let found = self.endian.number(self.bytes(len, what)?);
        found.ok_or(DatError::Cut { at, what })
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, DatError> {
        self.number(2, what).map(|number| number as u16)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, DatError> {
        self.number(4, what).map(|number| number as u32)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, DatError> {
        self.number(8, what)
    }

    /// Text up to a zero byte, which is skipped.
    pub(super) fn text(&mut self, what: &'static str) -> Result<String, DatError> {
        let len = memchr::memchr(0, self.rest()).ok_or(DatError::Cut { at: self.at, what })?;
        let text = String::from_utf8_lossy(self.bytes(len, what)?).into_owned();
        self.at += 1;
        Ok(text)
    }

    /// A text after its length, which takes 4 or 8 bytes.
    pub(super) fn counted(&mut self, digits: usize, what: &'static str) -> Result<String, DatError> {
        let len = usize::try_from(self.number(digits, what)?).unwrap_or(usize::MAX);
        Ok(String::from_utf8_lossy(self.bytes(len, what)?).into_owned())
    }
}
