//! What a daemon leaves to the next one, and shows to who asks: `/run/quietcore/watch/state`, under a lock of its own.

use crate::configuration::Configuration;
use crate::outlets::Outlets;
use crate::sources::Sources;
use root::state::RUN_DIR;
use root::state::{Lock, StateDir};
use root::{Failure, Status};
use serde::{Deserialize, Serialize};
use session::Session;
use session::seconds_now;
use std::time::Duration;
use watch::drift::{Layers, Ledger};

/// In [`RUN_DIR`].
const NAME: &str = "state";

/// The directory, locked.
pub struct Memory {
    /// The findings that stand.
    pub ledger: Ledger,
    /// How often it asked.
    pub asked: Asked,
    /// Something was told since the state was written.
    pub is_new: bool,
    /// When the daemon began, in seconds since 1970.
    pub started_s: u64,
    state: StateDir,
    _lock: Lock,
}

/// The file. Fields may be added.
#[derive(Serialize)]
struct Shown<'a> {
    schema: &'static str,
    pid: u32,
    started_s: u64,
    /// Sources, and what is wrong with each.
    sources: Vec<(&'static str, String)>,
    /// What is wrong with the configuration.
    configuration: Option<&'a str>,
    /// What is wrong with the log.
    log: Option<String>,
    /// Why nothing is found.
    trouble: Option<&'a str>,
    /// How often it asked.
    asked: Asked,
    findings: &'a Ledger,
}

/// How often `check` was asked, and what that took.
#[derive(Clone, Copy, Default, Serialize)]
pub struct Asked {
    /// In all.
    pub questions: u64,
    /// Of these, for every layer.
    pub rounds: u64,
    /// What they have had of a CPU, repairs included, in milliseconds.
    pub spent_ms: u64,
    /// What the dearest of them has had, in milliseconds.
    pub longest_ms: u64,
}

impl Asked {
    /// One more, for these layers and at this cost.
    pub fn count(&mut self, layers: Layers, cost: Duration) {
        let cost_ms = u64::try_from(cost.as_millis()).unwrap_or(u64::MAX);
        self.questions = self.questions.saturating_add(1);
        self.rounds = self.rounds.saturating_add(u64::from(layers == Layers::all()));
        self.spent_ms = self.spent_ms.saturating_add(cost_ms);
        self.longest_ms = self.longest_ms.max(cost_ms);
    }
}

/// What the next daemon reads of it.
#[derive(Deserialize)]
struct Left {
    findings: Ledger,
}

impl Memory {
    /// Takes the lock, and what an earlier daemon of this boot left.
    ///
    /// # Errors
    /// No permission; another daemon.
    pub fn take(session: &Session) -> Result<Memory, Failure> {
        let state = session.made_state_in("watch")?;
        let lock = state.lock(Duration::ZERO).map_err(|error| match error.errno() {
            Some(_) => error.into(),
            None => Failure::new(
                Status::Conflict,
                "another `quietcore watch --daemon` is at work",
                format!("it is {}", state.holder()),
                format!(
                    "one is enough; `quietcore check` asks once, and {}/watch/{NAME} holds what it knows",
                    RUN_DIR
                ),
            ),
        })?;
        // What cannot be understood (of another version, or cut off by the end of the machine) is begun anew.
        let left = state.read(NAME).ok().flatten();
        let ledger = left
            .and_then(|bytes| serde_json::from_slice::<Left>(&bytes).ok())
            .map(|left| left.findings);
        Ok(Memory {
            ledger: ledger.unwrap_or_default(),
            asked: Asked::default(),
            is_new: true,
            state,
            started_s: seconds_now(),
            _lock: lock,
        })
    }

    /// Writes the state, where something was told since.
    pub fn keep(
        &mut self,
        sources: &Sources,
        configuration: &Configuration,
        outlets: &Outlets,
        trouble: &str,
    ) {
        if !std::mem::take(&mut self.is_new) {
            return;
        }
        let shown = Shown {
            schema: "quietcore.watch-state/1",
            pid: std::process::id(),
            started_s: self.started_s,
            sources: sources.shown(),
            configuration: configuration.error.as_deref(),
            log: outlets.trouble(),
            trouble: (!trouble.is_empty()).then_some(trouble),
            asked: self.asked,
            findings: &self.ledger,
        };
        // Numbers and text always serialize. A `/run` that is full loses the state and nothing else: the log has it all.
        if let Ok(text) = serde_json::to_vec_pretty(&shown) {
            let _ = self.state.replace(NAME, &text);
        }
    }
}
