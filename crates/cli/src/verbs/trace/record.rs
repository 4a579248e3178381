//! `trace record`: the kernel's events into a `trace.dat`, from an instance of tracefs of our own.
//!
//! Pages go from the kernel's buffers to the disk as they fill, so no record is too long for the memory; nothing of ours runs
//! on the traced CPUs where there are others, and nothing waits in the kernel for data, which would wake it from there.

use super::watched::{Over, Watched};
use crate::kprobes_args::KprobesArgs;
use crate::program::attend::Until;
use crate::program::offline;
use crate::result_file;
use crate::{CommandError, Screen, Status};
use apply::tracing::{Setting, Wanted};
use events::dat::{DatOption, PlannedBuffer, Writing, id};
use machine::{CpuSet, Machine, parse_duration};
use measure::Note;
use root::Tracefs;
use root::output::{Draft, Readers};
use serde::Serialize;
use session::Session;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use terminal::Form;
use trace::{Catalogue, Spooled, Spooler, TraceError, catalogue};
use tracing::break_trace::EVENTS;
use tracing::instance::{Instance, found};
use tracing::ipi_senders::{IpiSenders, SendersReport};
use tracing::refusal::untraceable;

/// Arguments of `trace record`, and of whoever records before it looks.
#[derive(clap::Args)]
#[group(skip)]
pub struct Args {
    /// The CPUs whose events are recorded; without it all
    #[arg(long, value_name = "EXPRESSION")]
    cpus: Option<String>,
    /// An event (sched/sched_switch), a whole system (irq), or `all`; may be given more than once. Without it interrupts,
    /// softirqs, IPIs, switches, timers and work items
    #[arg(long, short = 'e', value_name = "EVENT")]
    event: Vec<String>,
    /// One of the kernel's tracers (function), beside events that are named
    #[arg(long, value_name = "NAME")]
    tracer: Option<String>,
    /// How long; without it until the command ends, or Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
    /// The file
    #[arg(long, short = 'o', value_name = "FILE", default_value = "trace.dat")]
    out: PathBuf,
    /// The clock of the events, as `trace_clock` lists them
    #[arg(long, value_name = "NAME", default_value = "mono")]
    clock: String,
    /// The kernel's buffer of each CPU, in KiB: what comes when it is full is lost and counted
    #[arg(long, value_name = "KIB", default_value_t = 8_192, value_parser = clap::value_parser!(u64).range(8..=4_194_304))]
    buffer: u64,
    #[command(flatten)]
    kprobes: KprobesArgs,
    /// A command to run meanwhile, on the CPUs that are recorded
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Serialize)]
struct Told<'a> {
    schema: &'static str,
    file: String,
    clock: &'a str,
    tracer: Option<&'a str>,
    events: &'a [String],
    duration_ns: u64,
    until: Until,
    cpus: &'a [Row],
    senders: Option<&'a SendersReport>,
    findings: &'a [Note],
}

#[derive(Serialize)]
struct Row {
    cpu: u32,
    recorded: Option<u64>,
    lost: Option<u64>,
    bytes: u64,
}

/// What was recorded.
pub struct Recorded {
    /// The process of the command.
    pub pid: Option<u32>,
    /// Events that are missing.
    pub lost: u64,
    clock: String,
    events: Vec<String>,
    absent: Vec<String>,
    over: Over,
    cpus: Vec<Row>,
    /// Who told which thread interrupts other CPUs, where that was asked for.
    senders: Option<SendersReport>,
}

/// Runs it.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, CommandError> {
    let recorded = match record(session, args, EVENTS, screen)? {
        Ok(recorded) => recorded,
        Err(status) => return Ok(status),
    };
    show(args, &recorded, screen);
    if let Some(senders) = &recorded.senders {
        screen.note(&senders.text());
    }
    if args.event.is_empty() && args.tracer.is_none() && !recorded.absent.is_empty() {
        screen.note(&format!(
            "this kernel does not have: {}\n",
            recorded.absent.join(", ")
        ));
    }
    Ok(status(args, &recorded, screen))
}

/// What a record that misses something is worth: said, and no success.
pub fn status(args: &Args, recorded: &Recorded, screen: &mut Screen) -> Status {
    for note in &recorded.over.findings {
        screen.note(&offline::line(note));
    }
    if recorded.lost == 0 {
        return match recorded.over.findings.is_empty() {
            true => Status::Done,
            false => Status::Failed,
        };
    }
    screen.note(&format!(
        "{} events found no room in the kernel's buffers and are missing: --buffer {} has twice the room\n",
        recorded.lost,
        args.buffer * 2
    ));
    Status::Failed
}

impl Args {
    /// The file that is written.
    #[must_use]
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// Whether it is said what to record, so that a file to read would be one too many.
    #[must_use]
    pub fn says_what(&self) -> bool {
        self.cpus.is_some() || !self.command.is_empty()
    }
}

