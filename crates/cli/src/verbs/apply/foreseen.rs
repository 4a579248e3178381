//! What a declaration means on the machine as it is: read and planned once, before the lock is taken, so that a wrong
//! wish is told of first, and used under the lock unless somebody else has applied or undone meanwhile.

use crate::CommandError;
use machine::{CpuSet, Machine};
use plan::declared::{CpuWish, Declaration};
use plan::{Intent, Plan};
use session::Session;
use session::isolation;

/// A declaration on a machine.
pub(super) struct Foreseen {
    pub machine: Machine,
    pub intent: Intent,
    pub plan: Plan,
    /// What was in force.
    others: Vec<Intent>,
}

impl Foreseen {
    /// Reads the machine and plans. CPUs that are reserved are not chosen.
    ///
    /// # Errors
    /// Expressions, names, devices and machines that cannot be used.
    pub fn read(
        session: &Session,
        declaration: &Declaration,
        reserved: &CpuSet,
    ) -> Result<Foreseen, CommandError> {
        let root = session.root();
        let machine = read_for(session, declaration);
        let others = session.in_force();
        let (intent, plan) = isolation::settle(declaration, &machine, root, &others, reserved)?;
        Ok(Foreseen {
            machine,
            intent,
            plan,
            others,
        })
    }

    /// The same, read anew where other partitions are in force by now.
    ///
    /// # Errors
    /// As [`Foreseen::read`].
    pub fn or_anew(
        self,
        session: &Session,
        declaration: &Declaration,
        reserved: &CpuSet,
    ) -> Result<Foreseen, CommandError> {
        if session.in_force() == self.others {
            return Ok(self);
        }
        Foreseen::read(session, declaration, reserved)
    }
}

/// What a plan needs of the machine. Only who has CPUs chosen looks at every task, for where they are pinned.
fn read_for(session: &Session, declaration: &Declaration) -> Machine {
    let root = session.root();
    let machine = session.machine();
    match &declaration.cpus {
        CpuWish::Named(_) => machine.with_attendants(root).with_interrupts(root),
        CpuWish::Chosen { .. } => machine.with_tasks_and_interrupts(root),
    }
}
