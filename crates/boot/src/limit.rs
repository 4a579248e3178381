//! Defines the maximum length of a boot line. The kernel truncates silently, and half a `root=` does not boot.

/// `COMMAND_LINE_SIZE` by architecture, as `uname -m` names it: bytes including the final NUL
/// (`arch/*/include/uapi/asm/setup.h`; if an architecture has none, `include/uapi/asm-generic/setup.h`).
const SIZES: &[(&str, usize)] = &[
    ("x86_64", 2048),
    ("i686", 2048),
    ("i586", 2048),
    ("aarch64", 2048),
    ("armv6l", 1024),
    ("armv7l", 1024),
    ("armv8l", 1024),
    ("riscv64", 1024),
    ("riscv32", 1024),
    ("ppc64le", 2048),
    ("ppc64", 2048),
    ("s390x", 4096),
    ("loongarch64", 4096),
    ("mips64", 4096),
];

/// The safe value on every architecture: the size in the generic header.
const SMALLEST: usize = 512;

/// The maximum length of a line in bytes, without the NUL, and the source of this limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineLimit {
    /// Bytes.
    pub most: usize,
    /// The source of the limit.
    pub source_name: String,
}

/// The kernel's limit on an architecture; the smallest of all if that is unknown.
#[must_use]
pub fn limit(architecture: Option<&str>) -> LineLimit {
    let known = architecture.and_then(|name| SIZES.iter().find(|(known, _)| *known == name));
    match (known, architecture) {
        (Some((name, size)), _) => LineLimit {
            most: size - 1,
            source_name: format!("kernels of {name}"),
        },
        (None, Some(name)) => LineLimit {
            most: SMALLEST - 1,
            source_name: format!("kernels of {name} (the smallest known limit, because the real one is unknown)"),
        },
        (None, None) => LineLimit {
            most: SMALLEST.max(1024) - 1,
            source_name: "kernels of unknown architecture".to_owned(),
        },
    }
}
