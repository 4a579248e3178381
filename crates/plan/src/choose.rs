//! Which CPUs to give away when the user names none.

use crate::Refusal;
use machine::{CpuId, CpuSet, Machine};

/// One whole core: the highest online one that does not hold the lowest online CPU, preferring CPUs that were
/// isolated at boot. Where the only other thread is a sibling of the lowest CPU, that thread alone.
///
/// # Errors
/// [`Refusal::TooSmall`] with one CPU online, [`Refusal::UnknownCpus`] when the machine does not tell.
pub fn choose_one_core(machine: &Machine) -> Result<CpuSet, Refusal> {
    let online = &machine.topology.online;
    let lowest = online.first().ok_or(Refusal::UnknownCpus)?;
    let core_of = |id: CpuId| -> CpuSet {
        let siblings = machine
            .topology
            .cpus
            .iter()
            .find(|cpu| cpu.id == id)
            .and_then(|cpu| cpu.siblings.clone());
        siblings.map_or_else(|| [id].into_iter().collect(), |siblings| siblings.and(online))
    };
    let free_cores = |among: &CpuSet| {
        let mut ids: Vec<CpuId> = among.iter().collect();
        ids.reverse();
        ids.into_iter()
            .map(core_of)
            .find(|core| !core.is_empty() && !core.contains(lowest))
    };
    let boot = machine
        .isolation
        .boot_isolated
        .clone()
        .unwrap_or_default()
        .and(online);
    if let Some(core) = free_cores(&boot).or_else(|| free_cores(online)) {
        return Ok(core);
    }
    let last = online.last().filter(|&last| last != lowest);
    last.map(|last| [last].into_iter().collect())
        .ok_or_else(|| Refusal::TooSmall {
            online: online.clone(),
        })
}
