//! Combines the machine and the intent, and computes once what every knob needs.

use crate::{CpuRefusal, Finding, FindingId, Intent, PlanRefusal};
use machine::kernel::{Kernel, OLDEST};
use machine::{CpuId, CpuSet, Hierarchy, Machine, Settings};

/// What a knob plans from.
pub struct PlanContext<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Its settings, at least those that `knobs::planned` reads for the isolated CPUs.
    pub settings: &'a Settings,
    /// The intent.
    pub intent: &'a Intent,
    /// Other active partitions of ours.
    pub in_force: Vec<&'a Intent>,
    /// Whether a partition with the name of the intent is active, so that its sets are ours.
    pub is_active: bool,
    /// Online CPUs that keep everything else.
    pub housekeeping: CpuSet,
    /// SMT siblings of the isolated CPUs that the intent takes offline.
    pub going_offline: CpuSet,
}

impl<'a> PlanContext<'a> {
    /// Checks the intent against the machine.
    ///
    /// # Errors
    /// A [`PlanRefusal`] if it names CPUs that are missing, offline, the lowest, part of another partition, or all there are.
    pub fn set(
        machine: &'a Machine,
        settings: &'a Settings,
        intent: &'a Intent,
        in_force: &'a [Intent],
    ) -> Result<PlanContext<'a>, PlanRefusal> {
        let is_active = in_force.iter().any(|other| other.name == intent.name);
        let in_force: Vec<&Intent> = in_force.iter().filter(|other| other.name != intent.name).collect();
        let wanted = &intent.cpus;
        check_online(machine, wanted)?;
        let online = &machine.topology.online;
        let going_offline = match intent.with.contains_key("cpu_offline") {
            true => machine.topology.siblings_of(wanted).minus(wanted).and(online),
            false => CpuSet::new(),
        };
        let housekeeping = housekeeping(online, wanted, &going_offline, &in_force)?;
        if let Some(lowest) = online.first().filter(|&lowest| wanted.contains(lowest)) {
            let others = online.minus(&[lowest].into_iter().collect());
            let cpu = lowest.0;
            return Err(CpuRefusal::LowestCpu { cpu, others }.into());
        }
        Ok(PlanContext {
            machine,
            settings,
            intent,
            in_force,
            is_active,
            housekeeping,
            going_offline,
        })
    }

    /// The isolated CPUs.
    #[must_use]
    pub fn isolated(&self) -> &CpuSet {
        &self.intent.cpus
    }

    /// The hierarchy with the cpuset controller.
    #[must_use]
    pub fn hierarchy(&self) -> Option<&Hierarchy> {
        self.machine.cgroups.cpuset.as_ref()
    }

    /// Whether a cgroup below the mount is one of those that partitions of ours use.
    #[must_use]
    pub fn is_ours(&self, hierarchy: &Hierarchy, cgroup: &str) -> bool {
        let own = |path: String| path.strip_prefix(&hierarchy.mount) == Some(cgroup);
        let of =
            |other: &&Intent| own(other.cgroup_path(hierarchy)) || other.housekeeping_path(hierarchy).is_some_and(own);
        self.in_force.iter().any(of)
    }

    /// As [`PlanContext::is_ours`], also for the sets of this intent, which may already exist.
    pub(crate) fn is_or_will_be_ours(&self, cgroup: &str) -> bool {
        self.hierarchy().is_some_and(|hierarchy| {
            let own = |path: String| path.strip_prefix(&hierarchy.mount) == Some(cgroup);
            self.is_ours(hierarchy, cgroup)
                || own(self.intent.cgroup_path(hierarchy))
                || self.intent.housekeeping_path(hierarchy).is_some_and(own)
        })
    }

    /// Memory nodes, as a list, that the isolated CPUs should allocate from: their own if these have memory, else
    /// `None` for all (a set without memory cannot start any task).
    #[must_use]
    pub fn local_nodes(&self) -> Option<String> {
        let nodes = &self.machine.topology.nodes;
        let local: CpuSet = nodes
            .iter()
            .filter(|node| node.cpus.intersects(self.isolated()) && node.has_memory == Some(true))
            .map(|node| CpuId(node.id))
            .collect();
        (!local.is_empty() && nodes.len() > 1).then(|| local.to_string())
    }
}

/// The requested CPUs are online, on a machine with more than one CPU.
fn check_online(machine: &Machine, wanted: &CpuSet) -> Result<(), PlanRefusal> {
    let online = machine.topology.online.clone();
    if online.is_empty() {
        return Err(PlanRefusal::UnknownCpus);
    }
    if wanted.is_empty() {
        return Err(PlanRefusal::NoCpus);
    }
    let present = machine.topology.present_cpus().or(&online);
    let cpus = wanted.minus(&present);
    if !cpus.is_empty() {
        return Err(CpuRefusal::Missing { cpus, present }.into());
    }
    let cpus = wanted.minus(&online);
    if !cpus.is_empty() {
        return Err(CpuRefusal::Offline { cpus, online }.into());
    }
    if online.len() == 1 {
        return Err(PlanRefusal::TooSmall { online });
    }
    Ok(())
}

/// The online CPUs that neither this intent nor another active partition takes; there is at least one.
fn housekeeping(
    online: &CpuSet,
    wanted: &CpuSet,
    going_offline: &CpuSet,
    in_force: &[&Intent],
) -> Result<CpuSet, PlanRefusal> {
    let mut housekeeping = online.minus(wanted).minus(going_offline);
    for other in in_force {
        let cpus = other.cpus.and(wanted);
        if !cpus.is_empty() {
            let name = other.name.to_string();
            return Err(CpuRefusal::CpusInUse { cpus, name }.into());
        }
        housekeeping = housekeeping.minus(&other.cpus);
    }
    if housekeeping.is_empty() {
        let (cpus, online) = (wanted.clone(), online.clone());
        return Err(CpuRefusal::LastHousekeeping { cpus, online }.into());
    }
    Ok(housekeeping)
}

/// Reports a kernel older than every supported kernel.
#[must_use]
pub fn unsupported_kernel(kernel: &Kernel) -> Option<Finding> {
    let release = kernel.release.as_deref().filter(|_| kernel.is_unsupported())?;
    let (major, minor) = OLDEST;
    let message = format!(
        "kernel {release} is older than {major}.{minor}, the oldest supported version: files and defaults differ \
         there, and a result may be wrong"
    );
    let fix = format!("check each point in the documentation of that kernel, or use {major}.{minor} or later");
    Some(Finding::warning(FindingId::KERNEL_UNSUPPORTED, "kernel", message).fix(fix))
}
