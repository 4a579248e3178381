//! Leases on the simulated kernel: who gets CPUs, when a lease ends, and what a crash leaves.

use crate::support::lease_machine::LeaseMachine;
use crate::support::rehearsal::{Rules, set};
use apply::UndoTarget;
use lease::{LeaseRegistry, LeaseRequest};
use machine::CpuSet;
use plan::{Finding, FindingId, Intent, PartitionName, Profile};
use report::{LeaseOrigin, OwnerState};
use root::{Failure, Status};
use session::leasing::{GrantedLease, IfBusy, LeaseAttempt, PendingLease, ReleaseTarget, list, release};

const POOL: &str = "[pool]\ncpus = \"1-3\"\nprofile = \"minimal\"\n";
const ALL_RULES: [Rules; 3] = [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2];

fn count(count: usize) -> LeaseRequest {
    LeaseRequest {
        count: Some(count),
        ..LeaseRequest::default()
    }
}

fn named(cpus: &str) -> LeaseRequest {
    LeaseRequest {
        cpus: Some(cpus.to_owned()),
        ..LeaseRequest::default()
    }
}

fn is_later(attempt: &LeaseAttempt) -> bool {
    matches!(attempt, LeaseAttempt::Later(_))
}

/// One attempt of a new client that does not wait.
fn lease(machine: &LeaseMachine, request: &LeaseRequest, owner: &str) -> Result<GrantedLease, Failure> {
    let client = machine.start_process();
    let mut pending = PendingLease::new(&machine.session, request, owner, client)?;
    match pending.attempt(IfBusy::GiveUp)? {
        LeaseAttempt::Granted(granted) => Ok(*granted),
        LeaseAttempt::Later(why) => Err(Failure::conflict("busy", why, "")),
    }
}

