//! Checks the partition: that it exists, is valid, has the right CPUs, and is outside all other scheduling domains.

use super::{IsolationLayer, LayerName};
use crate::{CheckCase, CheckEvidence, CheckFinding, IsolationMeans};
use machine::{Machine, Partition, Version};
use plan::{Action, Change, FindingId, Level};

pub(super) const LAYER: IsolationLayer = IsolationLayer {
    name: LayerName::Partition,
    what: "the cpuset that owns the CPUs: it exists, is valid, has these CPUs, and is excluded from load balancing",
    judge,
};

fn judge(evidence: &CheckEvidence, case: &CheckCase, found: &mut Vec<CheckFinding>) {
    let offline = case.isolation.intent.cpus.minus(&case.cpus);
    if !offline.is_empty() {
        let message = format!("CPU {offline} is offline, so no program can run there");
        found.push(
            CheckFinding::new(Level::Error, FindingId::CPU_OFFLINE, format!("cpu{offline}"), message)
                .fix(format!(
                    "echo 1 >/sys/devices/system/cpu/cpu{offline}/online for each, then check again"
                ))
                .seen(format!(
                    "/sys/devices/system/cpu/online reads {}",
                    evidence.machine.topology.online
                )),
        );
    }
    if let Err(refusal) = &case.plan {
        let subject = case.isolation.intent.cpus.to_string();
        let message = format!(
            "the intended isolation is not possible on this machine in its current state: {}",
            refusal.reason()
        );
        found.push(CheckFinding::new(Level::Error, FindingId::PLAN_REFUSED, subject, message).fix(refusal.next_step()));
    }
    match &case.isolation.means {
        IsolationMeans::Partition => check_own(evidence.machine, case, found),
        IsolationMeans::Missing => found.push(missing(case, "it is declared and not active")),
        IsolationMeans::Nothing => found.push(missing(
            case,
            "no partition of quietcore, no cpuset and no boot parameter isolates these CPUs",
        )),
        IsolationMeans::Cpuset(set) => found.extend(foreign(evidence.machine, set)),
        IsolationMeans::BootLine => found.extend(domains(evidence.machine, case)),
        IsolationMeans::Slices => found.push(bounded(case)),
        IsolationMeans::Tuned => {}
    }
}

fn missing(case: &CheckCase, why: &str) -> CheckFinding {
    let name = case.isolation.intent.name.to_string();
    let message = format!("CPU {} is not isolated: {why}", case.isolation.intent.cpus);
    CheckFinding::new(Level::Error, FindingId::PARTITION_MISSING, name, message).fix(case.remedy())
}

fn check_own(machine: &Machine, case: &CheckCase, found: &mut Vec<CheckFinding>) {
    if machine.cgroups.cpuset.is_none() {
        found.push(missing(case, "the cpuset controller is no longer mounted"));
        return;
    }
    let own = case.cgroup(machine).map(|(_, dir)| dir).unwrap_or_default();
    let is_missing = matches!(case.values.get(&own), Some(None));
    if is_missing {
        let intent = &case.isolation.intent;
        let name = &intent.name;
        let (why, fix) = match &intent.in_place {
            Some(_) => (
                format!("its cgroup {own} no longer exists, because its program has ended"),
                format!("`quietcore undo --partition {name}`"),
            ),
            None => (
                format!("its cgroup {own} no longer exists"),
                format!(
                    "`quietcore undo --partition {name} --force`, then `quietcore apply {}`",
                    intent.arguments()
                ),
            ),
        };
        found.push(missing(case, &why).fix(fix));
        return;
    }
    // For a plan that creates the partition again, the existing one belongs to another owner.
    let is_own = |change: &Change| change.knob() == "foreign_cpusets" && change.target.starts_with(&format!("{own}/"));
    for change in case
        .changes()
        .filter(|change| is_of_the_partition(change) && !is_own(change))
    {
        found.extend(differs(machine, case, change));
    }
}

fn is_of_the_partition(change: &Change) -> bool {
    matches!(change.knob(), "cpuset_partition" | "systemd_slice" | "foreign_cpusets")
}

/// A file of the partition, or a directory that it needs, that is not as planned.
fn differs(machine: &Machine, case: &CheckCase, change: &Change) -> Option<CheckFinding> {
    if case.is_unread(change) {
        return None;
    }
    let now = case.now(change);
    match &change.action {
        Action::Write {
            path, value, compare, ..
        } => {
            let now = now?;
            if compare.same(now, value) {
                return None;
            }
            let (level, id) = match change.knob() {
                "foreign_cpusets" => (Level::Error, FindingId::CPUSET_OVERLAPS),
                // More distant memory does not weaken isolation; but v1 admits no task to a set without any.
                _ if path.ends_with("mems") && !(is_v1(machine) && now.trim().is_empty()) => {
                    (Level::Warning, FindingId::PARTITION_DIFFERS)
                }
                _ => (Level::Error, FindingId::PARTITION_DIFFERS),
            };
            let message = format!("it reads `{now}` and should read `{value}`: {}", change.why);
            Some(with_repair(case, change, CheckFinding::new(level, id, path, message)).seen(format!("{path}: {now}")))
        }
        Action::MakePartition { path, words } => {
            let is_right = |now: &str| words.first().is_some_and(|word| word == now) || is_fallback(case, change, now);
            let is_valid = now.is_some_and(is_right);
            (!is_valid).then(|| not_a_partition(case, change, path))
        }
        Action::MakeSet { path } | Action::StartSlice { path, .. } => {
            let is_absent = matches!(case.values.get(path), Some(None));
            is_absent.then(|| {
                let message = format!("{path} no longer exists: {}", change.why);
                let found = CheckFinding::new(Level::Warning, FindingId::PARTITION_DIFFERS, path, message);
                match &change.action {
                    Action::StartSlice { .. } => with_repair(case, change, found),
                    _ => found.fix("undo the partition (`quietcore undo --force`) and apply it again"),
                }
            })
        }
        _ => None,
    }
}

