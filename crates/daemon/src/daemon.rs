//! Implements `watch --daemon`: when something changes that affects `check`, runs it again and reports changes to a log, the
//! journal and commands. Repairs lost settings if requested.
//!
//! One thread on housekeeping CPUs. It sleeps until a source reports something, or until the next periodic check.

mod metric_state;

pub use metric_state::metrics_text;

use crate::alerts::Alerts;
use crate::configuration::Configuration;
use crate::folders::Folders;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::observation::{Observation, look, wanted};
use crate::outlets::Outlets;
use crate::repairs::Repairing;
use crate::rounds::Rounds;
use crate::service::Service;
use crate::sources::Sources;
use crate::threads::Threads;
use crate::webhook::Posts;
use check::LayerName;
use metric_state::Counts;
use plan::declared::Repair;
use root::{Failure, process};
use session::declared::DeclaredFile;
use session::own_process::{cpu_time, step_aside};
use session::{Session, seconds_now};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use watch::drift::{BucketLevel, Burst, Interval, Layers, Line, LineEvent, Notification, TokenBucket};

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
    let _held = process::hold_signals();
    let mut daemon = Daemon::begin(session, options)?;
    session.note(&daemon.greeting());
    if let Some(trouble) = daemon.outlets.trouble() {
        session.note(&format!(
            "note: the log cannot be written now: {}\n",
            report::safe(&trouble)
        ));
    }
    let ended = daemon.attend();
    daemon.end(&ended);
    Ok(())
}

struct Daemon<'s> {
    session: &'s Session,
    begun: Instant,
    cpus: Option<String>,
    configuration: Configuration,
    memory: Memory,
    metrics: Metrics,
    counts: Counts,
    outlets: Outlets,
    alerts: Alerts,
    posts: Posts,
    repairing: Repairing,
    sources: Sources,
    threads: Threads,
    rounds: Rounds,
    folders: Folders,
    service: Service,
    burst: Burst,
    soon: Interval,
    seldom: Interval,
    purse: TokenBucket,
    looked: Option<Observation>,
    /// Since when a change of ours has delayed checks.
    held_up: Option<Duration>,
    trouble: String,
}

impl<'s> Daemon<'s> {
    fn begin(session: &'s Session, options: &DaemonOptions) -> Result<Daemon<'s>, Failure> {
        let configuration = Configuration::read(session, Repair::All(options.repair))?;
        let outlets = Outlets::new(&options.log);
        outlets.place()?;
        let memory = Memory::take(session)?;
        let sources = Sources::open(session.root())?;
        let mut daemon = Daemon {
            begun: Instant::now(),
            cpus: options.cpus.clone(),
            outlets,
            metrics: Metrics::default(),
            counts: Counts::default(),
            alerts: Alerts::default(),
            posts: Posts::default(),
            repairing: Repairing::default(),
            threads: Threads::default(),
            rounds: Rounds::new(session),
            folders: Folders::default(),
            service: Service::find(),
            burst: Burst::default(),
            soon: Interval::QUESTIONS,
            seldom: Interval::FEWER_QUESTIONS,
            purse: TokenBucket::QUESTIONS,
            looked: None,
            held_up: None,
            trouble: String::new(),
            configuration,
            memory,
            sources,
            session,
        };
        let before = cpu_time();
        // Errors in CPUs or declarations end the daemon here, while the user is watching.
        let looked = look(
            session,
            daemon.cpus.as_deref(),
            &daemon.configuration,
            Layers::all(),
            None,
        )?;
        daemon.say(Line::new(
            seconds_now(),
            LineEvent::Started,
            daemon.opening(&looked),
        ));
        daemon.outlets.check_first_write()?;
        daemon.let_go();
        let missing = daemon.sources.missing();
        for line in missing {
            daemon.say(Line::new(seconds_now(), LineEvent::Source, line));
        }
        daemon.take(looked, Layers::all(), &[]);
        daemon
            .rounds
            .asked_all(daemon.now(), cpu_time().saturating_sub(before));
        daemon.tell_metrics();
        daemon.keep();
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
    fn keep(&mut self) {
        self.memory
            .keep(&self.sources, &self.configuration, &self.outlets, &self.trouble);
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
        self.begun.elapsed()
    }

    /// Serves until a signal ends it, and returns which one.
    fn attend(&mut self) -> String {
        self.service.ready();
        let mut turn_began = cpu_time();
        loop {
            let wait = self.wait();
            self.sources.wait(self.now(), wait);
            if let Some(why) = self.signals() {
                return why;
            }
            self.hear();
            let heard = cpu_time();
            self.look_around();
            let now = self.now();
            if self.burst.due(self.ready(now)).is_some_and(|due| due <= now) && !self.is_held_up(now) {
                self.ask();
            }
            let asked = cpu_time();
            for line in self
                .alerts
                .tend(self.now(), cpu_time)
                .into_iter()
                .chain(self.posts.tend())
            {
                self.say(Line::new(seconds_now(), LineEvent::Alert, line));
            }
            self.tell_outlets();
            self.tell_metrics();
            self.keep();
            self.service.alive(now);
            // Scans and checks are not counted: they have their own intervals.
            let spent = cpu_time();
            let turn = heard.saturating_sub(turn_began) + spent.saturating_sub(asked);
            self.sources.pace_writes(self.now(), turn);
            turn_began = spent;
        }
    }

    /// The earliest time of the next check.
    fn ready(&self, now: Duration) -> Duration {
        match self.purse.level(now) {
            BucketLevel::Ample => self.soon.due(),
            BucketLevel::Short => self.seldom.due(),
        }
    }

    fn wait(&self) -> Duration {
        let now = self.now();
        let times = [
            self.burst.due(self.ready(now)),
            Some(self.rounds.due()),
            Some(self.threads.due(now)),
            self.folders.due(),
            self.service.due(),
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
                    return Some(
                        if signal == libc::SIGTERM {
                            "SIGTERM"
                        } else {
                            "SIGINT"
                        }
                        .to_owned(),
                    );
                }
                libc::SIGHUP => self.reload(),
                _ => {}
            }
        }
        None
    }

