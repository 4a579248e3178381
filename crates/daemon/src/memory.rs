//! Saves the state for the next daemon and for the user, in `/run/quietcore/watch/state`, under its own lock.

use crate::configuration::DaemonConfiguration;
use crate::outlets::DaemonLog;
use crate::sources::Sources;
use root::Failure;
use root::state::{Lock, RUN_DIR, StateDir};
use serde::{Deserialize, Serialize};
use session::{Session, seconds_now};
use std::time::Duration;
use watch::drift::{Layers, Ledger};

/// The file name in [`RUN_DIR`].
const NAME: &str = "state";

/// The directory, locked.
pub struct StateStore {
    /// The open findings.
    pub ledger: Ledger,
    /// The counters of checks.
    pub check_counters: CheckStats,
    /// Something was reported since the state was written.
    pub is_new: bool,
    /// The start of the daemon, in seconds since 1970.
    pub started_s: u64,
    state: StateDir,
    _lock: Lock,
}

/// The content of the file. Fields may be added.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateDocument<'a> {
    schema: &'static str,
    /// Process of the daemon.
    pid: u32,
    /// Its start, in seconds since 1970.
    started_s: u64,
    /// Sources, and the error of each.
    sources: Vec<(&'static str, String)>,
    /// The error of the configuration.
    configuration: Option<&'a str>,
    /// The error of the log.
    log: Option<String>,
    /// Why checks fail.
    trouble: Option<&'a str>,
    /// The counters of checks.
    asked: CheckStats,
    /// The open findings.
    findings: &'a Ledger,
}

/// How often `check` ran, and its cost.
#[derive(Clone, Copy, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckStats {
    /// The number of all checks.
    pub questions: u64,
    /// Of these, checks of every layer.
    pub rounds: u64,
    /// Their CPU time, including repairs, in milliseconds.
    pub spent_ms: u64,
    /// The CPU time of the most expensive one, in milliseconds.
    pub longest_ms: u64,
}

impl CheckStats {
    /// Counts a check of these layers at this cost.
    pub fn count(&mut self, layers: Layers, cost: Duration) {
        let cost_ms = u64::try_from(cost.as_millis()).unwrap_or(u64::MAX);
        self.questions = self.questions.saturating_add(1);
        self.rounds = self.rounds.saturating_add(u64::from(layers == Layers::all()));
        self.spent_ms = self.spent_ms.saturating_add(cost_ms);
        self.longest_ms = self.longest_ms.max(cost_ms);
    }
}

/// The part that the next daemon reads.
#[derive(Deserialize)]
struct PreviousState {
    findings: Ledger,
}

impl StateStore {
    /// Takes the lock, and the state of an earlier daemon of this boot.
    ///
    /// # Errors
    /// No permission; another running daemon.
    pub fn take(session: &Session) -> Result<StateStore, Failure> {
        let state = session.made_state_in("watch")?;
        let lock = state.lock(Duration::ZERO).map_err(|error| match error.errno() {
            Some(_) => error.into(),
            None => Failure::conflict(
                "another `quietcore watch --daemon` is running",
                format!("it is {}", state.holder()),
                format!(
                    "one is enough; `quietcore check` checks once, and {RUN_DIR}/watch/{NAME} contains its open \
                     findings"
                ),
            ),
        })?;
        // A state that cannot be parsed (of another version, or truncated by a crash of the machine) is discarded.
        let left = state.read(NAME).ok().flatten();
        let ledger = left
            .and_then(|bytes| serde_json::from_slice::<PreviousState>(&bytes).ok())
            .map(|left| left.findings);
        Ok(StateStore {
            ledger: ledger.unwrap_or_default(),
            check_counters: CheckStats::default(),
            is_new: true,
            state,
            started_s: seconds_now(),
            _lock: lock,
        })
    }

    /// Writes the state if something was reported since.
    pub fn save(&mut self, sources: &Sources, configuration: &DaemonConfiguration, outlets: &DaemonLog, trouble: &str) {
        if !std::mem::take(&mut self.is_new) {
            return;
        }
        let shown = StateDocument {
            schema: "quietcore.watch-state/1",
            pid: std::process::id(),
            started_s: self.started_s,
            sources: sources.errors_by_source(),
            configuration: configuration.error.as_deref(),
            log: outlets.last_error(),
            trouble: (!trouble.is_empty()).then_some(trouble),
            asked: self.check_counters,
            findings: &self.ledger,
        };
        // Numbers and text always serialize. A full `/run` loses only the state: the log has everything.
        if let Ok(text) = serde_json::to_vec_pretty(&shown) {
            let _ = self.state.replace(NAME, &text);
        }
    }
}
