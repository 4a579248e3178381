//! Runs the kernel's function_graph tracer on the watched CPUs, and reports which functions took the time of the longest gaps
//! (`--functions`).
//!
//! It writes into its own instance, so that its many records displace no events. An old kernel (6.1) supports this tracer
//! only in the top-level trace; that one is used if no other program uses it, and restored afterwards.

use crate::blame_options::{BlameOptions, FunctionOptions, LONGEST_GAPS};
use crate::buffer_drain;
use crate::gap_join::GapJoin;
use crate::trace_clock::{self, TraceClock};
use apply::tracing::{TracingSetting, TracingSettings};
use blame::{Functions, FunctionsReport, GapFunctions, LostRecords, RecordDecoder};
use events::PageLayout;
use machine::{CpuId, CpuSet, Machine};
use root::{Failure, Root, Tracefs};
use session::Session;
use std::ops::ControlFlow;
use trace::{PageAccess, PageMemory, Recorder, TraceError};
use tracing::instance::{TraceInstance, found};
use tracing::refusal::untraceable;

/// The name in `available_tracers`.
const TRACER: &str = "function_graph";
/// A function call and its return take 80 bytes of records, and a busy kernel makes millions of calls a second. The buffer is
/// larger than that of the events by this factor.
const ROOM: u64 = 8;

/// The tracer while it runs, or why it does not.
pub struct FunctionTrace {
    /// `None` if it does not run.
    source: Option<FunctionTraceSource>,
    /// Why it does not run; `None` if it was not requested.
    why: Option<String>,
}

struct FunctionTraceSource {
    dir: String,
    recorder: Recorder,
}

/// The place where it runs.
enum TracerPlace {
    Beside,
    Top,
}

/// Creates the instance of a trace, and starts the tracer beside it if requested. If the tracer fails, the trace is the same.
///
/// # Errors
/// Errors of the trace itself.
pub fn create<'s>(
    session: &'s Session,
    options: &BlameOptions,
    machine: &Machine,
    cpus: &CpuSet,
    settings: &TracingSettings,
) -> Result<(TraceInstance<'s>, TracerHandle), Failure> {
    let why = match options.functions {
        None => None,
        Some(functions) => match create_with_tracer(session, options, functions, (machine, cpus), settings)? {
            TracerAttempt::Held(instance, tracer) => return Ok((instance, tracer)),
            TracerAttempt::Impossible(why) => Some(why),
        },
    };
    let instance = TraceInstance::create(session, found(session)?, settings)?;
    Ok((instance, TracerHandle { place: None, why }))
}

/// The outcome of an attempt to start the tracer.
enum TracerAttempt<'s> {
    /// The instance with the tracer.
    Held(TraceInstance<'s>, TracerHandle),
    /// Why the tracer cannot run.
    Impossible(String),
}

/// Starts the tracer, if it can run.
fn create_with_tracer<'s>(
    session: &'s Session,
    options: &BlameOptions,
    functions: FunctionOptions,
    (machine, cpus): (&Machine, &CpuSet),
    settings: &TracingSettings,
) -> Result<TracerAttempt<'s>, Failure> {
    let (root, tracefs) = (session.root(), found(session)?);
    if let Err(error) = tracer(root, &tracefs, TRACER, "CONFIG_FUNCTION_GRAPH_TRACER") {
        return Ok(TracerAttempt::Impossible(error.reason()));
    }
    let mask = cpus.to_mask(machine.topology.width());
    let second = TracingSettings {
        // With a threshold the tracer omits short functions. All instances share these settings.
        shared: vec![
            TracingSetting::may("tracing_thresh", "0"),
            TracingSetting::may("max_graph_depth", functions.depth.unwrap_or(0).to_string()),
        ],
        beside: beside(options, &mask),
        ..settings.clone()
    };
    match TraceInstance::create(session, found(session)?, &second) {
        Ok(mut instance) => {
            let tracer = root.value(&instance.second_instance_file("current_tracer"))?;
            if tracer.as_deref() == Some(TRACER) {
                return Ok(TracerAttempt::Held(instance, TracerHandle::at(TracerPlace::Beside)));
            }
            instance.remove()?;
        }
        Err(error) => return Ok(TracerAttempt::Impossible(error.reason())),
    }
    if let Some(user) = user_of_top(root, &tracefs, machine)? {
        return Ok(TracerAttempt::Impossible(format!(
            "this kernel has function_graph only in the top-level trace (6.12 has it in instances), and {user}"
        )));
    }
    let top = in_shared_trace(root, &tracefs, options, (mask, cpus), second)?;
    Ok(match TraceInstance::create(session, found(session)?, &top) {
        Ok(instance) => TracerAttempt::Held(instance, TracerHandle::at(TracerPlace::Top)),
        Err(error) => TracerAttempt::Impossible(error.reason()),
    })
}

