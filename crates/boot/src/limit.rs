//! How long a boot line may be. The kernel cuts what is over without a word, and half a `root=` does not boot.

/// `COMMAND_LINE_SIZE` by architecture, as `uname -m` names it: bytes with the NUL at the end
/// (`arch/*/include/uapi/asm/setup.h`; where an architecture has none, `include/uapi/asm-generic/setup.h`).
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

/// What is safe on every architecture: the size of the generic header.
const SMALLEST: usize = 512;

/// The most bytes that a line may have, without the NUL, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes.
    pub most: usize,
    /// Whose limit it is.
    pub who: String,
}

/// The kernel's limit on an architecture; the smallest of all where that is unknown.
#[must_use]
pub fn limit(architecture: Option<&str>) -> Limit {
    let known = architecture.and_then(|name| SIZES.iter().find(|(known, _)| *known == name));
    match (known, architecture) {
        (Some((name, size)), _) => Limit {
            most: size - 1,
            who: format!("the kernel of {name}"),
        },
        (None, Some(name)) => Limit {
            most: SMALLEST - 1,
            who: format!("a kernel of {name}, whose limit is not known here,"),
        },
        (None, None) => Limit {
            most: SMALLEST.max(1024) - 1,
            who: "a kernel of unknown architecture".to_owned(),
        },
    }
}