/// The kind of a partition that is not as planned.
fn not_a_partition(case: &CheckCase, change: &Change, path: &str) -> CheckFinding {
    let read = case.now(change);
    let now = read.unwrap_or("absent");
    let message = match now.split_once("invalid") {
        Some((_, reason)) => {
            format!("the kernel marked the partition invalid{reason}: other programs share its CPUs")
        }
        None => format!("it is `{now}`, not a partition: its CPUs are in the scheduling domains of the other CPUs"),
    };
    let found = CheckFinding::new(Level::Error, FindingId::PARTITION_INVALID, path, message);
    // Without the controller the cgroup has no such file, and is not a partition. The controller is restored first: a
    // partition that is created before its CPUs are available again is invalid, or becomes one of another kind.
    let found = match read {
        None => found.fix(case.remedy()),
        Some(_) => with_repair(case, change, found),
    };
    found.seen(format!("{path}: {now}"))
}

fn is_v1(machine: &Machine) -> bool {
    let hierarchy = machine.cgroups.cpuset.as_ref();
    hierarchy.is_some_and(|hierarchy| hierarchy.version == Version::V1)
}

/// Kernels without `isolated` created a `root` partition when it was applied.
fn is_fallback(case: &CheckCase, change: &Change, now: &str) -> bool {
    now == "root" && case.isolation.refused.contains_key(&change.id)
}

fn with_repair(case: &CheckCase, change: &Change, found: CheckFinding) -> CheckFinding {
    found.fix(case.remedy()).repaired_by(change.clone())
}

/// A cpuset of cset, partrt or a user: whether it really owns its CPUs.
fn foreign(machine: &Machine, name: &str) -> Option<CheckFinding> {
    let hierarchy = machine.cgroups.cpuset.as_ref()?;
    let set = hierarchy.set(name)?;
    let file = |file: &str| hierarchy.file(name, file);
    match set.version {
        Version::V2 => {
            let state = set.partition.as_deref()?;
            state.contains("invalid").then(|| {
                let message =
                    format!("the kernel marked the partition invalid ({state}): other programs share its CPUs");
                CheckFinding::new(
                    Level::Error,
                    FindingId::PARTITION_INVALID,
                    file("cpus.partition"),
                    message,
                )
                .fix("make its CPUs exclusive again: no sibling may contain them, and its parent must contain them")
            })
        }
        Version::V1 => {
            let balances = |set: &Partition| set.sched_load_balance == Some(true);
            hierarchy.set("/").filter(|root| balances(root)).map(|_| {
                let message = "the root cpuset balances load, and its domain covers all CPUs whatever the child \
                     cpusets say";
                CheckFinding::new(
                    Level::Error,
                    FindingId::PARTITION_DIFFERS,
                    hierarchy.file("/", "sched_load_balance"),
                    message,
                )
                .fix(format!("echo 0 >{}", hierarchy.file("/", "sched_load_balance")))
            })
        }
    }
}

/// For systemd's slices: their lists limit what systemd starts, and nothing else.
fn bounded(case: &CheckCase) -> CheckFinding {
    let message = format!(
        "the scheduler still balances load over CPU {}: AllowedCPUs= blocks services and sessions, but not kernel \
         threads and interrupts",
        case.cpus
    );
    CheckFinding::new(Level::Info, FindingId::STILL_BALANCED, case.cpus.to_string(), message).fix(case.remedy())
}

/// For the boot line: `nohz_full=` without `isolcpus=` leaves the CPUs in the scheduling domains.
fn domains(machine: &Machine, case: &CheckCase) -> Option<CheckFinding> {
    let isolated = machine.isolation.boot_isolated.as_ref()?;
    let inside = case.cpus.minus(isolated);
    (!inside.is_empty()).then(|| {
        let message =
            format!("the scheduler still balances load over CPU {inside}, because isolcpus= does not name it");
        CheckFinding::new(Level::Warning, FindingId::STILL_BALANCED, inside.to_string(), message)
            .fix(format!(
                "`quietcore apply --cpus {inside}`, or isolcpus=domain,{inside} on the boot line"
            ))
            .seen(format!("/sys/devices/system/cpu/isolated reads `{isolated}`"))
    })
}
