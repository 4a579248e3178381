//! Provides what is shown at one time: the last moments, and the scene that applies.

use crate::rates::{interrupts, per_second};
use crate::{CpuScope, Glyphs, Moment, ThreadRuntime, WatchScene};
use machine::{CpuId, CpuSet};
use observe::CpuActivity;

/// What is shown.
pub struct DisplayData<'a> {
    /// The last moments, the newest last.
    pub moments: Vec<&'a Moment>,
    /// The scene of the newest moment.
    pub scene: &'a WatchScene,
    /// The characters of sparklines.
    pub glyphs: Glyphs,
}

impl DisplayData<'_> {
    /// The length of the history in moments: two minutes at one a second.
    pub const HISTORY: usize = 120;

    /// The newest moment.
    pub(crate) fn last(&self) -> Option<&Moment> {
        self.moments.last().copied()
    }

    /// What happened on each CPU in the newest moment.
    pub(crate) fn activities(&self) -> &[CpuActivity] {
        self.last().map_or(&[], |moment| &moment.activity.cpus)
    }

    /// The threads that ran in the newest moment.
    pub(crate) fn ran(&self) -> &[ThreadRuntime] {
        self.last().map_or(&[], |moment| &moment.ran)
    }

    /// The duration of the newest moment.
    pub(crate) fn duration_ns(&self) -> u64 {
        self.last().map_or(0, |moment| moment.activity.duration_ns)
    }

    /// A count of the newest moment as a rate.
    pub(crate) fn rate(&self, count: u64) -> Option<f64> {
        per_second(count, self.duration_ns())
    }

    /// What happened on a CPU in the newest moment.
    pub(crate) fn activity(&self, cpu: CpuId) -> Option<&CpuActivity> {
        on(self.last()?, cpu)
    }

    /// Interrupts per second on a CPU, moment by moment.
    pub(crate) fn past(&self, cpu: CpuId) -> Vec<(u64, Option<f64>)> {
        let of = |moment: &&Moment| {
            let rate = on(moment, cpu).and_then(|one| per_second(interrupts(one), moment.activity.duration_ns));
            (moment.number, rate)
        };
        self.moments.iter().map(of).collect()
    }

    /// All CPUs.
    pub(crate) fn all(&self) -> CpuSet {
        let counted: CpuSet = self.activities().iter().map(|one| one.cpu).collect();
        self.scene.online.or(&self.scene.offline).or(&counted)
    }

    /// The CPUs that the panes show.
    pub(crate) fn scope(&self, scope: CpuScope) -> CpuSet {
        match scope {
            CpuScope::One(cpu) => [cpu].into_iter().collect(),
            CpuScope::Isolated if !self.scene.isolated.is_empty() => self.scene.isolated.clone(),
            CpuScope::Isolated | CpuScope::All => self.all(),
        }
    }
}

/// The activity of a CPU; CPUs are sorted by number.
fn on(moment: &Moment, cpu: CpuId) -> Option<&CpuActivity> {
    let cpus = &moment.activity.cpus;
    let place = cpus.binary_search_by_key(&cpu, |one| one.cpu).ok()?;
    cpus.get(place)
}
