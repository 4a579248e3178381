//! `trace record`: records kernel events into a `trace.dat`.

use crate::flags::KprobesArgs;
use investigate::{CommandOptions, Launch, RecordOptions, TraceRecording, note_text};
use machine::parse_duration;
use root::{Failure, Status};
use session::Session;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use terminal::{OutputFormat, Screen};
use tracing::break_trace::EVENTS;

/// Arguments of `trace record`, and of a command that records before it reads.
#[derive(clap::Args)]
#[group(skip)]
pub struct Args {
    /// Record the events of these CPUs [default: all]
    #[arg(long, value_name = "CPUS")]
    cpus: Option<String>,
    /// Record this event (sched/sched_switch), system (irq) or `all` (repeatable)
    ///
    /// The default is interrupts, softirqs, IPIs, switches, timers and work items.
    #[arg(long, short = 'e', value_name = "EVENT")]
    event: Vec<String>,
    /// Use this tracer of the kernel (function), beside the events of --event
    #[arg(long, value_name = "TRACER")]
    tracer: Option<String>,
    /// How long to record [default: until the command ends, or Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
    /// The trace to write
    #[arg(long, short = 'o', value_name = "FILE", default_value = "trace.dat")]
    out: PathBuf,
    /// Clock of the events, one of those in `trace_clock`
    #[arg(long, value_name = "CLOCK", default_value = "mono")]
    clock: String,
    /// Trace buffer of each CPU, in KiB; events are lost and counted when it is full
    #[arg(long, value_name = "KIB", default_value_t = 8_192, value_parser = clap::value_parser!(u64).range(8..=4_194_304))]
    buffer: u64,
    #[command(flatten)]
    kprobes: KprobesArgs,
    /// Run this command during the recording, on the recorded CPUs
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command.
///
/// # Errors
/// As [`record`].
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let recording = match record(session, args, EVENTS, screen)? {
        Launch::Running(recording) => recording,
        Launch::Failed(status) => return Ok(status),
    };
    show(args, &recording, screen);
    if let Some(senders) = &recording.senders {
        screen.note(&senders.text());
    }
    if args.event.is_empty() && args.tracer.is_none() && !recording.absent.is_empty() {
        let absent = recording.absent.join(", ");
        screen.note(&format!("this kernel does not have: {absent}\n"));
    }
    Ok(status(args, &recording, screen))
}

/// The exit status of a recording. An incomplete recording is not a success; its remarks give the reason.
pub fn status(args: &Args, recording: &TraceRecording, screen: &mut Screen) -> Status {
    for note in &recording.findings {
        screen.note(&note_text(note));
    }
    let lost = recording.lost();
    if lost == 0 {
        return match recording.findings.is_empty() {
            true => Status::Done,
            false => Status::Failed,
        };
    }
    screen.note(&format!(
        "{lost} events did not fit into the kernel's buffers and are missing: --buffer {} doubles them\n",
        args.buffer * 2
    ));
    Status::Failed
}

impl Args {
    /// The output file.
    #[must_use]
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// Whether the arguments define a recording. An input file is then wrong usage.
    #[must_use]
    pub fn has_definition(&self) -> bool {
        self.cpus.is_some() || !self.command.is_empty()
    }
}

/// Records into the file. `default_events` applies where no events are named.
///
/// # Errors
/// The file cannot be written, or the recording is not possible.
pub fn record(
    session: &Session,
    args: &Args,
    default_events: &[&str],
    screen: &Screen,
) -> Result<Launch<TraceRecording>, Failure> {
    root::output::check_named(&args.out)?;
    let options = RecordOptions {
        cpus: args.cpus.clone(),
        events: args.event.clone(),
        default_events: default_events.to_vec(),
        tracer: args.tracer.clone(),
        duration: args.duration,
        out: args.out.clone(),
        clock: args.clock.clone(),
        buffer_kib: args.buffer,
        kprobes: args.kprobes.kprobes(),
        command: CommandOptions {
            command: args.command.clone(),
            stdout: crate::command_output(screen.form),
        },
    };
    investigate::record(&options, session)
}

fn show(args: &Args, recording: &TraceRecording, screen: &mut Screen) {
    if screen.form == OutputFormat::Json {
        return screen.json(recording);
    }
    let bytes: u64 = recording.cpus.iter().map(|cpu| cpu.bytes).sum();
    screen.text(&format!(
        "{} events in {:.2} s, {:.1} MiB, in {}\n",
        recording.recorded(),
        recording.duration_ns as f64 / 1e9,
        bytes as f64 / f64::from(1 << 20),
        report::safe_path(&args.out)
    ));
    for of in &recording.cpus {
        let number = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
        screen.text(&format!(
            "  CPU {:<4} {:>10} recorded, {} lost\n",
            of.cpu,
            number(of.recorded),
            number(of.lost)
        ));
    }
}
