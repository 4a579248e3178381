//! Reports what changed: to the log, to systemd's journal, and to the receivers of alerts. Keeps the open findings.

use crate::alerts::Alerts;
use crate::memory::StateStore;
use crate::outlets::DaemonLog;
use crate::webhook::WebhookQueue;
use plan::declared::WatchSettings;
use root::Failure;
use session::own_process::cpu_time;
use session::{Session, seconds_now};
use std::path::Path;
use std::time::Duration;
use watch::drift::{FindingChange, LineEvent, LogLine};

/// Where lines go.
pub struct Reporting {
    /// The log.
    pub log: DaemonLog,
    /// The open findings, and the state for the next daemon.
    pub memory: StateStore,
    alerts: Alerts,
    posts: WebhookQueue,
}

impl Reporting {
    /// Places the log, and takes the state of an earlier daemon.
    ///
    /// # Errors
    /// A log that cannot be placed there; another daemon; no permission.
    pub fn open(session: &Session, log: &Path) -> Result<Reporting, Failure> {
        let log = DaemonLog::new(log);
        log.place()?;
        Ok(Reporting {
            log,
            memory: StateStore::take(session)?,
            alerts: Alerts::default(),
            posts: WebhookQueue::default(),
        })
    }

    /// Writes a line to the log, and to the journal if the settings request it.
    pub fn write_line(&mut self, watching: &WatchSettings, line: &LogLine) {
        self.log.write_line(line, watching.journal);
        self.memory.is_new = true;
    }

    /// Sends a line to all receivers of alerts, and writes it.
    pub fn alert(&mut self, watching: &WatchSettings, line: &LogLine) {
        let text = watch::drift::text(line);
        self.alerts.add(&watching.alert, &text);
        self.posts.add(watching.webhook.as_ref(), &text);
        self.write_line(watching, line);
    }

    /// Reports changes of findings, and returns how many there were.
    pub fn report(&mut self, watching: &WatchSettings, changes: &[FindingChange]) -> usize {
        let now_s = seconds_now();
        for change in changes {
            let line = watch::drift::of_change(change, now_s);
            match change {
                FindingChange::Changed(_) => self.write_line(watching, &line),
                _ => self.alert(watching, &line),
            }
        }
        changes.len()
    }

    /// Drops findings below the level, which were above it when they appeared.
    pub fn drop_below_level(&mut self, watching: &WatchSettings) {
        let changes = self.memory.ledger.drop_below(watching.level);
        self.report(watching, &changes);
    }

    /// Starts and ends deliveries. Logs those that failed, and the recovery of a log that could not be written.
    pub fn tend(&mut self, watching: &WatchSettings, now: Duration) {
        let failed = self.alerts.tend(now, cpu_time).into_iter().chain(self.posts.tend());
        for line in failed.collect::<Vec<_>>() {
            self.write_line(watching, &LogLine::new(seconds_now(), LineEvent::Alert, line));
        }
        if let Some(line) = self.log.recovered(seconds_now()) {
            self.write_line(watching, &line);
        }
    }

    /// Whether a delivery is under way.
    pub fn is_busy(&self) -> bool {
        self.alerts.is_busy() || self.posts.is_busy()
    }

    /// Ends all deliveries.
    pub fn end(&mut self, watching: &WatchSettings) {
        self.alerts.end();
        for line in self.posts.end() {
            self.write_line(watching, &LogLine::new(seconds_now(), LineEvent::Alert, line));
        }
    }
}
