//! A simulated machine that a study reboots, boot by boot.

use machine::CpuSet;
use std::time::Duration;
use study::{BootSession, CurrentMachine, NextStep, RebootAttempt, RunSchedule, Study, next, parse};

pub fn of(axes: &str, seed: u64) -> Study {
    let text = format!(
        "repetitions = 3\nseed = {seed}\n[measure]\nwhat = \"latency\"\ncpus = \"2-3\"\nfor = \"10s\"\n[axes]\n{axes}\n"
    );
    parse(text.as_bytes()).unwrap()
}

/// The kernel of the machine.
pub const OWN: &str = "6.1.0-30-amd64";

/// Another installed kernel.
pub const OTHER: &str = "6.1.0-30-rt-amd64";

/// A machine that a study reboots, with a study of two boots and two cells in each.
pub struct StudyScenario {
    pub study: Study,
    pub schedule: RunSchedule,
    pub tried: Vec<RebootAttempt>,
    pub boots: usize,
    pub line: &'static str,
    pub release: &'static str,
    pub under_way_for: Duration,
}

impl StudyScenario {
    pub fn start() -> StudyScenario {
        StudyScenario::of("isolation = [\"none\", \"isolcpus\"]\nload = [\"idle\", \"cpu\"]")
    }

    pub fn of(axes: &str) -> StudyScenario {
        let study = of(axes, 5);
        let schedule = RunSchedule::new(&study, []);
        StudyScenario {
            study,
            schedule,
            tried: Vec::new(),
            boots: 0,
            line: "quiet",
            release: OWN,
            under_way_for: Duration::ZERO,
        }
    }

    pub fn next(&self) -> NextStep {
        let (boot_id, cpus) = (self.boots.to_string(), CpuSet::range(2, 3));
        let here = CurrentMachine {
            boot_id: Some(&boot_id),
            line: self.line,
            release: Some(self.release),
            own_kernel: Some(OWN).filter(|_| !self.study.names_kernels()),
            cpus: &cpus,
            under_way_for: self.under_way_for,
        };
        next(&self.study, &self.schedule, &self.tried, &here)
    }

    pub fn note(&mut self, sitting: BootSession, came_up: bool) {
        self.tried.push(RebootAttempt {
            boot_session: sitting,
            has_booted: came_up,
            runs_done: self.schedule.runs_done(),
            boot_id: Some(self.boots.to_string()),
        });
    }

    pub fn boot(&mut self, line: &'static str) {
        self.boots += 1;
        self.line = line;
    }

    pub fn boot_kernel(&mut self, release: &'static str) {
        self.boots += 1;
        self.release = release;
    }
}

/// Returns the command line that a boot should have.
pub fn right(boot: usize) -> &'static str {
    ["quiet", "quiet isolcpus=2-3"][boot]
}
