//! Lists the C types in casts, and constants that `print fmt:` lines use although only the kernel's sources define them.

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

/// Name and number. Sources: `include/linux/hrtimer.h`, `include/uapi/linux/ioprio.h`, `include/linux/pm_qos.h`,
/// `include/linux/migrate_mode.h`; none has changed since it appeared.
const KNOWN: &[(&str, i128)] = &[
    ("HRTIMER_MODE_ABS", 0),
    ("HRTIMER_MODE_REL", 1),
    ("HRTIMER_MODE_ABS_PINNED", 2),
    ("HRTIMER_MODE_REL_PINNED", 3),
    ("HRTIMER_MODE_ABS_SOFT", 4),
    ("HRTIMER_MODE_REL_SOFT", 5),
    ("HRTIMER_MODE_ABS_PINNED_SOFT", 6),
    ("HRTIMER_MODE_REL_PINNED_SOFT", 7),
    ("HRTIMER_MODE_ABS_HARD", 8),
    ("HRTIMER_MODE_REL_HARD", 9),
    ("HRTIMER_MODE_ABS_PINNED_HARD", 10),
    ("HRTIMER_MODE_REL_PINNED_HARD", 11),
    ("IOPRIO_CLASS_NONE", 0),
    ("IOPRIO_CLASS_RT", 1),
    ("IOPRIO_CLASS_BE", 2),
    ("IOPRIO_CLASS_IDLE", 3),
    ("IOPRIO_CLASS_INVALID", 7),
    ("PM_QOS_ADD_REQ", 0),
    ("PM_QOS_UPDATE_REQ", 1),
    ("PM_QOS_REMOVE_REQ", 2),
    ("DEV_PM_QOS_RESUME_LATENCY", 1),
    ("DEV_PM_QOS_FLAGS", 5),
    ("false", 0),
    ("true", 1),
    ("NULL", 0),
];

/// The value of the constant with this name.
pub(super) fn number(name: &str) -> Option<i128> {
    KNOWN
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, number)| *number)
}