#[test]
fn a_lease_ends_with_its_owner_and_everything_is_restored() {
    for rules in ALL_RULES {
        let machine = LeaseMachine::boot(rules, POOL);
        let (one, two) = (machine.start_process(), machine.start_process());
        let first = lease(&machine, &count(1), &format!("pid:{one}")).unwrap().lease;
        let second = lease(&machine, &named("3"), &format!("pid:{two}"));
        // The first one may have been CPU 3.
        let second = second
            .or_else(|_| lease(&machine, &count(1), &format!("pid:{two}")))
            .unwrap()
            .lease;
        assert_eq!(machine.partitions().len(), 2);
        machine.end_process(one);
        let listed = list(&machine.session).unwrap();
        assert!(
            (listed.leases[0].1, listed.leases[1].1) == (OwnerState::Ended, OwnerState::Alive),
            "{listed:?}"
        );
        // A trace changes no partition, and ends no lease.
        drop(machine.session.lock_for_trace().unwrap());
        assert_eq!(machine.partitions().len(), 2);
        let changing = machine.session.lock().unwrap();
        assert_eq!(changing.ended_leases.len(), 1);
        assert!(
            changing.ended_leases[0].remains.is_empty(),
            "{:?}",
            changing.ended_leases
        );
        drop(changing);
        assert_eq!(machine.isolated(), second.cpus, "{rules:?}: {first:?}");
        assert_eq!(
            release(&machine.session, &ReleaseTarget::Id(second.id)).unwrap().len(),
            1
        );
        machine.assert_restored(&format!("{rules:?}"));
        assert_eq!(
            release(&machine.session, &ReleaseTarget::Id(second.id))
                .unwrap_err()
                .status,
            Status::Unable
        );
        assert!(
            release(&machine.session, &ReleaseTarget::Owner(format!("pid:{two}")))
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn an_owner_gets_the_same_lease_again_and_no_second_one() {
    let machine = LeaseMachine::boot(Rules::V2, POOL);
    let owner = format!("pid:{}", machine.start_process());
    let first = lease(&machine, &count(1), &owner).unwrap();
    let again = lease(&machine, &count(1), &owner).unwrap();
    assert!((first.origin, again.origin) == (LeaseOrigin::Granted, LeaseOrigin::Earlier) && again.lease == first.lease);
    let other = lease(&machine, &count(2), &owner).unwrap_err();
    assert!(
        other.status == Status::Conflict && other.why.contains("lease 1"),
        "{other:?}"
    );
    // A lease without an owner has no identity.
    let manual = lease(&machine, &count(1), "manual").unwrap().lease;
    assert_ne!(lease(&machine, &count(1), "manual").unwrap().lease.id, manual.id);
    assert_eq!(
        release(&machine.session, &ReleaseTarget::Owner("manual".to_owned()))
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn the_pool_its_reserve_and_its_order_are_respected() {
    let machine = LeaseMachine::boot(Rules::V2, &format!("{POOL}reserve = 1\n"));
    let [a, b, c] = [(); 3].map(|()| format!("pid:{}", machine.start_process()));
    for (request, status) in [
        (count(3), Status::Unable),
        (count(usize::MAX), Status::Unable),
        (named("0-1"), Status::Usage),
        (named("7"), Status::Usage),
        (named("x"), Status::Usage),
        (count(0), Status::Usage),
    ] {
        let refused = lease(&machine, &request, &a).unwrap_err();
        assert_eq!(refused.status, status, "{request:?}: {refused:?}");
    }
    machine.assert_restored("nothing was leased");
    lease(&machine, &count(1), &a).unwrap();
    let refused = lease(&machine, &count(2), &b).unwrap_err();
    assert!(
        refused.status == Status::Conflict && refused.why.contains("reserve"),
        "{refused:?}"
    );
    // One waits for two CPUs; a later request for one that is free has to wait too.
    let client = machine.start_process();
    let mut first = PendingLease::new(&machine.session, &count(2), &b, client).unwrap();
    assert!(is_later(&first.attempt(IfBusy::Queue).unwrap()));
    let refused = lease(&machine, &count(1), &c).unwrap_err();
    assert!(
        refused.why.contains("requests that wait before this one: 1"),
        "{refused:?}"
    );
    let mut second = PendingLease::new(&machine.session, &count(1), &c, machine.start_process()).unwrap();
    assert!(is_later(&second.attempt(IfBusy::Queue).unwrap()));
    assert_eq!(list(&machine.session).unwrap().waiting.len(), 2);
    // The first client is killed, so the second one is the next.
    machine.end_process(client);
    assert!(!is_later(&second.attempt(IfBusy::Queue).unwrap()));
    assert!(machine.registry().waiting.is_empty());
}

#[test]
fn a_request_is_planned_with_what_other_commands_did_since() {
    let machine = LeaseMachine::boot(Rules::V2, &POOL.replace("minimal", "balanced"));
    let other = machine.session.for_thread();
    // It has read the machine, and then the other command isolates a CPU.
    let mut late = PendingLease::new(&other, &count(1), "manual", machine.start_process()).unwrap();
    lease(&machine, &count(1), "manual").unwrap();
    assert!(!is_later(&late.attempt(IfBusy::GiveUp).unwrap()));
    let isolated = machine.isolated();
    let mask = CpuSet::parse_mask(&machine.kernel.get("/sys/devices/virtual/workqueue/cpumask")).unwrap();
    assert!(
        isolated.len() == 2 && !mask.intersects(&isolated),
        "{mask} of {isolated}"
    );
    let ended = release(&other, &ReleaseTarget::Owner("manual".to_owned())).unwrap();
    assert!(
        ended.len() == 2 && ended.iter().all(|end| end.remains.is_empty()),
        "{ended:?}"
    );
    machine.assert_restored("both leases were released");
}

#[test]
fn a_lease_is_not_resized_and_is_not_the_last_partition_of_undo() {
    let machine = LeaseMachine::boot(Rules::V2, POOL);
    let granted = lease(&machine, &named("3"), "manual").unwrap().lease;
    let changing = machine.session.lock().unwrap();
    let name = PartitionName::new(&granted.partition).unwrap();
    let larger = Intent::new(name, set("2-3"), Profile::Minimal);
    let read = machine.session.machine().for_plan(machine.session.root());
    let plan = session::isolation::plan_on(&machine.session, &read, &larger).unwrap();
    let refused = session::resize::resize(&changing, (&read, &larger, plan), "test")
        .map(drop)
        .unwrap_err();
    assert!(
        refused.status == Status::Conflict && refused.what.contains("is a lease"),
        "{refused:?}"
    );
    let undone = changing.undo(UndoTarget::Last, "test").unwrap();
    assert!(!undone.was_in_force && machine.isolated() == set("3"), "{undone:?}");
    let undone = changing.undo(UndoTarget::All, "test").unwrap();
    assert!(undone.was_in_force && undone.equal(), "{undone:?}");
    drop(changing);
    drop(machine.session.lock().unwrap());
    assert!(machine.registry().leases.is_empty());
    machine.assert_restored("everything was undone");
}

#[test]
fn a_pool_that_overlaps_a_declared_partition_is_refused() {
    let declared = "[[partition]]\ncpus = \"core-of:3\"\nprofile = \"minimal\"\n";
    let machine = LeaseMachine::boot(Rules::V2, &format!("{POOL}{declared}"));
    let refused = lease(&machine, &count(1), "manual").unwrap_err();
    assert!(
        refused.status == Status::Usage && refused.what.contains("CPU 3 is in the pool"),
        "{refused:?}"
    );
}

#[test]
fn a_command_that_is_killed_leaves_no_lease_without_an_owner() {
    for rules in ALL_RULES {
        let mut steps = 1;
        loop {
            let machine = LeaseMachine::boot(rules, POOL);
            let owner = format!("pid:{}", machine.start_process());
            if !machine.killed_after(steps, || drop(lease(&machine, &count(2), &owner))) {
                break;
            }
            drop(machine.session.lock().unwrap());
            machine.session.refresh();
            // The last step is the last write: what remains of the apply is a record.
            assert!(machine.registry().leases.is_empty(), "{rules:?} step {steps}");
            machine.assert_restored(&format!("{rules:?}: killed after step {steps} of a lease"));
            steps += 1;
        }
        assert!(steps > 5, "{rules:?}: {steps}");
    }
}

#[test]
fn a_release_that_is_killed_is_finished_by_the_next_command() {
    for rules in ALL_RULES {
        let mut steps = 1;
        loop {
            let machine = LeaseMachine::boot(rules, POOL);
            let id = lease(&machine, &count(2), "manual").unwrap().lease.id;
            let is_killed = machine.killed_after(steps, || {
                release(&machine.session, &ReleaseTarget::Id(id)).unwrap();
            });
            if !is_killed {
                break;
            }
            drop(machine.session.lock().unwrap());
            assert!(machine.registry().leases.is_empty(), "{rules:?} step {steps}");
            machine.assert_restored(&format!("{rules:?}: killed after step {steps} of a release"));
            steps += 1;
        }
        assert!(steps > 5, "{rules:?}: {steps}");
    }
}

#[test]
fn entries_without_a_partition_are_forgotten_and_a_partition_of_the_user_stays() {
    let machine = LeaseMachine::boot(Rules::V2, POOL);
    let granted = lease(&machine, &count(1), "manual").unwrap().lease;
    // As after a kill between the undo and the registry, or before the apply.
    let mut registry = machine.registry();
    let mut other = granted.clone();
    (other.id, other.partition) = (registry.next_id(|_| false), "lease-2".to_owned());
    registry.leases.push(other);
    registry.write(machine.session.lock().unwrap().state()).unwrap();
    assert_eq!(list(&machine.session).unwrap().leases.len(), 1);
    drop(machine.session.lock().unwrap());
    assert_eq!(machine.registry().leases, [granted]);
    assert_eq!(machine.partitions().len(), 1);
}

#[test]
fn a_damaged_registry_ends_no_lease_and_is_kept() {
    let machine = LeaseMachine::boot(Rules::V2, POOL);
    lease(&machine, &count(1), "manual").unwrap();
    let file = machine.kernel.dir.path().join("run/quietcore/leases");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() / 2]).unwrap();
    assert_eq!(list(&machine.session).unwrap_err().status, Status::Conflict);
    assert_eq!(machine.isolated().len(), 1);
    std::fs::write(&file, &text).unwrap();
    let registry: LeaseRegistry = machine.registry();
    assert_eq!(registry.leases.len(), 1);
    assert!(registry.leases[0].cpus.is_subset(&set("1-3")));
    // Without a lease that is active, a damaged registry is replaced.
    release(&machine.session, &ReleaseTarget::Id(registry.leases[0].id)).unwrap();
    std::fs::write(&file, &text[..text.len() / 2]).unwrap();
    drop(machine.session.lock().unwrap());
    assert!(machine.registry().leases.is_empty());
}

const SERVICE: &str = "/machine.slice/vm.scope";

#[test]
fn the_cgroup_of_an_owner_is_its_partition_where_it_is() {
    let mut machine = LeaseMachine::boot(Rules::V2, POOL);
    machine.start_service(SERVICE);
    let owner = format!("cgroup:{SERVICE}");
    let granted = lease(&machine, &named("2-3"), &owner).unwrap();
    let about_place = |finding: &&Finding| finding.id == FindingId::PARTITION_IN_PLACE;
    assert_eq!(granted.findings.iter().find(about_place), None);
    let partition = || machine.kernel.partition_cpus(SERVICE);
    assert_eq!(partition(), Some(set("2-3")));
    assert_eq!(
        release(&machine.session, &ReleaseTarget::Owner(owner.clone()))
            .unwrap()
            .len(),
        1
    );
    assert_eq!(partition(), None);
    machine.assert_restored("the lease was released");
    lease(&machine, &named("2-3"), &owner).unwrap();
    machine.kernel.stop_service(SERVICE);
    let changing = machine.session.lock().unwrap();
    let ended = &changing.ended_leases;
    assert!(
        ended.len() == 1 && ended[0].remains.is_empty() && !ended[0].is_open,
        "{ended:?}"
    );
    assert_eq!(
        machine
            .kernel
            .get("/sys/fs/cgroup/machine.slice/cgroup.subtree_control"),
        ""
    );
    assert_eq!(machine.kernel.get("/sys/devices/virtual/workqueue/cpumask"), "f");
}

#[test]
fn a_kernel_without_partitions_in_place_gives_the_owner_a_partition_and_a_finding() {
    let mut machine = LeaseMachine::boot(Rules::V1KeepsPins, POOL);
    machine.start_service(SERVICE);
    let granted = lease(&machine, &named("2-3"), &format!("cgroup:{SERVICE}")).unwrap();
    assert_eq!(machine.isolated(), set("2-3"));
    let about_place = |finding: &&Finding| finding.id == FindingId::PARTITION_IN_PLACE;
    let finding = granted.findings.iter().find(about_place).unwrap();
    assert!(finding.message.contains("cgroup v1"), "{finding:?}");
    release(&machine.session, &ReleaseTarget::Id(granted.lease.id)).unwrap();
    machine.assert_restored("the lease was released");
}
