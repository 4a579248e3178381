//! Level 3 for what somebody else changed while a partition was in force, and no step of ours explains: undo names it, and
//! leaves it for good or gives the former value back, as is wished.

use crate::support::rehearsal::acting::{isolate_as, undo};
use crate::support::rehearsal::{Disk, Kernel, Rules};
use apply::{Force, System, Undone, Which};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};

const FOREIGN: &str = "/sys/fs/cgroup/cpuset/foreign";
const FILE: &str = "/sys/fs/cgroup/cpuset/foreign/cpuset.cpus";

/// Somebody's set that never had the isolated CPU, narrowed by its owner while the partition is in force.
fn changed(kernel: &Kernel) -> Disk<'_> {
    kernel.make_dir(FOREIGN).unwrap();
    for (file, value) in [("cpus", "1-2"), ("mems", "0")] {
        kernel.write(&format!("{FOREIGN}/cpuset.{file}"), value).unwrap();
    }
    let disk = Disk::new(kernel);
    let intent = Intent::new(
        PartitionName::new("rt").unwrap(),
        CpuSet::range(3, 3),
        Profile::Minimal,
    );
    isolate_as(kernel, &disk, &intent, || {}).unwrap();
    kernel.write(FILE, "1").unwrap();
    disk
}

fn take_back(kernel: &Kernel, disk: &Disk, force: Force) -> Undone {
    undo(kernel, disk, Which::Last, force).unwrap()
}

#[test]
fn it_is_named_and_what_is_wished_for_settles_it() {
    for rules in [Rules::V1DropsPins, Rules::V1KeepsPins] {
        for (wish, stands) in [(Force::Keep, "1"), (Force::Restore, "1-2")] {
            let kernel = Kernel::boot(rules);
            let disk = changed(&kernel);
            let undone = take_back(&kernel, &disk, Force::No);
            let remains = undone.remains();
            assert!(
                remains.len() == 1 && remains[0].starts_with(FILE),
                "{rules:?}: {remains:?}"
            );
            assert_eq!(kernel.get(FILE), "1", "{rules:?}");

            let undone = take_back(&kernel, &disk, wish);
            assert!(
                undone.failed.is_empty(),
                "{rules:?} {wish:?}: {:?}",
                undone.failed
            );
            let named = undone.drift.iter().filter(|line| line.starts_with(FILE)).count();
            assert_eq!(
                (named, undone.drift.len()),
                (usize::from(wish == Force::Keep), named)
            );
            assert_eq!(kernel.get(FILE), stands, "{rules:?} {wish:?}");
            let again = take_back(&kernel, &disk, Force::No);
            assert!(
                !again.was_in_force,
                "{rules:?} {wish:?}: the journal is not closed"
            );
        }
    }
}

#[test]
fn what_its_owner_gave_back_himself_is_as_before() {
    for rules in [Rules::V1DropsPins, Rules::V1KeepsPins] {
        let kernel = Kernel::boot(rules);
        let disk = changed(&kernel);
        kernel.write(FILE, "1-2").unwrap();
        let before = kernel.dump();
        assert!(take_back(&kernel, &disk, Force::No).equal(), "{rules:?}");
        assert_eq!(kernel.get(FILE), "1-2", "{rules:?}");
        assert_ne!(kernel.dump(), before, "the partition went");
    }
}
