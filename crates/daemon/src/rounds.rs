//! Rounds: what no source tells of is looked at again and again, as seldom as its cost asks for.

use observe::{Activity, Sample, activity};
use session::Session;
use std::time::Duration;
use watch::drift::{Interval, Layers, Notification};

/// What is looked at, and when.
pub struct Rounds {
    counters: Interval,
    files: Interval,
    before: Sample,
    journal: Option<u64>,
}

/// What a round saw.
#[derive(Default)]
pub struct Round {
    /// What is to be asked for it.
    pub happenings: Vec<Notification>,
    /// What was counted since the last one.
    pub activity: Option<Activity>,
}

impl Rounds {
    /// Begins.
    pub fn new(session: &Session) -> Rounds {
        Rounds {
            counters: Interval::COUNTERS,
            files: Interval::FILES,
            before: Sample::take(session.root()),
            journal: journal(session),
        }
    }

    /// When the next one is due.
    pub fn due(&self) -> Duration {
        self.counters.due()
    }

    /// Looks. What it took is to be told with [`Rounds::counted`].
    pub fn go(&mut self, session: &Session, now: Duration) -> Round {
        let mut round = Round::default();
        let length = journal(session);
        if length != self.journal {
            self.journal = length;
            round.happenings.push(Notification::Intention);
        }
        let sample = Sample::take(session.root());
        let names = |sample: &Sample| -> Vec<String> {
            sample
                .interrupts
                .iter()
                .flat_map(|table| table.rows.keys().cloned())
                .collect()
        };
        if names(&sample) != names(&self.before) {
            round.happenings.push(Notification::Interrupts);
        }
        round.activity = Some(activity(&self.before, &sample));
        self.before = sample;
        if self.files.due() <= now {
            self.files.done(now, Duration::ZERO);
            round.happenings.push(Notification::Round(Layers::all()));
        }
        round
    }
}

impl Rounds {
    /// The counters were read, and what they say was judged, at this cost.
    pub fn counted(&mut self, now: Duration, cost: Duration) {
        self.counters.done(now, cost);
    }

    /// The journal has grown by what we repaired: what is wanted is as before, and nobody has to ask for all of it.
    pub fn repaired(&mut self, session: &Session) {
        self.journal = journal(session);
    }

    /// Every layer was asked, at this cost: a round of files is nothing less.
    pub fn asked_all(&mut self, now: Duration, cost: Duration) {
        self.files.done(now, cost);
    }
}

/// The length of the journal of what was applied: it grows with every change, and is put away with the last.
fn journal(session: &Session) -> Option<u64> {
    let state = session.state().ok().flatten()?;
    state.size("journal").ok().flatten()
}
