//! Level 3: CPUs that are taken offline and online again before they are isolated, also when the tool is killed while
//! they are offline.

use crate::support::rehearsal::acting::{dies, isolate_as, undo};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel};
use apply::{ApplyError, ApplyOutcome, Force, System, UndoOutcome, UndoTarget};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};

const ALL_RULES: [Rules; 3] = [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2];

pub fn isolate(kernel: &SimKernel, disk: &SimDisk) -> Result<ApplyOutcome, ApplyError> {
    let cpus = CpuSet::parse_list("2-3").unwrap();
    let mut intent = Intent::new(PartitionName::default(), cpus, Profile::Minimal);
    intent.take("cpu_cycle").unwrap();
    isolate_as(kernel, disk, &intent, || {})
}

fn run_undo(kernel: &SimKernel, disk: &SimDisk) -> UndoOutcome {
    undo(kernel, disk, UndoTarget::Last, Force::No).unwrap()
}

fn value(kernel: &SimKernel, path: &str) -> String {
    kernel.root().value(path).unwrap().unwrap()
}

#[test]
fn pins_and_interrupt_masks_survive_the_cycle() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot_with_hotplug(rules);
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        let applied = isolate(&kernel, &disk).unwrap();
        let first = applied.entries.first().unwrap();
        assert_eq!(
            (first.change.as_str(), first.outcome.text().as_str()),
            ("cpu_cycle/cpu2-3", "done")
        );
        assert_eq!(value(&kernel, "/sys/devices/system/cpu/online"), "0-3", "{rules:?}");
        let undone = run_undo(&kernel, &disk);
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
        assert_eq!(kernel.dump(), before, "{rules:?}");
    }
}

#[test]
fn undo_after_a_kill_brings_offline_cpus_online_with_all_masks() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot_with_hotplug(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk).unwrap();
        let steps = kernel.steps.get();
        let mut while_off = 0;
        for step in 1..=steps {
            for death in [Death::Before(step), Death::After(step), Death::Torn(step)] {
                let kernel = SimKernel::boot_with_hotplug(rules);
                let before = kernel.dump();
                let disk = SimDisk::new(&kernel);
                kernel.death.set(death);
                assert!(dies(|| drop(isolate(&kernel, &disk))), "{rules:?} {death:?}");
                kernel.death.set(Death::Never);
                while_off += usize::from(value(&kernel, "/sys/devices/system/cpu/online") != "0-3");
                let undone = run_undo(&kernel, &disk);
                assert!(undone.equal(), "{rules:?} {death:?}: {:?}", undone.remains());
                assert_eq!(kernel.dump(), before, "{rules:?} {death:?}");
            }
        }
        assert!(
            while_off >= 8,
            "{rules:?}: only {while_off} deaths met a CPU that was off"
        );
    }
}

#[test]
fn a_cpuset_that_would_lose_the_cpu_prevents_the_cycle() {
    let kernel = SimKernel::boot_with_hotplug(Rules::V1KeepsPins);
    let set = "/sys/fs/cgroup/cpuset/docker";
    kernel.make_dir(set).unwrap();
    kernel.write(&format!("{set}/cpuset.cpus"), "1-3").unwrap();
    let (before, steps) = (kernel.dump(), kernel.steps.get());
    let disk = SimDisk::new(&kernel);
    let refused = isolate(&kernel, &disk);
    assert!(
        matches!(&refused, Err(ApplyError::Unable { why, .. }) if why.contains("/docker")),
        "{refused:?}"
    );
    assert_eq!((kernel.dump(), kernel.steps.get()), (before, steps));
}
