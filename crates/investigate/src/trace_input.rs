//! Reads a trace of any format, event by event.

use crate::latency_trace::Latency;
use blame::{KernelEvent, LongestRun, RecordDecoder, ThreadChange, ThreadEvent, ThreadFilter, ThreadPeriod};
use events::StreamItem;
use events::dat::{Buffer, TraceFile};
use events::text::{TextEvent, TextItem, TextReader};
use machine::OrderBy;
use root::mapped::{MappedFile, mapped, when_cut};
use root::{Failure, Root, Status};
use session::Session;
use std::io::BufRead;
use std::path::Path;

/// The maximum length of a `trace.dat`: more than any recording can have.
const LONGEST: u64 = 1 << 46;
/// The maximum unpacked size of its compressed parts.
const UNPACKED: u64 = 8 << 30;
/// The maximum compression ratio. Pages with few events reach some hundreds.
const UNPACKED_RATIO: u64 = 1_000;
/// Smaller files may have any ratio.
const RATIO_COUNTS_FROM: u64 = 64 << 20;

/// The message when the file is truncated while it is read.
const CUT: &[u8] = b"error: the trace was cut short while it was read\n  why: another program truncated the file\n \
     next: wait until its writer has finished, then pass the whole file\n";

/// The format of a file, detected by its first bytes.
pub enum TraceInput {
    /// A `trace.dat`, whole.
    Dat(MappedFile),
    /// Text, line by line.
    Text(Box<dyn BufRead>),
}

/// Statistics besides the events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceStatistics {
    /// Events that were read.
    pub events: u64,
    /// Events that the kernel dropped, as far as the trace reports them.
    pub lost: u64,
    /// Places where an unknown number of events is missing.
    pub lost_somewhere: u64,
    /// Pages, or lines, that cannot be parsed.
    pub broken: u64,
    /// The one latency in the text of a latency tracer.
    pub latency: Option<Latency>,
}

impl TraceStatistics {
    /// A sentence about missing data; `None` if everything is there.
    pub fn missing(&self) -> Option<String> {
        let parts = [
            (self.lost, "events were lost"),
            (self.lost_somewhere, "gaps with an unknown number of lost events"),
            (self.broken, "lines or pages could not be parsed"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        (!parts.is_empty()).then(|| format!("{}: use a larger buffer to lose fewer events", parts.join(", ")))
    }

    /// Counts lost events; `None` where their number is unknown.
    pub fn lose(&mut self, count: Option<u64>) {
        match count {
            Some(count) => self.lost += count,
            None => self.lost_somewhere += 1,
        }
    }
}

/// Opens a file; `-` is standard input.
///
/// # Errors
/// A usage error if the file does not exist.
pub fn open(path: &Path) -> Result<TraceInput, Failure> {
    if path == Path::new("-") {
        return Ok(TraceInput::Text(Box::new(std::io::stdin().lock())));
    }
    let refuse = |error: root::RootError| match error.errno() {
        Some(libc::ENOENT | libc::ENOTDIR | libc::EISDIR) => Failure::usage(
            format!("{} cannot be read", report::safe_path(path)),
            error,
            "pass a trace.dat, or a text that ftrace or trace-cmd report wrote; `-` is standard input",
        ),
        _ => error.into(),
    };
    let mut lines = root::input::lines(path).map_err(refuse)?;
    let begins = lines.fill_buf().is_ok_and(TraceFile::has_magic);
    if begins {
        when_cut(CUT, i32::from(Status::Usage.code()));
        return Ok(TraceInput::Dat(mapped(path, LONGEST).map_err(refuse)?));
    }
    Ok(TraceInput::Text(Box::new(lines)))
}

/// Parses a `trace.dat`.
///
/// # Errors
/// A usage error with the problem of the file.
pub fn parse<'a>(session: &Session, bytes: &'a [u8], path: &Path) -> Result<TraceFile<'a>, Failure> {
    TraceFile::parse(bytes, unpacked_at_most(session, bytes.len())).map_err(|error| {
        Failure::usage(
            format!("{} cannot be parsed", report::safe_path(path)),
            error,
            "pass the whole file, as trace-cmd or quietcore wrote it",
        )
    })
}

