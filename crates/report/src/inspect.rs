//! Implements `inspect`: the hardware of a machine and its isolation, as a screen and as JSON.

mod drawing;
mod interrupts;
mod isolation;
mod json;
mod tasks;

#[cfg(feature = "schema")]
pub(crate) use json::InspectDocumentForm;
pub use json::{INSPECT_SCHEMA, inspect_json};

use crate::report_text::ReportText;
use crate::style::{COLUMNS, Style, TextRole, counted, safe};
use machine::{CpuSet, Machine, Preemption, Topology, UnreadableFile, Version};
use root::Origin;

/// Which parts of a machine to show, and for which CPUs.
#[derive(Clone, Debug, Default)]
pub struct InspectView {
    /// Shows the tasks.
    pub tasks: PartDetail,
    /// Shows the interrupts.
    pub interrupts: PartDetail,
    /// Only these CPUs and what concerns them; `None` means all.
    pub cpus: Option<CpuSet>,
    /// The inspecting process, which does not make its CPU busy.
    pub own_pid: Option<u32>,
}

/// Whether a part is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartDetail {
    /// Omitted.
    #[default]
    Left,
    /// Shown, but long lists are cut; the rest is counted.
    Shortened,
    /// Shown completely.
    Whole,
}

impl PartDetail {
    /// Number of list rows shown.
    fn rows(self) -> usize {
        match self {
            PartDetail::Left => 0,
            PartDetail::Shortened => 40,
            PartDetail::Whole => usize::MAX,
        }
    }

    /// Writes as many rows as this detail shows, then how many are left.
    fn write_rows<T>(self, text: &mut ReportText, all: &[T], write: impl Fn(&mut ReportText, &T)) {
        let rows = self.rows();
        all.iter().take(rows).for_each(|row| write(text, row));
        if all.len() > rows {
            let more = all.len() - rows;
            writeln!(text, "  and {more} more (-v shows all of them, --json too)");
        }
    }
}

/// The screen: at most 80 columns.
#[must_use]
pub fn inspect_text(machine: &Machine, view: &InspectView, style: Style) -> String {
    let mut text = ReportText::new(style);
    headline(&mut text, machine);
    if view.tasks == PartDetail::Left && view.interrupts == PartDetail::Left {
        drawing::write(&mut text, machine, view);
        isolation::write(&mut text, machine);
        cgroups(&mut text, machine);
    }
    if view.tasks != PartDetail::Left {
        tasks::write(&mut text, machine, view);
    }
    if view.interrupts != PartDetail::Left {
        interrupts::write(&mut text, machine, view);
    }
    unreadable(&mut text, machine);
    text.into_string()
}

/// All isolated CPUs, by any mechanism that the machine reports.
#[must_use]
pub fn isolated_cpus(machine: &Machine) -> CpuSet {
    let isolation = &machine.isolation;
    let known = [
        &isolation.boot_isolated,
        &isolation.nohz_full,
        &isolation.cpuset_isolated,
    ];
    let partitioned = isolation.partitions.iter().filter_map(isolation::partition_cpus);
    CpuSet::union(known.into_iter().flatten().chain(partitioned))
}

/// The CPUs for a list of tasks or interrupts: the requested ones, else the isolated ones, else all.
fn subject_cpus(machine: &Machine, view: &InspectView) -> (CpuSet, &'static str) {
    let isolated = isolated_cpus(machine);
    match &view.cpus {
        Some(cpus) => (cpus.clone(), "requested"),
        None if !isolated.is_empty() => (isolated, "isolated"),
        None => (machine.topology.online.clone(), "all online CPUs; none is isolated"),
    }
}

pub(crate) fn preemption_name(preemption: Option<Preemption>) -> &'static str {
    match preemption {
        None => "preemption unknown",
        Some(Preemption::None) => "preemption none",
        Some(Preemption::Voluntary) => "preemption voluntary",
        Some(Preemption::Full) => "preemption full",
        Some(Preemption::Lazy) => "preemption lazy",
        Some(Preemption::Rt) => "PREEMPT_RT",
    }
}

