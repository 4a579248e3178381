//! Predicts what changes of this machine would gain (`predict`): from a watch that runs now, or from the file of an earlier
//! one.

use crate::blame_options::{BlameOptions, BlameStage, DEFAULT_THRESHOLD, GapDetail, ProbeOptions};
use crate::blame_report::cure_context;
use crate::hotplug::note_text;
use crate::last_prediction;
use crate::probe::blame_probe;
use crate::untraced;
use blame::{BlameQuestion, BlameResult, CpuAnswer, CureContext};
use machine::{CpuSet, Machine};
use measure::{Environment, SamplerPolicy};
use plan::{Finding, Intent, PartitionName, Profile};
use predict::{
    ChangeSelection, GapSummary, OtherCpus, PartitionOutcomes, Prediction, PredictionInput, PredictionRefusal,
    UntracedShares, WatchOrigin,
};
use report::GapRecording;
use root::{Failure, Status};
use session::{Session, isolation};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tracing::ipi_senders::Kprobes;

/// The largest file that is read, in bytes: about a million gaps.
const MOST_BYTES: u64 = 256 << 20;

/// Memory for events and gaps, in bytes, as `blame` uses it by default. The gaps take half of it.
const MEMORY_BYTES: usize = 64 << 20;

/// A prediction, and the machine that was watched.
#[derive(Debug)]
pub struct PredictionReport {
    /// The machine that was watched.
    pub environment: Environment,
    /// The prediction.
    pub prediction: Prediction,
    /// What the plan of a partition of these CPUs reports: devices with their only queue there, busy siblings, interrupts that
    /// stay. Empty if the partition exists.
    pub findings: Vec<Finding>,
    /// What limits the prediction: missing features of the trace, faults of the run, a recording of another state. Lines with
    /// line breaks.
    pub notes: Vec<String>,
    /// [`Status::Failed`] if a finding of the run is an error.
    pub status: Status,
}

/// A watch that runs now.
#[derive(Clone, Debug)]
pub struct PredictionWatch {
    /// The CPUs, as an expression. By default the run chooses them.
    pub cpus: Option<String>,
    /// How long to watch.
    pub duration: Duration,
    /// The policy of the probe; by default an ordinary program.
    pub policy: Option<SamplerPolicy>,
}

/// Watches CPUs with a probe, and predicts from its gaps. Keeps the prediction for `plan`.
///
/// # Errors
/// Those of [`blame_probe`], and a watch from which nothing can be predicted: without a trace, or on CPUs that cannot be
/// isolated.
pub fn predict_watch(
    watch: &PredictionWatch,
    session: &Session,
    selection: ChangeSelection,
    on_stage: &mut dyn FnMut(BlameStage),
) -> Result<PredictionReport, Failure> {
    let mut ended = watched(watch, session, on_stage)?;
    if ended.is_complete {
        last_prediction::keep(session, &ended.input(selection), &ended.environment);
    }
    match untraced::base_latency_ns(session, &ended.answer.watched()) {
        Ok(base_ns) => ended.base_latency_ns = base_ns,
        Err(error) => {
            let reason = error.reason();
            let note = format!("the latency without gaps could not be measured: {reason}\n");
            ended.notes.push(note);
        }
    }
    ended.predicted(session, selection)
}

/// As [`predict_watch`] for each change, and also what this partition would leave. Without the latency of wake-ups, and not
/// kept, because the load is not the user's.
///
/// # Errors
/// As [`predict_watch`].
pub fn predict_gaps(
    watch: &PredictionWatch,
    session: &Session,
    intent: &Intent,
    on_stage: &mut dyn FnMut(BlameStage),
) -> Result<(PredictionReport, GapSummary), Failure> {
    let ended = watched(watch, session, on_stage)?;
    let intents = std::slice::from_ref(intent);
    let outcomes = predict::predict_partitions(&ended.input(ChangeSelection::Each), intents);
    let outcomes = outcomes.map_err(|refusal| failure(refusal, &ended.answer.watched()))?;
    let left = outcomes.partitions.first().unwrap_or(&outcomes.now).into();
    Ok((ended.predicted(session, ChangeSelection::Each)?, left))
}

