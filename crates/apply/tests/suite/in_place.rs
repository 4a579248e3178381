//! Level 3: the cgroup of another program becomes the partition where it is, and is an ordinary cgroup again afterwards.

use crate::support::rehearsal::acting::{dies, isolate_as, same, undo};
use crate::support::rehearsal::{Death, SimDisk, SimKernel, set};
use apply::{ApplyError, Force, System, UndoTarget};
use plan::{FindingId, Intent, PartitionName, Profile};

const SERVICE: &str = "/machine.slice/a.slice/vm.scope";
const OTHER: &str = "/machine.slice/a.slice/other.scope";

fn in_place(name: &str, cpus: &str, cgroup: &str) -> Intent {
    Intent {
        in_place: Some(cgroup.to_owned()),
        ..Intent::new(PartitionName::new(name).unwrap(), set(cpus), Profile::Minimal)
    }
}

fn file(kernel: &SimKernel, cgroup: &str, name: &str) -> String {
    kernel.get(&format!("/sys/fs/cgroup{cgroup}/{name}"))
}

/// A machine with two services. The first one has a process that is pinned to CPU 0.
fn machine() -> SimKernel {
    let kernel = SimKernel::boot_with_remote_partitions();
    kernel.start_service(SERVICE, 300);
    kernel.start_service(OTHER, 301);
    kernel.start_service(SERVICE, 302);
    kernel.set_affinity(302, &set("0")).unwrap();
    kernel.steps.set(0);
    kernel
}

#[test]
fn a_service_is_isolated_where_it_is_and_everything_is_restored() {
    let kernel = machine();
    let disk = SimDisk::new(&kernel);
    let before = kernel.dump();
    let applied = isolate_as(&kernel, &disk, &in_place("vm", "2-3", SERVICE), || {}).unwrap();
    let lost = applied
        .findings
        .iter()
        .find(|finding| finding.id == FindingId::PIN_LOST);
    assert_eq!(lost, None, "a pin to other CPUs cannot hold inside");
    assert_eq!(kernel.task(302).mask, set("2-3"));
    assert_eq!(file(&kernel, SERVICE, "cpuset.cpus.partition"), "isolated");
    for above in ["/machine.slice", "/machine.slice/a.slice"] {
        assert_eq!(file(&kernel, above, "cpuset.cpus.exclusive"), "2-3");
    }
    assert_eq!((kernel.task(300).mask, kernel.task(301).mask), (set("2-3"), set("0-1")));
    assert_eq!(kernel.task(300).cgroup, SERVICE, "it stays where its limits hold");
    let undone = undo(&kernel, &disk, UndoTarget::Last, Force::No).unwrap();
    assert!(undone.equal() && undone.notes.is_empty(), "{undone:?}");
    same(&kernel, &before, "after undo");
}

#[test]
fn a_kill_at_any_step_of_apply_and_undo_is_undone() {
    let intent = in_place("vm", "2-3", SERVICE);
    let kernel = machine();
    let disk = SimDisk::new(&kernel);
    isolate_as(&kernel, &disk, &intent, || {}).unwrap();
    let steps = kernel.steps.get();
    for step in 1..=steps {
        let kernel = machine();
        let disk = SimDisk::new(&kernel);
        let before = kernel.dump();
        kernel.death.set(Death::After(step));
        assert!(dies(|| drop(isolate_as(&kernel, &disk, &intent, || {}))));
        kernel.death.set(Death::Never);
        let undone = undo(&kernel, &disk, UndoTarget::Last, Force::No).unwrap();
        assert!(undone.equal(), "{step}: {:?}", undone.remains());
        same(&kernel, &before, &format!("killed after step {step} of apply"));
    }
    for step in 1.. {
        let kernel = machine();
        let disk = SimDisk::new(&kernel);
        let before = kernel.dump();
        isolate_as(&kernel, &disk, &intent, || {}).unwrap();
        kernel.steps.set(0);
        kernel.death.set(Death::After(step));
        if !dies(|| drop(undo(&kernel, &disk, UndoTarget::Last, Force::No))) {
            assert!(step > 5, "undo has more steps than {step}");
            break;
        }
        kernel.death.set(Death::Never);
        let undone = undo(&kernel, &disk, UndoTarget::Last, Force::No).unwrap();
        assert!(undone.equal(), "{step}: {:?}", undone.remains());
        same(&kernel, &before, &format!("killed after step {step} of undo"));
    }
}

#[test]
fn two_services_share_the_lists_above_them() {
    for first_to_end in ["one", "two"] {
        let kernel = machine();
        let disk = SimDisk::new(&kernel);
        let before = kernel.dump();
        isolate_as(&kernel, &disk, &in_place("one", "2", SERVICE), || {}).unwrap();
        isolate_as(&kernel, &disk, &in_place("two", "3", OTHER), || {}).unwrap();
        assert_eq!(file(&kernel, "/machine.slice", "cpuset.cpus.exclusive"), "2-3");
        let named = |name| undo(&kernel, &disk, UndoTarget::Named(name), Force::No).unwrap();
        let undone = named(first_to_end);
        assert!(undone.equal(), "{:?}", undone.remains());
        let (stays, cpu, task) = match first_to_end {
            "one" => (OTHER, "3", 301),
            _ => (SERVICE, "2", 300),
        };
        assert_eq!(file(&kernel, stays, "cpuset.cpus.partition"), "isolated");
        assert_eq!(file(&kernel, "/machine.slice", "cpuset.cpus.exclusive"), cpu);
        assert_eq!(kernel.task(task).mask, set(cpu));
        let undone = named(if first_to_end == "one" { "two" } else { "one" });
        assert!(undone.equal(), "{:?}", undone.remains());
        same(&kernel, &before, first_to_end);
    }
}

