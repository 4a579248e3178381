//! What would stop an interruption: the one command for this row on this machine, or why there is none.
//!
//! A class alone does not tell: a tick goes on because the boot line lacks a word, or because somebody's timer needs it. So
//! the row's function, thread or interrupt decides, and then what the machine has of it already.

mod context;
mod functions;
mod rules;

pub use context::CureContext;
pub use functions::{FUNCTIONS, Function, Remedy};

use crate::answer::{Answer, Interruption};

/// What would stop an interruption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cure {
    /// This command does, for this reason.
    Command {
        /// As it can be typed.
        command: String,
        /// What it changes, and its price.
        why: String,
    },
    /// No command of ours does.
    Nothing {
        /// Why, and what else helps.
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

impl Answer {
    /// Says of each row what would stop it on this machine.
    pub fn cure(&mut self, context: &CureContext) {
        for cpu in &mut self.cpus {
            for row in &mut cpu.interruptions {
                (row.fix, row.why) = match cure(row, cpu.cpu, context) {
                    Cure::Command { command, why } => (command, why),
                    Cure::Nothing { why } => (format!("nothing: {why}"), String::new()),
                };
            }
        }
    }
}
