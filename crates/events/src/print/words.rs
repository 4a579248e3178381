//! Lists the C types in casts.

/// The effect of a cast on a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CastType {
    /// The value is unchanged, and is printed as an address or as text.
    Pointer,
    /// The value is truncated to this many bits.
    Number { bits: u32, signed: bool },
}

/// The type named by these tokens; `None` if it is unknown.
pub(super) fn type_of(words: &[String]) -> Option<CastType> {
    let (mut bits, mut signed, mut known) = (32, true, false);
    for word in words {
        known = true;
        match word.as_str() {
            "const" | "volatile" | "int" | "signed" => {}
            "unsigned" => signed = false,
            "char" | "s8" | "__s8" | "int8_t" => bits = 8,
            "short" | "s16" | "__s16" | "int16_t" => bits = 16,
            "s32" | "__s32" | "pid_t" | "int32_t" => bits = 32,
            "long" | "s64" | "__s64" | "int64_t" | "ssize_t" | "loff_t" | "ktime_t" => bits = 64,
            "u8" | "__u8" | "bool" | "_Bool" | "uint8_t" => (bits, signed) = (8, false),
            "u16" | "__u16" | "__le16" | "__be16" | "uint16_t" | "umode_t" => (bits, signed) = (16, false),
            "u32" | "__u32" | "__le32" | "__be32" | "uint32_t" | "gfp_t" | "dev_t" => (bits, signed) = (32, false),
            "u64" | "__u64" | "__le64" | "__be64" | "uint64_t" | "size_t" | "sector_t" | "ino_t" | "dma_addr_t"
            | "resource_size_t" | "phys_addr_t" | "uintptr_t" => (bits, signed) = (64, false),
            _ => return None,
        }
    }
    known.then_some(CastType::Number { bits, signed })
}
