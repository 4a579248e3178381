//! `blame`: a probe spins on the CPUs that are asked about and notes every gap; the kernel's events of the same time, on the
//! same clock, say who had the CPU in it.

mod ground;
mod tracing;

use super::measure::instance::{Instance, found};
use super::measure::{default_cpus, kept, with_progress};
use crate::changing;
use crate::screen::Form;
use crate::{CommandError, Screen, Status};
use blame::{Answer, Counted, Gap, Keep, Question, Reader, Target, Victim, attribute};
use machine::{CpuId, CpuSet, Machine, parse_duration};
use measure::{Environment, RawGap, RawWindow, Request, Watcher};
use report::Rows;
use root::Root;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use trace::{Recorder, TraceError, catalogue};

/// Rows of a CPU that are shown without being asked for.
const SHOWN: usize = 12;

/// Gaps that the screen draws.
const DRAWN: usize = 3;

/// Gaps that the file of `--gaps` holds at most: some 300 MB.
const MOST_GAPS: usize = 1_000_000;

/// Arguments of `blame`.
#[derive(clap::Args)]
pub struct Args {
    /// The CPUs; without it the isolated ones, else the core that `plan` would choose
    #[arg(long, value_name = "EXPRESSION")]
    cpus: Option<String>,
    /// How long
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    duration: Duration,
    /// The shortest gap that counts
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = parse_duration)]
    threshold: Duration,
    /// Memory for the trace, in MiB: what comes when it is full has no names
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    memory: u64,
    /// The kernel's trace buffer of each CPU, in KiB: what comes when it is full is lost and counted
    #[arg(long, value_name = "KIB", default_value_t = 2_048, value_parser = clap::value_parser!(u64).range(8..=1_048_576))]
    buffer: u64,
    /// Show every row
    #[arg(long)]
    all: bool,
    /// Write every gap by itself to this file: a line of JSON each, with who had which piece of it (times of
    /// CLOCK_MONOTONIC_RAW). What a million does not hold is counted in the last line
    #[arg(long, value_name = "FILE")]
    gaps: Option<PathBuf>,
    /// Write the answer as one page to this file: who, what would stop it, and the longest gaps drawn
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Serialize)]
struct Told<'a> {
    schema: &'static str,
    environment: &'a Environment,
    threshold_ns: u64,
    absent_events: &'a [String],
    trace_full: bool,
    #[serde(flatten)]
    answer: &'a Answer,
}

