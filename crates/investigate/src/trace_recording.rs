//! Implements `trace record`: writes kernel events to a `trace.dat`, from our own tracefs instance.
//!
//! Pages go from the kernel's buffers to the disk as they fill, so the length of a recording is not limited by memory.
//! Nothing of ours runs on the traced CPUs if there are others, and nothing blocks in the kernel for data, because the traced
//! CPUs would have to wake it.

use crate::blame_options::CommandOptions;
use crate::child::Launch;
use crate::recording_run::RecordingRun;
use crate::watch_loop::EndReason;
use apply::tracing::{TracingSetting, TracingSettings};
use events::dat::{DatOption, DatWriter, PlannedBuffer, id};
use machine::{CpuSet, Machine, nanoseconds};
use measure::Note;
use root::output::{Draft, ReadAccess};
use root::{Failure, Tracefs};
use serde::Serialize;
use session::Session;
use std::path::PathBuf;
use std::time::Duration;
use trace::{Catalogue, SpoolResult, Spooler, TraceError, catalogue};
use tracing::instance::{TraceInstance, found};
use tracing::ipi_senders::{IpiSenders, Kprobes, SendersReport};
use tracing::refusal::untraceable;

/// What is recorded, and the output file.
#[derive(Clone, Debug)]
pub struct RecordOptions<'a> {
    /// The CPUs to record, as an expression; by default all.
    pub cpus: Option<String>,
    /// Events (`sched/sched_switch`), systems (`irq`), or `all`.
    pub events: Vec<String>,
    /// The events if neither `events` nor a tracer is given. Events that the kernel lacks are skipped.
    pub default_events: Vec<&'a str>,
    /// One of the kernel's tracers.
    pub tracer: Option<String>,
    /// The duration; by default until the command ends, or a signal arrives.
    pub duration: Option<Duration>,
    /// The file. The caller has checked that it can be written.
    pub out: PathBuf,
    /// The clock of the events, as in `trace_clock`.
    pub clock: String,
    /// The kernel's buffer of each CPU, in KiB.
    pub buffer_kib: u64,
    /// Whether kprobes may replace events that the kernel lacks.
    pub kprobes: Kprobes,
    /// A command that runs during the recording; none if it is empty.
    pub command: CommandOptions<'a>,
}

/// What was recorded, and its JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceRecording {
    schema: &'static str,
    /// The file of the trace.
    file: String,
    /// The clock of the events, as in `trace_clock`.
    clock: String,
    /// The kernel's tracer, if one was requested.
    tracer: Option<String>,
    /// The recorded events.
    events: Vec<String>,
    /// The duration of the recording.
    pub duration_ns: u64,
    /// What ended the recording.
    until: EndReason,
    /// The events of each CPU.
    pub cpus: Vec<CpuRecording>,
    /// The source that reports which thread interrupts other CPUs; `None` if other events were requested.
    pub senders: Option<SendersReport>,
    /// What went wrong during the recording.
    pub findings: Vec<Note>,
    /// The process of the command.
    #[serde(skip)]
    pub pid: Option<u32>,
    /// Events that this kernel lacks.
    #[serde(skip)]
    pub absent: Vec<String>,
}

/// The events of a CPU.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuRecording {
    /// The CPU.
    pub cpu: u32,
    /// Events in the file, as counted by the kernel.
    pub recorded: Option<u64>,
    /// Events dropped because the kernel's buffer was full.
    pub lost: Option<u64>,
    /// Their size in the file.
    pub bytes: u64,
}

impl TraceRecording {
    /// Events that are missing.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.cpus.iter().filter_map(|cpu| cpu.lost).sum()
    }

    /// Events in the file.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        self.cpus.iter().filter_map(|cpu| cpu.recorded).sum()
    }
}

