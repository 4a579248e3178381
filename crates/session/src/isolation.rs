//! Resolves which CPUs an isolation takes, from expressions, declarations and choices.

use crate::{Session, accounts, in_place};
use machine::{CpuSet, Machine, devices};
use plan::declared::{CpuSpec, Declaration};
use plan::{Choice, CpuRequest, Intent, NearbyCpus, Plan};
use root::{Failure, Root};

/// Resolves the user's CPU expression on a machine.
///
/// # Errors
/// An expression that does not parse, or that names something the machine does not have.
pub fn cpus(expression: &str, machine: &Machine) -> Result<CpuSet, Failure> {
    machine::evaluate_cpus(expression, &machine.topology).map_err(|error| {
        Failure::usage(
            "the CPU expression cannot be used",
            error,
            "write a list such as 2-3,7; `quietcore cpus CPUS` evaluates one, `quietcore inspect` shows the CPUs",
        )
    })
}

/// As [`cpus`], and every CPU must be present.
///
/// # Errors
/// As [`cpus`], and CPUs that the machine does not have.
pub fn existing_cpus(expression: &str, machine: &Machine) -> Result<CpuSet, Failure> {
    let cpus = cpus(expression, machine)?;
    let present = machine.topology.present_cpus().or(&machine.topology.online);
    let missing = cpus.minus(&present);
    match (cpus.is_empty(), missing.is_empty()) {
        (true, _) => Err(plan::PlanRefusal::NoCpus.into()),
        (false, false) => Err(plan::PlanRefusal::from(plan::CpuRefusal::Missing { cpus: missing, present }).into()),
        (false, true) => Ok(cpus),
    }
}

/// The CPUs of a measurement without a CPU option, and why: the isolated CPUs (which an affinity mask would hide), else one core.
///
/// # Errors
/// A machine without a core that can be isolated.
pub fn default_cpus(machine: &Machine) -> Result<(CpuSet, &'static str), Failure> {
    let isolated = report::isolated_cpus(machine).and(&machine.topology.online);
    match isolated.is_empty() {
        false => Ok((isolated, "isolated")),
        true => Ok((
            plan::choose_one_core(machine)?,
            "the core that `plan` would choose; nothing is isolated",
        )),
    }
}

/// Resolves a declaration on a machine where other partitions are active. Reserved CPUs are not chosen.
///
/// # Errors
/// Expressions, names, devices and machines that cannot be used.
pub fn settle(
    declaration: &Declaration,
    machine: &Machine,
    root: &Root,
    others: &[Intent],
    reserved: &CpuSet,
) -> Result<(Intent, Plan), Failure> {
    let mut intent = declaration.template.clone();
    let mut choice = None;
    intent.cpus = match &declaration.cpus {
        CpuSpec::Named(expression) => cpus(expression, machine)?,
        request @ CpuSpec::Chosen { .. } => {
            let beside = others.iter().filter(|other| other.name != intent.name);
            let taken = beside.fold(reserved.clone(), |all, other| all.or(&other.cpus));
            choice = choose(request, taken, machine, root)?;
            choice.as_ref().map(|choice| choice.cpus.clone()).unwrap_or_default()
        }
    };
    if let Some(owner) = &declaration.owner {
        intent.take(&format!("owner={}", accounts::owner(root, owner)?))?;
    }
    intent.share_housekeeping(others);
    let mut finding = None;
    if let Some(program) = &declaration.in_place {
        (intent.in_place, finding) = in_place::place_or_finding(program, &intent, machine, root)?;
    } else if let Some(same) = others.iter().find(|other| other.name == intent.name) {
        intent.in_place.clone_from(&same.in_place);
    }
    let mut plan = plan_beside(machine, root, &intent, others)?;
    plan.choice = choice;
    plan.findings.extend(finding);
    Ok((intent, plan))
}

/// Chooses CPUs, none of them from `taken`. `None` for a request that names its CPUs.
pub(crate) fn choose(
    request: &CpuSpec,
    taken: CpuSet,
    machine: &Machine,
    root: &Root,
) -> Result<Option<Choice>, Failure> {
    let CpuSpec::Chosen {
        count,
        near: device,
        shape,
        kind,
        keep,
    } = request
    else {
        return Ok(None);
    };
    let near = device.as_deref().map(|device| near(device, machine, root));
    let keep = keep.as_deref().map(|list| cpus(list, machine)).transpose()?;
    let request = CpuRequest {
        count: *count,
        near: near.transpose()?,
        shape: *shape,
        kind: *kind,
        keep: keep.unwrap_or_default().or(&taken),
        device_nodes: devices::nodes_with_devices(root),
    };
    Ok(Some(plan::choose(machine, &request)?))
}

/// Plans an intent on a machine, with the settings of only its CPUs.
///
/// # Errors
/// An intent that cannot be met.
pub fn plan_on(session: &Session, machine: &Machine, intent: &Intent) -> Result<Plan, plan::PlanRefusal> {
    plan_beside(machine, session.root(), intent, &session.in_force())
}

fn plan_beside(machine: &Machine, root: &Root, intent: &Intent, others: &[Intent]) -> Result<Plan, plan::PlanRefusal> {
    let concerned = machine.topology.with_siblings(&intent.cpus);
    let settings = machine::settings::for_cpus(root, &concerned, plan::knobs::planned());
    plan::plan_beside(machine, &settings, intent, others)
}

/// The CPUs near a device, or those of a place with its own keyword (`node:1`, `llc-of:7`).
fn near(device: &str, machine: &Machine, root: &Root) -> Result<NearbyCpus, Failure> {
    let is_place = device
        .split_once(':')
        .is_some_and(|(word, _)| !word.starts_with('/') && !word.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_place {
        return Ok(NearbyCpus {
            device: device.to_owned(),
            cpus: existing_cpus(device, machine)?,
            what: "as specified".to_owned(),
        });
    }
    let found = devices::locate(root, device).map_err(|error| {
        Failure::usage(
            format!("there is no device `{}`", report::safe(device)),
            error.why,
            "use a name from `ip link`, `lsblk` or `lspci -D`: eth0, nvme0n1, 0000:3b:00.0, /dev/sda; or node:0",
        )
    })?;
    Ok(NearbyCpus::of(&found, &machine.topology)?)
}
