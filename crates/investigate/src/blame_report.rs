//! Defines the report of `blame`: what took the CPUs, what would stop it, and what evidence was missing.

use crate::blame_options::DEFAULT_THRESHOLD;
use crate::child::ExitReason;
use crate::event_stream::TraceEnd;
use crate::last_prediction;
use crate::limit_gap::LimitGap;
use crate::trace_clock::TraceClock;
use crate::watch_loop::EndReason;
use blame::{BlameQuestion, BlameResult, CureContext, FunctionsReport, HwlatReport};
use machine::{CpuSet, Machine, nanoseconds};
use measure::{Environment, Note};
use predict::{ChangeSelection, OtherCpus, Prediction, PredictionInput, WatchOrigin};
use report::{BlamePage, Tracers};
use root::{Failure, Status};
use serde::{Serialize, Serializer};
use session::Session;
use std::path::Path;
use tracing::ipi_senders::SendersReport;

/// The program that was watched.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedProgram {
    /// Its PID, or the TID of the one thread.
    pub pid: u32,
    /// Its name, or the command that was started.
    pub name: String,
    /// How it ended; `None` while it runs, and for a process that is not our child.
    pub ended: Option<ExitReason>,
    /// What ended the run.
    pub until: EndReason,
}

/// The result of a run, and its JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlameReport {
    pub(crate) schema: &'static str,
    /// The machine.
    pub environment: Environment,
    /// The minimum length of a gap of a probe.
    pub threshold_ns: Option<u64>,
    /// The clock of all times.
    pub clock: TraceClock,
    /// The watched program; `None` for a probe.
    pub program: Option<WatchedProgram>,
    /// Events that this kernel lacks.
    pub absent_events: Vec<String>,
    /// The source that reports which thread interrupts others; `None` without a trace.
    pub senders: Option<SendersReport>,
    /// Memory was full at times, and the kernel lost events.
    pub trace_full: bool,
    /// Why nothing was traced. Counters then replace the trace.
    #[serde(serialize_with = "reason")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub no_trace: Option<Failure>,
    /// What went wrong during the run.
    pub findings: Vec<Note>,
    /// The gap that ended the run.
    pub found: Option<LimitGap>,
    /// The kernel functions that took the time of the longest gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub functions: Option<FunctionsReport>,
    /// What the hwlat tracer found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hwlat: Option<HwlatReport>,
    /// The interruptions of each CPU.
    #[serde(flatten)]
    pub answer: BlameResult,
    /// The CPUs beside those of a probe.
    #[serde(skip)]
    pub others: Option<OtherCpus>,
    /// The context of its cures, if every gap of a probe is listed.
    #[serde(skip)]
    pub(crate) context: Option<CureContext>,
    /// Whether the kernel shows the addresses of its functions. `true` without a trace.
    #[serde(skip)]
    pub has_function_names: bool,
    /// `false` if a signal ended the probe early.
    #[serde(skip)]
    pub is_complete: bool,
    /// [`Status::Failed`] if a gap ended the run, or a finding is an error.
    #[serde(skip)]
    pub status: Status,
}

impl BlameReport {
    /// The report of a run without tracers and findings.
    pub(crate) fn new(
        answer: BlameResult,
        trace: &Result<TraceEnd<'_>, Failure>,
        environment: Environment,
    ) -> BlameReport {
        let kernel = trace.as_ref().ok().map(|trace| trace.kernel);
        BlameReport {
            schema: report::BLAME_SCHEMA,
            environment,
            threshold_ns: None,
            clock: trace.as_ref().map_or(TraceClock::MonoRaw, |trace| trace.clock),
            program: None,
            absent_events: kernel.map_or_else(Vec::new, |kernel| kernel.catalogue.absent.clone()),
            senders: trace.as_ref().ok().map(|trace| trace.senders.clone()),
            trace_full: trace.as_ref().is_ok_and(TraceEnd::was_full),
            no_trace: trace.as_ref().err().cloned(),
            findings: Vec::new(),
            found: None,
            functions: None,
            hwlat: None,
            answer,
            others: None,
            context: None,
            has_function_names: kernel.is_none_or(|kernel| !kernel.catalogue.names.is_empty()),
            is_complete: true,
            status: Status::Done,
        }
    }

