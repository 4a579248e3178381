//! Other owners of CPUs and interrupts: reported with their own terms, narrowed or refused.

use super::scene::{KnobMachine, ids, intent, plan_of};
use machine::CpuSet;
use plan::{Finding, Level, Plan, Profile};

const V1: &str = "38 30 0:33 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset";
const ID: &str = "4f8e9a0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f";

fn found<'p>(plan: &'p Plan, id: &str) -> &'p Finding {
    let finding = plan.findings.iter().find(|finding| finding.id.as_str() == id);
    finding.unwrap_or_else(|| panic!("no {id} in {:?}", ids(plan)))
}

/// A machine with v1 and these sets.
fn with_sets(sets: &[(&str, &str)]) -> KnobMachine {
    let mut files = vec![
        ("/proc/self/mountinfo".to_owned(), V1),
        ("/sys/fs/cgroup/cpuset/cpuset.cpus".to_owned(), "0-3"),
        ("/sys/fs/cgroup/cpuset/cpuset.cpu_exclusive".to_owned(), "1"),
    ];
    let paths: Vec<String> = sets.iter().map(|(set, _)| set.replace("ID", ID)).collect();
    for (path, (_, cpus)) in paths.iter().zip(sets) {
        files.push((format!("/sys/fs/cgroup/cpuset{path}/cpuset.cpus"), *cpus));
    }
    KnobMachine::new(&files)
}

#[test]
fn containers_are_narrowed_and_reported_by_name() {
    let made = with_sets(&[("/docker", "0-3"), ("/docker/ID", "2-3"), ("/docker/other", "0-1")]);
    let plan = plan_of(&made, Profile::Minimal, &[]).unwrap();
    let narrowed: Vec<(&str, &str, bool)> = plan
        .changes
        .iter()
        .filter(|change| change.knob() == "foreign_cpusets")
        .map(|change| {
            let named = change.why.starts_with("Docker container 4f8e9a0b1c2d: ");
            (
                change.after.as_str(),
                change.before.as_deref().unwrap_or_default(),
                named,
            )
        })
        .collect();
    // The inner set is narrowed first. A set without requested CPUs is left alone.
    assert_eq!(narrowed, [("2", "2-3", true), ("0-2", "0-3", false)]);
}

#[test]
fn owners_pinned_to_the_requested_cpus_must_be_moved_first() {
    for (set, command) in [
        ("/docker/ID", "docker update --cpuset-cpus=0-2 4f8e9a0b1c2d;"),
        ("/machine/qemu-1-web.libvirt-qemu/vcpu0", "virsh vcpupin web 0 0-2;"),
        ("/kubepods/pod1a-2b/ID", "configure the kubelet with reservedSystemCPUs"),
        ("/user", "cset shield --reset;"),
    ] {
        // Every set above it has all CPUs.
        let above: Vec<&str> = set.match_indices('/').skip(1).map(|(at, _)| &set[..at]).collect();
        let mut sets: Vec<(&str, &str)> = above.into_iter().map(|set| (set, "0-3")).collect();
        sets.push((set, "3"));
        let made = with_sets(&sets);
        let plan = plan_of(&made, Profile::Minimal, &[]).unwrap();
        let printed = found(&plan, "foreign-cpuset");
        assert_eq!(printed.level, Level::Error, "{set}");
        assert!(printed.fix.starts_with(command), "{set}: {}", printed.fix);
    }
    let plan = plan_of(&with_sets(&[("/mine", "3")]), Profile::Minimal, &[]).unwrap();
    assert_eq!(found(&plan, "foreign-cpuset").level, Level::Warning);
}

#[test]
fn a_container_runtime_without_a_cpuset_is_reported() {
    let mut made = with_sets(&[]);
    made.comms = vec!["dockerd"];
    let plan = plan_of(&made, Profile::Minimal, &[]).unwrap();
    assert!(
        found(&plan, "containers-to-come")
            .message
            .contains("no cpuset /docker yet")
    );
    let mut made = with_sets(&[("/docker", "0-3")]);
    made.comms = vec!["dockerd"];
    let plan = plan_of(&made, Profile::Minimal, &[]).unwrap();
    assert!(!ids(&plan).contains(&"containers-to-come"));
}

#[test]
fn tuned_is_reported_with_its_isolated_cpus() {
    let plan_with = |comms: &[&'static str], variables: &str| {
        let mut made = KnobMachine::new(&[
            ("/etc/tuned/active_profile".to_owned(), "cpu-partitioning"),
            ("/etc/tuned/cpu-partitioning-variables.conf".to_owned(), variables),
        ]);
        made.comms = comms.to_vec();
        plan_of(&made, Profile::Minimal, &[]).unwrap()
    };
    let other = plan_with(&["tuned"], "# isolated_cores=3\nisolated_cores=2-3");
    let printed = found(&other, "owner-tuned");
    assert_eq!(printed.level, Level::Warning);
    assert!(
        printed
            .message
            .contains("cpu-partitioning; it isolates CPU 2-3, not 3;"),
        "{}",
        printed.message
    );
    assert!(printed.message.contains(" irq_affinity"), "{}", printed.message);
    assert!(
        printed
            .fix
            .contains("isolated_cores=3 in /etc/tuned/cpu-partitioning-variables.conf"),
        "{}",
        printed.fix
    );
    let same = plan_with(&["tuned"], "isolated_cores=3");
    let printed = found(&same, "owner-tuned");
    assert!(
        printed.message.contains("the same CPUs") && printed.fix.contains("--format tuned"),
        "{printed:?}"
    );
    let unknown = plan_with(&["tuned"], "isolated_cores=${f:cpulist_invert:0}");
    assert_eq!(found(&unknown, "owner-tuned").level, Level::Info);
    assert!(!ids(&plan_with(&["sleep"], "isolated_cores=2")).contains(&"owner-tuned"));
}

