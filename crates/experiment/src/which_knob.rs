//! Implements `study which-knob`: generates a study from the knobs that the plan of a partition has on this machine.

use crate::forecast::{Forecast, refuse_neighbours, with_cpus};
use crate::local::carry_out;
use crate::{Consent, OutcomePresenter, StudyFile, StudyPlan, study_plan};
use machine::CpuSet;
use measure::{MeasurementKind, parse_policy};
use plan::{Intent, Knob, KnobState, PartitionName, Plan, PlannedKnob, Profile};
use root::{Failure, Status};
use session::Session;
use session::isolation::{existing_cpus, plan_on};
use std::path::PathBuf;
use study::which_knob::{Candidates, least_repetitions, matrix};
use study::{Experiment, PARTITION};

/// Two repetitions more than the minimum that can show anything: the minimum shows only differences without any overlap.
const BEYOND_LEAST: usize = 2;

/// Which knobs are studied, and how each cell is measured.
#[derive(Clone, Debug)]
pub struct WhichKnobOptions {
    /// The profile of the plan.
    pub profile: Profile,
    /// Additional knobs of the plan, as with `apply --with`.
    pub with: Vec<String>,
    /// Knobs that the plan omits.
    pub without: Vec<String>,
    /// The studied knobs; by default all of the plan.
    pub knobs: Option<Vec<String>>,
    /// The number of runs of each cell; by default enough to show a difference over all knobs.
    pub repetitions: Option<usize>,
    /// The measurement. Its repetitions are replaced by those above.
    pub experiment: Experiment,
    /// The directory of the results.
    pub out: PathBuf,
    /// Whether the cells are predicted before they run.
    pub is_predicted: bool,
}

/// Plans such a study. Runs nothing.
///
/// # Errors
/// As [`crate::plan`], and knobs that do not exist or that cannot be studied.
pub fn plan_which_knob(session: &Session, options: &WhichKnobOptions) -> Result<StudyPlan, Failure> {
    session::stop_flag();
    let full = full_plan(options)?;
    Ok(study_plan::here(session, forecast(session, options, &full)?))
}

/// Makes the remaining runs of such a study.
///
/// # Errors
/// As [`plan_which_knob`] and [`crate::run`].
pub fn run_which_knob(
    session: &Session,
    options: &WhichKnobOptions,
    show: &mut OutcomePresenter,
) -> Result<Status, Failure> {
    let full = full_plan(options)?;
    carry_out(session, &options.out, Consent::Missing, show, || {
        forecast(session, options, &full)
    })
}

/// The studied plan, without CPUs.
fn full_plan(options: &WhichKnobOptions) -> Result<Intent, Failure> {
    if options.is_predicted && options.experiment.what != MeasurementKind::Noise {
        return Err(Failure::usage(
            "only noise can be predicted",
            "a prediction is made from the gaps of a busy loop",
            "add --measure noise, or leave --predict out",
        ));
    }
    let profile = options.profile;
    let mut full = Intent::new(PartitionName::new(PARTITION)?, CpuSet::new(), profile);
    options.with.iter().try_for_each(|knob| full.take(knob))?;
    options.without.iter().try_for_each(|knob| full.leave_out(knob))?;
    for knob in options.knobs.iter().flatten() {
        // Rejects knobs that do not exist, and knobs that a partition requires.
        Intent::new(full.name.clone(), CpuSet::new(), profile).leave_out(knob)?;
    }
    if let Some(policy) = &options.experiment.policy {
        let next = "write it in the form that `measure --policy` accepts";
        parse_policy(policy).map_err(|why| Failure::usage("the policy is not valid", why, next))?;
    }
    Ok(full)
}

