//! Lists all scenarios. Each has one file, and one line here.

use crate::runner::ScenarioJob;
use crate::scenario::Scenario;

mod apply_undo;
mod article_runs;
mod bad_input;
mod blaming;
mod blaming_chains;
mod blaming_functions;
mod blaming_inside;
mod boot_disk;
mod boot_grub;
mod boot_line;
mod boot_raspberry_pi;
mod boot_systemd;
mod boots;
mod checking;
mod cset;
mod daemon;
mod daemon_unit;
mod declared;
mod exports;
mod faults;
mod first_cpu_core;
mod foreign;
mod fork_storm;
mod guest_tools;
mod hotplug;
mod idle_balancing;
mod in_place;
mod in_place_units;
mod inspect_shapes;
mod irqbalance;
mod journal_size;
mod knobs;
mod large_machine;
mod leases;
mod local_users;
mod lockdown;
mod losses;
mod measuring;
mod offline;
mod owners;
mod packages;
mod partrt;
mod predicting;
mod predicting_boots;
mod prove;
mod run_move;
mod senders;
mod several;
mod sigkill_anywhere;
mod sigkill_more;
mod signals;
mod speed;
mod starving;
mod study_reboots;
mod study_unit;
mod systemd;
mod threads;
mod too_old;
mod tour;
mod tracers;
mod trust;
mod truth;

/// In the order in which they run: long ones first, so that the last guests end at about the same time.
pub const ALL: &[&Scenario] = &[
    &sigkill_anywhere::SCENARIO,
    &sigkill_more::SCENARIO,
    &signals::SCENARIO,
    &study_reboots::SCENARIO,
    &study_unit::SCENARIO,
    &large_machine::SCENARIO,
    &systemd::SCENARIO,
    &packages::SCENARIO,
    &boot_grub::SCENARIO,
    &boot_systemd::SCENARIO,
    &leases::SCENARIO,
    &in_place::SCENARIO,
    &in_place_units::SCENARIO,
    &several::SCENARIO,
    &hotplug::SCENARIO,
    &idle_balancing::SCENARIO,
    &cset::SCENARIO,
    &prove::SCENARIO,
    &run_move::SCENARIO,
    &partrt::SCENARIO,
    &predicting::SCENARIO,
    &predicting_boots::SCENARIO,
    &threads::SCENARIO,
    &fork_storm::SCENARIO,
    &faults::SCENARIO,
    &first_cpu_core::SCENARIO,
    &measuring::SCENARIO,
    &starving::SCENARIO,
    &trust::SCENARIO,
    &journal_size::SCENARIO,
    &blaming::SCENARIO,
    &blaming_chains::SCENARIO,
    &blaming_inside::SCENARIO,
    &article_runs::SCENARIO,
    &bad_input::SCENARIO,
    &knobs::SCENARIO,
    &lockdown::SCENARIO,
    &lockdown::LATER,
    &local_users::SCENARIO,
    &losses::SCENARIO,
    &tracers::SCENARIO,
    &senders::SCENARIO,
    &apply_undo::SCENARIO,
    &irqbalance::SCENARIO,
    &offline::SCENARIO,
    &owners::SCENARIO,
    &declared::SCENARIO,
    &exports::SCENARIO,
    &guest_tools::SCENARIO,
    &inspect_shapes::SCENARIO,
    &boot_line::SCENARIO,
    &boots::SCENARIO,
    &tour::SCENARIO,
    &too_old::SCENARIO,
    &checking::SCENARIO,
    &daemon::SCENARIO,
    &daemon_unit::SCENARIO,
];

/// Scenarios that run only when explicitly requested. The first three need binaries of another architecture; [`speed`],
/// [`truth`] and [`blaming_functions`] take long; the last is a part of [`sigkill_anywhere`].
const BY_NAME: &[&Scenario] = &[
    &foreign::SCENARIO,
    &measuring::ON_ARM64,
    &boot_raspberry_pi::SCENARIO,
    &speed::SCENARIO,
    &truth::SCENARIO,
    &blaming_functions::SCENARIO,
    &sigkill_anywhere::SAMPLE,
];

