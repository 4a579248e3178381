//! Implements `watch --daemon`: when something changes that affects `check`, runs it again and reports changes to a log, the
//! journal and commands. Repairs lost settings if requested.
//!
//! One thread on housekeeping CPUs. It sleeps until a source reports something, or until the next periodic check.

mod metric_state;

pub use metric_state::metrics_text;

use crate::alerts::Alerts;
use crate::configuration::DaemonConfiguration;
use crate::folders::Folders;
use crate::memory::StateStore;
use crate::metrics::Metrics;
use crate::observation::{Observation, intended_isolation, run_check};
use crate::outlets::DaemonLog;
use crate::repairs::RepairState;
use crate::rounds::Rounds;
use crate::service::ServiceNotifier;
use crate::sources::Sources;
use crate::threads::Threads;
use crate::webhook::WebhookQueue;
use check::LayerName;
use metric_state::MetricCounts;
use plan::declared::Repair;
use root::{Failure, process};
use session::declared::DeclaredFile;
use session::own_process::{cpu_time, leave_cpus};
use session::{Session, seconds_now};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use watch::drift::{BucketLevel, Burst, Interval, Layers, LineEvent, LogLine, Notification, TokenBucket};

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

/// No checks run while a change of ours is under way. A change that was killed delays them no longer than this.
const PATIENCE: Duration = Duration::from_secs(15);

