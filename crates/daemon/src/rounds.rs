//! Repeats checks of what no source reports, as rarely as their cost requires.

use observe::{Activity, CounterSample, activity};
use session::Session;
use std::time::Duration;
use watch::drift::{Interval, Layers, Notification};

/// What is checked, and when.
pub struct Rounds {
    counters: Interval,
    files: Interval,
    before: CounterSample,
    journal: Option<u64>,
}

/// The result of a round.
#[derive(Default)]
pub struct Round {
    /// The checks that it requires.
    pub notifications: Vec<Notification>,
    /// The counts since the last round.
    pub activity: Option<Activity>,
}

impl Rounds {
    /// Starts the rounds.
    pub fn new(session: &Session) -> Rounds {
        Rounds {
            counters: Interval::COUNTERS,
            files: Interval::FILES,
            before: CounterSample::take(session.root()),
            journal: journal(session),
        }
    }

    /// The time of the next round.
    pub fn next_round(&self) -> Duration {
        self.counters.next_run()
    }

    /// Runs a round. The caller reports its cost with [`Rounds::counted`].
    pub fn go(&mut self, session: &Session, now: Duration) -> Round {
        let mut round = Round::default();
        let length = journal(session);
        if length != self.journal {
            self.journal = length;
            round.notifications.push(Notification::Intention);
        }
        let sample = CounterSample::take(session.root());
        let names = |sample: &CounterSample| -> Vec<String> {
            sample
                .interrupts
                .iter()
                .flat_map(|table| table.rows.keys().cloned())
                .collect()
        };
        if names(&sample) != names(&self.before) {
            round.notifications.push(Notification::Interrupts);
        }
        round.activity = Some(activity(&self.before, &sample));
        self.before = sample;
        if self.files.next_run() <= now {
            self.files.record_run(now, Duration::ZERO);
            round.notifications.push(Notification::Round(Layers::all()));
        }
        round
    }

    /// Records the cost of reading and evaluating the counters.
    pub fn counted(&mut self, now: Duration, cost: Duration) {
        self.counters.record_run(now, cost);
    }

    /// Our repair extended the journal: the intended isolation is unchanged and needs no full check.
    pub fn repaired(&mut self, session: &Session) {
        self.journal = journal(session);
    }

    /// Records a check of every layer, and its cost: it replaces a round of files.
    pub fn record_full_check(&mut self, now: Duration, cost: Duration) {
        self.files.record_run(now, cost);
    }
}

/// The length of the journal of what was applied. It grows with every change, and the journal is removed with the last.
fn journal(session: &Session) -> Option<u64> {
    let state = session.state().ok().flatten()?;
    state.size("journal").ok().flatten()
}