/// Records into the file. `usual` are the events where none are named. The status of a command that could not be started.
///
/// # Errors
/// What stands in the way; nothing is left behind.
pub fn record(
    session: &Session,
    args: &Args,
    usual: &[&str],
    screen: &Screen,
) -> Result<Result<Recorded, Status>, CommandError> {
    root::output::check(&args.out).map_err(result_file::refused)?;
    let root = session.root();
    let machine = session.machine();
    let cpus = match &args.cpus {
        Some(cpus) => session::isolation::existing_cpus(cpus, &machine)?.and(&machine.topology.online),
        None => machine.topology.online.clone(),
    };
    let watched = match Watched::begin(
        session,
        &args.command,
        args.cpus.is_some().then_some(&cpus),
        &machine,
        screen,
    )? {
        Ok(watched) => watched,
        Err(status) => return Ok(Err(status)),
    };
    let tracefs = found(session)?;
    // Interrupts that are sent are among what is usual, and not in what somebody names.
    let is_usual = args.event.is_empty() && args.tracer.is_none() && usual.contains(&"ipi");
    let senders = is_usual
        .then(|| IpiSenders::begin(session, args.kprobes.kprobes(), &machine))
        .transpose()?;
    let group = senders.as_ref().and_then(IpiSenders::group);
    let usual: Vec<&str> = usual.iter().copied().chain(group.as_deref()).collect();
    let known = wanted_events(session, args, &usual, &tracefs)?;
    let mut instance = Instance::begin(session, tracefs, &settings(args, &known, &cpus))?;
    let list: Vec<_> = cpus.iter().collect();
    let mut spooler = Spooler::open(&instance.file("."), &list, known.layout, &args.out)
        .map_err(|error| unwritable(session, error))?;
    let over = match watched.run((root, &cpus), args.duration, &mut || {
        spooler.drain().map_err(|error| unwritable(session, error))
    })? {
        Ok(over) => over,
        Err(status) => return Ok(Err(status)),
    };
    instance.stop()?;
    let spooled = spooler
        .finish(root, &instance.file("."))
        .map_err(|error| unwritable(session, error))?;
    let comms = root
        .text(&instance.shared_file("saved_cmdlines"))?
        .unwrap_or_default();
    instance.take_down()?;
    if let Some(senders) = &senders {
        senders.take_away()?;
    }

    write(args, &known, comms, &spooled, &machine)?;
    let cpus: Vec<Row> = spooled.iter().map(row).collect();
    Ok(Ok(Recorded {
        pid: over.pid,
        lost: cpus.iter().filter_map(|row| row.lost).sum(),
        clock: args.clock.clone(),
        events: known.events,
        absent: known.absent,
        over,
        cpus,
        senders: senders.map(|senders| senders.report(&[])),
    }))
}

fn row(spooled: &Spooled) -> Row {
    Row {
        cpu: spooled.cpu.0,
        recorded: spooled.stats.read,
        lost: spooled.stats.lost(),
        bytes: spooled.spool.len(),
    }
}

/// What is to be traced, by what this kernel has.
fn wanted_events(
    session: &Session,
    args: &Args,
    usual: &[&str],
    tracefs: &Tracefs,
) -> Result<Catalogue, CommandError> {
    let root = session.root();
    let asked: Vec<String> = args.event.iter().map(|event| event.replace(':', "/")).collect();
    let top = tracefs.file(".");
    let mut wanted: Vec<&str> = asked
        .iter()
        .map(String::as_str)
        .filter(|event| *event != "all")
        .collect();
    let systems;
    if wanted.len() < asked.len() {
        systems = root.names(&format!("{top}/events"))?.unwrap_or_default();
        wanted.extend(systems.iter().map(String::as_str));
    } else if asked.is_empty() && args.tracer.is_none() {
        wanted.extend(usual);
    }
    if let Some(tracer) = &args.tracer {
        let all = root
            .value(&tracefs.file("available_tracers"))?
            .unwrap_or_default();
        if !all.split_whitespace().any(|has| has == tracer) {
            return Err(CommandError::new(
                Status::Unable,
                format!("this kernel has no tracer {}", report::safe(tracer)),
                format!("it has: {}", all.trim()),
                "choose one of these, or events with -e",
            ));
        }
    }
    let mut known = catalogue(root, &top, &wanted).map_err(|error| match error {
        TraceError::NoEvents { wanted } => absent(&wanted),
        error => untraceable(session, error),
    })?;
    // `all` means what there is: a directory without events is none that is missing.
    if asked.iter().any(|event| event == "all") {
        known.absent.clear();
    }
    let missing: Vec<&String> = known
        .absent
        .iter()
        .filter(|absent| asked.contains(absent))
        .collect();
    if let Some(first) = missing.first() {
        return Err(absent(first));
    }
    Ok(known)
}

