//! Reports what still arrived on the isolated CPUs, what could not be moved and why, and what the profile had promised.

use apply::{ApplyOutcome, ChangeOutcome};
use machine::CpuSet;
use observe::Class;
use plan::Plan;
use report::prove::{ProveRecord, StuckInterrupt, StuckThread};
use root::Root;
use session::Session;
use session::partition::ActivePartition;

/// Fills the story's residue from the counters and from the current, isolated state of the machine.
pub fn collect(
    session: &Session,
    story: &mut ProveRecord,
    partition: Option<&ActivePartition>,
    applied: &ApplyOutcome,
) {
    let root = session.root();
    session.refresh();
    let machine = session.machine().with_tasks_and_interrupts(root);
    let before = story.before.as_ref().and_then(|phase| phase.activity.as_ref());
    let Some(during) = story.during.as_ref().and_then(|phase| phase.activity.as_ref()) else {
        return;
    };
    let plan = story.plan.as_ref();
    story.residue = report::prove::residue(before, during, &story.isolated);
    for residue in &mut story.residue {
        let here: CpuSet = CpuSet::range(residue.cpu, residue.cpu);
        let tasks = machine.tasks.iter().flatten();
        residue.threads = tasks
            .filter(|task| task.allowed.as_ref().is_some_and(|allowed| allowed.intersects(&here)))
            .filter(|task| !is_inside(root, task.key.tid, partition))
            .map(|task| StuckThread {
                tid: task.key.tid,
                comm: task.comm.clone(),
                why: if task.is_movable() {
                    MOVABLE
                } else {
                    "the kernel binds it to this CPU"
                }
                .to_owned(),
            })
            .collect();
        let interrupts = machine.interrupts.iter().flatten();
        residue.interrupts = interrupts
            .filter(|interrupt| interrupt.affinity.as_ref().is_some_and(|set| set.intersects(&here)))
            .map(|interrupt| StuckInterrupt {
                irq: interrupt.irq,
                name: interrupt.name.clone(),
                why: why_here(plan, applied, interrupt),
            })
            .collect();
    }
}

/// What the profile promised to stop but was seen anyway.
///
/// The tick, RCU and IPIs need the boot line and are not promised. A device interrupt that the kernel refused to move is
/// named, not promised. A moved interrupt may arrive once more, because an I/O APIC moves it only then.
pub fn broken_promises(story: &ProveRecord) -> Vec<String> {
    let mut broken = Vec::new();
    for residue in &story.residue {
        let cpu = residue.cpu;
        let movable = residue.threads.iter().filter(|thread| thread.why == MOVABLE);
        broken.extend(movable.map(|thread| format!("task {} ({}) may run on CPU {cpu}", thread.tid, thread.comm)));
        for row in residue
            .rows
            .iter()
            .filter(|row| row.class == Some(Class::Device) && row.count > 1)
        {
            let stuck = residue
                .interrupts
                .iter()
                .any(|interrupt| interrupt.irq.to_string() == row.name);
            let is_irq = row.name.bytes().all(|byte| byte.is_ascii_digit());
            if is_irq && !stuck {
                broken.push(format!(
                    "{} interrupts {} ({}) on CPU {cpu}",
                    row.count, row.name, row.what
                ));
            }
        }
    }
    broken
}

/// One sentence on the numbers.
pub fn summary(story: &ProveRecord) -> String {
    let threads = story.residue.iter().flat_map(|residue| &residue.threads).count();
    let mut text = format!("no movable task may run there ({threads} per-CPU kernel threads stay);");
    let stuck: Vec<String> = story
        .residue
        .iter()
        .flat_map(|residue| &residue.interrupts)
        .filter(|interrupt| !ON_PURPOSE.contains(&interrupt.why.as_str()))
        .map(|interrupt| format!("{} ({})", interrupt.irq, interrupt.name))
        .collect();
    match stuck.len() {
        0 if story.residue.iter().any(|residue| !residue.interrupts.is_empty()) => {
            text.push_str(" every interrupt was moved away, except those that you assigned to these CPUs or excluded.");
        }
        0 => text.push_str(" every interrupt was moved away."),
        1 => text.push_str(&format!(" one interrupt cannot be moved: {}.", stuck.join(", "))),
        more => text.push_str(&format!(" {more} interrupts cannot be moved: {}.", stuck.join(", "))),
    }
    text
}

/// Why an interrupt may be here on purpose.
const ON_PURPOSE: [&str; 2] = [IRQ_HERE, LEFT_OUT];
const IRQ_HERE: &str = "it was brought here with --irq-here";
const LEFT_OUT: &str = "interrupts were left where they were (--without irq_affinity)";

const MOVABLE: &str = "it could be moved and was not";

fn is_inside(root: &Root, tid: u32, partition: Option<&ActivePartition>) -> bool {
    let Some(partition) = partition else { return false };
    let cgroup = machine::tasks::cgroup_of(root, tid, partition.version);
    cgroup.is_some_and(|cgroup| partition.path.ends_with(&cgroup) && cgroup != "/" || partition.is_place_of(&cgroup))
}

fn why_here(plan: Option<&Plan>, applied: &ApplyOutcome, interrupt: &machine::Interrupt) -> String {
    let id = format!("irq_affinity/{}", interrupt.irq);
    if let Some(plan) = plan {
        if plan.without.iter().any(|knob| knob == "irq_affinity") {
            return LEFT_OUT.to_owned();
        }
        let is_requested = |change: &plan::Change| {
            change.id == id && CpuSet::parse_list(&change.after).is_ok_and(|cpus| cpus == plan.isolated)
        };
        if plan.changes.iter().any(is_requested) {
            return IRQ_HERE.to_owned();
        }
    }
    let entry = applied.entries.iter().find(|entry| entry.change == id);
    match entry.map(|entry| &entry.outcome) {
        Some(ChangeOutcome::Refused(errno)) => {
            format!("the kernel refused: {}", std::io::Error::from_raw_os_error(*errno))
        }
        Some(other) => format!("it was moved and has returned ({})", other.text()),
        None => interrupt
            .immovable()
            .map_or("nothing tried to move it", machine::ImmovableReason::why)
            .to_owned(),
    }
}