/// Watches CPUs that are not isolated, and predicts what each of these partitions would leave. The intents need no CPUs.
/// Also returns what limits the prediction. `None` if a signal ended the watch.
///
/// # Errors
/// As [`predict_watch`].
pub fn forecast_partitions(
    watch: &PredictionWatch,
    session: &Session,
    intents: &[Intent],
) -> Result<Option<(PartitionOutcomes, Vec<String>)>, Failure> {
    let ended = watched(watch, session, &mut |_| {})?;
    if session::stop_flag().load(Ordering::Relaxed) {
        return Ok(None);
    }
    let outcomes = predict::predict_partitions(&ended.input(ChangeSelection::Each), intents);
    let outcomes = outcomes.map_err(|refusal| failure(refusal, &ended.answer.watched()))?;
    let limited = ended.answer.cpus.iter().any(CpuAnswer::is_incomplete);
    let mut notes = ended.notes;
    if limited {
        notes.push("the watch lost events or gaps, so causes may be missing: use a shorter --for\n".to_owned());
    }
    Ok(Some((outcomes, notes)))
}

fn watched(
    watch: &PredictionWatch,
    session: &Session,
    on_stage: &mut dyn FnMut(BlameStage),
) -> Result<EndedWatch, Failure> {
    let options = BlameOptions {
        cpus: watch.cpus.clone(),
        duration: Some(watch.duration),
        until: None,
        detail: GapDetail::All,
        memory_bytes: MEMORY_BYTES,
        buffer_kib: 2_048,
        clock: None,
        functions: None,
        kprobes: Kprobes::Allowed,
    };
    let probe = ProbeOptions {
        threshold: DEFAULT_THRESHOLD,
        policy: &|lane| watch.policy.into_iter().for_each(|policy| policy.fill(lane)),
        hwlat: None,
    };
    let report = blame_probe(&options, &probe, session, on_stage)?;
    if let Some(failure) = report.no_trace {
        return Err(failure);
    }
    let context = report.context.clone();
    let context = context.ok_or_else(|| Failure::bug("a watch without its gaps", "only the longest were listed"))?;
    let mut notes: Vec<String> = report.findings.iter().map(note_text).collect();
    notes.extend(report.trace_notes(None));
    let shares = match report.is_complete {
        true => untraced::shares(session, &report.answer, watch.policy),
        false => Ok(None),
    };
    let untraced = match shares {
        Ok(shares) => shares,
        Err(error) => {
            let reason = error.reason();
            notes.push(format!("the gaps without a trace could not be measured: {reason}\n"));
            None
        }
    };
    if !report.is_complete {
        notes.push("interrupted: the prediction is based on the time until then\n".to_owned());
    }
    Ok(EndedWatch {
        answer: report.answer,
        context,
        threshold_ns: report.threshold_ns.unwrap_or(0),
        environment: report.environment,
        origin: WatchOrigin::Now,
        others: report.others,
        base_latency_ns: None,
        untraced,
        is_complete: report.is_complete,
        notes,
        status: report.status,
    })
}

/// Predicts from a file of `blame --gaps`.
///
/// # Errors
/// A file that cannot be read, is incomplete or is of another machine; otherwise as [`predict_watch`].
pub fn predict_recording(
    path: &Path,
    session: &Session,
    selection: ChangeSelection,
) -> Result<PredictionReport, Failure> {
    let name = path.display();
    let bytes = root::input::bytes(path, MOST_BYTES)?;
    let recording = std::str::from_utf8(&bytes)
        .map_err(|error| error.to_string())
        .and_then(|text| report::read_blame_gaps(text).map_err(|error| error.to_string()))
        .map_err(|why| Failure::usage(format!("{name}: no gaps can be read"), why, RECORD_AGAIN))?;
    let machine = session.machine();
    if let Some(why) = other_machine(&recording, &machine) {
        return Err(Failure::usage(
            format!("{name} does not fit this machine"),
            why,
            "record it here with `quietcore blame --gaps FILE`, or name a snapshot of that machine with --root",
        ));
    }
    let now = Environment::of(&machine, session.root(), env!("CARGO_PKG_VERSION"));
    let isolation = |of: &Environment| (of.cmdline.clone(), of.partitioned.clone());
    let mut notes = Vec::new();
    if isolation(&recording.environment) != isolation(&now) {
        notes.push(format!(
            "{name}: this machine was isolated differently then. Changes that were made since are not part of the \
             prediction\n"
        ));
    }
    let Some(threshold_ns) = recording.threshold_ns else {
        return Err(Failure::usage(
            format!("{name} cannot be used for a prediction"),
            "a program was watched, and how long it could have run is not recorded",
            "record it without --pid, --tid and a command: `quietcore blame --gaps FILE`",
        ));
    };
    let watched = recording.answer.watched();
    let watch = EndedWatch {
        context: cure_context(session, machine, &watched, &BlameQuestion::default()),
        answer: recording.answer,
        threshold_ns,
        environment: recording.environment,
        origin: WatchOrigin::Recording,
        others: None,
        base_latency_ns: None,
        untraced: None,
        is_complete: true,
        notes,
        status: Status::Done,
    };
    watch.predicted(session, selection)
}

