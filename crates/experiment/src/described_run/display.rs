//! Computes the screen of a described run: one row per sampler, and the load of the CPUs, as systress shows them.

use super::DescribedRun;
use machine::{CpuId, CpuSet};
use measure::{Measurement, MeasurementPhase, Progress};
use observe::CpuTimes;
use report::TimerRow;
use root::Root;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The CPU times of `/proc/stat` at one instant.
type Times = BTreeMap<u32, CpuTimes>;

/// The screen of a running measurement.
pub struct RunDisplay<'a> {
    root: &'a Root,
    rows: Vec<TimerRow>,
    index_of: Vec<u32>,
    load_cpus: Option<CpuSet>,
    refresh: Duration,
    drawn: Option<Instant>,
    earlier: Option<Times>,
    first: Option<Times>,
}

impl<'a> RunDisplay<'a> {
    /// A screen on which nothing is drawn yet.
    #[must_use]
    pub fn new(run: &DescribedRun, root: &'a Root) -> RunDisplay<'a> {
        let samplers = &run.description.samplers;
        let index = |place: &usize| samplers.get(*place).map_or(0, |sampler| sampler.index);
        RunDisplay {
            root,
            rows: Vec::new(),
            index_of: run.plan.sampler_of.iter().map(index).collect(),
            load_cpus: run.plan.load_cpus.clone(),
            refresh: run.description.main.refresh,
            drawn: None,
            earlier: None,
            first: None,
        }
    }

    /// Takes the newest numbers of the samplers.
    pub fn update(&mut self, progress: &Progress) {
        if progress.phase != MeasurementPhase::Sampling {
            return;
        }
        if self.first.is_none() {
            self.first = self.times();
            self.earlier.clone_from(&self.first);
        }
        let threads = progress.threads.iter().zip(&self.index_of);
        self.rows = threads
            .map(|(thread, &index)| TimerRow {
                index,
                tid: thread.tid.unwrap_or(0),
                samples: thread.recorded,
                min_ns: thread.min_ns,
                max_ns: thread.max_ns,
                last_ns: thread.last_ns,
                mean_ns: thread.mean_ns,
            })
            .collect();
    }

    /// The text to draw now; `None` before the interval of the description has passed, and before the first sample.
    pub fn next_text(&mut self) -> Option<String> {
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= self.refresh);
        if !is_due || self.first.is_none() {
            return None;
        }
        self.drawn = Some(Instant::now());
        let now = self.times();
        let text = self.text(self.earlier.as_ref(), now.as_ref());
        self.earlier = now;
        Some(text)
    }

    /// The final text: the results, and the load over the whole run.
    #[must_use]
    pub fn final_text(mut self, result: &Measurement) -> String {
        let threads = result.threads.iter().zip(&self.index_of).enumerate();
        self.rows = threads
            .map(|(place, (thread, &index))| TimerRow {
                index,
                tid: thread.tid.unwrap_or(0),
                samples: thread.recorded,
                min_ns: thread.min_ns,
                max_ns: thread.max_ns,
                last_ns: self.rows.get(place).and_then(|row| row.last_ns),
                mean_ns: thread.mean_ns,
            })
            .collect();
        let now = self.times();
        self.text(self.first.as_ref(), now.as_ref())
    }

    fn times(&self) -> Option<Times> {
        let text = self.root.readable_text("/proc/stat")?;
        Some(observe::parse_stat(&text))
    }

    fn text(&self, earlier: Option<&Times>, now: Option<&Times>) -> String {
        let (Some(cpus), Some(earlier), Some(now)) = (&self.load_cpus, earlier, now) else {
            return report::systress_screen(&self.rows, &[], None);
        };
        let load = |cpu: CpuId| Some((cpu, now.get(&cpu.0)?.load_since(earlier.get(&cpu.0)?)?));
        let loads: Vec<(CpuId, f64)> = cpus.iter().filter_map(load).collect();
        let all = CpuTimes::sum(now.values()).load_since(&CpuTimes::sum(earlier.values()));
        report::systress_screen(&self.rows, &loads, all)
    }
}