#[test]
fn what_another_program_adds_to_a_list_stays() {
    let kernel = machine();
    let disk = SimDisk::new(&kernel);
    let isolated = || isolate_as(&kernel, &disk, &in_place("vm", "3", SERVICE), || {});
    isolated().unwrap();
    kernel.put("/sys/fs/cgroup/machine.slice/cpuset.cpus.exclusive", "2-3\n");
    assert!(
        isolated().unwrap().findings.is_empty(),
        "the list still has the CPU of the partition"
    );
    let undone = undo(&kernel, &disk, UndoTarget::Last, Force::No).unwrap();
    assert!(undone.failed.is_empty(), "{undone:?}");
    assert_eq!(file(&kernel, "/machine.slice", "cpuset.cpus.exclusive"), "2");
}

#[test]
fn a_service_that_has_ended_leaves_nothing_to_report() {
    let kernel = machine();
    let disk = SimDisk::new(&kernel);
    isolate_as(&kernel, &disk, &in_place("vm", "2-3", SERVICE), || {}).unwrap();
    kernel.stop_service(SERVICE);
    let undone = undo(&kernel, &disk, UndoTarget::Last, Force::No).unwrap();
    assert!(undone.equal() && undone.notes.is_empty(), "{undone:?}");
    for above in ["/machine.slice", "/machine.slice/a.slice"] {
        assert_eq!(file(&kernel, above, "cpuset.cpus.exclusive"), "");
        assert_eq!(file(&kernel, above, "cgroup.subtree_control"), "");
    }
    assert_eq!(file(&kernel, "", "cgroup.subtree_control"), "cpu");
    assert_eq!(kernel.task(301).mask, set("0-3"));
}

#[test]
fn a_partition_of_another_program_is_refused_before_anything_is_written() {
    let kernel = machine();
    let disk = SimDisk::new(&kernel);
    isolate_as(&kernel, &disk, &in_place("one", "2", SERVICE), || {}).unwrap();
    for place in [SERVICE, "/machine.slice", "/machine.slice/a.slice/vm.scope/inner"] {
        let refused = isolate_as(&kernel, &disk, &in_place("two", "3", place), || {});
        assert!(
            matches!(&refused, Err(ApplyError::Unable { why, .. }) if why.contains("is partition one")),
            "{place}: {refused:?}"
        );
    }
    assert!(undo(&kernel, &disk, UndoTarget::Last, Force::No).unwrap().equal());
    // A partition that another program has made.
    kernel.start_service(SERVICE, 303);
    for dir in ["", "/machine.slice", "/machine.slice/a.slice"] {
        kernel.put(&format!("/sys/fs/cgroup{dir}/cgroup.subtree_control"), "cpuset\n");
        kernel.hand_cpuset_files_down(&format!("/sys/fs/cgroup{dir}"));
    }
    kernel.put(&format!("/sys/fs/cgroup{SERVICE}/cpuset.cpus.partition"), "isolated\n");
    kernel.put(&format!("/sys/fs/cgroup{SERVICE}/cpuset.cpus.exclusive"), "2\n");
    let refused = isolate_as(&kernel, &disk, &in_place("two", "3", SERVICE), || {});
    assert!(
        matches!(&refused, Err(ApplyError::Unable { why, .. }) if why.contains("is a partition already")),
        "{refused:?}"
    );
    for knob in ["owner=1000", "threaded"] {
        let mut intent = in_place("two", "3", OTHER);
        intent.take(knob).unwrap();
        assert!(isolate_as(&kernel, &disk, &intent, || {}).is_err(), "{knob}");
    }
    let before = kernel.dump();
    let gone = isolate_as(&kernel, &disk, &in_place("two", "3", "/none.slice/none.scope"), || {});
    assert!(gone.is_err(), "{gone:?}");
    same(&kernel, &before, "refused");
}

/// A partition of its own before, or after, the one in place; each is undone first once.
#[test]
fn a_partition_elsewhere_needs_nothing_of_the_one_in_place() {
    let plain = Intent::new(PartitionName::new("plain").unwrap(), set("1"), Profile::Minimal);
    let service = in_place("vm", "2-3", SERVICE);
    for (first, second) in [(&plain, &service), (&service, &plain)] {
        for undone_first in ["plain", "vm"] {
            let kernel = machine();
            let disk = SimDisk::new(&kernel);
            let before = kernel.dump();
            isolate_as(&kernel, &disk, first, || {}).unwrap();
            isolate_as(&kernel, &disk, second, || {}).unwrap();
            let undone = undo(&kernel, &disk, UndoTarget::Named(undone_first), Force::No).unwrap();
            assert!(
                undone.equal(),
                "{undone_first} of {}: {:?}",
                first.name,
                undone.remains()
            );
            let control = file(&kernel, "/machine.slice", "cgroup.subtree_control");
            assert_eq!(control, if undone_first == "vm" { "" } else { "cpuset" });
            let undone = undo(&kernel, &disk, UndoTarget::All, Force::No).unwrap();
            assert!(undone.equal(), "{:?}", undone.remains());
            same(
                &kernel,
                &before,
                &format!("{} first, {undone_first} undone first", first.name),
            );
        }
    }
}
