//! Measures one state of the machine under load: latency, then noise and the counters during it, and in the first one the gaps
//! of a prediction.

use super::ProveRun;
use investigate::{BlameStage, PredictionWatch, predict_gaps};
use machine::CpuSet;
use measure::load::{LoadKind, RunningLoad};
use measure::{MeasureRequest, Measurement, MeasurementKind};
use plan::{Finding, FindingId, Level};
use report::prove::ProvePhase;
use root::Failure;
use session::cpuset_entry;
use session::partition::ActivePartition;
use std::sync::atomic::Ordering;

/// One phase.
pub struct PhaseOptions<'a> {
    /// Its name in the steps.
    pub name: &'static str,
    /// The CPUs with load.
    pub load_cpus: &'a CpuSet,
    /// The partition that the samplers enter.
    pub partition: Option<&'a ActivePartition>,
}

impl ProveRun<'_> {
    /// Measures one phase. Failed parts are left out and reported.
    pub fn phase(&mut self, options: &PhaseOptions) -> ProvePhase {
        let load_cpus = options.load_cpus;
        let load = match RunningLoad::start(load_cpus, &LoadKind::ANYWHERE) {
            Ok(load) => Some(load),
            Err(error) => {
                let finding = Finding::new(
                    Level::Warning,
                    FindingId::NO_LOAD,
                    load_cpus.to_string(),
                    error.to_string(),
                );
                self.story.could_not.push(finding);
                None
            }
        };
        let latency = self.measure(options, "latency", MeasurementKind::Latency);
        let noise = self.measure(options, "noise", MeasurementKind::Noise);
        if options.partition.is_none() && !self.options.stop.load(Ordering::Relaxed) {
            self.predict();
        }
        let text = match &load {
            Some(_) => {
                format!("arithmetic, memory, system calls and wake-ups at the lowest priority on CPU {load_cpus}")
            }
            None => "none".to_owned(),
        };
        drop(load);
        let activity = noise.as_ref().and_then(|noise| noise.activity.clone());
        ProvePhase {
            latency,
            noise,
            activity,
            load: text,
        }
    }

    /// Predicts what each change would gain, from a watch with the load of this phase.
    fn predict(&mut self) {
        let watch = PredictionWatch {
            cpus: Some(self.options.intent.cpus.to_string()),
            duration: self.options.each,
            policy: None,
        };
        let session = self.session;
        let intent = self.options.intent;
        let predicted = self.steps.measure_if_possible("watch and predict", |show| {
            predict_gaps(&watch, session, intent, &mut |stage| {
                if let BlameStage::Measuring(progress) = stage {
                    show(progress);
                }
            })
        });
        // An interrupted run has no second measurement to compare with.
        if let Ok((report, left)) = predicted
            && !self.options.stop.load(Ordering::Relaxed)
        {
            report.notes.iter().for_each(|note| session.note(note));
            self.story.prediction = Some(report.prediction);
            self.story.predicted_isolation = Some(left);
        }
    }

    fn measure(&mut self, options: &PhaseOptions, what: &str, kind: MeasurementKind) -> Option<Measurement> {
        let (session, cpus) = (self.session, &self.options.intent.cpus);
        let door = options.partition.map(ActivePartition::door);
        let join = |pid: u32| cpuset_entry::enter(session, door.as_deref(), pid);
        let mut environment = self.story.environment.clone();
        if door.is_some() {
            // The environment was read before the partition was made.
            let former = environment.partitioned.take().unwrap_or_default();
            environment.partitioned = Some(former.or(cpus));
        }
        let base = match kind {
            MeasurementKind::Latency => MeasureRequest::latency,
            MeasurementKind::Noise => MeasureRequest::noise,
            MeasurementKind::All => MeasureRequest::all,
        };
        let mut request = base(cpus.clone(), self.options.each, environment, self.options.stop);
        if door.is_some() {
            request.join = Some(&join);
        }
        let name = format!("{what} {}", options.name);
        let result = self
            .steps
            .measure(&name, |show| measure::run(&request, session.root(), show));
        match result {
            Ok(mut result) => {
                if door.is_none() {
                    remove_expected_findings(&mut result);
                }
                Some(result)
            }
            Err(error) => {
                self.story.could_not.push(missing(what, &error));
                None
            }
        }
    }
}

/// The measurement before isolation expects that every program may use the CPUs, so this is not a warning.
fn remove_expected_findings(result: &mut Measurement) {
    const EXPECTED: [&str; 2] = ["cpu_not_isolated", "cpu_shared"];
    result.not_representative.retain(|id| !EXPECTED.contains(&id.as_str()));
    result.findings.retain(|note| !EXPECTED.contains(&note.id.as_str()));
}

fn missing(what: &str, error: &Failure) -> Finding {
    let message = format!("{what} could not be measured: {}", error.reason());
    Finding::new(Level::Error, FindingId::NOT_MEASURED, what, message).fix(error.next.clone())
}