/// Records into the file.
///
/// # Errors
/// CPUs, events and tracers that the machine lacks, a command that cannot be placed (also in its new process), a file that
/// cannot be written. No instance or kprobe is left behind.
pub fn record(options: &RecordOptions, session: &Session) -> Result<Launch<TraceRecording>, Failure> {
    let failed = |error| unwritable(session, error);
    let root = session.root();
    let machine = session.machine();
    let cpus = match &options.cpus {
        Some(cpus) => session::isolation::existing_cpus(cpus, &machine)?.and(&machine.topology.online),
        None => machine.topology.online.clone(),
    };
    let named = options.cpus.is_some().then_some(&cpus);
    let run = match RecordingRun::prepare(session, &options.command, named, &machine)? {
        Launch::Running(run) => run,
        Launch::Failed(status) => return Ok(Launch::Failed(status)),
    };
    let tracefs = found(session)?;
    // The events of sent interrupts are defaults, and not added to requested events.
    let usual = &options.default_events;
    let is_usual = options.events.is_empty() && options.tracer.is_none() && usual.contains(&"ipi");
    let senders = is_usual
        .then(|| IpiSenders::start(session, options.kprobes, &machine))
        .transpose()?;
    let group = senders.as_ref().and_then(IpiSenders::group);
    let usual: Vec<&str> = usual.iter().copied().chain(group.as_deref()).collect();
    let known = requested_events(session, options, &usual, &tracefs)?;
    let mut instance = TraceInstance::create(session, tracefs, &settings(options, &known, &cpus))?;
    let list: Vec<_> = cpus.iter().collect();
    let mut spooler = Spooler::open(&instance.file("."), &list, known.layout, &options.out).map_err(failed)?;
    let over = match run.run((root, &cpus), options.duration, &mut || spooler.drain().map_err(failed))? {
        Launch::Running(over) => over,
        Launch::Failed(status) => return Ok(Launch::Failed(status)),
    };
    instance.stop()?;
    let spooled = spooler.finish(root, &instance.file(".")).map_err(failed)?;
    let comms = root.text(&instance.shared_file("saved_cmdlines"))?.unwrap_or_default();
    instance.remove()?;
    if let Some(senders) = &senders {
        senders.remove()?;
    }

    write(options, &known, comms, &spooled, &machine)?;
    Ok(Launch::Running(TraceRecording {
        schema: "quietcore.trace.record/1",
        file: options.out.display().to_string(),
        clock: options.clock.clone(),
        tracer: options.tracer.clone(),
        events: known.events,
        duration_ns: nanoseconds(over.duration),
        until: over.until,
        cpus: spooled.iter().map(of_cpu).collect(),
        senders: senders.map(|senders| senders.report(&[])),
        findings: over.findings,
        pid: over.pid,
        absent: known.absent,
    }))
}

fn of_cpu(spooled: &SpoolResult) -> CpuRecording {
    CpuRecording {
        cpu: spooled.cpu.0,
        recorded: spooled.stats.read,
        lost: spooled.stats.lost(),
        bytes: spooled.spool.len(),
    }
}

/// The events to trace, of those that this kernel has.
fn requested_events(
    session: &Session,
    options: &RecordOptions,
    usual: &[&str],
    tracefs: &Tracefs,
) -> Result<Catalogue, Failure> {
    let root = session.root();
    let named: Vec<String> = options.events.iter().map(|event| event.replace(':', "/")).collect();
    let top = tracefs.file(".");
    let mut requested: Vec<&str> = named
        .iter()
        .map(String::as_str)
        .filter(|event| *event != "all")
        .collect();
    let systems;
    if requested.len() < named.len() {
        systems = root.names(&format!("{top}/events"))?.unwrap_or_default();
        requested.extend(systems.iter().map(String::as_str));
    } else if named.is_empty() && options.tracer.is_none() {
        requested.extend(usual);
    }
    if let Some(tracer) = &options.tracer {
        let all = root.value(&tracefs.file("available_tracers"))?.unwrap_or_default();
        if !all.split_whitespace().any(|has| has == tracer) {
            return Err(Failure::unable(
                format!("this kernel has no tracer {}", report::safe(tracer)),
                format!("it has: {}", all.trim()),
                "choose one of these, or events with -e",
            ));
        }
    }
    let mut known = catalogue(root, &top, &requested).map_err(|error| match error {
        TraceError::NoEvents { requested: wanted } => absent(&wanted),
        error => untraceable(session, error),
    })?;
    // `all` means the existing events: a directory without events is not a missing one.
    if named.iter().any(|event| event == "all") {
        known.absent.clear();
    }
    let missing: Vec<&String> = known.absent.iter().filter(|absent| named.contains(absent)).collect();
    if let Some(first) = missing.first() {
        return Err(absent(first));
    }
    Ok(known)
}

