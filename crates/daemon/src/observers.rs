//! What tells the daemon that something changed: sources of the kernel, scans of threads and directories, and rounds that look at
//! what no source reports.

use crate::folders::Folders;
use crate::observation::Observation;
use crate::rounds::Rounds;
use crate::sources::{SourceEvent, Sources};
use crate::threads::Threads;
use check::LayerName;
use root::{Failure, Root};
use session::Session;
use session::own_process::cpu_time;
use std::time::Duration;
use watch::drift::{Layers, Notification};

/// All of them. Times are since the start of the daemon.
pub struct Observers {
    /// Notifications of the kernel, and signals.
    pub sources: Sources,
    /// Periodic checks.
    pub rounds: Rounds,
    threads: Threads,
    folders: Folders,
}

impl Observers {
    /// Opens the sources.
    ///
    /// # Errors
    /// The signals cannot be received.
    pub fn open(session: &Session) -> Result<Observers, Failure> {
        Ok(Observers {
            sources: Sources::open(session.root())?,
            rounds: Rounds::new(session),
            threads: Threads::default(),
            folders: Folders::default(),
        })
    }

    /// The time of the next scan or round.
    pub fn next_scan(&self, now: Duration) -> Duration {
        let times = [
            Some(self.rounds.next_round()),
            Some(self.threads.next_sweep(now)),
            self.folders.next_check(),
        ];
        times.into_iter().flatten().min().unwrap_or(now)
    }

    /// Receives what the sources have.
    pub fn receive(&mut self, session: &Session, now: Duration, each: &mut dyn FnMut(Notification)) {
        let threads = &mut self.threads;
        self.sources.take(session, now, &mut |event| match event {
            SourceEvent::Process(process) => {
                if threads.process_event(session.root(), process) {
                    each(Notification::Thread);
                }
            }
            SourceEvent::Notification(notification) => each(notification),
        });
    }

    /// Scans threads and directories, if it is time for that.
    pub fn scan(&mut self, root: &Root, now: Duration, each: &mut dyn FnMut(Notification)) {
        if self.threads.next_sweep(now) <= now && self.threads.sweep(root, now, cpu_time) {
            each(Notification::Thread);
        }
        if self.folders.check(root, now) {
            let layers = Layers::named(&[LayerName::Partition, LayerName::Tasks, LayerName::Knobs]);
            each(Notification::Round(layers));
        }
    }

    /// Learns from a check of these layers what to scan.
    pub fn know(&mut self, root: &Root, observed: &Observation, layers: Layers) {
        let isolations = observed.intention.isolations.iter();
        let intents = isolations.map(|isolation| &isolation.intent);
        self.folders.know(root, &observed.machine, intents);
        if let Some(tasks) = observed.machine.tasks.as_ref().filter(|_| layers.has(LayerName::Tasks)) {
            self.threads.know(root, tasks, &observed.intention.cpus());
        }
    }
}