    fn hear(&mut self) {
        let now = self.now();
        let (burst, threads, root, counts) = (
            &mut self.burst,
            &mut self.threads,
            self.session.root(),
            &mut self.counts,
        );
        self.sources.take(self.session, now, &mut |told| match told {
            crate::sources::Told::Process(process) => {
                if threads.told(root, process) {
                    burst.add(now, Notification::Thread);
                }
            }
            crate::sources::Told::Notification(happening) => {
                counts.lost += u64::from(happening == Notification::Lost);
                burst.add(now, happening);
            }
        });
    }

    /// Checks what no source reports.
    fn look_around(&mut self) {
        let now = self.now();
        if self.threads.due(now) <= now && self.threads.sweep(self.session.root(), now, cpu_time) {
            self.burst.add(now, Notification::Thread);
        }
        if self.folders.look(self.session.root(), now) {
            let layers = Layers::named(&[LayerName::Partition, LayerName::Tasks, LayerName::Knobs]);
            self.burst.add(now, Notification::Round(layers));
        }
        if self.rounds.due() > now {
            return;
        }
        let before = cpu_time();
        if self.configuration.is_changed(self.session) {
            self.reload();
        }
        let round = self.rounds.go(self.session, now);
        if !round.happenings.is_empty() {
            self.sources.listen_to_files(self.session.root());
        }
        for happening in round.happenings {
            self.burst.add(now, happening);
        }
        if let (Some(looked), Some(activity)) = (&self.looked, round.activity) {
            let (found, asked) = looked.effects(activity, &self.configuration.watching);
            self.update(found, asked, &[]);
        }
        self.rounds.counted(self.now(), cpu_time().saturating_sub(before));
    }

    fn reload(&mut self) {
        let (session, cpus, looked) = (self.session, self.cpus.as_deref(), self.looked.as_ref());
        let fits = |file: Option<&DeclaredFile>| match looked {
            Some(looked) => wanted(session, &looked.machine, cpus, file).map(drop),
            None => wanted(session, &session.machine(), cpus, file).map(drop),
        };
        let former = self.configuration.error.clone();
        let line = match self.configuration.reload(session, &fits) {
            Ok(()) => format!("{} was read again", plan::declared::PATH),
            Err(error) => format!("the old one stays in force: {}", error.reason()),
        };
        let line = Line::new(seconds_now(), LineEvent::Configuration, line);
        // The receivers of alerts must know that a different configuration is checked than the file's, and when that ends.
        if self.configuration.error != former {
            self.alert(&line);
        }
        self.say(line);
        self.let_go();
        self.burst.add(self.now(), Notification::Intention);
    }

    /// Sends a line to all receivers of alerts.
    fn alert(&mut self, line: &Line) {
        let text = watch::drift::text(line);
        self.alerts.add(&self.configuration.watching.alert, &text);
        self.posts
            .add(self.configuration.watching.webhook.as_ref(), &text);
    }

