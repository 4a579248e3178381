//! Runs the kernel's trace in our own instance. Drains its buffers repeatedly, and joins the events at once with the
//! observations of the watched threads.

use crate::blame_options::BlameOptions;
use crate::buffer_drain;
use crate::function_tracer::{self, FunctionTrace, FunctionTraceEnd, OpenEvents};
use crate::gap_join::GapJoin;
use crate::trace_clock::{self, TraceClock};
use crate::trace_settings;
use crate::trace_settings::WatchSubject;
use blame::{Functions, RecordDecoder};
use events::dat::Description;
use machine::{CpuId, CpuSet, Machine};
use measure::{BreakAction, BreakSample, Note};
use root::{Failure, Root, Status};
use session::Session;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use trace::{Catalogue, DrainEnd, PageAccess, PageMemory, Recorder, RecordingOutcome, TraceError};
use tracing::instance::{TraceInstance, found};
use tracing::ipi_senders::{IpiSenders, SendersReport};
use tracing::refusal::untraceable;

/// The interval of reading thread names from the kernel.
const NAMES: Duration = Duration::from_secs(1);
/// Pages per CPU that are kept for the output of `--break`: some thousand events.
const MAX_PAGES: usize = 64;

/// The events of this kernel.
pub struct KernelEvents<'s> {
    /// The event descriptions.
    pub catalogue: Catalogue,
    /// The decoder.
    pub reader: RecordDecoder,
    /// Reports which thread interrupts others. Its kprobes can be removed only after their instance, which the
    /// [`EventStream`] owns.
    senders: IpiSenders<'s>,
}

/// The trace of one run, while it is read.
pub struct EventStream<'r> {
    root: &'r Root,
    /// Closed before the instance is removed, also on errors: the kernel keeps an instance with open files.
    recorder: Recorder,
    functions: FunctionTrace,
    clock: TraceClock,
    instance: TraceInstance<'r>,
    failed: Option<TraceError>,
    /// The time up to which every traced event has been joined.
    joined_ns: u64,
    named: Instant,
    /// Kprobes that could not be enabled.
    idle: Vec<String>,
}

/// The outcome of a trace.
pub struct TraceEnd<'k> {
    /// The kernel's description of its events.
    pub kernel: &'k KernelEvents<'k>,
    /// Names of threads at the end.
    pub comms: HashMap<i32, String>,
    /// The last pages and the kernel's statistics.
    pub recorded: RecordingOutcome,
    /// The clock of its times.
    pub clock: TraceClock,
    /// The instance still exists, and why.
    pub left_behind: Option<Note>,
    /// The source that reported which thread interrupts others.
    pub senders: SendersReport,
    /// The outcome of `--functions`.
    pub functions: Option<FunctionTraceEnd>,
}

impl TraceEnd<'_> {
    /// Events of a CPU that the kernel dropped.
    pub fn lost(&self, cpu: u32) -> u64 {
        let of = self.recorded.stats.iter().find(|(of, _)| of.0 == cpu);
        of.and_then(|(_, stats)| stats.lost()).unwrap_or(0)
    }

    /// Whether the kernel dropped something, and memory was full at some time.
    pub fn was_full(&self) -> bool {
        let lost = |(_, stats): &(CpuId, trace::Stats)| stats.lost().unwrap_or(0) > 0;
        self.recorded.was_full && self.recorded.stats.iter().any(lost)
    }
}

/// Reads the kernel's description of its events.
///
/// # Errors
/// Tracing is unavailable, or none of the needed events exist.
pub fn kernel_events<'s>(
    session: &'s Session,
    options: &BlameOptions,
    machine: &Machine,
    watched: WatchSubject,
) -> Result<KernelEvents<'s>, Failure> {
    let root = session.root();
    // A detached mount exists as long as this handle.
    let tracefs = found(session)?;
    let senders = IpiSenders::start(session, options.kprobes, machine)?;
    let group = senders.group();
    let mut requested = trace_settings::events(watched);
    requested.extend(group.as_deref());
    let mut catalogue =
        trace::catalogue(root, &tracefs.file("."), &requested).map_err(|error| untraceable(session, error))?;
    // The kernel's own texts are for a file that other programs read: megabytes, and this run writes no file.
    catalogue.description = Description::default();
    let reader = RecordDecoder::new(catalogue.formats.clone());
    Ok(KernelEvents {
        catalogue,
        reader,
        senders,
    })
}

/// What a trace is about.
pub struct TraceTarget<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The CPUs whose interruptions are looked for.
    pub cpus: &'a CpuSet,
    /// What runs on them.
    pub watched: WatchSubject,
}

