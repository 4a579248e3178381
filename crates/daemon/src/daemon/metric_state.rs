//! Hands the daemon's state to its metrics.

use super::Daemon;
use crate::observation::{examine_cpus, to_open_finding};
use check::Intention;
use observe::CounterSample;
use root::Failure;
use session::{Session, seconds_now};
use std::time::Duration;
use watch::drift::LineEvent;
use watch::metrics::{self, ActivityTotals, ExpositionFormat, FindingStart, IntendedPartition, exposition};

/// Counters that only the metrics need.
#[derive(Default)]
pub struct MetricCounts {
    /// The number of checks.
    pub questions: u64,
    /// How often a source dropped something.
    pub lost: u64,
    /// The time of the last check, in seconds since 1970.
    pub checked_s: Option<u64>,
}

/// The CPUs meant to be isolated, by partition.
pub fn intended_cpus(intention: &Intention) -> Vec<IntendedPartition> {
    let of = |isolation: &check::IntendedIsolation| IntendedPartition {
        partition: isolation.intent.name.as_str().to_owned(),
        cpus: isolation.intent.cpus.clone(),
        is_isolated: isolation.means.isolates(),
    };
    intention.isolations.iter().map(of).collect()
}

impl Daemon<'_> {
    /// Starts metrics as the configuration requests, and hands over new state. Runs after each turn, before the state is
    /// written, while `memory.is_new` still shows whether the findings changed.
    pub(super) fn update_metrics(&mut self) {
        let mut lines = self.metrics.follow(self.session, &self.configuration);
        // An outlet that has just started has no state yet.
        let is_new = self.reporting.memory.is_new || !lines.is_empty();
        lines.extend(self.metrics.lines());
        for line in lines {
            self.write(LineEvent::Metrics, line);
        }
        self.metrics.know(|known| {
            let daemon = known.daemon.get_or_insert_default();
            daemon.started_s = self.reporting.memory.started_s;
            daemon.questions = self.counts.questions;
            daemon.lost = self.counts.lost;
            daemon.log_lines_lost = self.reporting.log.lost_ever;
            daemon.configuration_error.clone_from(&self.configuration.error);
            known.checked_s = self.counts.checked_s;
            if !is_new {
                return;
            }
            let sources = self.observers.sources.errors_by_source().into_iter();
            daemon.sources = sources.map(|(name, why)| (name.to_owned(), why.is_empty())).collect();
            known.since = FindingStart::Seen;
            known.level = Some(self.configuration.watching.level);
            known.ledger = self.reporting.memory.ledger.clone();
            known.version = env!("CARGO_PKG_VERSION").to_owned();
            if let Some(looked) = &self.last_observation {
                known.kernel = looked.machine.kernel.release.clone().unwrap_or_default();
                known.isolated = intended_cpus(&looked.intention);
                known.source_text = looked.intention.source.text().to_owned();
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
    form: ExpositionFormat,
) -> Result<String, Failure> {
    let examination = examine_cpus(session, cpus, window)?;
    let findings = examination.found.iter().map(to_open_finding).collect();
    let known = metrics::MetricsState {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: examination.machine.kernel.release.clone().unwrap_or_default(),
        isolated: intended_cpus(&examination.intention),
        source_text: examination.intention.source.text().to_owned(),
        level: Some(plan::Level::Info),
        ledger: watch::drift::Ledger {
            standing: findings,
            more: 0,
        },
        since: FindingStart::Unknown,
        checked_s: Some(seconds_now()),
        ..metrics::MetricsState::default()
    };
    let mut totals = ActivityTotals::default();
    let root = session.root();
    totals.add(&CounterSample::take(root), observe::timeslices(root), &known.cpus());
    Ok(exposition(form, &known, &totals, seconds_now()))
}
