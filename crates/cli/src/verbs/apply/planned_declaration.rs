//! Plans a declaration on the current machine.
//!
//! Reading and planning happen once, before the lock is taken, so that a wrong request is reported first. The result is used
//! under the lock unless another process has applied or undone something since then.

use machine::{CpuSet, Machine};
use plan::declared::{CpuSpec, Declaration};
use plan::{Intent, Plan};
use root::Failure;
use session::Session;
use session::isolation;

/// A planned declaration.
pub(super) struct PlannedDeclaration {
    pub machine: Machine,
    pub intent: Intent,
    pub plan: Plan,
    /// The partitions that were active.
    others: Vec<Intent>,
}

impl PlannedDeclaration {
    /// Reads the machine and plans. Reserved CPUs are not chosen.
    ///
    /// # Errors
    /// Expressions, names, devices and machines that cannot be used.
    pub fn read(
        session: &Session,
        declaration: &Declaration,
        reserved: &CpuSet,
    ) -> Result<PlannedDeclaration, Failure> {
        let root = session.root();
        let machine = read_for(session, declaration);
        let others = session.in_force();
        let (intent, plan) = isolation::settle(declaration, &machine, root, &others, reserved)?;
        Ok(PlannedDeclaration {
            machine,
            intent,
            plan,
            others,
        })
    }

    /// Reads and plans again if other partitions are active now.
    ///
    /// # Errors
    /// As [`PlannedDeclaration::read`].
    pub fn or_again(
        self,
        session: &Session,
        declaration: &Declaration,
        reserved: &CpuSet,
    ) -> Result<PlannedDeclaration, Failure> {
        if session.in_force() == self.others {
            return Ok(self);
        }
        session.refresh();
        PlannedDeclaration::read(session, declaration, reserved)
    }
}

/// The parts of the machine that a plan needs. The masks of tasks matter only where CPUs are chosen automatically.
fn read_for(session: &Session, declaration: &Declaration) -> Machine {
    let root = session.root();
    let machine = session.machine();
    match &declaration.cpus {
        CpuSpec::Named(_) => machine.with_planning_tasks(root).with_interrupts(root),
        CpuSpec::Chosen { .. } => machine.for_plan(root),
    }
}
