//! Implements `watch --daemon`: when something changes that affects `check`, runs it again and reports changes to a log, the
//! journal and commands. Repairs lost settings if requested.
//!
//! One thread on housekeeping CPUs. It sleeps until a source reports something, or until the next periodic check.

mod metric_state;

pub use metric_state::metrics_text;

use crate::configuration::DaemonConfiguration;
use crate::leases::LeaseWatch;
use crate::metrics::Metrics;
use crate::observation::{Observation, intended_isolation, run_check};
use crate::observers::Observers;
use crate::pacing::CheckPacing;
use crate::repairs::RepairState;
use crate::reporting::Reporting;
use crate::service::ServiceNotifier;
use metric_state::MetricCounts;
use plan::declared::Repair;
use root::{Failure, process};
use session::declared::DeclaredFile;
use session::own_process::{cpu_time, leave_cpus};
use session::{Session, seconds_now};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use watch::drift::{Layers, LineEvent, LogLine, Notification, OpenFinding, WriterProcess};

/// What the daemon watches, and where it writes.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// The CPUs to check, as an expression. By default those that `check` finds itself.
    pub cpus: Option<String>,
    /// The log, one JSON object per line.
    pub log: PathBuf,
    /// Restore settings that are lost and safe to set.
    pub repair: bool,
}

/// Runs until a signal ends it.
///
/// # Errors
/// No permission, another daemon, a configuration that cannot be used at the start.
pub fn run(options: &DaemonOptions, session: &Session) -> Result<(), Failure> {
    let _held = process::block_signals();
    let mut daemon = Daemon::start(session, options)?;
    session.note(&daemon.greeting());
    if let Some(trouble) = daemon.reporting.log.last_error() {
        session.note(&format!(
            "note: the log cannot be written now: {}\n",
            report::safe(&trouble)
        ));
    }
    let ended = daemon.serve();
    daemon.end(&ended);
    Ok(())
}

struct Daemon<'s> {
    session: &'s Session,
    started: Instant,
    /// The CPUs to check, as an expression.
    cpus: Option<String>,
    configuration: DaemonConfiguration,
    observers: Observers,
    pacing: CheckPacing,
    reporting: Reporting,
    metrics: Metrics,
    counts: MetricCounts,
    repairing: RepairState,
    leases: LeaseWatch,
    service: ServiceNotifier,
    last_observation: Option<Observation>,
    /// Why the last check failed; empty if it did not.
    last_error: String,
}

