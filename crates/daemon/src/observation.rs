//! Runs one `check`: reads only what the checked layers need, and reuses the rest from the last check.
//!
//! The sources report changes to the reused parts. A CPU that appears or disappears, or a write to a control group, triggers
//! the partition layer, which reads the whole machine again. So does each round.

use crate::configuration::DaemonConfiguration;
use check::{
    CheckCase, CheckEvidence, CheckFinding, Intention, IsolationMeans, LayerName, ObservedActivity, check_layers,
};
use machine::Machine;
use observe::Activity;
use plan::Profile;
use plan::declared::WatchSettings;
use root::{Failure, Root};
use session::Session;
use session::boot_files::BootScene;
use session::declared::DeclaredFile;
use std::time::Duration;
use verify::boot_verdict::examine_boot_on;
use verify::counting::WindowCounts;
use verify::examination::{Examination, cases, cases_from, examine};
use verify::intention::{self, CheckScope, Declarations};
use watch::drift::{Layers, OpenFinding};

/// What was observed and found.
pub struct Observation {
    /// The intended isolation.
    pub intention: Intention,
    /// The machine; with tasks if the checked layers need them.
    pub machine: Machine,
    /// The findings of the checked layers.
    pub found: Vec<CheckFinding>,
    cases: Vec<CheckCase>,
}

/// Checks some layers. `last` is the previous observation; without it everything is read.
///
/// # Errors
/// As `check`.
pub fn run_check(
    session: &Session,
    cpus: Option<&str>,
    configuration: &DaemonConfiguration,
    layers: Layers,
    last: Option<Observation>,
) -> Result<Observation, Failure> {
    let root = session.root();
    let (machine, known) = match last.filter(|_| !layers.has(LayerName::Partition)) {
        None => (whole(session, layers), Vec::new()),
        Some(last) => (partly(root, layers, last.machine), last.cases),
    };
    let boot = match layers.has(LayerName::BootLine) {
        true => {
            let scene = BootScene::read(session)?;
            let counted = WindowCounts::nothing("the daemon counts on its own");
            // Never the current file: a half-written one would block every layer.
            let nothing = DeclaredFile::empty();
            let file = configuration.file.as_ref().unwrap_or(&nothing);
            Some(examine_boot_on(&scene, Some(file), &machine, counted)?.verdict)
        }
        false => None,
    };
    let intention = intended_isolation(session, &machine, cpus, configuration.file.as_ref())?;
    let cases = match layers.has(LayerName::Knobs) {
        true => cases(session, &machine, &intention),
        false => cases_from(session, &machine, &intention, |isolation, concerned| {
            let is_same = |case: &&CheckCase| {
                case.isolation.intent.name == isolation.intent.name
                    && case.isolation.intent.cpus == isolation.intent.cpus
            };
            let plan = known.iter().find(is_same).and_then(|case| case.plan.as_ref().ok());
            plan.map_or_else(
                || machine::settings::for_cpus(root, concerned, plan::knobs::planned()),
                |plan| plan.found.clone(),
            )
        }),
    };
    let counters = ObservedActivity::Unseen("effects are counted in each round".to_owned());
    let evidence = CheckEvidence {
        machine: &machine,
        counters: &counters,
        boot: boot.as_ref(),
    };
    let found = check_layers(&evidence, &cases, |layer| layers.has(layer.name));
    Ok(Observation {
        intention,
        machine,
        found,
        cases,
    })
}

/// Runs the whole of `check`, and counts effects for `window`.
///
/// # Errors
/// As `check`.
pub fn examine_cpus(session: &Session, cpus: Option<&str>, window: Duration) -> Result<Examination, Failure> {
    let scope = CheckScope {
        cpus,
        profile: Profile::Minimal,
        declarations: Declarations::OfMachine,
    };
    session.refresh();
    examine(&BootScene::read(session)?, &scope, window)
}

/// The intended isolation for this file.
///
/// # Errors
/// CPUs that do not exist, and declarations that cannot be met here.
pub fn intended_isolation(
    session: &Session,
    machine: &Machine,
    cpus: Option<&str>,
    file: Option<&DeclaredFile>,
) -> Result<Intention, Failure> {
    let scope = CheckScope {
        cpus,
        profile: Profile::Minimal,
        declarations: Declarations::These(file),
    };
    intention::find(session, machine, &scope)
}

fn whole(session: &Session, layers: Layers) -> Machine {
    let root = session.root();
    session.refresh();
    let machine = session.machine();
    let machine = match layers.has(LayerName::Tasks) {
        true => machine.with_task_cgroups(root),
        false => machine.with_planning_tasks(root),
    };
    machine.with_interrupts(root)
}

