//! Draws the screen during a described run: systress's rows and loads, redrawn on a terminal.

use super::settle::Settled;
use machine::{CpuId, CpuSet};
use measure::configuration::Configuration;
use measure::{Measurement, Phase, Progress};
use observe::CpuTimes;
use report::TimerRow;
use root::Root;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use terminal::Screen;

/// The screen of a running measurement.
pub struct Display<'a> {
    root: &'a Root,
    rows: Vec<TimerRow>,
    index_of: Vec<u32>,
    shown: Option<CpuSet>,
    refresh: Duration,
    drawn: Option<Instant>,
    /// Number of lines that are currently on the terminal.
    lines: usize,
    earlier: Option<BTreeMap<u32, CpuTimes>>,
    first: Option<BTreeMap<u32, CpuTimes>>,
}

impl<'a> Display<'a> {
    /// A screen on which nothing is drawn yet.
    pub fn new(described: &Configuration, settled: &Settled, root: &'a Root) -> Display<'a> {
        let index = |place: &usize| described.samplers.get(*place).map_or(0, |sampler| sampler.index);
        Display {
            root,
            rows: Vec::new(),
            index_of: settled.sampler_of.iter().map(index).collect(),
            shown: settled.shown.clone(),
            refresh: described.main.refresh,
            drawn: None,
            lines: 0,
            earlier: None,
            first: None,
        }
    }

    /// Draws on a terminal, at the requested interval.
    pub fn draw(&mut self, progress: &Progress, screen: &mut Screen) {
        if progress.phase != Phase::Sampling {
            return;
        }
        if self.first.is_none() {
            self.first = self.times();
            self.earlier.clone_from(&self.first);
        }
        self.rows = progress
            .threads
            .iter()
            .zip(&self.index_of)
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
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= self.refresh);
        if !is_due || !std::io::IsTerminal::is_terminal(&std::io::stdout()) {
            return;
        }
        self.drawn = Some(Instant::now());
        let now = self.times();
        let text = self.text(self.earlier.as_ref(), now.as_ref());
        self.earlier = now;
        self.put(&text, screen);
    }

    /// Draws the final screen: the results, and the load over the whole run.
    pub fn end(&mut self, result: &Measurement, screen: &mut Screen) {
        let last: Vec<Option<u64>> = self.rows.iter().map(|row| row.last_ns).collect();
        self.rows = result
            .threads
            .iter()
            .zip(&self.index_of)
            .enumerate()
            .map(|(place, (thread, &index))| TimerRow {
                index,
                tid: thread.tid.unwrap_or(0),
                samples: thread.recorded,
                min_ns: thread.min_ns,
                max_ns: thread.max_ns,
                last_ns: last.get(place).copied().flatten(),
                mean_ns: thread.mean_ns,
            })
            .collect();
        let now = self.times();
        let text = self.text(self.first.as_ref(), now.as_ref());
        self.put(&format!("{text}\n"), screen);
    }

    fn put(&mut self, text: &str, screen: &mut Screen) {
        if self.lines > 0 {
            screen.rewind(self.lines);
        }
        screen.text(text);
        self.lines = text.lines().count();
    }

    fn times(&self) -> Option<BTreeMap<u32, CpuTimes>> {
        let text = self.root.text("/proc/stat").ok().flatten()?;
        Some(observe::parse_stat(&text))
    }

    fn text(
        &self,
        earlier: Option<&BTreeMap<u32, CpuTimes>>,
        now: Option<&BTreeMap<u32, CpuTimes>>,
    ) -> String {
        let (Some(shown), Some(earlier), Some(now)) = (&self.shown, earlier, now) else {
            return report::systress_screen(&self.rows, &[], None);
        };
        let load = |cpu: CpuId| Some((cpu, now.get(&cpu.0)?.load_since(earlier.get(&cpu.0)?)?));
        let loads: Vec<(CpuId, f64)> = shown.iter().filter_map(load).collect();
        let all = CpuTimes::sum(now.values()).load_since(&CpuTimes::sum(earlier.values()));
        report::systress_screen(&self.rows, &loads, all)
    }
}