impl<'s> Daemon<'s> {
    fn start(session: &'s Session, options: &DaemonOptions) -> Result<Daemon<'s>, Failure> {
        let mut daemon = Daemon {
            configuration: DaemonConfiguration::read(session, Repair::All(options.repair))?,
            reporting: Reporting::open(session, &options.log)?,
            observers: Observers::open(session)?,
            started: Instant::now(),
            cpus: options.cpus.clone(),
            pacing: CheckPacing::default(),
            metrics: Metrics::default(),
            counts: MetricCounts::default(),
            repairing: RepairState::default(),
            leases: LeaseWatch::default(),
            service: ServiceNotifier::find(),
            last_observation: None,
            last_error: String::new(),
            session,
        };
        let before = cpu_time();
        // Errors in CPUs or declarations end the daemon here, while the user is watching.
        let observed = run_check(
            session,
            daemon.cpus.as_deref(),
            &daemon.configuration,
            Layers::all(),
            None,
        )?;
        let opening = daemon.opening(&observed);
        daemon.write(LineEvent::Started, opening);
        daemon.reporting.log.check_first_write()?;
        daemon.reporting.drop_below_level(&daemon.configuration.watching);
        for line in daemon.observers.sources.missing() {
            daemon.write(LineEvent::Source, line);
        }
        daemon.take(observed, Layers::all(), &[]);
        let cost = cpu_time().saturating_sub(before);
        daemon.observers.rounds.record_full_check(daemon.now(), cost);
        daemon.update_metrics();
        daemon.save();
        Ok(daemon)
    }

    fn opening(&self, observed: &Observation) -> String {
        let cpus = observed.intention.cpus();
        format!(
            "process {} watches CPU {} (configured by {}); it runs on CPU {}; sources: {}",
            std::process::id(),
            if cpus.is_empty() {
                "none".to_owned()
            } else {
                cpus.to_string()
            },
            observed.intention.source.text(),
            session::own_process::allowed(self.session.root()).minus(&cpus),
            self.observers.sources.names()
        )
    }

    /// Saves the state, so that after a crash the next daemon does not report it as news.
    fn save(&mut self) {
        let Reporting { memory, log, .. } = &mut self.reporting;
        memory.save(&self.observers.sources, &self.configuration, log, &self.last_error);
    }

    fn greeting(&self) -> String {
        format!(
            "watching; open findings: {}. Log: {}. SIGHUP reads {} again, SIGTERM ends it\n",
            self.reporting.memory.ledger.standing.len(),
            report::safe(&self.reporting.log.path()),
            plan::declared::PATH
        )
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn write(&mut self, event: LineEvent, text: impl Into<String>) {
        let line = LogLine::new(seconds_now(), event, text);
        self.reporting.write_line(&self.configuration.watching, &line);
    }

    fn alert(&mut self, event: LineEvent, text: impl Into<String>) {
        let line = LogLine::new(seconds_now(), event, text);
        self.reporting.alert(&self.configuration.watching, &line);
    }

    /// Serves until a signal ends it, and returns which one.
    fn serve(&mut self) -> String {
        self.service.ready();
        let mut turn_start = cpu_time();
        loop {
            let owners = self.leases.descriptors();
            self.observers.sources.wait(self.now(), self.wait(), owners);
            if let Some(why) = self.signals() {
                return why;
            }
            self.receive();
            let cpu_before = cpu_time();
            self.end_leases();
            self.check_unreported();
            let now = self.now();
            if self.pacing.is_ready(now) && !self.pacing.waits_for_change(now, self.session.is_change_under_way()) {
                self.check();
            }
            let cpu_after = cpu_time();
            self.reporting
                .tend(&self.configuration.watching, self.started.elapsed());
            self.update_metrics();
            self.save();
            self.service.notify_if_due(now);
            // Scans and checks are not counted: they have their own intervals.
            let spent = cpu_time();
            let turn = cpu_before.saturating_sub(turn_start) + spent.saturating_sub(cpu_after);
            self.observers.sources.delay_writes(self.started.elapsed(), turn);
            turn_start = spent;
        }
    }

    fn wait(&self) -> Duration {
        let now = self.now();
        let times = [
            self.pacing.next_check(now),
            Some(self.observers.next_scan(now)),
            Some(self.configuration.reads.next_run()),
            self.service.next_notification(),
            self.leases.next_run(),
            self.reporting.is_busy().then(|| now + Duration::from_millis(100)),
        ];
        let next = times.into_iter().flatten().min().unwrap_or(now);
        // Overdue checks that are delayed are retried soon, but not immediately.
        next.saturating_sub(now).max(Duration::from_millis(5))
    }

    fn signals(&mut self) -> Option<String> {
        while let Some(signal) = self.observers.sources.signal() {
            match signal {
                libc::SIGTERM | libc::SIGINT | libc::SIGQUIT => {
                    return Some(if signal == libc::SIGTERM { "SIGTERM" } else { "SIGINT" }.to_owned());
                }
                libc::SIGHUP => self.reload(),
                _ => {}
            }
        }
        None
    }

    fn receive(&mut self) {
        let now = self.now();
        let (pacing, counts) = (&mut self.pacing, &mut self.counts);
        self.observers.receive(self.session, now, &mut |notification| {
            counts.lost += u64::from(notification == Notification::Lost);
            pacing.add(now, notification);
        });
    }

    /// Checks what no source reports.
    fn check_unreported(&mut self) {
        let now = self.now();
        let (session, pacing) = (self.session, &mut self.pacing);
        self.observers
            .scan(session.root(), now, &mut |notification| pacing.add(now, notification));
        if self.configuration.reads.next_run() <= now {
            self.check_configuration();
        }
        if self.observers.rounds.next_round() > now {
            return;
        }
        let before = cpu_time();
        let round = self.observers.rounds.go(session, now);
        if !round.notifications.is_empty() {
            self.observers.sources.listen_to_files(session.root());
        }
        for notification in round.notifications {
            self.pacing.add(now, notification);
        }
        if let (Some(observed), Some(activity)) = (&self.last_observation, round.activity) {
            let (found, checked) = observed.effects(activity, &self.configuration.watching);
            self.update(found, checked, &[]);
        }
        let cost = cpu_time().saturating_sub(before);
        self.observers.rounds.counted(self.started.elapsed(), cost);
    }

    fn end_leases(&mut self) {
        let now = self.now();
        for text in self.leases.end(self.session, now) {
            self.write(LineEvent::Lease, text);
            // Without its partition, what runs on its CPUs is no finding.
            self.pacing.add(now, Notification::Intention);
        }
    }

    fn check_configuration(&mut self) {
        let before = cpu_time();
        let is_changed = self.configuration.is_changed(self.session);
        let cost = cpu_time().saturating_sub(before);
        self.configuration.reads.record_run(self.started.elapsed(), cost);
        if is_changed {
            self.reload();
        }
    }

    fn reload(&mut self) {
        let (session, cpus, observed) = (self.session, self.cpus.as_deref(), self.last_observation.as_ref());
        let fits = |file: Option<&DeclaredFile>| match observed {
            Some(observed) => intended_isolation(session, &observed.machine, cpus, file).map(drop),
            None => intended_isolation(session, &session.machine(), cpus, file).map(drop),
        };
        let former = self.configuration.error.clone();
        let text = match self.configuration.reload(session, &fits) {
            Ok(()) => format!("{} was read again", plan::declared::PATH),
            Err(error) => format!("the old configuration stays active: {}", error.reason()),
        };
        // The receivers of alerts must know that a different configuration is checked than the file's, and when that ends.
        match self.configuration.error == former {
            true => self.write(LineEvent::Configuration, text),
            false => self.alert(LineEvent::Configuration, text),
        }
        self.reporting.drop_below_level(&self.configuration.watching);
        self.pacing.add(self.started.elapsed(), Notification::Intention);
    }

    fn check(&mut self) {
        let before = cpu_time();
        let request = self.pacing.take();
        let last = self.last_observation.take();
        let cpus = self.cpus.as_deref();
        let mut news = 0;
        match run_check(self.session, cpus, &self.configuration, request.layers, last) {
            Ok(observed) => {
                if !std::mem::take(&mut self.last_error).is_empty() {
                    self.alert(LineEvent::Trouble, "check works again");
                }
                news = self.take(observed, request.layers, &request.writers);
            }
            Err(error) => {
                let text = format!("check: {}", error.reason());
                if self.last_error != text {
                    self.last_error.clone_from(&text);
                    self.alert(LineEvent::Trouble, text);
                }
                // Layers that were not checked must still be checked.
                self.pacing
                    .add(self.started.elapsed(), Notification::Round(request.layers));
            }
        }
        let now = self.now();
        let cost = cpu_time().saturating_sub(before);
        self.reporting.memory.check_counters.count(request.layers, cost);
        self.pacing.record(now, cost, news);
        if request.layers == Layers::all() {
            self.observers.rounds.record_full_check(now, cost);
            // The state counts checks up to the last full round, even if that found nothing new.
            self.reporting.memory.is_new = true;
        }
    }

    /// Processes a result, and returns how much of it is news.
    fn take(&mut self, observed: Observation, layers: Layers, writers: &[WriterProcess]) -> usize {
        leave_cpus(self.session.root(), &observed.intention.cpus());
        self.observers.know(self.session.root(), &observed, layers);
        let findings = observed.reported_findings(&self.configuration.watching);
        let news = self.update(findings, layers, writers);
        let watching = &self.configuration.watching;
        let lines = self.repairing.repair(self.session, &observed, watching);
        if !lines.is_empty() {
            self.pacing.add(self.started.elapsed(), Notification::Round(layers));
            self.observers.rounds.repaired(self.session);
        }
        for line in lines {
            self.reporting.write_line(watching, &line);
        }
        self.last_observation = Some(observed);
        news
    }

    fn update(&mut self, found: Vec<OpenFinding>, layers: Layers, writers: &[WriterProcess]) -> usize {
        let now_s = seconds_now();
        self.counts.questions += 1;
        self.counts.checked_s = Some(now_s);
        let changes = self.reporting.memory.ledger.update(found, layers, now_s, writers);
        self.reporting.report(&self.configuration.watching, &changes)
    }

    fn end(&mut self, why: &str) {
        self.service.stopping();
        self.reporting.end(&self.configuration.watching);
        self.write(LineEvent::Stopped, why);
        self.save();
    }
}