fn headline(text: &mut ReportText, machine: &Machine) {
    let topology = &machine.topology;
    let model = topology
        .model_name
        .as_deref()
        .map_or_else(|| "Processor unknown".to_owned(), safe);
    let origin = match machine.origin {
        Origin::Live => "live",
        Origin::Captured => "captured",
    };
    let model = crate::style::cut(&model, COLUMNS - origin.len() - 2);
    let gap = COLUMNS - model.chars().count() - origin.len();
    let model = text.paint(TextRole::Head, &model);
    writeln!(text, "{model}{:gap$}{}", "", text.paint(TextRole::Quiet, origin));
    let release = machine
        .kernel
        .release
        .as_deref()
        .map_or_else(|| "kernel unknown".to_owned(), safe);
    let guest = match topology.hypervisor.as_deref() {
        Some(name) => format!("guest of {}", safe(name)),
        None => "no hypervisor seen".to_owned(),
    };
    let line = format!(
        "Linux {release} · {} · {guest}",
        preemption_name(machine.kernel.preemption)
    );
    text.wrapped(0, 0, &line.replace("Linux kernel unknown", "kernel unknown"));
    writeln!(text, "{}\n", counts(topology));
}

/// `8 CPUs online · 1 package · 2 memory nodes`
fn counts(topology: &Topology) -> String {
    let mut parts = vec![format!("{} online", counted(topology.online.len(), "CPU"))];
    let distinct = |numbers: Vec<i64>| numbers.into_iter().collect::<std::collections::BTreeSet<_>>().len();
    let packages = distinct(topology.cpus.iter().filter_map(|cpu| cpu.package).collect());
    if packages > 0 {
        parts.push(counted(packages, "package"));
    }
    if !topology.nodes.is_empty() {
        parts.push(counted(topology.nodes.len(), "memory node"));
    }
    let offline = topology.cpus.iter().filter(|cpu| !cpu.online).count();
    if offline > 0 {
        parts.insert(1, format!("{offline} offline"));
    }
    parts.join(" · ")
}

fn cgroups(text: &mut ReportText, machine: &Machine) {
    let groups = &machine.cgroups;
    text.heading("Control groups");
    match &groups.cpuset {
        None if groups.mounts.is_empty() => {
            writeln!(text, "  cpuset         unknown, or no control groups are mounted");
        }
        None => writeln!(text, "  cpuset         no mounted hierarchy has the controller"),
        Some(cpuset) => {
            let version = match cpuset.version {
                Version::V1 => "v1",
                Version::V2 => "v2",
            };
            let read_only = if cpuset.read_only { ", read-only" } else { "" };
            let sets = counted(cpuset.sets.len(), "set");
            writeln!(
                text,
                "  cpuset         {version} at {} ({sets}{read_only})",
                safe(&cpuset.mount)
            );
        }
    }
    let owners: Vec<String> = groups
        .owners
        .iter()
        .map(|owner| format!("{owner:?}").to_lowercase())
        .collect();
    let owners = if owners.is_empty() {
        "none found".to_owned()
    } else {
        owners.join(", ")
    };
    writeln!(text, "  used by        {owners}");
}

fn unreadable(text: &mut ReportText, machine: &Machine) {
    if machine.unreadable.is_empty() {
        return;
    }
    writeln!(text);
    text.painted(TextRole::Warning, "Could not be read, and is therefore unknown");
    const MAX_LISTED: usize = 8;
    for file in machine.unreadable.iter().take(MAX_LISTED) {
        text.wrapped(2, 4, &format!("{}: {}", safe(&file.path), safe(&file.why)));
    }
    if machine.unreadable.len() > MAX_LISTED {
        writeln!(text, "  and {} more", machine.unreadable.len() - MAX_LISTED);
    }
    if machine.unreadable.iter().any(UnreadableFile::is_denied) && machine.origin == Origin::Live {
        writeln!(text, "  More can be read as root (sudo quietcore inspect).");
    }
}