fn absent(event: &str) -> Failure {
    Failure::usage(
        format!("this kernel has no event {}", report::safe(event)),
        "its list of events does not contain it",
        format!("see {}", Tracefs::display_path("available_events")),
    )
}

fn settings(options: &RecordOptions, known: &Catalogue, cpus: &CpuSet) -> TracingSettings {
    let mut own = vec![
        TracingSetting::must("tracing_on", "0"),
        TracingSetting::must("trace_clock", options.clock.clone()),
        TracingSetting::must("buffer_size_kb", options.buffer_kib.to_string()),
        TracingSetting::must("tracing_cpumask", cpus.to_mask(0)),
    ];
    if let Some(tracer) = &options.tracer {
        own.push(TracingSetting::must("current_tracer", tracer.clone()));
    }
    own.extend(
        known
            .events
            .iter()
            .map(|event| TracingSetting::may(&format!("events/{event}/enable"), "1")),
    );
    own.push(TracingSetting::must("tracing_on", "1"));
    TracingSettings {
        own,
        ..TracingSettings::default()
    }
}

fn write(
    options: &RecordOptions,
    known: &Catalogue,
    comms: String,
    spooled: &[SpoolResult],
    machine: &Machine,
) -> Result<(), Failure> {
    let mut description = known.description.clone();
    description.saved_cmdlines = comms;
    let mut lens = Vec::new();
    for cpu in spooled {
        let place = cpu.cpu.0 as usize;
        lens.resize(lens.len().max(place + 1), 0);
        if let Some(len) = lens.get_mut(place) {
            *len = cpu.spool.len();
        }
    }
    let mut dat_options: Vec<DatOption> = spooled
        .iter()
        .map(|cpu| DatOption::of_text(id::CPUSTAT, &format!("CPU: {}\n{}", cpu.cpu, cpu.account)))
        .collect();
    let release = machine.kernel.release.iter();
    dat_options.extend(release.map(|release| DatOption::of_text(id::UNAME, &format!("Linux {release}"))));
    let version = concat!("quietcore ", env!("CARGO_PKG_VERSION"));
    dat_options.push(DatOption::of_text(id::VERSION, version));
    let buffers = [PlannedBuffer {
        name: String::new(),
        clock: options.clock.clone(),
        cpus: lens,
    }];
    let head = DatWriter {
        description: &description,
        page_len: u32::try_from(known.layout.page_len).unwrap_or(4_096),
        long_len: u8::try_from(known.layout.commit_len).unwrap_or(8),
        options: &dat_options,
        buffers: &buffers,
    }
    .head();
    let mut draft = Draft::create(&options.out, ReadAccess::Owner)?;
    draft.append(&head.bytes)?;
    let mut at = head.bytes.len() as u64;
    for cpu in spooled {
        let place = head.places.first().and_then(|of_cpus| of_cpus.get(cpu.cpu.0 as usize));
        at = pad(&mut draft, at, place.copied().unwrap_or(at))?;
        cpu.spool.copy_into(&mut draft)?;
        at += cpu.spool.len();
    }
    pad(&mut draft, at, head.len)?;
    Ok(draft.finish()?)
}

/// Pads with zeros to the next page.
fn pad(draft: &mut Draft, at: u64, to: u64) -> Result<u64, Failure> {
    let missing = usize::try_from(to.saturating_sub(at)).unwrap_or(0);
    draft.append(&vec![0; missing])?;
    Ok(at.max(to))
}

fn unwritable(session: &Session, error: TraceError) -> Failure {
    match error {
        TraceError::Root(error) if error.errno() == Some(libc::ENOSPC) => Failure {
            next: "free some space, or write to a file on another disk with --out; nothing of it was kept".to_owned(),
            ..error.into()
        },
        error => untraceable(session, error),
    }
}
