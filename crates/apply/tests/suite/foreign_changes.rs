//! Level 3 for changes by another program while a partition is active, which no step of quietcore explains. Undo
//! reports them, and keeps them or restores the former value, as requested.

use crate::support::rehearsal::acting::{isolate_as, undo};
use crate::support::rehearsal::{Rules, SimDisk, SimKernel};
use apply::{Force, System, UndoOutcome, UndoTarget};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};

const FOREIGN: &str = "/sys/fs/cgroup/cpuset/foreign";
const FILE: &str = "/sys/fs/cgroup/cpuset/foreign/cpuset.cpus";

/// A foreign set without the isolated CPU, which its owner narrows while the partition is active.
fn changed(kernel: &SimKernel) -> SimDisk<'_> {
    kernel.make_dir(FOREIGN).unwrap();
    for (file, value) in [("cpus", "1-2"), ("mems", "0")] {
        kernel.write(&format!("{FOREIGN}/cpuset.{file}"), value).unwrap();
    }
    let disk = SimDisk::new(kernel);
    let intent = Intent::new(PartitionName::new("rt").unwrap(), CpuSet::range(3, 3), Profile::Minimal);
    isolate_as(kernel, &disk, &intent, || {}).unwrap();
    kernel.write(FILE, "1").unwrap();
    disk
}

fn run_undo(kernel: &SimKernel, disk: &SimDisk, force: Force) -> UndoOutcome {
    undo(kernel, disk, UndoTarget::Last, force).unwrap()
}

#[test]
fn a_foreign_change_is_reported_and_kept_or_restored_as_requested() {
    for rules in [Rules::V1DropsPins, Rules::V1KeepsPins] {
        for (wish, stands) in [(Force::Keep, "1"), (Force::Restore, "1-2")] {
            let kernel = SimKernel::boot(rules);
            let disk = changed(&kernel);
            let undone = run_undo(&kernel, &disk, Force::No);
            let remains = undone.remains();
            assert!(
                remains.len() == 1 && remains[0].starts_with(FILE),
                "{rules:?}: {remains:?}"
            );
            assert_eq!(kernel.get(FILE), "1", "{rules:?}");

            let undone = run_undo(&kernel, &disk, wish);
            assert!(undone.failed.is_empty(), "{rules:?} {wish:?}: {:?}", undone.failed);
            let named = undone.drift.iter().filter(|line| line.starts_with(FILE)).count();
            assert_eq!((named, undone.drift.len()), (usize::from(wish == Force::Keep), named));
            assert_eq!(kernel.get(FILE), stands, "{rules:?} {wish:?}");
            let again = run_undo(&kernel, &disk, Force::No);
            assert!(!again.was_in_force, "{rules:?} {wish:?}: the journal is not closed");
        }
    }
}

#[test]
fn a_change_that_its_owner_reverted_is_not_reported() {
    for rules in [Rules::V1DropsPins, Rules::V1KeepsPins] {
        let kernel = SimKernel::boot(rules);
        let disk = changed(&kernel);
        kernel.write(FILE, "1-2").unwrap();
        let before = kernel.dump();
        assert!(run_undo(&kernel, &disk, Force::No).equal(), "{rules:?}");
        assert_eq!(kernel.get(FILE), "1-2", "{rules:?}");
        assert_ne!(kernel.dump(), before, "the partition went");
    }
}