/// Runs it.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let root = Root::live();
    let machine = Machine::read(&root);
    let cpus = chosen(args, &machine, screen)?;
    for path in args.gaps.iter().chain(&args.html) {
        root::output::check(path).map_err(kept::refused)?;
    }
    let environment = Environment::of(&machine, &root, env!("CARGO_PKG_VERSION"));
    let stop = changing::stop_flag();

    let tracefs = found()?;
    let top = tracefs.file(".");
    let mut known = catalogue(&root, &top, &tracing::events()).map_err(untraceable)?;
    let wanted = tracing::wanted(&known.events, &cpus, args.buffer);
    let mut instance = Instance::begin(tracefs, &wanted)?;
    let online: Vec<CpuId> = machine.topology.online.iter().collect();
    let most = usize::try_from(args.memory << 20).unwrap_or(usize::MAX);
    let mut recorder = Recorder::open(&instance.file("."), &online, known.layout, most).map_err(untraceable)?;

    let seen = Seen::default();
    let mut request = Request::noise(cpus.clone(), args.duration, environment.clone(), stop);
    request.each(|lane| lane.threshold_ns = u64::try_from(args.threshold.as_nanos()).unwrap_or(u64::MAX));
    request.watcher = Some(&seen);
    let mut failed = None;
    let measured = with_progress(screen, |progress| {
        measure::run(&request, &mut |now| {
            // The buffers are emptied by this thread, which stands on other CPUs than those that are asked about.
            if let Err(error) = recorder.drain() {
                failed.get_or_insert(error);
            }
            progress(now);
        })
    })?;
    instance.stop()?;
    recorder.drain().map_err(untraceable)?;
    let recording = recorder.finish(&root, &instance.file(".")).map_err(untraceable)?;
    let comms = root.text(&instance.shared_file("saved_cmdlines"))?.unwrap_or_default();
    known.description.saved_cmdlines = comms;
    instance.take_down()?;
    if let Some(error) = failed {
        return Err(untraceable(error));
    }

    let question = Question {
        targets: seen.targets(),
        comms: known.description.comms(),
        keep: match (&args.gaps, &args.html) {
            (None, None) => Keep::Longest(DRAWN),
            _ => Keep::First(MOST_GAPS),
        },
    };
    let reader = Reader::new(known.formats);
    let mut answer = attribute(&reader, &known.names, recording.events(), &question);
    for cpu in &mut answer.cpus {
        let stats = recording.cpus.iter().find(|of| of.cpu.0 == cpu.cpu);
        let thread = measured.threads.iter().find(|thread| thread.cpu.0 == cpu.cpu);
        let smi = thread.and_then(|thread| thread.counts.iter().find(|count| count.name == "smi"));
        cpu.confirm(Counted {
            steal_ns: thread.and_then(|thread| thread.steal_ns),
            smi: smi.and_then(|count| count.count),
        });
        cpu.lost_events = cpu.lost_events.max(stats.and_then(|of| of.stats.lost()).unwrap_or(0));
    }
    answer.cure(&ground::of(&root, machine, &cpus, &question));
    if let Some(path) = &args.gaps {
        root::output::write(path, report::blame_gaps(&answer).as_bytes())?;
    }
    let told = Told {
        schema: report::BLAME_SCHEMA,
        environment: &environment,
        threshold_ns: request.lanes.first().map_or(0, |lane| lane.threshold_ns),
        absent_events: &known.absent,
        trace_full: recording.full,
        answer: &answer,
    };
    if let Some(path) = &args.html {
        let json = serde_json::to_vec(&told).ok();
        let name = path.with_extension("json");
        let name = name.file_name().unwrap_or_default().to_string_lossy();
        let page = report::blame_html(&answer, &environment, json.as_deref(), &name);
        root::output::write(path, page.as_bytes())?;
    }
    match screen.form {
        Form::Json => screen.json(&told),
        Form::Text => {
            let rows = if args.all { Rows::All } else { Rows::First(SHOWN) };
            screen.text(&report::blame_text(&answer, rows, screen.style()));
        }
    }
    if recording.full {
        screen.note("the trace needed more than --memory: the end of the run has no names\n");
    }
    if !known.absent.is_empty() {
        screen.note(&format!("this kernel does not have: {}\n", known.absent.join(", ")));
    }
    if known.names.is_empty() {
        screen.note("/proc/kallsyms hides its addresses (kernel.kptr_restrict): functions have no names\n");
    }
    if !measured.complete {
        screen.note("interrupted: the answer covers only the time until then\n");
    }
    Ok(Status::Done)
}

fn chosen(args: &Args, machine: &Machine, screen: &mut Screen) -> Result<CpuSet, CommandError> {
    if let Some(expression) = &args.cpus {
        return crate::intent::existing_cpus(expression, machine);
    }
    let (cpus, why) = default_cpus(machine)?;
    screen.note(&format!("watching CPU {cpus} ({why}); --cpus chooses others\n"));
    Ok(cpus)
}

fn untraceable(error: TraceError) -> CommandError {
    match error {
        TraceError::Root(error) => error.into(),
        error => CommandError::new(
            Status::Unable,
            "the kernel's trace cannot be read",
            error.to_string(),
            "`measure noise` says how much is stolen, without names",
        ),
    }
}

/// What the probe saw.
#[derive(Default)]
struct Seen {
    gaps: RefCell<BTreeMap<CpuId, Vec<Gap>>>,
    windows: RefCell<Vec<RawWindow>>,
}

impl Watcher for Seen {
    fn gaps(&self, gaps: &[RawGap]) {
        let mut all = self.gaps.borrow_mut();
        for gap in gaps {
            all.entry(gap.cpu).or_default().push(Gap {
                start: gap.start_raw_ns,
                end: gap.start_raw_ns + gap.duration_ns,
            });
        }
    }

    fn window(&self, window: &RawWindow) {
        self.windows.borrow_mut().push(*window);
    }
}

impl Seen {
    fn targets(&self) -> Vec<Target> {
        let mut gaps = self.gaps.take();
        let target = |window: &RawWindow| Target {
            cpu: window.cpu.0,
            victim: Victim {
                pids: vec![window.tid.cast_signed()],
            },
            window: Gap {
                start: window.start_raw_ns,
                end: window.end_raw_ns,
            },
            gaps: Some(gaps.remove(&window.cpu).unwrap_or_default()),
        };
        self.windows.take().iter().map(target).collect()
    }
}