    /// Whether a change of ours is under way: it would be found incomplete.
    fn is_held_up(&mut self, now: Duration) -> bool {
        if !self.session.is_change_under_way() {
            self.held_up = None;
            return false;
        }
        let since = *self.held_up.get_or_insert(now);
        let is_patient = now.saturating_sub(since) < PATIENCE;
        if is_patient {
            self.soon.done(now, Duration::ZERO);
        }
        is_patient
    }

    fn ask(&mut self) {
        let before = cpu_time();
        let asked = self.burst.take();
        let last = self.looked.take();
        let mut news = 0;
        match look(
            self.session,
            self.cpus.as_deref(),
            &self.configuration,
            asked.layers,
            last,
        ) {
            Ok(looked) => {
                if !std::mem::take(&mut self.trouble).is_empty() {
                    let line = Line::new(seconds_now(), LineEvent::Trouble, "check answers again");
                    self.alert(&line);
                    self.say(line);
                }
                news = self.take(looked, asked.layers, &asked.writers);
            }
            Err(error) => {
                let line = format!("check: {}: {}", error.what, error.why);
                if self.trouble != line {
                    self.trouble.clone_from(&line);
                    let line = Line::new(seconds_now(), LineEvent::Trouble, line);
                    self.alert(&line);
                    self.say(line);
                }
                // Layers that were not checked must still be checked.
                self.burst.add(self.now(), Notification::Round(asked.layers));
            }
        }
        let now = self.now();
        let cost = cpu_time().saturating_sub(before);
        self.memory.asked.count(asked.layers, cost);
        self.soon.done(now, cost);
        // A check with news does not delay the next one.
        if news == 0 {
            self.seldom.done(now, cost);
            self.purse.spend(now, cost);
        }
        if asked.layers == Layers::all() {
            self.rounds.asked_all(now, cost);
            // The state counts checks up to the last full round, even if that found nothing new.
            self.memory.is_new = true;
        }
    }

    /// Processes a result, and returns how much of it is news.
    fn take(&mut self, looked: Observation, asked: Layers, writers: &[watch::drift::Writer]) -> usize {
        step_aside(self.session.root(), &looked.intention.cpus());
        let wishes = looked.intention.wishes.iter();
        let names = wishes.map(|wish| wish.intent.name.as_str());
        self.folders.know(self.session.root(), &looked.machine, names);
        if let Some(tasks) = looked
            .machine
            .tasks
            .as_ref()
            .filter(|_| asked.has(LayerName::Tasks))
        {
            self.threads
                .know(self.session.root(), tasks, &looked.intention.cpus());
        }
        let kept = looked.kept(&self.configuration.watching);
        let news = self.update(kept, asked, writers);
        let lines = self
            .repairing
            .repair(self.session, &looked, &self.configuration.watching);
        if !lines.is_empty() {
            self.burst.add(self.now(), Notification::Round(asked));
            self.rounds.repaired(self.session);
        }
        for line in lines {
            self.say(line);
        }
        self.looked = Some(looked);
        news
    }

    fn update(
        &mut self,
        found: Vec<watch::drift::OpenFinding>,
        asked: Layers,
        writers: &[watch::drift::Writer],
    ) -> usize {
        let now_s = seconds_now();
        self.counts.questions += 1;
        self.counts.checked_s = Some(now_s);
        let changes = self.memory.ledger.update(found, asked, now_s, writers);
        self.tell(changes)
    }

    /// Drops findings below the level, which were above it when they appeared.
    fn let_go(&mut self) {
        let changes = self.memory.ledger.drop_below(self.configuration.watching.level);
        self.tell(changes);
    }

    /// Reports changes, and returns how many there were.
    fn tell(&mut self, changes: Vec<watch::drift::Change>) -> usize {
        let now_s = seconds_now();
        let news = changes.len();
        for change in changes {
            let line = watch::drift::of_change(&change, now_s);
            if !matches!(change, watch::drift::Change::Changed(_)) {
                self.alert(&line);
            }
            self.say(line);
        }
        news
    }

    fn say(&mut self, line: Line) {
        self.outlets.say(&line, self.configuration.watching.journal);
        self.memory.is_new = true;
    }

    /// Logs the recovery of a log that could not be written.
    fn tell_outlets(&mut self) {
        if let Some(line) = self.outlets.recovered(seconds_now()) {
            self.say(line);
        }
    }

    fn end(&mut self, why: &str) {
        self.service.stopping();
        self.alerts.end();
        for line in self.posts.end() {
            self.say(Line::new(seconds_now(), LineEvent::Alert, line));
        }
        self.say(Line::new(seconds_now(), LineEvent::Stopped, why));
        self.keep();
    }
}
