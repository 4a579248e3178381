//! `/etc/quietcore.toml`: the partitions that a machine shall have, as text that people write and keep.
//!
//! Pure: text to declarations and back. Which CPUs a declaration means is settled on a machine, not here.
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
//! [watch]
//! alert = ["/usr/local/bin/page"]
//! repair = true
//! listen = "127.0.0.1:9853"
//! ```

mod edit;
mod parse;
mod place;
mod watching;
mod webhook;

pub use edit::{add, put_on_boot_line};
pub use parse::{parse, watching};
pub use watching::{Repair, Watching};
pub use webhook::Webhook;

use crate::{Intent, PartitionName, Shape};
use machine::CoreKind;

/// Where the declarations of a machine are.
pub const PATH: &str = "/etc/quietcore.toml";

/// A file above this size is not read, in bytes.
pub const MOST_BYTES: u64 = 1 << 20;

/// One wanted partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// What is wanted there, still without CPUs.
    pub template: Intent,
    /// Which CPUs.
    pub cpus: CpuWish,
    /// Who may put tasks into it, as `USER`, `USER:GROUP` or `:GROUP`.
    pub owner: Option<String>,
    /// Whether it comes back at boot.
    pub comes_back: ComesBack,
    /// Whether the boot line isolates its CPUs too.
    pub boot: BootPart,
    /// Where it stands in the file, from 1; 0 for one that stands in none.
    pub line: usize,
}

/// Which CPUs a partition shall have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuWish {
    /// These, as a CPU expression.
    Named(String),
    /// Chosen on the machine.
    Chosen {
        /// How many; `None` is one whole core.
        count: Option<usize>,
        /// Near a device or a place.
        near: Option<String>,
        /// Close together or far apart.
        shape: Shape,
        /// Which kind of core.
        kind: Option<CoreKind>,
        /// CPUs that are not chosen, as a CPU expression.
        keep: Option<String>,
    },
}

/// When a declared partition is brought into force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComesBack {
    /// At boot, and by `apply`.
    #[default]
    AtBoot,
    /// By `apply` alone: `at_boot = false`.
    ByHand,
}

/// Whether the boot line belongs to what is declared: `boot = true`, `boot = false`, or nothing said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BootPart {
    /// Nothing is said: where a boot line of ours is there, it is compared.
    #[default]
    Unsaid,
    /// It does, and a machine without it is not as declared.
    OnLine,
    /// It does not, whatever our line isolates.
    RunTimeOnly,
}

impl Declaration {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &PartitionName {
        &self.template.name
    }

    /// Whether another one wants the same, wherever it stands. Whoever says nothing of the boot line wants what is said.
    #[must_use]
    pub fn wants_the_same(&self, other: &Declaration) -> bool {
        let elsewhere = Declaration {
            line: self.line,
            boot: match (self.boot, other.boot) {
                (BootPart::Unsaid, _) | (_, BootPart::Unsaid) => self.boot,
                (_, said) => said,
            },
            ..other.clone()
        };
        *self == elsewhere
    }
}

/// What is wrong with a file of declarations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}\n{next}")]
pub struct DeclarationError {
    /// Where, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
    /// What to do.
    pub next: String,
}

impl DeclarationError {
    fn new(line: usize, what: impl Into<String>, next: impl Into<String>) -> DeclarationError {
        // Texts of the file are repeated here; a terminal must not obey them.
        let plain = |text: String| text.replace(char::is_control, "?");
        DeclarationError {
            line,
            what: plain(what.into()),
            next: plain(next.into()),
        }
    }
}
