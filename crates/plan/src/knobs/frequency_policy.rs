//! Reads frequency policies (`drivers/cpufreq/cpufreq.c`): CPUs that share a clock share one directory of settings.

use crate::PlanContext;
use machine::{CpuId, CpuSet};

const PREFIX: &str = "/sys/devices/system/cpu/";

/// The setting of one policy.
pub(super) struct CpufreqPolicy<'a> {
    /// `policy3`, or `cpu3` if the machine does not expose policies.
    pub name: &'a str,
    /// Its file.
    pub path: &'a str,
    /// Directory, with a slash at the end.
    pub dir: &'a str,
    /// Housekeeping CPUs that share it.
    pub shared_with: CpuSet,
}

/// The policies of the isolated CPUs that have a file with this name.
pub(super) fn policies<'a>(scene: &'a PlanContext, file: &'static str) -> Vec<CpufreqPolicy<'a>> {
    let all = scene.settings.family(PREFIX, file);
    all.filter_map(|(between, path, _)| {
        let dir = path.strip_suffix(file)?;
        let name = between
            .split('/')
            .find(|part| part.starts_with("policy") || part.starts_with("cpu") && *part != "cpufreq")?;
        let listed = scene.settings.get(&format!("{dir}affected_cpus"));
        // Numbers separated by blanks, not a list: `0 1 2 3`.
        let cpus: CpuSet = match listed {
            Some(text) => text
                .split_whitespace()
                .filter_map(|one| one.parse().ok().map(CpuId))
                .collect(),
            None => name
                .trim_start_matches(|letter: char| letter.is_ascii_alphabetic())
                .parse()
                .ok()
                .map(CpuId)
                .into_iter()
                .collect(),
        };
        let ours = cpus.intersects(scene.isolated());
        ours.then(|| CpufreqPolicy {
            name,
            path,
            dir,
            shared_with: cpus.and(&scene.housekeeping),
        })
    })
    .collect()
}
