//! Combines the kernel's event sources: opens each that is available, and reports the others.

use machine::Cgroups;
use machine::cgroups::parse_mountinfo;
use root::notification::{Netlink, ReceiveOutcome, Signals, WriteListener, WriteMessage, wait};
use root::{Failure, Root, RootError};
use session::Session;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use watch::drift::{Interval, Notification, Process, WriterProcess, concerns, link, processes, uevent};

/// The maximum number of messages per turn of each socket.
const MOST: usize = 20_000;

/// One event.
pub enum SourceEvent {
    /// A thread started, changed or ended.
    Process(Process),
    /// Any other event.
    Notification(Notification),
}

/// All of them.
pub struct Sources {
    signals: Signals,
    processes: Result<Netlink, RootError>,
    uevents: Result<Netlink, RootError>,
    links: Result<Netlink, RootError>,
    writes: Result<WriteListener, RootError>,
    /// File systems whose writes are not reported, and why.
    deaf: Vec<String>,
    process_interval: Interval,
    write_interval: Interval,
    /// Writes were read in this turn.
    has_writes: bool,
}

impl Sources {
    /// Opens all available sources.
    ///
    /// # Errors
    /// No signals: nothing could stop the daemon.
    pub fn open(root: &Root) -> Result<Sources, Failure> {
        let mut sources = Sources {
            signals: Signals::listen()?,
            processes: Netlink::processes(),
            uevents: Netlink::uevents(),
            links: Netlink::links(),
            writes: WriteListener::listen(),
            deaf: Vec::new(),
            process_interval: Interval::PROCESSES,
            write_interval: Interval::WRITES,
            has_writes: false,
        };
        sources.listen_to_files(root);
        Ok(sources)
    }

    /// Watches the kernel file systems that are mounted now. Those already watched stay unchanged.
    pub fn listen_to_files(&mut self, root: &Root) {
        let Ok(writes) = &self.writes else { return };
        let deaf = mounts(root).into_iter().filter_map(|mount| writes.add(&mount).err());
        self.deaf = deaf.map(|error| error.to_string()).collect();
    }

    /// Each source with its error; empty for none.
    pub fn errors_by_source(&self) -> Vec<(&'static str, String)> {
        let of =
            |source: &Result<Netlink, RootError>| source.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let writes = match &self.writes {
            Err(error) => error.to_string(),
            Ok(_) => self.deaf.join("; "),
        };
        vec![
            ("processes", of(&self.processes)),
            ("devices", of(&self.uevents)),
            ("network", of(&self.links)),
            ("writes", writes),
        ]
    }

    /// The names of the working sources.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self
            .errors_by_source()
            .into_iter()
            .filter(|(_, why)| why.is_empty())
            .map(|(name, _)| name)
            .collect();
        match names.is_empty() {
            true => "nobody".to_owned(),
            false => names.join(", "),
        }
    }

    /// A line for each source that does not work.
    pub fn missing(&self) -> Vec<String> {
        let wrong = self.errors_by_source().into_iter().filter(|(_, why)| !why.is_empty());
        wrong
            .map(|(name, why)| {
                format!(
                    "{name}: {why}; periodic checks replace it, so changes are found later and without the program \
                     that made them"
                )
            })
            .collect()
    }

    /// Waits for an event, or for one of these other descriptors.
    pub fn wait<'d>(&'d self, now: Duration, limit: Duration, others: impl Iterator<Item = BorrowedFd<'d>>) {
        let mut all = vec![self.signals.as_fd()];
        all.extend(others);
        // After a turn of processes, further process events are batched.
        let rest_of_processes = self.process_interval.next_run().saturating_sub(now);
        let all_sockets = [&self.processes, &self.uevents, &self.links];
        let sockets = all_sockets
            .into_iter()
            .enumerate()
            .filter(|(place, _)| *place > 0 || rest_of_processes.is_zero());
        all.extend(sockets.filter_map(|(_, source)| source.as_ref().ok()).map(AsFd::as_fd));
        let pause = self.write_interval.next_run().saturating_sub(now);
        if pause.is_zero() {
            all.extend(self.writes.as_ref().ok().map(AsFd::as_fd));
        }
        let pauses = [pause, rest_of_processes].into_iter().filter(|pause| !pause.is_zero());
        let limit = pauses.fold(limit, Duration::min);
        let _ = wait(&all, limit);
    }

    /// The next signal.
    pub fn signal(&self) -> Option<i32> {
        self.signals.next()
    }

    /// Delivers the events. Writes come first, because a writer may exit at any moment, and its name with it.
    pub fn take(&mut self, session: &Session, now: Duration, each: &mut dyn FnMut(SourceEvent)) {
        if self.write_interval.next_run() <= now {
            self.take_writes(session, each);
        }
        for (source, read) in [(&mut self.uevents, uevent as fn(&[u8]) -> _), (&mut self.links, link)] {
            let mut deliver = |message: &[u8]| {
                if let Some(happening) = read(message) {
                    each(SourceEvent::Notification(happening));
                }
            };
            take(source, &mut deliver).then(|| each(SourceEvent::Notification(Notification::Lost)));
        }
        if now < self.process_interval.next_run() {
            return;
        }
        let before = spent();
        let mut count = 0;
        let mut deliver = |message: &[u8]| {
            count += 1;
            if let Some(process) = processes(message) {
                each(SourceEvent::Process(process));
            }
        };
        let is_lost = take(&mut self.processes, &mut deliver);
        if is_lost {
            each(SourceEvent::Notification(Notification::Thread));
        }
        self.process_interval = Interval::PROCESSES;
        if count > 0 {
            self.process_interval.record_run(now, spent().saturating_sub(before));
        }
    }
}