    /// What changes would gain; `None` if not every gap is listed, and on CPUs that cannot be isolated.
    #[must_use]
    pub fn prediction(&self) -> Option<Prediction> {
        predict::predict(&self.prediction_input()?).ok()
    }

    /// Keeps the prediction for `plan`, if every gap is listed, and if the watch was one as `predict` makes it.
    pub fn keep_prediction(&self, session: &Session) {
        let is_plain = self.is_complete && self.found.is_none() && self.functions.is_none();
        if is_plain
            && self.threshold_ns == Some(nanoseconds(DEFAULT_THRESHOLD))
            && let Some(input) = self.prediction_input()
        {
            last_prediction::keep(session, &input, &self.environment);
        }
    }

    fn prediction_input(&self) -> Option<PredictionInput<'_>> {
        Some(PredictionInput {
            answer: &self.answer,
            context: self.context.as_ref()?,
            threshold_ns: self.threshold_ns?,
            selection: ChangeSelection::Each,
            origin: WatchOrigin::Now,
            others: self.others,
            base_latency_ns: None,
            untraced: None,
        })
    }

    /// The lines of `--gaps`.
    fn gap_lines(&self) -> String {
        let clock = self.clock.posix_name();
        report::blame_gaps(&self.answer, clock, self.threshold_ns, &self.environment)
    }

    /// The page, for a file with this name.
    fn page(&self, path: &Path) -> String {
        let json = serde_json::to_vec(self).ok();
        let name = path.with_extension("json");
        report::blame_html(&BlamePage {
            answer: &self.answer,
            tracers: self.tracers(),
            prediction: self.prediction().as_ref(),
            environment: &self.environment,
            json: json.as_deref(),
            json_name: &name.file_name().unwrap_or_default().to_string_lossy(),
        })
    }

    /// Writes the gaps and the page to these files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_files(&self, gaps: Option<&Path>, page: Option<&Path>) -> Result<(), Failure> {
        if let Some(path) = gaps {
            root::output::write(path, self.gap_lines().as_bytes())?;
        }
        if let Some(path) = page {
            root::output::write(path, self.page(path).as_bytes())?;
        }
        Ok(())
    }

    /// The results of the kernel's tracers.
    #[must_use]
    pub fn tracers(&self) -> Tracers<'_> {
        Tracers {
            functions: self.functions.as_ref(),
            hwlat: self.hwlat.as_ref(),
        }
    }
}

/// The context of cures for the watched CPUs.
pub fn cure_context(session: &Session, machine: Machine, cpus: &CpuSet, question: &BlameQuestion) -> CureContext {
    let root = session.root();
    let machine = machine.with_interrupts(root);
    let settings = machine::settings::for_cpus(root, cpus, plan::knobs::planned());
    let victims = question.targets.iter().flat_map(|target| &target.victim.pids);
    let files = boot::MachineTree::of(root);
    let is_edited = |found: &boot::DetectedLoader| found.loader.refusal(&files, &[]).is_none();
    CureContext {
        own: victims.copied().collect(),
        tool: i32::try_from(std::process::id()).ok(),
        can_boot_set: Some(boot::find(&files).iter().any(is_edited)),
        ..CureContext::of(&machine, &settings, session.in_force(), cpus)
    }
}

#[allow(clippy::ref_option)] // The form of the argument is serde's.
fn reason<S: Serializer>(failure: &Option<Failure>, serializer: S) -> Result<S::Ok, S::Error> {
    failure.as_ref().map(Failure::reason).serialize(serializer)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn without_a_trace_the_json_has_every_field_and_the_reason() {
        let failure = Failure::unable("tracefs", "it is not mounted", "mount it");
        let report = BlameReport::new(BlameResult::default(), &Err(failure), Environment::default());
        let value = serde_json::to_value(&report).unwrap();
        let mut fields: Vec<&str> = value
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .filter(|field| *field != "environment")
            .collect();
        fields.sort_unstable();
        assert_eq!(
            fields,
            [
                "absent_events",
                "clock",
                "cpus",
                "findings",
                "found",
                "no_trace",
                "program",
                "schema",
                "senders",
                "threshold_ns",
                "trace_full",
            ]
        );
        assert_eq!(value["no_trace"], "tracefs: it is not mounted");
        assert_eq!(value["clock"], "CLOCK_MONOTONIC_RAW");
    }
}
