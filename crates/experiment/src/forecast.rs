//! Checks a study against this machine before anything runs: which CPUs it uses, and which of its cells are impossible here.

use crate::study_file::{StudyFile, at};
use machine::{CpuSet, Machine};
use measure::parse_policy;
use plan::{Intent, KnobState, Plan};
use root::{Failure, Root};
use session::Session;
use session::isolation::{existing_cpus, plan_on};
use session::own_process;
use std::fmt;
use std::path::Path;
use study::{LevelCombination, LoadPlace, PARTITION, Study};

/// The reason of a study's changes in the journal.
pub const REASON: &str = "study";

/// A study that can run here.
pub struct Forecast {
    /// The study.
    pub study: Study,
    /// The bytes of its file.
    pub bytes: Vec<u8>,
    /// The current machine.
    pub machine: Machine,
    /// The measured CPUs.
    pub cpus: CpuSet,
    /// Notes for the user before it runs.
    pub notes: Vec<String>,
    /// Whether the cells are predicted before they run.
    pub is_predicted: bool,
}

impl Forecast {
    /// Checks a study against this machine.
    ///
    /// # Errors
    /// As [`Forecast::unchecked`], and impossible cells.
    pub fn of(session: &Session, written: StudyFile, file: &Path) -> Result<Forecast, Failure> {
        let mut forecast = Forecast::unchecked(session, written, file)?;
        let (mut impossible, mut notes) = (Vec::new(), Vec::new());
        for cell in &forecast.study.cells {
            match forecast.possible(session, cell) {
                Ok(already) => notes.extend(already),
                Err(why) => impossible.push((cell.name.as_str(), why)),
            }
        }
        refuse_impossible(&impossible, forecast.study.cells.len())?;
        for note in notes {
            if !forecast.notes.contains(&note) {
                forecast.notes.push(note);
            }
        }
        Ok(forecast)
    }

    /// Checks everything except the cells of a study against this machine.
    ///
    /// # Errors
    /// Invalid CPUs and policies, and partitions in the way.
    pub fn unchecked(session: &Session, written: StudyFile, file: &Path) -> Result<Forecast, Failure> {
        let root = session.root();
        let machine = session.machine().for_plan(root);
        let cpus = existing_cpus(&written.study.cpus.text, &machine).map_err(|error| written.at_cpus(file, error))?;
        let offline = cpus.minus(&machine.topology.online);
        if !offline.is_empty() {
            let next = "bring it online, or measure another one";
            let error = Failure::usage(format!("CPU {offline} is offline"), "no program can run there", next);
            return Err(written.at_cpus(file, error));
        }
        refuse_neighbours(session, &cpus)?;
        Forecast::on(written, file, machine, cpus)
    }

    /// A study on another machine.
    ///
    /// # Errors
    /// An invalid policy.
    pub fn on(written: StudyFile, file: &Path, machine: Machine, cpus: CpuSet) -> Result<Forecast, Failure> {
        let StudyFile { study, bytes } = written;
        if let Some(policy) = &study.policy {
            let next = "write it in the form that `measure --policy` accepts";
            parse_policy(&policy.text)
                .map_err(|why| at(file, policy, Failure::usage("the policy is not valid", why, next)))?;
        }
        let mut notes = Vec::new();
        if study.repetitions < 4 {
            notes.push("fewer than 4 repetitions cannot show a difference".to_owned());
        }
        Ok(Forecast {
            study,
            bytes,
            machine,
            cpus,
            notes,
            is_predicted: false,
        })
    }

    /// Notes about a cell on this machine, or why it is impossible here.
    ///
    /// # Errors
    /// The reason.
    pub fn possible(&self, session: &Session, cell: &LevelCombination) -> Result<Vec<String>, Impossible> {
        possible(session, cell, &self.study, &self.cpus, &self.machine)
    }

    /// The notes, one per line.
    pub fn notes_text(&self) -> String {
        self.notes.iter().map(|note| format!("note: {note}\n")).collect()
    }
}

/// The intent of a cell, with its CPUs.
pub fn with_cpus(session: &Session, intent: &Intent, cpus: &CpuSet) -> Intent {
    let mut intent = Intent {
        cpus: cpus.clone(),
        ..intent.clone()
    };
    intent.share_housekeeping(&session.in_force());
    intent
}

/// CPUs for the load of a cell. `rest` is what isolation leaves to all other tasks; `None` without isolation.
pub fn load_cpus(study: &Study, cpus: &CpuSet, rest: Option<&CpuSet>, root: &Root) -> CpuSet {
    let allowed = own_process::allowed(root);
    match (rest, study.load_place) {
        (Some(rest), _) => allowed.and(rest),
        (None, LoadPlace::Everywhere) => allowed,
        (None, LoadPlace::Others) => allowed.minus(cpus),
    }
}

