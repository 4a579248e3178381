//! The parent that stays while the program runs. It holds requests that end with a file descriptor, pins threads as they
//! appear, forwards signals, and returns the program's status.

use super::PreparedRun;
use crate::Session;
use root::Status;
use root::process::{self, ChildState};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{PipeReader, Read};
use std::time::Duration;

/// The interval between scans for new threads.
const SCAN_INTERVAL: Duration = Duration::from_millis(50);

/// The sleep without threads to pin; the exit of the child wakes us.
const REST: Duration = Duration::from_secs(60);

/// Waits until the program ends, and returns its status: 128 + n if signal n ended it.
pub(super) fn stay(child: u32, mut started: PipeReader, ready: &PreparedRun, session: &Session) -> Status {
    // Before the exec, the threads are not the program's.
    let mut nothing = [0];
    let _ = started.read(&mut nothing);
    let mut watch = ThreadTracker::new(ready);
    let ended = loop {
        match process::news_of(child) {
            ChildState::Exited(code) => break code,
            ChildState::Killed(signal) => break u8::try_from(128 + signal).unwrap_or(255),
            ChildState::Stopped => process::stop_here(),
            ChildState::Lives => {}
        }
        let wait = if watch.is_scanning() { SCAN_INTERVAL } else { REST };
        watch.scan(child, session);
        let Some(signal) = process::next_signal(wait) else {
            continue;
        };
        // The terminal signals its whole foreground group, including the program. Only a hangup may reach us alone.
        if signal.number != libc::SIGCHLD && (signal.by_process || signal.number == libc::SIGHUP) {
            process::send(child, signal.number);
        }
    };
    for (place, (glob, _)) in ready.pins.named.iter().enumerate() {
        if !watch.matched.contains(&place) {
            session.note(&format!("note: no thread named {} was seen\n", glob.text()));
        }
    }
    Status::Program(ended)
}

/// The threads of the program and of its children seen so far.
struct ThreadTracker<'a> {
    ready: &'a PreparedRun<'a>,
    /// The name of each thread when last checked: a thread sets its name after its creation.
    seen: BTreeMap<u32, String>,
    matched: BTreeSet<usize>,
    over: bool,
}

impl<'a> ThreadTracker<'a> {
    fn new(ready: &'a PreparedRun<'a>) -> ThreadTracker<'a> {
        ThreadTracker {
            ready,
            seen: BTreeMap::new(),
            matched: BTreeSet::new(),
            over: ready.pins.named.is_empty(),
        }
    }

    fn is_scanning(&self) -> bool {
        !self.over
    }

    fn scan(&mut self, child: u32, session: &Session) {
        if self.over {
            return;
        }
        if !matches!(self.ready.root.kind(&self.ready.partition.path), Ok(Some(_))) {
            // The partition was undone, so its pins are not applied again.
            session.note("note: the partition was undone; threads are no longer pinned\n");
            self.over = true;
            return;
        }
        let mut now = BTreeMap::new();
        let mut open = vec![child];
        while let Some(pid) = open.pop() {
            let dir = format!("/proc/{pid}/task");
            for name in self.ready.root.readable_names(&dir).unwrap_or_default() {
                let value = |file: &str| self.ready.root.readable_value(&format!("{dir}/{name}/{file}"));
                let (Ok(tid), Some(comm)) = (name.parse::<u32>(), value("comm")) else {
                    continue;
                };
                open.extend(
                    value("children")
                        .unwrap_or_default()
                        .split_whitespace()
                        .filter_map(|child| child.parse::<u32>().ok()),
                );
                now.insert(tid, comm);
            }
        }
        for (tid, comm) in &now {
            if self.seen.get(tid) == Some(comm) {
                continue;
            }
            let Some((place, (glob, cpus))) = self
                .ready
                .pins
                .named(comm)
                .and_then(|place| Some((place, self.ready.pins.named.get(place)?)))
            else {
                continue;
            };
            match root::sched::set_affinity(*tid, &cpus.words()) {
                Ok(()) => drop(self.matched.insert(place)),
                Err(libc::ESRCH) => {}
                Err(errno) => session.note(&format!(
                    "note: thread {tid} ({}) matches {} but cannot be pinned to CPU {cpus}: {}\n",
                    report::safe(comm),
                    glob.text(),
                    std::io::Error::from_raw_os_error(errno)
                )),
            }
        }
        self.seen = now;
    }
}
