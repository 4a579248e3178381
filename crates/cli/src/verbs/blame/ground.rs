//! What the machine has already, which decides what would stop an interruption there.

use blame::{Ground, Question};
use machine::{CpuSet, Machine};
use session::Session;

/// That of the CPUs that were asked about.
pub fn of(session: &Session, machine: Machine, cpus: &CpuSet, question: &Question) -> Ground {
    let root = session.root();
    let machine = machine.with_interrupts(root);
    let settings = machine::settings::for_cpus(root, cpus);
    let victims = question.targets.iter().flat_map(|target| &target.victim.pids);
    Ground {
        own: victims.copied().collect(),
        can_boot_set: Some(!boot::find(&boot::Files::of(root)).is_empty()),
        ..Ground::of(&machine, &settings, session.in_force(), cpus)
    }
}