/// The study on the current machine.
fn forecast(session: &Session, options: &WhichKnobOptions, full: &Intent) -> Result<Forecast, Failure> {
    let root = session.root();
    let machine = session.machine().for_plan(root);
    let cpus = existing_cpus(&options.experiment.cpus, &machine)?;
    refuse_neighbours(session, &cpus)?;
    let plan = plan_on(session, &machine, &with_cpus(session, full, &cpus))?;
    let (candidates, notes) = candidates(&plan, full, options)?;
    let matrix = matrix(&candidates, &mut |intent| {
        let plan = plan_on(session, &machine, &with_cpus(session, intent, &cpus)).ok()?;
        let changing = plan.knobs.iter().filter(|knob| knob.state == KnobState::Changes);
        Some(changing.map(|knob| knob.name.to_owned()).collect())
    })?;
    let least = least_repetitions(matrix.comparisons());
    let experiment = Experiment {
        repetitions: options.repetitions.unwrap_or(least + BEYOND_LEAST),
        ..options.experiment.clone()
    };
    let study = StudyFile::generated(experiment.text(&matrix))?;
    let mut forecast = Forecast::of(session, study, &options.out.join("study.toml"))?;
    forecast.notes.extend(notes);
    forecast.is_predicted = options.is_predicted;
    if forecast.study.repetitions < least {
        forecast.notes.push(format!(
            "fewer than {least} repetitions cannot show a difference over all {} comparisons",
            matrix.comparisons()
        ));
    }
    Ok(forecast)
}

/// The knobs of a plan that can be studied, and why the others cannot.
fn candidates(plan: &Plan, full: &Intent, options: &WhichKnobOptions) -> Result<(Candidates, Vec<String>), Failure> {
    let mut candidates = Candidates {
        profile: full.profile,
        ..Candidates::default()
    };
    let (mut names, mut notes) = (Vec::new(), Vec::new());
    for knob in &plan.knobs {
        let Some(why) = exclusion(knob) else {
            names.push(knob.name.to_owned());
            candidates.takes.push(match &knob.value {
                Some(value) => format!("{}={value}", knob.name),
                None => knob.name.to_owned(),
            });
            continue;
        };
        match needed(knob.name) {
            "" => candidates.leaves_out.push(knob.name.to_owned()),
            _ => notes.push(format!("{} is a part of every partition: {why}", knob.name)),
        }
        let mut requested = options.knobs.iter().flatten();
        if requested.any(|name| is_called(knob.name, name)) {
            return Err(Failure::usage(
                format!("{} cannot be tested", knob.name),
                why,
                "leave it out of --knobs; `quietcore plan` shows what each knob would change here",
            ));
        }
    }
    if !candidates.leaves_out.is_empty() {
        let all = candidates.leaves_out.join(", ");
        notes.push(format!("not tested, because they change nothing here: {all}"));
    }
    candidates.requested_knobs = requested_knobs(names, options)?;
    if candidates.requested_knobs.is_empty() {
        return Err(Failure::usage(
            "no knob is left to test",
            "apart from the partition itself, the plan changes nothing here",
            "use a larger --profile, or add knobs with --with",
        ));
    }
    Ok((candidates, notes))
}

/// Why a knob cannot be studied.
fn exclusion(knob: &PlannedKnob) -> Option<&'static str> {
    match (needed(knob.name), knob.state) {
        ("", KnobState::Changes) => None,
        ("", KnobState::Already) => Some("it already has its target value"),
        ("", KnobState::Absent) => Some("this machine does not have it"),
        (needed, _) => Some(needed),
    }
}

/// Why every partition needs a knob; empty if it does not.
fn needed(name: &str) -> &'static str {
    plan::knobs::knob(name).map_or("", |knob: &Knob| knob.needed)
}

/// The knobs that `--knobs` names, each once; all without it.
fn requested_knobs(names: Vec<String>, options: &WhichKnobOptions) -> Result<Vec<String>, Failure> {
    let Some(knobs) = &options.knobs else {
        return Ok(names);
    };
    let mut all: Vec<String> = Vec::new();
    for requested_name in knobs {
        let Some(name) = names.iter().find(|name| is_called(name, requested_name)) else {
            let safe_name = report::safe(requested_name);
            return Err(Failure::usage(
                format!("{safe_name} is not in the plan"),
                "its profile does not include it, or it was left out",
                format!("add it with --with {safe_name}, or use a larger --profile"),
            ));
        };
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    Ok(all)
}

/// Whether a knob has this name, this alias, or this file.
fn is_called(name: &str, called: &str) -> bool {
    plan::knobs::knob(called).is_some_and(|knob| knob.name == name)
}