#[test]
fn exclusive_cpus_of_the_kubelet_are_reported() {
    let plan_with = |state: &str| {
        let made = KnobMachine::new(&[("/var/lib/kubelet/cpu_manager_state".to_owned(), state)]);
        plan_of(&made, Profile::Minimal, &[]).unwrap()
    };
    let alone = r#"{"policyName":"static","defaultCpuSet":"0-1","entries":{"0a-1b":{"web":"2-3"}},"checksum":7}"#;
    let plan = plan_with(alone);
    let printed = found(&plan, "owner-kubernetes");
    assert_eq!(printed.level, Level::Error);
    assert!(
        printed
            .message
            .contains("CPU 2-3 exclusively to container web of pod 0a-1b"),
        "{}",
        printed.message
    );
    let shared = r#"{"policyName":"static","defaultCpuSet":"0-3","checksum":7}"#;
    assert_eq!(found(&plan_with(shared), "owner-kubernetes").level, Level::Warning);
    for quiet in [r#"{"policyName":"none","defaultCpuSet":"","checksum":1}"#, "garbage"] {
        assert!(!ids(&plan_with(quiet)).contains(&"owner-kubernetes"), "{quiet}");
    }
}

#[test]
fn a_shield_of_cset_keeps_its_cpus_next_to_a_partition() {
    let made = with_sets(&[("/system", "0-2"), ("/user", "3")]);
    let mut intent = intent(Profile::Minimal);
    intent.cpus = CpuSet::parse_list("2").unwrap();
    let plan = made.plan(&intent).unwrap();
    assert_eq!(found(&plan, "owner-cset").level, Level::Warning);
    let narrowed: Vec<&str> = plan
        .changes
        .iter()
        .filter(|change| change.knob() == "foreign_cpusets")
        .map(|change| change.after.as_str())
        .collect();
    assert_eq!(narrowed, ["0-1"], "its shield keeps CPU 3");
    assert!(!ids(&plan).contains(&"foreign-cpuset"));
}

#[test]
fn a_parent_of_a_fixed_child_is_not_narrowed() {
    // v1 refuses a parent that is smaller than its child.
    let made = with_sets(&[("/torque", "0-3"), ("/torque/job", "2-3"), ("/torque/job/0", "3")]);
    let plan = plan_of(&made, Profile::Minimal, &[]).unwrap();
    let narrowed = plan.changes.iter().filter(|change| change.knob() == "foreign_cpusets");
    assert_eq!(narrowed.count(), 0, "{:?}", plan.changes);
    assert_eq!(plan.shared_with, ["/torque", "/torque/job", "/torque/job/0"]);
    assert_eq!(ids(&plan).iter().filter(|id| **id == "foreign-cpuset").count(), 1);
}

#[test]
fn narrowed_sets_share_no_cpus() {
    let made = with_sets(&[("/docker", "0-3"), ("/docker/ID", "2-3")]);
    assert!(plan_of(&made, Profile::Minimal, &[]).unwrap().shared_with.is_empty());
}

/// A machine with v2 and these sets.
fn with_v2_sets(sets: &[(&str, &str)]) -> KnobMachine {
    let mount = "38 30 0:33 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw";
    let mut files = vec![
        ("/proc/self/mountinfo".to_owned(), mount),
        ("/sys/fs/cgroup/cgroup.controllers".to_owned(), "cpuset cpu"),
        ("/sys/fs/cgroup/cgroup.subtree_control".to_owned(), "cpuset"),
        ("/sys/fs/cgroup/cpuset.cpus.effective".to_owned(), "0-3"),
    ];
    for (set, cpus) in sets {
        files.push((format!("/sys/fs/cgroup{set}/cpuset.cpus"), *cpus));
    }
    KnobMachine::new(&files)
}

#[test]
fn a_v2_set_shares_a_cpu_only_if_its_parent_keeps_it() {
    let beside = plan_of(&with_v2_sets(&[("/batch", "3")]), Profile::Minimal, &[]).unwrap();
    assert_eq!(beside.shared_with, ["/batch"]);
    assert!(
        found(&beside, "foreign-cpuset")
            .message
            .contains("continues to run there")
    );
    for above in ["0-3", ""] {
        let sets = [("/batch", above), ("/batch/one", "3")];
        let inside = plan_of(&with_v2_sets(&sets), Profile::Minimal, &[]).unwrap();
        assert!(inside.shared_with.is_empty(), "{:?}", inside.shared_with);
        let message = &found(&inside, "foreign-cpuset").message;
        assert!(message.contains("runs its tasks on CPU 0-2 of its parent"), "{message}");
    }
}

#[test]
fn a_set_named_like_the_partition_is_reported_but_not_as_an_owner() {
    let plan = plan_of(&with_sets(&[("/rt", "3")]), Profile::Minimal, &[]).unwrap();
    assert!(plan.shared_with.is_empty());
    let message = &found(&plan, "foreign-cpuset").message;
    assert!(message.contains("/rt already exists"), "{message}");
}

#[test]
fn the_set_of_the_active_partition_itself_is_not_foreign() {
    let made = with_sets(&[("/rt", "3")]);
    let intent = intent(Profile::Minimal);
    let plan = made.plan_beside(&intent, std::slice::from_ref(&intent)).unwrap();
    assert!(!ids(&plan).contains(&"foreign-cpuset"), "{:?}", plan.findings);
}