fn partly(root: &Root, layers: Layers, last: Machine) -> Machine {
    let mut machine = Machine {
        unreadable: Vec::new(),
        ..last
    };
    if layers.has(LayerName::Tasks) {
        machine.tasks = None;
        machine = machine.with_task_cgroups(root);
    } else if layers.has(LayerName::Neighbours) {
        machine.tasks = None;
        machine = machine.with_planning_tasks(root);
    }
    if layers.has(LayerName::Neighbours) {
        machine = machine.with_neighbours(root);
    }
    if layers.has(LayerName::Knobs) {
        machine = machine.with_isolation(root);
    }
    match layers.has(LayerName::Interrupts) {
        true => machine.with_interrupts(root),
        false => machine,
    }
}

impl Observation {
    /// The findings to report.
    pub fn reported_findings(&self, watching: &WatchSettings) -> Vec<OpenFinding> {
        reported(&self.found, watching)
    }

    /// Whether a partition with that name is active: only its settings can be restored.
    pub fn is_in_force(&self, partition: &str) -> bool {
        let mut isolations = self.intention.isolations.iter();
        isolations.any(|isolation| {
            isolation.intent.name.as_str() == partition && isolation.means == IsolationMeans::Partition
        })
    }

    /// Compares the counts since the last round with the last observed machine.
    pub fn effects(&self, activity: Activity, watching: &WatchSettings) -> (Vec<OpenFinding>, Layers) {
        let counters = ObservedActivity::Seen(activity);
        let evidence = CheckEvidence {
            machine: &self.machine,
            counters: &counters,
            boot: None,
        };
        let found = check_layers(&evidence, &self.cases, |layer| layer.name == LayerName::Effects);
        (reported(&found, watching), Layers::named(&[LayerName::Effects]))
    }
}

fn reported(found: &[CheckFinding], watching: &WatchSettings) -> Vec<OpenFinding> {
    let reported = found.iter().filter(|one| is_reported(one, watching));
    reported.map(to_open_finding).collect()
}

/// Whether the configuration reports this finding.
pub fn is_reported(one: &CheckFinding, watching: &WatchSettings) -> bool {
    one.finding.level >= watching.level && !watching.ignore.iter().any(|pattern| one.is_meant_by(pattern))
}

/// A finding in the form of the ledger.
pub fn to_open_finding(one: &CheckFinding) -> OpenFinding {
    OpenFinding {
        id: one.finding.id.to_string(),
        subject: one.finding.subject.clone(),
        partition: one.partition.clone(),
        layer: one.layer_text().to_owned(),
        level: one.finding.level,
        message: one.finding.message.clone(),
        fix: one.finding.fix.clone(),
        knob: one.knob().map(str::to_owned),
        since_s: 0,
        seen_s: 0,
        by: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::CpuSet;

    /// A check of one part reads that part: the plan of a knob depends on several parts of the machine.
    #[test]
    fn a_check_reads_the_checked_parts_again() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let set = |default: &str, workqueue: &str| {
            write("proc/irq/default_smp_affinity", default);
            write("sys/devices/virtual/workqueue/cpumask", workqueue);
        };
        let masks = |machine: &Machine| {
            let isolation = &machine.isolation;
            [&isolation.default_smp_affinity, &isolation.workqueue_cpumask]
                .map(|mask| mask.as_ref().map(CpuSet::to_string))
        };
        let wanted = |default: &str, workqueue: &str| [default, workqueue].map(|list| Some(list.to_owned()));
        write("sys/devices/system/cpu/possible", "0-3\n");
        set("7\n", "7\n");
        let live = root::Live::rehearsal(dir.path());
        let session = Session::on(live, &terminal::StandardError::Normal);
        let root = session.root();
        let machine = whole(&session, Layers::all());
        assert_eq!(masks(&machine), wanted("0-2", "0-2"));
        assert_eq!(machine.irqbalance_sockets, [] as [&str; 0]);
        set("f\n", "f\n");
        write("run/irqbalance/irqbalance1.sock", "");
        let machine = partly(root, Layers::named(&[LayerName::Tasks, LayerName::Interrupts]), machine);
        assert_eq!(masks(&machine), wanted("0-2", "0-2"), "nobody asked for it");
        let machine = partly(root, Layers::named(&[LayerName::Knobs]), machine);
        assert_eq!(masks(&machine), wanted("0-3", "0-3"));
        assert_eq!(machine.irqbalance_sockets, [] as [&str; 0], "nobody asked for it");
        let machine = partly(root, Layers::named(&[LayerName::Neighbours]), machine);
        assert_eq!(machine.irqbalance_sockets, ["irqbalance1.sock"]);
    }
}
