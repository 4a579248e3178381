//! Describes the isolation that the machine already has, which decides what change would stop an interruption.

use blame::{BlameQuestion, CureContext};
use machine::{CpuSet, Machine};
use session::Session;

/// The context of cures for the watched CPUs.
pub fn cure_context(session: &Session, machine: Machine, cpus: &CpuSet, question: &BlameQuestion) -> CureContext {
    let root = session.root();
    let machine = machine.with_interrupts(root);
    let settings = machine::settings::for_cpus(root, cpus, plan::knobs::planned());
    let victims = question.targets.iter().flat_map(|target| &target.victim.pids);
    let files = boot::MachineTree::of(root);
    let is_edited = |found: &boot::DetectedLoader| found.loader.refusal(&files, &[]).is_none();
    CureContext {
        own: victims.copied().collect(),
        can_boot_set: Some(boot::find(&files).iter().any(is_edited)),
        ..CureContext::of(&machine, &settings, session.in_force(), cpus)
    }
}
