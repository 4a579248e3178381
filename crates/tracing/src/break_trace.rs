//! Implements `--break`: records the kernel's activity around a sample that reaches the limit, in a trace that stops there.
//!
//! The trace is our own instance of tracefs, so that no other trace is affected. Its files are opened before the
//! measurement starts: at the sample, the sampler itself writes the marker and stops the trace, with two system calls.

use crate::instance::{TraceInstance, found};
use apply::tracing::{TracingSetting, TracingSettings};
use measure::{BreakAction, BreakSample, Measurement, MeasurementKind, Note, NoteLevel, note};
use root::Failure;
use session::Session;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// Events that show why a CPU did not run its program; events that the kernel lacks are skipped.
pub const EVENTS: &[&str] = &[
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "irq_vectors",
    "ipi",
    "csd",
    "nmi",
    "exceptions",
    "tlb",
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_wakeup",
    "sched/sched_migrate_task",
    "timer/hrtimer_expire_entry",
    "timer/hrtimer_expire_exit",
    "timer/timer_expire_entry",
    "timer/timer_expire_exit",
    "workqueue/workqueue_execute_start",
    "workqueue/workqueue_execute_end",
];

/// Buffer size for all CPUs together: seconds on a typical machine, and a text of tens of megabytes at most.
const BUFFER_KIB: usize = 8192;

/// Maximum length of the saved text.
const LONGEST: u64 = 256 << 20;

/// Default file name of the trace: in `/run/quietcore`, until the next trace or a restart.
const DEFAULT_NAME: &str = "break.trace";

/// The trace that stops at the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakTraceChoice {
    /// Our own instance, with interrupts, softirqs, IPIs, switches, timers and work items of all CPUs.
    Own,
    /// The trace that the user started in the top directory of tracefs; it stays frozen.
    Top,
}

/// The trace of `--break`, and the destination of its text.
#[derive(Clone, Debug)]
pub struct BreakTrace {
    /// The trace to use.
    pub which: BreakTraceChoice,
    /// Whether the measurement requires it.
    pub need: TraceRequirement,
    /// The file for its text. Without it, our own trace is saved in `/run/quietcore`, and the top directory keeps its own.
    pub file: Option<PathBuf>,
}

/// A trace that waits for the sample.
pub struct ArmedTrace<'s> {
    /// Open as long as the samplers may need them; closed before the instance is removed.
    files: Option<BreakTraceFiles>,
    instance: TraceInstance<'s>,
    /// The destination of the text.
    destination: Option<PathBuf>,
}

/// The files that the sampler writes to.
pub struct BreakTraceFiles {
    marker: OwnedFd,
    tracing_on: OwnedFd,
}

impl BreakAction for BreakTraceFiles {
    fn hit(&self, hit: &BreakSample) {
        let mut line = [0_u8; 192];
        let mut room = line.as_mut_slice();
        let (what, late) = match hit.kind {
            MeasurementKind::Noise => ("had a gap of", ""),
            MeasurementKind::Latency | MeasurementKind::All => ("woke", " late"),
        };
        let at = [hit.at_monotonic_ns / 1_000_000_000, hit.at_monotonic_ns % 1_000_000_000];
        let _ = writeln!(
            room,
            "quietcore: CPU {} {what} {} ns{late}, limit {} ns, seen at {}.{:09} of CLOCK_MONOTONIC",
            hit.cpu, hit.value_ns, hit.limit_ns, at[0], at[1]
        );
        let rest = room.len();
        let length = line.len() - rest;
        let _ = rustix::io::write(&self.marker, line.get(..length).unwrap_or_default());
        let _ = rustix::io::write(&self.tracing_on, b"0");
    }
}

/// Whether the measurement continues without its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceRequirement {
    /// The user requested the trace: without it, the measurement fails.
    Required,
    /// If the trace cannot be set up, the measurement continues without it.
    Optional,
}

