//! Reads and writes `/etc/quietcore.toml`: the partitions that a machine should have, as text that people edit.
//!
//! Pure: text to declarations and back. Which CPUs a declaration means is resolved on a machine, not here.
//!
//! ```toml
//! [[partition]]
//! name = "rt"
//! cpus = "2-3"
//! with = ["stat_interval=60"]
//! irq_here = ["eth0-rx-3"]
//! owner = "ana:audio"
//! boot = true
//!
//! [pool]
//! cpus = "4-7"
//! reserve = 1
//!
//! [watch]
//! alert = ["/usr/local/bin/page"]
//! repair = true
//! listen = "127.0.0.1:9853"
//! ```

mod edit;
mod parse;
mod pool;
mod watching;
mod webhook;

pub use edit::{add, set_boot_flag};
pub use parse::{parse, pool, watching};
pub use pool::PoolSettings;
pub use watching::{Repair, WatchSettings};
pub use webhook::Webhook;

use crate::{Intent, PartitionName, PlacementShape};
use machine::CoreKind;

/// The file with the declarations of a machine.
pub const PATH: &str = "/etc/quietcore.toml";

/// Maximum file size in bytes; a larger file is not read.
pub const MOST_BYTES: u64 = 1 << 20;

/// One declared partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The declared intent, without CPUs.
    pub template: Intent,
    /// Which CPUs.
    pub cpus: CpuSpec,
    /// The user and group that may add tasks, as `USER`, `USER:GROUP` or `:GROUP`.
    pub owner: Option<String>,
    /// Whose cgroup becomes the partition where it is, as `pid:N`, `unit:NAME` or `container:ID`. No file declares this.
    pub in_place: Option<String>,
    /// Whether it is restored at boot.
    pub restored_at_boot: ActivationMode,
    /// Whether the boot line isolates its CPUs too.
    pub boot: BootPart,
    /// Its line in the file, from 1; 0 if it is in no file.
    pub line: usize,
}

/// Which CPUs a partition should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuSpec {
    /// These, as a CPU expression.
    Named(String),
    /// Chosen on the machine.
    Chosen {
        /// How many; `None` is one whole core.
        count: Option<usize>,
        /// Near a device or a place.
        near: Option<String>,
        /// Close together or far apart.
        shape: PlacementShape,
        /// Which kind of core.
        kind: Option<CoreKind>,
        /// CPUs that are not chosen, as a CPU expression.
        keep: Option<String>,
    },
}

/// When a declared partition is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActivationMode {
    /// At boot, and by `apply`.
    #[default]
    AtBoot,
    /// By `apply` only: `at_boot = false`.
    ByHand,
}

/// Whether the declaration includes the boot line: `boot = true`, `boot = false`, or no key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BootPart {
    /// Not specified: if a boot line of ours exists, it is compared.
    #[default]
    Unspecified,
    /// Included: a machine without it does not match the declaration.
    OnLine,
    /// Not included, whatever our line isolates.
    RunTimeOnly,
}

impl Declaration {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &PartitionName {
        &self.template.name
    }

    /// Whether another declaration wants the same, wherever it is in the file. An unspecified boot line equals any other.
    #[must_use]
    pub fn is_equivalent(&self, other: &Declaration) -> bool {
        let elsewhere = Declaration {
            line: self.line,
            boot: match (self.boot, other.boot) {
                (BootPart::Unspecified, _) | (_, BootPart::Unspecified) => self.boot,
                (_, stated) => stated,
            },
            ..other.clone()
        };
        *self == elsewhere
    }
}

/// An error in a file of declarations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}\n{next}")]
pub struct DeclarationError {
    /// The line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// The problem.
    pub what: String,
    /// What to do.
    pub next: String,
}

impl DeclarationError {
    fn new(line: usize, what: impl Into<String>, next: impl Into<String>) -> DeclarationError {
        // Text from the file is repeated here; it must not contain terminal control characters.
        let plain = |text: String| text.replace(char::is_control, "?");
        DeclarationError {
            line,
            what: plain(what.into()),
            next: plain(next.into()),
        }
    }
}
