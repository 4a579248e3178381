//! Level 3 for interrupts that refuse a mask, for each errno of the kernel: apply continues and reports the reason and
//! a fix. Undo is exact, even if an interrupt refuses only then.

use crate::support::rehearsal::acting::{isolate_as, same, undo};
use crate::support::rehearsal::{Rules, SimDisk, SimKernel};
use apply::{ApplyOutcome, ChangeOutcome, Force, Journal, UndoOutcome, UndoTarget};
use machine::CpuSet;
use plan::{Intent, Level, PartitionName, Profile};

const ETH0: &str = "/proc/irq/25/smp_affinity_list";

/// The errno, the reported reason, and the suggested fix.
const REASONS: [(i32, &str, &str); 5] = [
    (libc::EIO, "the kernel manages its mask", "managed_irq"),
    (libc::EPERM, "the kernel manages its mask", "managed_irq"),
    (
        libc::EINVAL,
        "accepts no online CPU of the new mask",
        "effective_affinity_list",
    ),
    (libc::ENOSPC, "no free interrupt vector", "fewer queues"),
    (libc::EBUSY, "the interrupt chip is busy", "apply it again"),
];

fn isolate(kernel: &SimKernel, disk: &SimDisk) -> ApplyOutcome {
    let cpus = CpuSet::parse_list("2-3").unwrap();
    let intent = Intent::new(PartitionName::new("rt").unwrap(), cpus, Profile::Balanced);
    isolate_as(kernel, disk, &intent, || {}).unwrap()
}

fn run_undo(kernel: &SimKernel, disk: &SimDisk) -> UndoOutcome {
    undo(kernel, disk, UndoTarget::Last, Force::No).unwrap()
}

#[test]
fn a_refused_interrupt_is_reported_with_a_fix_and_left_unchanged() {
    for rules in [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2] {
        for (errno, why, fix) in REASONS {
            let what = format!("{rules:?} {errno}");
            let kernel = SimKernel::boot(rules);
            kernel.refuse(ETH0, errno);
            let before = kernel.dump();
            let disk = SimDisk::new(&kernel);
            let applied = isolate(&kernel, &disk);
            let named: Vec<_> = applied
                .findings
                .iter()
                .filter(|finding| finding.subject == ETH0)
                .collect();
            assert_eq!(named.len(), 1, "{what}: {:?}", applied.findings);
            let (printed, todo) = (&named[0].message, &named[0].fix);
            assert!(printed.contains(why) && todo.contains(fix), "{what}: {printed}; {todo}");
            // A mask that the kernel refuses to every program is a fact; there is nothing to fix.
            let is_fact = matches!(errno, libc::EIO | libc::EPERM);
            let level = if is_fact { Level::Info } else { Level::Warning };
            assert_eq!(named[0].level, level, "{what}");
            assert_eq!(is_fact, todo.starts_with("nothing at run time"), "{what}: {todo}");
            let entry = applied.entries.iter().find(|entry| entry.change.ends_with("/25"));
            assert_eq!(
                entry.map(|entry| &entry.outcome),
                Some(&ChangeOutcome::Refused(errno)),
                "{what}"
            );
            let undone = run_undo(&kernel, &disk);
            assert!(undone.equal(), "{what}: {:?}", undone.remains());
            same(&kernel, &before, &what);
        }
    }
}

#[test]
fn a_refused_restore_keeps_the_journal_until_it_succeeds() {
    for (errno, ..) in REASONS {
        let kernel = SimKernel::boot(Rules::V2);
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk);
        kernel.refuse(ETH0, errno);
        let undone = run_undo(&kernel, &disk);
        assert!(undone.drift.is_empty(), "{errno}: {:?}", undone.drift);
        let [failed] = &undone.failed[..] else {
            panic!("{errno}: {:?}", undone.failed)
        };
        assert!(failed.starts_with(ETH0), "{errno}: {failed}");
        assert!(Journal::open(&disk).unwrap().is_some(), "{errno}");
        kernel.refusals.borrow_mut().remove(ETH0);
        let undone = run_undo(&kernel, &disk);
        assert!(undone.equal(), "{errno}: {:?}", undone.remains());
        same(&kernel, &before, &errno.to_string());
    }
}
