//! Reads numbers in the byte order of the machine that wrote them.

/// Byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endian {
    /// Lowest byte first.
    #[default]
    Little,
    /// Highest byte first.
    Big,
}

impl Endian {
    /// The byte order of the machine that runs this.
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

    /// A number of 1, 2, 4 or 8 bytes; `None` for other lengths.
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