fn absent(event: &str) -> CommandError {
    CommandError::usage(
        format!("this kernel has no event {}", report::safe(event)),
        "its list of events has none of that name",
        format!("see {}", Tracefs::shown("available_events")),
    )
}

fn settings(args: &Args, known: &Catalogue, cpus: &CpuSet) -> Wanted {
    let mut own = vec![
        Setting::must("tracing_on", "0"),
        Setting::must("trace_clock", args.clock.clone()),
        Setting::must("buffer_size_kb", args.buffer.to_string()),
        Setting::must("tracing_cpumask", cpus.to_mask(0)),
    ];
    if let Some(tracer) = &args.tracer {
        own.push(Setting::must("current_tracer", tracer.clone()));
    }
    own.extend(
        known
            .events
            .iter()
            .map(|event| Setting::may(&format!("events/{event}/enable"), "1")),
    );
    own.push(Setting::must("tracing_on", "1"));
    Wanted {
        own,
        ..Wanted::default()
    }
}

fn write(
    args: &Args,
    known: &Catalogue,
    comms: String,
    spooled: &[Spooled],
    machine: &Machine,
) -> Result<(), CommandError> {
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
    let mut options: Vec<DatOption> = spooled
        .iter()
        .map(|cpu| DatOption::of_text(id::CPUSTAT, &format!("CPU: {}\n{}", cpu.cpu, cpu.account)))
        .collect();
    let release = machine.kernel.release.iter();
    options.extend(release.map(|release| DatOption::of_text(id::UNAME, &format!("Linux {release}"))));
    let version = concat!("quietcore ", env!("CARGO_PKG_VERSION"));
    options.push(DatOption::of_text(id::VERSION, version));
    let buffers = [PlannedBuffer {
        name: String::new(),
        clock: args.clock.clone(),
        cpus: lens,
    }];
    let head = Writing {
        description: &description,
        page_len: u32::try_from(known.layout.page_len).unwrap_or(4_096),
        long_len: u8::try_from(known.layout.commit_len).unwrap_or(8),
        options: &options,
        buffers: &buffers,
    }
    .head();
    let mut draft = Draft::create(&args.out, Readers::Owner)?;
    draft.append(&head.bytes)?;
    let mut at = head.bytes.len() as u64;
    for cpu in spooled {
        let place = head
            .places
            .first()
            .and_then(|of_cpus| of_cpus.get(cpu.cpu.0 as usize));
        at = pad(&mut draft, at, place.copied().unwrap_or(at))?;
        cpu.spool.copy_into(&mut draft)?;
        at += cpu.spool.len();
    }
    pad(&mut draft, at, head.len)?;
    Ok(draft.finish()?)
}

/// Fills up with zeros to the next page.
fn pad(draft: &mut Draft, at: u64, to: u64) -> Result<u64, CommandError> {
    let missing = usize::try_from(to.saturating_sub(at)).unwrap_or(0);
    draft.append(&vec![0; missing])?;
    Ok(at.max(to))
}

fn show(args: &Args, recorded: &Recorded, screen: &mut Screen) {
    let duration_ns = u64::try_from(recorded.over.duration.as_nanos()).unwrap_or(u64::MAX);
    if screen.form == Form::Json {
        return screen.json(&Told {
            schema: "quietcore.trace.record/1",
            file: args.out.display().to_string(),
            clock: &recorded.clock,
            tracer: args.tracer.as_deref(),
            events: &recorded.events,
            duration_ns,
            until: recorded.over.until,
            cpus: &recorded.cpus,
            senders: recorded.senders.as_ref(),
            findings: &recorded.over.findings,
        });
    }
    let bytes: u64 = recorded.cpus.iter().map(|row| row.bytes).sum();
    screen.text(&format!(
        "{} events in {:.2} s, {:.1} MiB, in {}\n",
        recorded.events_in_it(),
        duration_ns as f64 / 1e9,
        bytes as f64 / f64::from(1 << 20),
        report::safe(&args.out.display().to_string())
    ));
    for row in &recorded.cpus {
        let number = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
        screen.text(&format!(
            "  CPU {:<4} {:>10} recorded, {} lost\n",
            row.cpu,
            number(row.recorded),
            number(row.lost)
        ));
    }
}

impl Recorded {
    fn events_in_it(&self) -> u64 {
        self.cpus.iter().filter_map(|row| row.recorded).sum()
    }
}

fn unwritable(session: &Session, error: TraceError) -> CommandError {
    match error {
        TraceError::Root(error) if error.errno() == Some(libc::ENOSPC) => CommandError {
            next: "make room, or give --out a file on another disk; nothing of it was kept".to_owned(),
            ..error.into()
        },
        error => untraceable(session, error),
    }
}