/// The settings for the tracer in the top-level trace, instead of an instance beside ours.
fn in_shared_trace(
    root: &Root,
    tracefs: &Tracefs,
    options: &BlameOptions,
    (mask, cpus): (String, &CpuSet),
    mut settings: TracingSettings,
) -> Result<TracingSettings, Failure> {
    let clock = options.clock.unwrap_or_default();
    settings.beside.clear();
    settings.shared.extend([
        TracingSetting::must("tracing_cpumask", mask),
        TracingSetting::must("trace_clock", clock.name()),
        TracingSetting::must("tracing_on", "1"),
        TracingSetting::must("current_tracer", TRACER),
    ]);
    // After the tracer: its start gives every CPU without a buffer the default size.
    for cpu in cpus.iter() {
        settings.shared.extend(larger(root, tracefs, cpu, room_kib(options))?);
    }
    Ok(settings)
}

/// Checks that this kernel has a tracer.
///
/// # Errors
/// The kernel lacks it; names the missing config option.
pub fn tracer(root: &Root, tracefs: &Tracefs, name: &str, config: &str) -> Result<(), Failure> {
    let available = root.value(&tracefs.file("available_tracers"))?.unwrap_or_default();
    match available.split_whitespace().any(|tracer| tracer == name) {
        true => Ok(()),
        false => Err(Failure::unable(
            format!("the {name} tracer cannot be used"),
            format!(
                "this kernel has no such tracer: {config} is not set (it has: {})",
                report::safe(&available)
            ),
            "boot a kernel with that option, or leave the option out",
        )),
    }
}

fn beside(options: &BlameOptions, mask: &str) -> Vec<TracingSetting> {
    let mut settings = vec![
        TracingSetting::must("tracing_on", "0"),
        TracingSetting::must("tracing_cpumask", mask),
    ];
    settings.extend(trace_clock::settings(options.clock));
    settings.push(TracingSetting::may("buffer_size_kb", room_kib(options).to_string()));
    settings.push(TracingSetting::may("current_tracer", TRACER));
    settings.push(TracingSetting::must("tracing_on", "1"));
    settings
}

/// The buffer size of each CPU for function records.
const fn room_kib(options: &BlameOptions) -> u64 {
    options.buffer_kib.saturating_mul(ROOM)
}

/// A larger buffer for one CPU in the top-level trace; `None` if it is large enough already.
fn larger(root: &Root, tracefs: &Tracefs, cpu: CpuId, room_kib: u64) -> Result<Option<TracingSetting>, Failure> {
    let file = format!("per_cpu/cpu{cpu}/buffer_size_kb");
    let now_kib: Option<u64> = root.value(&tracefs.file(&file))?.and_then(|size| size.parse().ok());
    let is_smaller = now_kib.is_some_and(|now_kib| now_kib < room_kib);
    Ok(is_smaller.then(|| TracingSetting::may(&file, room_kib.to_string())))
}

/// The visible user of the top-level trace: a tracer, an event, or recorded data that was not read.
fn user_of_top(root: &Root, tracefs: &Tracefs, machine: &Machine) -> Result<Option<String>, Failure> {
    let says = |name: &str| root.value(&tracefs.file(name));
    let shown = Tracefs::display_path;
    if says("current_tracer")?.is_some_and(|tracer| tracer != "nop") {
        return Ok(Some(format!("a tracer is active there ({})", shown("current_tracer"))));
    }
    if says("events/enable")?.is_some_and(|is_on| is_on != "0") {
        return Ok(Some(format!("events are enabled there ({})", shown("set_event"))));
    }
    for cpu in machine.topology.online.iter() {
        let stats = root.text(&tracefs.file(&format!("per_cpu/cpu{cpu}/stats")))?;
        if trace::Stats::parse(&stats.unwrap_or_default()).entries > Some(0) {
            return Ok(Some(format!("it contains recorded data ({})", shown("trace"))));
        }
    }
    Ok(None)
}

/// The trace of events beside which the tracer runs.
pub struct OpenEvents<'a> {
    /// Its instance.
    pub instance: &'a TraceInstance<'a>,
    /// Its clock.
    pub clock: TraceClock,
    /// The traced CPUs.
    pub cpus: &'a CpuSet,
    /// The layout of its pages.
    pub layout: PageLayout,
}