/// Why a cell is impossible on this machine.
#[derive(Debug)]
pub enum Impossible {
    /// Its plan is refused.
    Refused(plan::PlanRefusal),
    /// A knob that it names does not exist here.
    NoKnob(&'static str),
    /// A knob that the study tests changes nothing.
    IdleKnob(&'static str),
    /// Its load needs more CPUs.
    TooFewCpus {
        /// The load.
        load: &'static str,
        /// The number of CPUs that it needs.
        needed: usize,
        /// The number of CPUs for it.
        there: usize,
    },
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Impossible::Refused(refusal) => f.write_str(&refusal.to_string().replace('\n', "; ")),
            Impossible::NoKnob(name) => write!(f, "this machine has no {name}"),
            Impossible::IdleKnob(knob) => {
                write!(
                    f,
                    "{knob} would change nothing in it, so the cell would not match its name"
                )
            }
            Impossible::TooFewCpus { load, needed, there } => {
                write!(f, "the load {load} needs {needed} CPUs, and only {there} are available")
            }
        }
    }
}

/// Notes about a cell, or why it is impossible.
fn possible(
    session: &Session,
    cell: &LevelCombination,
    study: &Study,
    cpus: &CpuSet,
    machine: &Machine,
) -> Result<Vec<String>, Impossible> {
    let root = session.root();
    let mut notes = Vec::new();
    let mut rest = None;
    if let Some(intent) = &cell.intent {
        let plan = plan_on(session, machine, &with_cpus(session, intent, cpus)).map_err(Impossible::Refused)?;
        for knob in &plan.knobs {
            let name = knob.name;
            match knob.state {
                KnobState::Absent if intent.with.contains_key(name) => {
                    return Err(Impossible::NoKnob(name));
                }
                KnobState::Already if study.axes.iter().any(|axis| axis.name == name) => {
                    notes.push(format!(
                        "{name} already has its target value: its cells off and on are identical"
                    ));
                }
                _ => {}
            }
        }
        if let Some(knob) = idle_knob(&plan).filter(|_| !study.which_knob.is_empty()) {
            return Err(Impossible::IdleKnob(knob));
        }
        rest = Some(plan.housekeeping);
    }
    let places = load_cpus(study, cpus, rest.as_ref(), root);
    if let Some(kind) = cell.load.iter().find(|kind| kind.least_cpus() > places.len()) {
        return Err(Impossible::TooFewCpus {
            load: kind.name(),
            needed: kind.least_cpus(),
            there: places.len(),
        });
    }
    Ok(notes)
}

/// A knob of a plan that changes nothing, although it is optional in a partition.
pub fn idle_knob(plan: &Plan) -> Option<&'static str> {
    let is_needed = |name: &str| plan::knobs::knob(name).is_some_and(|knob| !knob.needed.is_empty());
    let mut knobs = plan.knobs.iter();
    let idle = knobs.find(|knob| knob.state != KnobState::Changes && !is_needed(knob.name));
    idle.map(|knob| knob.name)
}

fn refuse_impossible(impossible: &[(&str, Impossible)], cells: usize) -> Result<(), Failure> {
    const MAX_LISTED: usize = 5;
    if impossible.is_empty() {
        return Ok(());
    }
    let mut why: Vec<String> = impossible
        .iter()
        .take(MAX_LISTED)
        .map(|(name, why)| format!("{name}: {why}"))
        .collect();
    if impossible.len() > MAX_LISTED {
        why.push(format!("and {} more", impossible.len() - MAX_LISTED));
    }
    Err(Failure::usage(
        format!("{} of {cells} cells are impossible on this machine", impossible.len()),
        why.join("\n       "),
        "remove these levels from [axes], or choose other CPUs; nothing has run",
    ))
}

/// Rejects partitions of others on the measured CPUs or with our name: they would not be part of any cell.
pub fn refuse_neighbours(session: &Session, cpus: &CpuSet) -> Result<(), Failure> {
    for (intent, reason) in session.in_force_because() {
        let is_in_the_way = intent.name.as_str() == PARTITION || !intent.cpus.and(cpus).is_empty();
        if is_in_the_way && reason != REASON {
            return Err(Failure::conflict(
                format!("partition {} with CPU {} is active", intent.name, intent.cpus),
                "the cells of this study would not match their names",
                format!(
                    "undo it with `quietcore undo --partition {}`, or measure other CPUs",
                    intent.name
                ),
            ));
        }
    }
    Ok(())
}