/// Runs until a signal ends it.
///
/// # Errors
/// No permission, another daemon, a configuration that cannot be used at the start.
pub fn run(options: &DaemonOptions, session: &Session) -> Result<(), Failure> {
    let _held = process::block_signals();
    let mut daemon = Daemon::start(session, options)?;
    session.note(&daemon.greeting());
    if let Some(trouble) = daemon.outlets.last_error() {
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
    cpus: Option<String>,
    configuration: DaemonConfiguration,
    memory: StateStore,
    metrics: Metrics,
    counts: MetricCounts,
    outlets: DaemonLog,
    alerts: Alerts,
    posts: WebhookQueue,
    repairing: RepairState,
    sources: Sources,
    threads: Threads,
    rounds: Rounds,
    folders: Folders,
    service: ServiceNotifier,
    burst: Burst,
    soon: Interval,
    seldom: Interval,
    check_bucket: TokenBucket,
    last_observation: Option<Observation>,
    /// Since when a change of ours has delayed checks.
    delayed_since: Option<Duration>,
    last_error: String,
}

impl<'s> Daemon<'s> {
    fn start(session: &'s Session, options: &DaemonOptions) -> Result<Daemon<'s>, Failure> {
        let configuration = DaemonConfiguration::read(session, Repair::All(options.repair))?;
        let outlets = DaemonLog::new(&options.log);
        outlets.place()?;
        let memory = StateStore::take(session)?;
        let sources = Sources::open(session.root())?;
        let mut daemon = Daemon {
            started: Instant::now(),
            cpus: options.cpus.clone(),
            outlets,
            metrics: Metrics::default(),
            counts: MetricCounts::default(),
            alerts: Alerts::default(),
            posts: WebhookQueue::default(),
            repairing: RepairState::default(),
            threads: Threads::default(),
            rounds: Rounds::new(session),
            folders: Folders::default(),
            service: ServiceNotifier::find(),
            burst: Burst::default(),
            soon: Interval::QUESTIONS,
            seldom: Interval::FEWER_QUESTIONS,
            check_bucket: TokenBucket::QUESTIONS,
            last_observation: None,
            delayed_since: None,
            last_error: String::new(),
            configuration,
            memory,
            sources,
            session,
        };
        let before = cpu_time();
        // Errors in CPUs or declarations end the daemon here, while the user is watching.
        let looked = run_check(
            session,
            daemon.cpus.as_deref(),
            &daemon.configuration,
            Layers::all(),
            None,
        )?;
        daemon.write_line(LogLine::new(seconds_now(), LineEvent::Started, daemon.opening(&looked)));
        daemon.outlets.check_first_write()?;
        daemon.drop_below_level();
        let missing = daemon.sources.missing();
        for line in missing {
            daemon.write_line(LogLine::new(seconds_now(), LineEvent::Source, line));
        }
        daemon.take(looked, Layers::all(), &[]);
        daemon
            .rounds
            .record_full_check(daemon.now(), cpu_time().saturating_sub(before));
        daemon.update_metrics();
        daemon.save();
        Ok(daemon)
    }

    fn opening(&self, looked: &Observation) -> String {
        let cpus = looked.intention.cpus();
        format!(
            "process {} watches CPU {} (said by {}); it runs on CPU {}; sources: {}",
            std::process::id(),
            if cpus.is_empty() {
                "none".to_owned()
            } else {
                cpus.to_string()
            },
            looked.intention.source.text(),
            session::own_process::allowed(self.session.root()).minus(&cpus),
            self.sources.names()
        )
    }

    /// Saves the state, so that after a crash the next daemon does not report it as news.
    fn save(&mut self) {
        self.memory
            .save(&self.sources, &self.configuration, &self.outlets, &self.last_error);
    }

    fn greeting(&self) -> String {
        format!(
            "watching; findings that stand now: {}. Log: {}. SIGHUP reads {} again, SIGTERM ends it\n",
            self.memory.ledger.standing.len(),
            report::safe(&self.outlets.path()),
            plan::declared::PATH
        )
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Serves until a signal ends it, and returns which one.
    fn serve(&mut self) -> String {
        self.service.ready();
        let mut turn_start = cpu_time();
        loop {
            let wait = self.wait();
            self.sources.wait(self.now(), wait);
            if let Some(why) = self.signals() {
                return why;
            }
            self.receive();
            let cpu_before = cpu_time();
            self.check_unreported();
            let now = self.now();
            if self
                .burst
                .check_time(self.ready(now))
                .is_some_and(|check_time| check_time <= now)
                && !self.is_delayed(now)
            {
                self.check();
            }
            let cpu_after = cpu_time();
            for line in self
                .alerts
                .tend(self.now(), cpu_time)
                .into_iter()
                .chain(self.posts.tend())
            {
                self.write_line(LogLine::new(seconds_now(), LineEvent::Alert, line));
            }
            self.report_outlets();
            self.update_metrics();
            self.save();
            self.service.notify_if_due(now);
            // Scans and checks are not counted: they have their own intervals.
            let spent = cpu_time();
            let turn = cpu_before.saturating_sub(turn_start) + spent.saturating_sub(cpu_after);
            self.sources.delay_writes(self.now(), turn);
            turn_start = spent;
        }
    }

    /// The earliest time of the next check.
    fn ready(&self, now: Duration) -> Duration {
        match self.check_bucket.level(now) {
            BucketLevel::Ample => self.soon.next_run(),
            BucketLevel::Short => self.seldom.next_run(),
        }
    }

    fn wait(&self) -> Duration {
        let now = self.now();
        let times = [
            self.burst.check_time(self.ready(now)),
            Some(self.rounds.next_round()),
            Some(self.threads.next_sweep(now)),
            self.folders.next_check(),
            self.service.next_notification(),
            (self.alerts.is_busy() || self.posts.is_busy()).then(|| now + Duration::from_millis(100)),
        ];
        let next = times.into_iter().flatten().min().unwrap_or(now);
        // Overdue checks that are delayed are retried soon, but not immediately.
        next.saturating_sub(now).max(Duration::from_millis(5))
    }

    fn signals(&mut self) -> Option<String> {
        while let Some(signal) = self.sources.signal() {
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
        let (burst, threads, root, counts) = (
            &mut self.burst,
            &mut self.threads,
            self.session.root(),
            &mut self.counts,
        );
        self.sources.take(self.session, now, &mut |event| match event {
            crate::sources::SourceEvent::Process(process) => {
                if threads.process_event(root, process) {
                    burst.add(now, Notification::Thread);
                }
            }
            crate::sources::SourceEvent::Notification(happening) => {
                counts.lost += u64::from(happening == Notification::Lost);
                burst.add(now, happening);
            }
        });
    }

    /// Checks what no source reports.
    fn check_unreported(&mut self) {
        let now = self.now();
        if self.threads.next_sweep(now) <= now && self.threads.sweep(self.session.root(), now, cpu_time) {
            self.burst.add(now, Notification::Thread);
        }
        if self.folders.check(self.session.root(), now) {
            let layers = Layers::named(&[LayerName::Partition, LayerName::Tasks, LayerName::Knobs]);
            self.burst.add(now, Notification::Round(layers));
        }
        if self.rounds.next_round() > now {
            return;
        }
        let before = cpu_time();
        if self.configuration.is_changed(self.session) {
            self.reload();
        }
        let round = self.rounds.go(self.session, now);
        if !round.notifications.is_empty() {
            self.sources.listen_to_files(self.session.root());
        }
        for happening in round.notifications {
            self.burst.add(now, happening);
        }
        if let (Some(looked), Some(activity)) = (&self.last_observation, round.activity) {
            let (found, checked) = looked.effects(activity, &self.configuration.watching);
            self.update(found, checked, &[]);
        }
        self.rounds.counted(self.now(), cpu_time().saturating_sub(before));
    }

    fn reload(&mut self) {
        let (session, cpus, looked) = (self.session, self.cpus.as_deref(), self.last_observation.as_ref());
        let fits = |file: Option<&DeclaredFile>| match looked {
            Some(looked) => intended_isolation(session, &looked.machine, cpus, file).map(drop),
            None => intended_isolation(session, &session.machine(), cpus, file).map(drop),
        };
        let former = self.configuration.error.clone();
        let line = match self.configuration.reload(session, &fits) {
            Ok(()) => format!("{} was read again", plan::declared::PATH),
            Err(error) => format!("the old one stays in force: {}", error.reason()),
        };
        let line = LogLine::new(seconds_now(), LineEvent::Configuration, line);
        // The receivers of alerts must know that a different configuration is checked than the file's, and when that ends.
        if self.configuration.error != former {
            self.alert(&line);
        }
        self.write_line(line);
        self.drop_below_level();
        self.burst.add(self.now(), Notification::Intention);
    }

    /// Sends a line to all receivers of alerts.
    fn alert(&mut self, line: &LogLine) {
        let text = watch::drift::text(line);
        self.alerts.add(&self.configuration.watching.alert, &text);
        self.posts.add(self.configuration.watching.webhook.as_ref(), &text);
    }

    /// Whether a change of ours is under way: it would be found incomplete.
    fn is_delayed(&mut self, now: Duration) -> bool {
        if !self.session.is_change_under_way() {
            self.delayed_since = None;
            return false;
        }
        let since = *self.delayed_since.get_or_insert(now);
        let is_patient = now.saturating_sub(since) < PATIENCE;
        if is_patient {
            self.soon.record_run(now, Duration::ZERO);
        }
        is_patient
    }

    fn check(&mut self) {
        let before = cpu_time();
        let request = self.burst.take();
        let last = self.last_observation.take();
        let mut news = 0;
        match run_check(
            self.session,
            self.cpus.as_deref(),
            &self.configuration,
            request.layers,
            last,
        ) {
            Ok(looked) => {
                if !std::mem::take(&mut self.last_error).is_empty() {
                    let line = LogLine::new(seconds_now(), LineEvent::Trouble, "check answers again");
                    self.alert(&line);
                    self.write_line(line);
                }
                news = self.take(looked, request.layers, &request.writers);
            }
            Err(error) => {
                let line = format!("check: {}: {}", error.what, error.why);
                if self.last_error != line {
                    self.last_error.clone_from(&line);
                    let line = LogLine::new(seconds_now(), LineEvent::Trouble, line);
                    self.alert(&line);
                    self.write_line(line);
                }
                // Layers that were not checked must still be checked.
                self.burst.add(self.now(), Notification::Round(request.layers));
            }
        }
        let now = self.now();
        let cost = cpu_time().saturating_sub(before);
        self.memory.check_counters.count(request.layers, cost);
        self.soon.record_run(now, cost);
        // A check with news does not delay the next one.
        if news == 0 {
            self.seldom.record_run(now, cost);
            self.check_bucket.spend(now, cost);
        }
        if request.layers == Layers::all() {
            self.rounds.record_full_check(now, cost);
            // The state counts checks up to the last full round, even if that found nothing new.
            self.memory.is_new = true;
        }
    }

    /// Processes a result, and returns how much of it is news.
    fn take(&mut self, looked: Observation, layers: Layers, writers: &[watch::drift::WriterProcess]) -> usize {
        leave_cpus(self.session.root(), &looked.intention.cpus());
        let isolations = looked.intention.isolations.iter();
        let names = isolations.map(|isolation| isolation.intent.name.as_str());
        self.folders.know(self.session.root(), &looked.machine, names);
        if let Some(tasks) = looked.machine.tasks.as_ref().filter(|_| layers.has(LayerName::Tasks)) {
            self.threads.know(self.session.root(), tasks, &looked.intention.cpus());
        }
        let findings = looked.reported_findings(&self.configuration.watching);
        let news = self.update(findings, layers, writers);
        let lines = self
            .repairing
            .repair(self.session, &looked, &self.configuration.watching);
        if !lines.is_empty() {
            self.burst.add(self.now(), Notification::Round(layers));
            self.rounds.repaired(self.session);
        }
        for line in lines {
            self.write_line(line);
        }
        self.last_observation = Some(looked);
        news
    }

    fn update(
        &mut self,
        found: Vec<watch::drift::OpenFinding>,
        layers: Layers,
        writers: &[watch::drift::WriterProcess],
    ) -> usize {
        let now_s = seconds_now();
        self.counts.questions += 1;
        self.counts.checked_s = Some(now_s);
        let changes = self.memory.ledger.update(found, layers, now_s, writers);
        self.report(changes)
    }

    /// Drops findings below the level, which were above it when they appeared.
    fn drop_below_level(&mut self) {
        let changes = self.memory.ledger.drop_below(self.configuration.watching.level);
        self.report(changes);
    }

    /// Reports changes, and returns how many there were.
    fn report(&mut self, changes: Vec<watch::drift::FindingChange>) -> usize {
        let now_s = seconds_now();
        let news = changes.len();
        for change in changes {
            let line = watch::drift::of_change(&change, now_s);
            if !matches!(change, watch::drift::FindingChange::Changed(_)) {
                self.alert(&line);
            }
            self.write_line(line);
        }
        news
    }

    fn write_line(&mut self, line: LogLine) {
        self.outlets.write_line(&line, self.configuration.watching.journal);
        self.memory.is_new = true;
    }

    /// Logs the recovery of a log that could not be written.
    fn report_outlets(&mut self) {
        if let Some(line) = self.outlets.recovered(seconds_now()) {
            self.write_line(line);
        }
    }

    fn end(&mut self, why: &str) {
        self.service.stopping();
        self.alerts.end();
        for line in self.posts.end() {
            self.write_line(LogLine::new(seconds_now(), LineEvent::Alert, line));
        }
        self.write_line(LogLine::new(seconds_now(), LineEvent::Stopped, why));
        self.save();
    }
}
