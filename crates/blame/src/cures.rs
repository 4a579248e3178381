//! Finds what would stop an interruption: the one command for this row on this machine, or why there is none.
//!
//! The class alone is not enough: a tick continues because the boot line lacks a word, or because a timer needs it. So the
//! row's function, thread or interrupt decides first, then the current settings of the machine.

mod context;
mod functions;
mod profiles;
mod rules;

pub use context::CureContext;
pub use functions::{FUNCTIONS, Function, Remedy};
pub use profiles::intent_includes;

use crate::answer::{BlameResult, Interruption};

/// The kind of change that a cure makes. Cures of one kind are one change for the whole machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CureAction {
    /// A partition around the watched CPUs.
    Partition,
    /// A knob of the partition, as `--with` takes it.
    Knob(String),
    /// The boot parameters that isolate the CPUs.
    Boot,
    /// An active partition, applied again.
    Reapply,
    /// This thread, moved out of the partition.
    Move(i32),
}

/// What would stop an interruption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cure {
    /// This command does, with the reason.
    Command {
        /// The kind of change.
        action: CureAction,
        /// Ready to type.
        command: String,
        /// What it changes, and its cost.
        why: String,
    },
    /// None of our commands does.
    Nothing {
        /// The reason, and what else helps.
        why: String,
    },
}

impl Cure {
    pub(crate) fn nothing(why: impl Into<String>) -> Cure {
        Cure::Nothing { why: why.into() }
    }
}

/// What would stop the interruptions of this row, on this CPU of this machine.
#[must_use]
pub fn cure(row: &Interruption, cpu: u32, context: &CureContext) -> Cure {
    rules::of(row, cpu, context)
}

impl BlameResult {
    /// Fills in for each row what would stop it on this machine.
    pub fn cure(&mut self, context: &CureContext) {
        for cpu in &mut self.cpus {
            for row in &mut cpu.interruptions {
                (row.fix, row.why) = match cure(row, cpu.cpu, context) {
                    Cure::Command { command, why, .. } => (command, why),
                    Cure::Nothing { why } => (format!("nothing: {why}"), String::new()),
                };
            }
        }
    }
}
