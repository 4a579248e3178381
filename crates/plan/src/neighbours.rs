//! Reports other programs that set the same knobs or assign the same CPUs, and what they would undo.

use crate::{Finding, FindingId, KNOBS, Level, PlanContext, takes};
use machine::neighbours::CPU_MANAGER_STATE;
use machine::{Owner, Task, Version};

/// Findings about such programs.
pub(crate) fn findings(scene: &PlanContext) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(tuned(scene));
    findings.extend(kubelet(scene));
    findings.extend(future_groups(scene));
    findings
}

fn running<'m>(scene: &PlanContext<'m>, comms: &[&str]) -> Option<&'m Task> {
    let tasks = scene.machine.known_tasks().unwrap_or_default();
    tasks
        .iter()
        .find(|task| comms.contains(&task.comm.as_str()) && !task.is_kernel() && task.key.tid == task.pid)
}

/// TuneD writes its whole profile when it starts and when the profile changes, regardless of the current values.
fn tuned(scene: &PlanContext) -> Option<Finding> {
    let daemon = running(scene, &["tuned"])?;
    let tuned = scene.machine.tuned.as_ref();
    let profile = tuned.map_or("an unknown profile", |tuned| tuned.profile.as_str());
    let isolated = scene.isolated();
    let ours: Vec<&str> = KNOBS
        .iter()
        .filter(|knob| knob.peers.contains(&"TuneD") && takes(scene.intent, knob.name))
        .map(|knob| knob.name)
        .collect();
    let cores = tuned.and_then(|tuned| tuned.isolated_cores.as_ref());
    let (level, plans) = match cores {
        Some(cores) if cores == isolated => (Level::Warning, "it isolates the same CPUs".to_owned()),
        Some(cores) => (Level::Warning, format!("it isolates CPU {cores}, not {isolated}")),
        None => (Level::Info, "it names no CPUs to isolate".to_owned()),
    };
    let message = format!(
        "TuneD runs (process {}) with {profile}; {plans}; when it starts or switches profiles it sets these again, if \
         its profile names them: {}",
        daemon.pid,
        ours.join(", ")
    );
    let switch = match tuned.and_then(|tuned| Some((tuned.variables.as_ref()?, &tuned.profile))) {
        Some((path, profile)) if cores != Some(isolated) => {
            format!("isolated_cores={isolated} in {path} and `tuned-adm profile {profile}`")
        }
        _ => "`quietcore plan --format tuned`, which writes this plan as a profile".to_owned(),
    };
    Some(
        Finding::new(level, FindingId::OWNER_TUNED, "TuneD", message).fix(format!(
            "use only one of the two: `tuned-adm off` before `apply`, or {switch}"
        )),
    )
}

/// Every ten seconds the kubelet checks whether its containers have the CPUs that it assigned.
fn kubelet(scene: &PlanContext) -> Option<Finding> {
    let state = scene.machine.cpu_manager.as_ref()?;
    let isolated = scene.isolated();
    let holder = state.exclusive.iter().find(|(_, _, cpus)| cpus.intersects(isolated));
    let message = match holder {
        Some((pod, container, cpus)) => {
            format!("the kubelet assigned CPU {cpus} exclusively to container {container} of pod {pod}")
        }
        None if state.policy == "static" && state.shared.intersects(isolated) => format!(
            "the kubelet's CPU manager (policy static) shares CPU {} among its pods, and assigns containers these CPUs \
             again within ten seconds",
            state.shared
        ),
        None => return None,
    };
    let level = match holder {
        Some(_) => Level::Error,
        None => Level::Warning,
    };
    Some(Finding::new(level, FindingId::OWNER_KUBERNETES, CPU_MANAGER_STATE, message).fix(format!(
        "configure the kubelet with reservedSystemCPUs={isolated} and the policy option strict-cpu-reservation, drain \
         the node, remove {CPU_MANAGER_STATE} and restart the kubelet; or isolate other CPUs"
    )))
}

/// On v1 a container's group is created below its runtime's, with that group's CPUs. A runtime without a group creates
/// one with all CPUs, which the kernel refuses next to an exclusive set.
fn future_groups(scene: &PlanContext) -> Option<Finding> {
    let hierarchy = scene.hierarchy()?;
    let root_is_exclusive = hierarchy.set("/").and_then(|set| set.cpu_exclusive) == Some(true);
    if hierarchy.version != Version::V1 || !root_is_exclusive {
        return None;
    }
    let has = |top: &str| hierarchy.sets.iter().any(|set| set.name == top);
    let (daemon, group, owner) = [
        ("dockerd", "/docker", Owner::Docker),
        ("kubelet", "/kubepods", Owner::Kubernetes),
        ("libvirtd", "/machine", Owner::Libvirt),
        ("virtqemud", "/machine", Owner::Libvirt),
    ]
    .into_iter()
    .find_map(|(comm, group, owner)| {
        let daemon = running(scene, &[comm])?;
        let is_there = has(group) || has(&format!("{group}.slice"));
        (!is_there).then_some((daemon, group, owner))
    })?;
    let what = match owner {
        Owner::Libvirt => "virtual machine",
        _ => "container",
    };
    let message = format!(
        "{} runs (process {}) and has no cpuset {group} yet: the first {what} that it starts while the partition \
         exists requests all CPUs, and the kernel refuses that (EINVAL)",
        daemon.comm, daemon.pid
    );
    Some(
        Finding::warning(FindingId::CONTAINERS_TO_COME, group, message).fix(format!(
            "start one {what} before `apply`: {group} then exists and is narrowed with the others, and later ones get \
             its CPUs"
        )),
    )
}
