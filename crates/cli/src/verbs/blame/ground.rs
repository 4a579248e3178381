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
    let files = boot::Files::of(root);
    let is_edited = |found: &boot::Found| found.loader.refusal(&files, &[]).is_none();
    Ground {
        own: victims.copied().collect(),
        can_boot_set: Some(boot::find(&files).iter().any(is_edited)),
        ..Ground::of(&machine, &settings, session.in_force(), cpus)
    }
}