/// The jobs of `make test`: both hierarchies, the oldest, the newest and a real-time kernel, and each of the main
/// functions once. A line has the parts of one label.
const SMOKE: &[&[&str]] = &[
    &["boot_grub", "6.1/v2/trial"],
    &["sigkill_sample", "6.1/v1"],
    &["sigkill_sample", "7/v2"],
    &["checking", "6.12-rt/v2"],
    &["daemon", "7/v2"],
    &["blaming", "6.1/v2"],
    &["run_move", "6.1/v2"],
    &["apply_undo", "5.10/v1"],
    &["apply_undo", "6.1/hybrid"],
    &["apply_undo", "6.12-rt/v2"],
    &["apply_undo", "7/v2"],
    &["bad_input", "6.1/v1"],
];

/// A part of all scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScenarioPart {
    /// What `make test` runs.
    Smoke,
    /// What `make test-all` runs in addition.
    Rest,
}

/// The jobs of a part, long ones first.
#[must_use]
pub fn part(part: ScenarioPart) -> Vec<ScenarioJob> {
    let smoke: Vec<ScenarioJob> = SMOKE.iter().flat_map(|words| named(words)).collect();
    match part {
        ScenarioPart::Smoke => smoke,
        ScenarioPart::Rest => {
            let is_new = |job: &ScenarioJob| smoke.iter().all(|done| done.label() != job.label());
            jobs(&[]).into_iter().filter(is_new).collect()
        }
    }
}

/// The job that a line of [`SMOKE`] names.
fn named(words: &[&str]) -> Option<ScenarioJob> {
    let label = words.join(" ");
    let is_it = |job: &ScenarioJob| job.label() == label || job.label().starts_with(&format!("{label}/"));
    ALL.iter()
        .chain(BY_NAME)
        .flat_map(|scenario| {
            (scenario.cells)()
                .into_iter()
                .map(|cell| ScenarioJob { scenario, cell })
        })
        .find(is_it)
}

/// Every scenario in every cell whose label has all words of the filter as parts.
#[must_use]
pub fn jobs(filter: &[String]) -> Vec<ScenarioJob> {
    let named = BY_NAME
        .iter()
        .find(|scenario| filter.iter().any(|word| word == scenario.name));
    let list = named.map_or(ALL, std::slice::from_ref);
    let all = list.iter().flat_map(|scenario| {
        (scenario.cells)()
            .into_iter()
            .map(|cell| ScenarioJob { scenario, cell })
    });
    all.filter(|job| filter.iter().all(|word| job.label().contains(word.as_str())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn cell_labels_are_unique() {
        let labels: Vec<String> = jobs(&[]).iter().map(ScenarioJob::label).collect();
        let different: BTreeSet<&String> = labels.iter().collect();
        assert_eq!(labels.len(), different.len());
    }

    #[test]
    fn smoke_and_the_rest_together_are_all_cells() {
        let smoke: Vec<String> = part(ScenarioPart::Smoke).iter().map(ScenarioJob::label).collect();
        assert_eq!(smoke.len(), SMOKE.len(), "each line names a job: {smoke:?}");
        let oldest_rt_newest = ["5.10/v1", "-rt/v2", " 7/v2", "/hybrid"];
        for kind in oldest_rt_newest {
            assert!(smoke.iter().any(|label| label.contains(kind)), "{kind}: {smoke:?}");
        }
        let both: BTreeSet<String> = part(ScenarioPart::Rest)
            .iter()
            .map(ScenarioJob::label)
            .chain(smoke)
            .collect();
        let missing: Vec<String> = jobs(&[])
            .iter()
            .map(ScenarioJob::label)
            .filter(|label| !both.contains(label))
            .collect();
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn the_kernels_that_the_project_promises_are_covered() {
        let labels: Vec<String> = jobs(&[]).iter().map(ScenarioJob::label).collect();
        for cell in ["6.1/v1", "6.1/v2", "6.12-rt/v2", "7/v2"] {
            assert!(
                labels.iter().any(|label| label.ends_with(cell)),
                "no scenario runs on {cell}"
            );
        }
    }
}