impl<'r> EventStream<'r> {
    /// Starts the trace.
    ///
    /// # Errors
    /// Anything that the kernel refuses.
    pub fn start(
        session: &'r Session,
        options: &BlameOptions,
        target: &TraceTarget,
        kernel: &KernelEvents,
    ) -> Result<EventStream<'r>, Failure> {
        let root = session.root();
        let catalogue = &kernel.catalogue;
        let settings = trace_settings::instance_settings(
            &catalogue.events,
            target.cpus,
            options.buffer_kib,
            options.clock,
            target.watched,
        );
        let (instance, held) = function_tracer::create(session, options, target.machine, target.cpus, &settings)?;
        let clock = root.text(&instance.file("trace_clock"))?;
        let clock = trace_clock::in_force(&clock.unwrap_or_default())?;
        let online: Vec<CpuId> = target.machine.topology.online.iter().collect();
        let memory = PageMemory {
            undelivered_bytes: options.waiting_bytes(),
            kept_pages: options.until.map_or(0, |_| MAX_PAGES),
        };
        let place = instance.file(".");
        let idle = idle(root, &instance, kernel.senders.group())?;
        let recorder = Recorder::open(&place, &online, catalogue.layout, memory, PageAccess::Read)
            .map_err(|error| untraceable(session, error))?;
        let events = OpenEvents {
            instance: &instance,
            clock,
            cpus: target.cpus,
            layout: catalogue.layout,
        };
        let functions = held.open(session, options, &events)?;
        Ok(EventStream {
            root,
            recorder,
            functions,
            clock,
            instance,
            failed: None,
            joined_ns: 0,
            named: Instant::now(),
            idle,
        })
    }

    /// The clock of the trace.
    pub const fn clock(&self) -> TraceClock {
        self.clock
    }

    /// The collector that joins function records with gaps, if functions are traced.
    pub fn functions<'k>(&mut self, kernel: &'k KernelEvents, cpus: &CpuSet) -> Option<Functions<'k>> {
        self.functions.collector(&kernel.reader, cpus)
    }

    /// Stops the trace at the sample that ends the run. Must be dropped before [`EventStream::end`].
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn stopper(&self) -> Result<Stopper, Failure> {
        Ok(Stopper(root::descriptor::writable(&self.instance.file("tracing_on"))?))
    }

    /// Drains the buffers, and joins the events before that time on the trace clock. The caller runs on other CPUs than the
    /// watched ones.
    pub fn drain(&mut self, until_ns: u64, join: &mut GapJoin) {
        if self.named.elapsed() >= NAMES {
            self.named = Instant::now();
            if let Ok(comms) = self.comms() {
                join.known(comms);
            }
        }
        if self.failed.is_none() {
            self.failed = self.take(until_ns, join).err();
        }
    }

    fn take(&mut self, until_ns: u64, join: &mut GapJoin) -> Result<(), TraceError> {
        let joined_ns = buffer_drain::take(&mut self.recorder, until_ns, self.clock, |event| join.event(&event))?;
        self.joined_ns = self.joined_ns.max(joined_ns);
        self.functions.take(until_ns, self.clock, join)
    }

    fn comms(&self) -> Result<HashMap<i32, String>, Failure> {
        let text = self.root.text(&self.instance.shared_file("saved_cmdlines"))?;
        Ok(events::dat::comms(&text.unwrap_or_default()))
    }

    /// The time up to which every traced event has been joined.
    pub const fn joined_ns(&self) -> u64 {
        self.joined_ns
    }

    /// Stops the trace, joins the remaining events, and removes the instance. The ends of all windows are known.
    ///
    /// # Errors
    /// A buffer that could not be read, now or earlier.
    pub fn end<'k>(
        mut self,
        session: &Session,
        kernel: &'k KernelEvents,
        join: &mut GapJoin,
    ) -> Result<TraceEnd<'k>, Failure> {
        let refused = |error| untraceable(session, error);
        self.instance.stop()?;
        let comms = self.comms()?;
        join.known(comms.clone());
        self.recorder.ends();
        let clock = self.clock;
        while self.failed.is_none() {
            match self.recorder.drain(|| clock.now_ns()) {
                Ok(DrainEnd::Empty) => break,
                Ok(DrainEnd::Full) => {
                    let until_ns = self.recorder.read_until_ns();
                    self.recorder
                        .take(Some(until_ns), usize::MAX, |event| join.event(&event));
                }
                Err(error) => self.failed = Some(error),
            }
        }
        self.recorder.take(None, usize::MAX, |event| join.event(&event));
        let functions = self.functions.end(self.root, clock, join).map_err(refused)?;
        let recorded = self
            .recorder
            .finish(self.root, &self.instance.file("."))
            .map_err(refused)?;
        let left_behind = self.instance.end();
        // An instance that stays keeps its kprobes in use; the next call removes both.
        if left_behind.is_none() {
            kernel.senders.remove()?;
        }
        match self.failed {
            Some(error) => Err(refused(error)),
            None => Ok(TraceEnd {
                kernel,
                comms,
                recorded,
                clock,
                left_behind,
                senders: kernel.senders.report(&self.idle),
                functions,
            }),
        }
    }
}

/// Stops a trace. It is opened before the run starts, and closed before the instance is removed.
pub struct Stopper(pub OwnedFd);

impl BreakAction for Stopper {
    fn hit(&self, _: &BreakSample) {
        let _ = rustix::io::write(&self.0, b"0");
    }
}

/// Events of a group that are disabled in an instance where they should be enabled. The kernel reports no error when enabling
/// them fails.
fn idle(root: &Root, instance: &TraceInstance, group: Option<String>) -> Result<Vec<String>, Failure> {
    let Some(group) = group else {
        return Ok(Vec::new());
    };
    let dir = format!("events/{group}");
    let mut idle = Vec::new();
    for event in root.names(&instance.file(&dir))?.unwrap_or_default() {
        let is_on = root.value(&instance.file(&format!("{dir}/{event}/enable")))?;
        if is_on.is_some_and(|is_on| is_on != "1") {
            idle.push(event);
        }
    }
    Ok(idle)
}

/// Whether counters may replace a trace that could not start: not if another program is in the way, or our own request is wrong.
pub fn can_do_without(error: &Failure) -> bool {
    matches!(error.status, Status::Unable | Status::Denied)
}
