//! Marks a CPU with letters: how it is isolated, and whether it is busy, offline or the lowest.

use super::super::InspectView;
use super::super::isolation::partition_cpus;
use crate::style::TextRole;
use machine::{CpuId, CpuSet, Machine};

/// One mark: a letter, the CPUs that have it, and its meaning.
pub(super) struct Mark {
    pub(super) letter: char,
    pub(super) cpus: CpuSet,
    pub(super) meaning: &'static str,
    pub(super) role: TextRole,
}

pub(super) struct Marks(pub(super) Vec<Mark>);

impl Marks {
    pub(super) fn of(machine: &Machine, view: &InspectView) -> Marks {
        let isolation = &machine.isolation;
        let partitioned = isolation.partitions.iter().filter_map(partition_cpus);
        let partitioned = partitioned.fold(isolation.cpuset_isolated.clone().unwrap_or_default(), |all, set| {
            all.or(set)
        });
        let topology = &machine.topology;
        let lowest: CpuSet = topology.online.first().into_iter().collect();
        let offline: CpuSet = topology
            .cpus
            .iter()
            .filter(|cpu| !cpu.online)
            .map(|cpu| cpu.id)
            .collect();
        let tasks = machine.tasks.as_deref().unwrap_or_default();
        let running = tasks
            .iter()
            .filter(|task| task.state == 'R' && Some(task.pid) != view.own_pid);
        let busy: CpuSet = running.filter_map(|task| task.cpu).collect();
        let mark = |letter, cpus, meaning, role| Mark {
            letter,
            cpus,
            meaning,
            role,
        };
        Marks(vec![
            mark(
                'b',
                isolation.boot_isolated.clone().unwrap_or_default(),
                "isolated at boot (isolcpus)",
                TextRole::Good,
            ),
            mark(
                't',
                isolation.nohz_full.clone().unwrap_or_default(),
                "tick may stop (nohz_full)",
                TextRole::Good,
            ),
            mark('p', partitioned, "isolated by a cpuset partition", TextRole::Good),
            mark('*', busy, "a task runs or waits here", TextRole::Warning),
            mark('x', offline, "offline", TextRole::Quiet),
            mark('^', lowest, "lowest online CPU, never isolated", TextRole::Head),
        ])
    }

    pub(super) fn letters(&self, cpu: CpuId) -> String {
        self.0
            .iter()
            .filter(|mark| mark.cpus.contains(cpu))
            .map(|mark| mark.letter)
            .collect()
    }

    pub(super) fn role(&self, cpu: CpuId) -> Option<TextRole> {
        let mut roles = self
            .0
            .iter()
            .filter(|mark| mark.cpus.contains(cpu))
            .map(|mark| mark.role);
        roles
            .clone()
            .find(|role| matches!(role, TextRole::Quiet | TextRole::Warning))
            .or_else(|| roles.next())
    }
}