/// The started tracer.
pub struct TracerHandle {
    place: Option<TracerPlace>,
    why: Option<String>,
}

impl TracerHandle {
    fn at(place: TracerPlace) -> TracerHandle {
        TracerHandle {
            place: Some(place),
            why: None,
        }
    }

    /// Opens its output.
    pub fn open(
        self,
        session: &Session,
        options: &BlameOptions,
        events: &OpenEvents,
    ) -> Result<FunctionTrace, Failure> {
        let OpenEvents {
            instance,
            clock,
            cpus,
            layout,
        } = *events;
        let root = session.root();
        let without = |why: Option<String>| Ok(FunctionTrace { source: None, why });
        let dir = match self.place {
            None => return without(self.why),
            Some(TracerPlace::Beside) => instance.second_instance_file("."),
            Some(TracerPlace::Top) => instance.shared_file("."),
        };
        let on = root.text(&format!("{dir}/trace_clock"))?.unwrap_or_default();
        if trace_clock::in_force(&on)? != clock {
            return without(Some(format!(
                "its trace uses a different clock than the events: {}",
                report::safe(on.trim())
            )));
        }
        let numbers: Vec<CpuId> = cpus.iter().collect();
        let memory = PageMemory {
            undelivered_bytes: options.waiting_bytes(),
            kept_pages: 0,
        };
        let recorder = Recorder::open(&dir, &numbers, layout, memory, PageAccess::Read)
            .map_err(|error| untraceable(session, error))?;
        Ok(FunctionTrace {
            source: Some(FunctionTraceSource { dir, recorder }),
            why: None,
        })
    }
}

impl FunctionTrace {
    /// The collector that joins its records with gaps.
    pub fn collector<'n>(&mut self, reader: &'n RecordDecoder, cpus: &CpuSet) -> Option<Functions<'n>> {
        self.source.as_ref()?;
        let functions = Functions::new(reader.formats(), cpus.iter().map(|cpu| cpu.0), LONGEST_GAPS);
        if functions.is_none() {
            self.why = Some("this kernel does not describe the records of function_graph (events/ftrace)".to_owned());
        }
        functions
    }

    /// Drains its buffers, and joins the records before that time.
    ///
    /// # Errors
    /// A buffer that cannot be read.
    pub fn take(&mut self, until_ns: u64, clock: TraceClock, join: &mut GapJoin) -> Result<(), TraceError> {
        let Some(source) = &mut self.source else {
            return Ok(());
        };
        let passed_ns = buffer_drain::take(&mut source.recorder, until_ns, clock, |event| {
            join.function(&event);
            ControlFlow::Continue(())
        })?;
        join.functions_pass(passed_ns.min(until_ns));
        Ok(())
    }

    /// Joins the rest, and closes its files. The ends of all windows are known.
    ///
    /// # Errors
    /// A buffer or statistics that cannot be read.
    pub fn end(
        mut self,
        root: &Root,
        clock: TraceClock,
        join: &mut GapJoin,
    ) -> Result<Option<FunctionTraceEnd>, TraceError> {
        self.take(u64::MAX, clock, join)?;
        let Some(mut source) = self.source else {
            return Ok(self.why.map(|why| FunctionTraceEnd {
                why: Some(why),
                lost_of: Vec::new(),
            }));
        };
        source.recorder.take(None, usize::MAX, |event| {
            join.function(&event);
            ControlFlow::Continue(())
        });
        let recorded = source.recorder.finish(root, &source.dir)?;
        let lost_of = recorded.stats.iter().filter_map(|(cpu, stats)| {
            let lost = stats.lost().filter(|lost| *lost > 0)?;
            Some(LostRecords { cpu: cpu.0, lost })
        });
        Ok(Some(FunctionTraceEnd {
            why: self.why,
            lost_of: lost_of.collect(),
        }))
    }
}

/// What is known of it after its files are closed.
pub struct FunctionTraceEnd {
    why: Option<String>,
    lost_of: Vec<LostRecords>,
}

impl FunctionTraceEnd {
    /// The report.
    pub fn report(&self, gaps: Vec<GapFunctions>) -> FunctionsReport {
        FunctionsReport {
            by: self.why.is_none().then_some(TRACER),
            why: self.why.clone(),
            lost: self.lost_of.iter().map(|of| of.lost).sum(),
            lost_of: self.lost_of.clone(),
            gaps,
        }
    }
}

/// The report for a tracer that could not run, with the reason.
pub fn without_tracer(why: &Failure) -> FunctionsReport {
    FunctionsReport {
        why: Some(why.reason()),
        ..FunctionsReport::default()
    }
}