impl BreakTrace {
    /// Starts the trace. If an optional trace cannot be set up, the note explains why.
    ///
    /// # Errors
    /// A file for the trace that cannot be written, or a required trace that cannot be set up. Nothing was changed then.
    pub fn prepare(self, session: &Session, cpus: usize) -> Result<Result<ArmedTrace<'_>, Note>, Failure> {
        if let Some(file) = &self.file {
            root::output::check_named(file)?;
        }
        let started = match self.which {
            BreakTraceChoice::Own => own(session, cpus, self.file),
            BreakTraceChoice::Top => top(session, self.file),
        };
        match (started, self.need) {
            (Err(error), TraceRequirement::Required) => Err(error),
            (started, _) => Ok(started.map_err(|error| unavailable(&error))),
        }
    }
}

fn own(session: &Session, cpus: usize, destination: Option<PathBuf>) -> Result<ArmedTrace<'_>, Failure> {
    let size = (BUFFER_KIB / cpus.max(1)).clamp(128, 1024);
    let mut own = vec![
        TracingSetting::must("tracing_on", "0"),
        TracingSetting::may("buffer_size_kb", size.to_string()),
        TracingSetting::must("trace_clock", "mono"),
    ];
    let events = EVENTS
        .iter()
        .map(|event| TracingSetting::may(&format!("events/{event}/enable"), "1"));
    own.extend(events);
    own.push(TracingSetting::must("tracing_on", "1"));
    let settings = TracingSettings {
        own,
        ..TracingSettings::default()
    };
    ArmedTrace::on(TraceInstance::create(session, found(session)?, &settings)?, destination)
}

fn top(session: &Session, destination: Option<PathBuf>) -> Result<ArmedTrace<'_>, Failure> {
    ArmedTrace::on(TraceInstance::top(session, found(session)?), destination)
}

impl<'s> ArmedTrace<'s> {
    /// The action for the samplers.
    pub fn trip(&self) -> Option<&dyn BreakAction> {
        self.files.as_ref().map(|files| files as &dyn BreakAction)
    }

    fn on(instance: TraceInstance, destination: Option<PathBuf>) -> Result<ArmedTrace, Failure> {
        let open = |name: &str| root::descriptor::writable(&instance.file(name));
        Ok(ArmedTrace {
            files: Some(BreakTraceFiles {
                marker: open("trace_marker")?,
                tracing_on: open("tracing_on")?,
            }),
            instance,
            destination,
        })
    }

    /// Saves the trace if a sample ended the measurement, removes what was set up, and reports it in the result.
    pub fn end(mut self, session: &Session, result: &mut Measurement) {
        // An instance with open files cannot be removed.
        self.files = None;
        if result.broke.is_some() {
            let note = self.save(session).unwrap_or_else(|error| unavailable(&error));
            result.findings.push(note);
        }
        result.findings.extend(self.instance.end());
    }

    fn save(&self, session: &Session) -> Result<Note, Failure> {
        let shown = self.instance.display_path("trace");
        let frozen =
            |subject: String, message: String, fix: &str| note(NoteLevel::Info, "trace_frozen", subject, message, fix);
        let text = || -> Result<Vec<u8>, Failure> {
            let mut text = Vec::new();
            match session
                .root()
                .bytes_at_most(&self.instance.file("trace"), LONGEST, &mut text)?
            {
                true => Ok(text),
                false => Err(Failure::unable(
                    shown.clone(),
                    "it no longer exists",
                    "find out what removed it",
                )),
            }
        };
        let go_on = "echo 1 > /sys/kernel/tracing/tracing_on continues it";
        let path = match (&self.destination, self.instance.is_own()) {
            (None, false) => {
                let message = "The trace in the top directory was stopped at that sample, and is kept.".to_owned();
                return Ok(frozen(shown, message, go_on));
            }
            (Some(path), _) => {
                root::output::write(path, &text()?)?;
                path.clone()
            }
            (None, true) => {
                let changing = session.lock_for_trace()?;
                let state = changing.state();
                state.replace(DEFAULT_NAME, &text()?)?;
                state.path().join(DEFAULT_NAME)
            }
        };
        let message = format!(
            "The trace up to that sample, with times of the trace's clock, is in {}.",
            path.display()
        );
        let fix = match self.instance.is_own() {
            true => "look for the marker `quietcore:` at its end",
            false => go_on,
        };
        Ok(frozen(path.display().to_string(), message, fix))
    }
}

fn unavailable(error: &Failure) -> Note {
    let message = format!("No trace of that time was kept: {}.", error.reason());
    note(NoteLevel::Info, "trace_not_recorded", "tracefs", message, &error.next)
}