/// The limit for unpacking a file of this size: rejects decompression bombs, and uses at most half of the available memory.
fn unpacked_at_most(session: &Session, packed: usize) -> usize {
    let by_ratio = (packed as u64).saturating_mul(UNPACKED_RATIO).max(RATIO_COUNTS_FROM);
    let available = available_bytes(session.root()).unwrap_or(UNPACKED);
    let most = by_ratio.min(available / 2).min(UNPACKED);
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// `MemAvailable` of `/proc/meminfo` (`proc_meminfo(5)`, since 3.14).
fn available_bytes(root: &Root) -> Option<u64> {
    let text = root.readable_text("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Reports every event of a trace that concerns threads.
///
/// # Errors
/// A file that is not a trace, or cannot be read to its end; a text without any event.
pub fn each_step(
    session: &Session,
    path: &Path,
    each: &mut dyn FnMut(&ThreadEvent),
) -> Result<TraceStatistics, Failure> {
    match open(path)? {
        TraceInput::Dat(bytes) => of_dat(&parse(session, &bytes, path)?, each),
        TraceInput::Text(input) => of_text(input, path, each),
    }
}

/// Finds the longest run of each CPU, in times of the trace clock, corrected as the file specifies.
///
/// # Errors
/// As [`each_step`].
pub fn longest_runs(
    session: &Session,
    path: &Path,
    threads: &ThreadFilter,
) -> Result<(Vec<ThreadPeriod>, TraceStatistics), Failure> {
    let mut stepping = LongestRun::of(threads.clone());
    let mut each = |step: &ThreadEvent| stepping.step(step);
    let account = match open(path)? {
        TraceInput::Dat(bytes) => {
            let file = parse(session, &bytes, path)?;
            match file.buffers.as_slice() {
                [only] => return Ok(of_pages(&file, only, threads)),
                // The same CPU appears in several of them: only all together show which thread was interrupted when.
                _ => of_dat(&file, &mut each)?,
            }
        }
        TraceInput::Text(input) => of_text(input, path, &mut each)?,
    };
    Ok((stepping.end(), account))
}

fn of_pages(file: &TraceFile, buffer: &Buffer, threads: &ThreadFilter) -> (Vec<ThreadPeriod>, TraceStatistics) {
    let (formats, _) = file.description.formats();
    let (comms, correction) = (file.description.comms(), file.correction());
    let mut account = TraceStatistics::default();
    let mut runs = Vec::new();
    for cpu in &buffer.cpus {
        let longest = blame::longest_run_of_pages(buffer, cpu, &formats, &comms, threads);
        account.events += longest.events;
        account.broken += longest.broken;
        longest.lost.into_iter().for_each(|count| account.lose(count));
        runs.extend(longest.longest.map(|run| ThreadPeriod {
            start: correction.apply(run.start),
            end: correction.apply(run.end),
            ..run
        }));
    }
    runs.order_by_key(|run| run.cpu);
    (runs, account)
}

fn of_dat(file: &TraceFile, each: &mut dyn FnMut(&ThreadEvent)) -> Result<TraceStatistics, Failure> {
    let reader = RecordDecoder::new(file.description.formats().0);
    let mut comms = file.description.comms();
    let correction = file.correction();
    let mut account = TraceStatistics::default();
    // Does not show the waker: this event is written where the thread is enqueued, not by the waker.
    let wakeup = reader.formats().named("sched", "sched_wakeup");
    let wakeup = wakeup.and_then(|format| Some((format.id, format.field("pid")?.clone())));
    let endian = file.description.endian;
    for item in file.events() {
        match item.event {
            StreamItem::Record { cpu, record } => {
                account.events += 1;
                let Some(common) = reader.formats().common(record.payload) else {
                    account.broken += 1;
                    continue;
                };
                let happened = reader.read(&record);
                let (mut next, mut left) = (String::new(), None);
                if let Some(KernelEvent::Switch { prev, next: to, .. }) = &happened {
                    next = String::from_utf8_lossy(to.comm).into_owned();
                    left = Some(String::from_utf8_lossy(prev.comm).into_owned());
                }
                let what = change(happened, &next, || {
                    let (_, pid) = wakeup.as_ref().filter(|(id, _)| *id == common.id)?;
                    pid.number(record.payload, endian)?.try_into().ok()
                });
                if let Some(left) = left {
                    comms.insert(common.pid, left);
                }
                each(&ThreadEvent {
                    cpu,
                    at: correction.apply(record.at),
                    pid: common.pid,
                    comm: comms.get(&common.pid).map_or("<...>", String::as_str),
                    what,
                });
            }
            StreamItem::Lost { cpu, count } => {
                account.lose(count);
                each(&lost(cpu));
            }
            StreamItem::Broken { cpu, .. } => {
                account.broken += 1;
                each(&lost(cpu));
            }
        }
    }
    Ok(account)
}

/// What an event changes. `next` is the name of the thread that a switch starts; `woken` reads the event of a kernel without
/// `sched_waking`.
fn change<'a>(event: Option<KernelEvent>, next: &'a str, woken: impl FnOnce() -> Option<i32>) -> ThreadChange<'a> {
    match event {
        Some(KernelEvent::Switch {
            prev_state, next: to, ..
        }) => ThreadChange::Switch {
            preempted: blame::could_go_on(prev_state),
            next_pid: to.pid,
            next_comm: next,
        },
        Some(KernelEvent::Waking { thread, .. }) => ThreadChange::Woken { pid: thread.pid },
        Some(KernelEvent::ThreadStart { pid, .. }) => ThreadChange::Woken { pid },
        None => woken().map_or(ThreadChange::Nothing, |pid| ThreadChange::Woken { pid }),
        _ => ThreadChange::Nothing,
    }
}

const fn lost<'a>(cpu: u32) -> ThreadEvent<'a> {
    ThreadEvent {
        cpu,
        at: 0,
        pid: 0,
        comm: "",
        what: ThreadChange::Lost,
    }
}

fn of_text(
    input: Box<dyn BufRead>,
    path: &Path,
    each: &mut dyn FnMut(&ThreadEvent),
) -> Result<TraceStatistics, Failure> {
    let mut reader = TextReader::new(input);
    let mut account = TraceStatistics::default();
    while let Some(item) = reader.next_item().map_err(|error| unreadable(path, &error))? {
        match item {
            TextItem::Event(event) => {
                account.events += 1;
                each(&step(&event));
            }
            TextItem::Lost { cpu, count } => {
                account.lose(count);
                each(&lost(cpu));
            }
            TextItem::BufferStart { .. } | TextItem::Frame(_) => {}
        }
    }
    account.broken = reader.unknown().lines;
    account.lost += reader.header().overwritten().unwrap_or(0);
    account.latency = Latency::of(reader.header());
    if account.events == 0 && account.latency.is_none() {
        return Err(no_trace(path));
    }
    Ok(account)
}

/// The error when reading fails halfway.
pub fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(
        format!("{} cannot be read to its end", report::safe_path(path)),
        error,
        "check the disk that contains it",
    )
}

/// The error for a text without events.
pub fn no_trace(path: &Path) -> Failure {
    Failure::usage(
        format!("{} is not a trace", report::safe_path(path)),
        "no line of it is an event",
        "pass a trace.dat, the kernel's trace or trace_pipe, or the output of trace-cmd report",
    )
}

fn step<'a>(event: &TextEvent<'a>) -> ThreadEvent<'a> {
    let pid = |name: &str| event.field(name).and_then(|pid| pid.parse().ok());
    let what = match event.name {
        "sched_switch" => match pid("next_pid") {
            Some(next_pid) => ThreadChange::Switch {
                preempted: event.field("prev_state").is_some_and(|state| state.starts_with('R')),
                next_pid,
                next_comm: event.field("next_comm").unwrap_or("<...>"),
            },
            None => ThreadChange::Nothing,
        },
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
            pid("pid").map_or(ThreadChange::Nothing, |pid| ThreadChange::Woken { pid })
        }
        _ => ThreadChange::Nothing,
    };
    ThreadEvent {
        cpu: event.cpu,
        at: event.at,
        pid: event.pid,
        comm: event.task,
        what,
    }
}