const RECORD_AGAIN: &str = "record the gaps with `quietcore blame --gaps FILE`";

/// Why the recording is of another machine, kernel or set of CPUs; `None` if it may be of this one.
fn other_machine(recording: &GapRecording, machine: &Machine) -> Option<String> {
    let (then, now) = (&recording.environment, machine);
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    if then.release != now.kernel.release {
        let (then, now) = (text(&then.release), text(&now.kernel.release));
        return Some(format!(
            "it was recorded with kernel {then}, and this machine runs {now}"
        ));
    }
    if then.model_name != now.topology.model_name {
        let (then, now) = (text(&then.model_name), text(&now.topology.model_name));
        return Some(format!("its processor was {then}, and that of this machine is {now}"));
    }
    let watched = recording.answer.watched();
    if !watched.is_subset(&now.topology.online) {
        let online = &now.topology.online;
        return Some(format!("it is about CPU {watched}, and CPU {online} are online here"));
    }
    None
}

/// A watch with its gaps, and what limits it.
struct EndedWatch {
    answer: BlameResult,
    context: CureContext,
    threshold_ns: u64,
    environment: Environment,
    origin: WatchOrigin,
    others: Option<OtherCpus>,
    base_latency_ns: Option<u64>,
    untraced: Option<UntracedShares>,
    /// `false` if a signal ended it early.
    is_complete: bool,
    notes: Vec<String>,
    status: Status,
}

impl EndedWatch {
    fn predicted(self, session: &Session, selection: ChangeSelection) -> Result<PredictionReport, Failure> {
        let cpus = self.answer.watched();
        let machine = session.machine();
        let findings = findings_of_plan(session, &machine, &cpus, selection);
        let prediction = predict::predict(&self.input(selection)).map_err(|refusal| failure(refusal, &cpus))?;
        Ok(PredictionReport {
            environment: self.environment,
            prediction,
            findings,
            notes: self.notes,
            status: self.status,
        })
    }

    fn input(&self, selection: ChangeSelection) -> PredictionInput<'_> {
        PredictionInput {
            answer: &self.answer,
            context: &self.context,
            threshold_ns: self.threshold_ns,
            selection,
            origin: self.origin,
            others: self.others,
            base_latency_ns: self.base_latency_ns,
            untraced: self.untraced,
        }
    }
}

fn failure(refusal: PredictionRefusal, cpus: &CpuSet) -> Failure {
    let what = format!("nothing can be predicted for CPU {cpus}");
    match refusal {
        PredictionRefusal::NotWatched => Failure::unable(what, "no CPU was watched for any time", RECORD_AGAIN),
        PredictionRefusal::NoSingleGaps => Failure::unable(
            what,
            "gaps were counted, and none is listed with its cause",
            RECORD_AGAIN,
        ),
        PredictionRefusal::Refused(why) => Failure::unable(what, why, "choose other CPUs: `quietcore plan`"),
        PredictionRefusal::AlreadyActive => Failure::usage(
            what,
            "a partition there already has this profile or a higher one, or the CPUs are in several partitions",
            "leave out --profile to see what else can be changed",
        ),
    }
}

fn findings_of_plan(session: &Session, machine: &Machine, cpus: &CpuSet, selection: ChangeSelection) -> Vec<Finding> {
    let profile = match selection {
        ChangeSelection::Only {
            profile: Some(profile), ..
        } => profile,
        _ => Profile::default(),
    };
    let machine = machine.clone().with_tasks_and_interrupts(session.root());
    let intent = Intent::new(PartitionName::default(), cpus.clone(), profile);
    // CPUs of an active partition, or those that the machine refuses, have no plan of their own.
    isolation::plan_on(session, &machine, &intent).map_or_else(|_| Vec::new(), |plan| plan.findings)
}