/// The CPU time of this thread.
fn spent() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}

impl Sources {
    fn take_writes(&mut self, session: &Session, each: &mut dyn FnMut(SourceEvent)) {
        let Ok(writes) = &self.writes else { return };
        let taken = writes.take(&mut |written| {
            self.has_writes = true;
            if let Some(happening) = of_write(session, written) {
                each(SourceEvent::Notification(happening));
            }
        });
        if let Err(error) = taken {
            self.writes = Err(error);
            each(SourceEvent::Notification(Notification::Lost));
        }
    }

    /// After a turn that read writes, delays the next ones by its CPU cost: any user may write some kernel files without limit.
    pub fn delay_writes(&mut self, now: Duration, cost: Duration) {
        if std::mem::take(&mut self.has_writes) {
            self.write_interval.record_run(now, cost);
        }
    }
}

/// Whether something was lost: the kernel dropped messages, or the source itself failed.
fn take(source: &mut Result<Netlink, RootError>, receive: &mut dyn FnMut(&[u8])) -> bool {
    let Ok(socket) = source else { return false };
    match socket.take(MOST, receive) {
        Ok(ReceiveOutcome::All | ReceiveOutcome::Some) => false,
        Ok(ReceiveOutcome::Lost) => true,
        Err(error) => {
            *source = Err(error);
            true
        }
    }
}

/// The directories of the files whose writers are reported.
fn mounts(root: &Root) -> Vec<String> {
    let mut mount_points = vec!["/proc".to_owned(), "/sys".to_owned()];
    mount_points.extend(Cgroups::read(root).cpuset.map(|hierarchy| hierarchy.mount));
    // The scheduler's servers have their files in debugfs, which is mounted late or never.
    let mounted = root.readable_text("/proc/self/mountinfo").unwrap_or_default();
    let debugfs = parse_mountinfo(&mounted)
        .into_iter()
        .filter(|mount| mount.kind == "debugfs");
    mount_points.extend(debugfs.map(|mount| mount.path).take(1));
    mount_points
}

/// `None` for a file that no layer reads: any user may write such files, so the name of the writer is not looked up.
fn of_write(session: &Session, written: WriteMessage) -> Option<Notification> {
    match written {
        WriteMessage::Lost => Some(Notification::Lost),
        WriteMessage::By { path, .. } if !concerns(&path) => None,
        WriteMessage::By { pid, path } => {
            // For a thread of another PID namespace the kernel reports 0.
            let comm = session.root().readable_value(&format!("/proc/{pid}/comm"));
            Some(Notification::Wrote(WriterProcess { pid, comm, wrote: path }))
        }
    }
}
