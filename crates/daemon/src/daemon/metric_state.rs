//! Hands the daemon's state to its metrics.

use super::Daemon;
use crate::observation::{examine_cpus, kept};
use check::Intention;
use observe::Sample;
use root::Failure;
use session::{Session, seconds_now};
use std::time::Duration;
use watch::drift::{Line, LineEvent};
use watch::metrics::{self, Form, Since, Totals, Wanted, exposition};

/// Counters that only the metrics need.
#[derive(Default)]
pub struct Counts {
    /// The number of checks.
    pub questions: u64,
    /// How often a source dropped something.
    pub lost: u64,
    /// The time of the last check, in seconds since 1970.
    pub checked_s: Option<u64>,
}

/// The CPUs meant to be isolated, by partition.
pub fn wanted(intention: &Intention) -> Vec<Wanted> {
    let of = |wish: &check::Wish| Wanted {
        partition: wish.intent.name.as_str().to_owned(),
        cpus: wish.intent.cpus.clone(),
        is_isolated: wish.means.isolates(),
    };
    intention.wishes.iter().map(of).collect()
}

impl Daemon<'_> {
    /// Starts metrics as the configuration requests, and hands over new state. Runs after each turn, before the state is
    /// written, while `memory.is_new` still shows whether the findings changed.
    pub(super) fn tell_metrics(&mut self) {
        let mut lines = self.metrics.follow(self.session, &self.configuration);
        // An outlet that has just started has no state yet.
        let is_new = self.memory.is_new || !lines.is_empty();
        lines.extend(self.metrics.lines());
        for line in lines {
            self.say(Line::new(seconds_now(), LineEvent::Metrics, line));
        }
        self.metrics.know(|known| {
            let daemon = known.daemon.get_or_insert_default();
            daemon.started_s = self.memory.started_s;
            daemon.questions = self.counts.questions;
            daemon.lost = self.counts.lost;
            daemon.log_lines_lost = self.outlets.lost_ever;
            daemon.configuration_error.clone_from(&self.configuration.error);
            known.checked_s = self.counts.checked_s;
            if !is_new {
                return;
            }
            let sources = self.sources.shown().into_iter();
            daemon.sources = sources
                .map(|(name, why)| (name.to_owned(), why.is_empty()))
                .collect();
            known.since = Since::Seen;
            known.level = Some(self.configuration.watching.level);
            known.ledger = self.memory.ledger.clone();
            known.version = env!("CARGO_PKG_VERSION").to_owned();
            if let Some(looked) = &self.looked {
                known.kernel = looked.machine.kernel.release.clone().unwrap_or_default();
                known.isolated = wanted(&looked.intention);
                known.said_by = looked.intention.source.text().to_owned();
            }
        });
    }
}

/// The metrics of a single check, as text. Effects are counted for `window`; the start of a finding is unknown.
///
/// # Errors
/// As `check`.
pub fn metrics_text(
    session: &Session,
    cpus: Option<&str>,
    window: Duration,
    form: Form,
) -> Result<String, Failure> {
    let examination = examine_cpus(session, cpus, window)?;
    let standing = examination.found.iter().map(kept).collect();
    let known = metrics::Known {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: examination.machine.kernel.release.clone().unwrap_or_default(),
        isolated: wanted(&examination.intention),
        said_by: examination.intention.source.text().to_owned(),
        level: Some(plan::Level::Info),
        ledger: watch::drift::Ledger { standing, more: 0 },
        since: Since::Unknown,
        checked_s: Some(seconds_now()),
        ..metrics::Known::default()
    };
    let mut totals = Totals::default();
    let root = session.root();
    totals.add(&Sample::take(root), observe::timeslices(root), &known.cpus());
    Ok(exposition(form, &known, &totals, seconds_now()))
}
