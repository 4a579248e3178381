//! Defines the answer of `blame`. Field names are a contract with consumers of its JSON.

use crate::gaps::TransitionTimes;
use crate::stories::GapStory;
use machine::{CpuId, CpuSet};
use observe::Class;
use serde::{Deserialize, Serialize};

/// How certain a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A kernel event reports it.
    Traced,
    /// A counter reports how often, and the time matches.
    Counted,
    /// Inferred from events that report something else.
    Inferred,
}

/// The cause of an interruption.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Culprit {
    /// Its thread, the first one if there are several; 0 if no thread caused it: an interrupt, the idle loop.
    pub pid: i32,
    /// That thread's name; empty for an interrupt.
    pub comm: String,
    /// Number of threads of that name that did it, each counted once as far as possible.
    pub threads: u64,
    /// CPU on which it did so.
    pub cpu: u32,
    /// Kernel function, if an event reports it.
    pub callsite: Option<String>,
    /// The interrupt or softirq that did it.
    pub via: Option<String>,
    /// The chain from there to here, first cause first; empty for a direct cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Link>,
}

/// One link of a chain of causes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// What was done: `disk write`, `munmap`, `irq 45 nvme0q3`.
    pub what: String,
    /// The thread that did it; empty for an interrupt.
    pub comm: String,
    /// The thread's number; 0 for an interrupt.
    pub pid: i32,
    /// CPU on which it happened.
    pub cpu: u32,
}

/// What a row is about, as input for a cure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InterruptionSubject {
    /// Nothing with a number.
    #[default]
    None,
    /// An interrupt with this number.
    Irq(i64),
    /// This thread ran, the first one of its name.
    Thread(i32),
    /// This ordinary thread ran although a real-time thread could have run.
    LetIn(i32),
    /// This worker did the work.
    Worker(String),
}

impl InterruptionSubject {
    fn is_none(&self) -> bool {
        *self == InterruptionSubject::None
    }
}

/// All interruptions of one kind and one culprit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interruption {
    /// Its class.
    pub class: Class,
    /// Its exact name: `ahci[0000:87:00.0]`, `tick_nohz_handler`, `ksoftirqd/1`.
    pub name: String,
    /// Number of interruptions; 0 if only their time is known.
    pub count: u64,
    /// Time in it, excluding nested interruptions, in nanoseconds.
    pub total_ns: u64,
    /// The longest single one.
    pub max_ns: u64,
    /// The part of `total_ns` on the way in and out, which has no events.
    pub transition_ns: u64,
    /// The culprit; `None` if no event reports it.
    pub culprit: Option<Culprit>,
    /// How certain the name is; the culprit is at most as certain.
    pub confidence: Confidence,
    /// The command that would stop it, or `nothing` with the reason; empty before cures are determined.
    pub fix: String,
    /// What that command changes, and its cost.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "InterruptionSubject::is_none")]
    pub subject: InterruptionSubject,
}

impl Interruption {
    /// A row that has not occurred yet, traced, without a culprit, a cure and a number.
    #[must_use]
    pub fn new(class: Class, name: impl Into<String>) -> Interruption {
        Interruption {
            class,
            name: name.into(),
            count: 0,
            total_ns: 0,
            max_ns: 0,
            transition_ns: 0,
            culprit: None,
            confidence: Confidence::Traced,
            fix: String::new(),
            why: String::new(),
            subject: InterruptionSubject::None,
        }
    }
}

/// The source of the gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GapSource {
    /// Measured by a spinning probe.
    #[default]
    Probe,
    /// Kernel events: time in the kernel without an event counts as the program's.
    Events,
    /// The kernel's context tracking (`nohz_full`): a gap lasts from `user_exit` to `user_enter`, without what the program
    /// requested itself.
    ContextTracking,
    /// The scheduler's per-thread accounting, if tracing was not possible.
    Accounts,
}

/// One CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuAnswer {
    /// Its number.
    pub cpu: u32,
    /// The source of its gaps.
    #[serde(default)]
    pub gaps_from: GapSource,
    /// How long it was observed, in nanoseconds.
    pub duration_ns: u64,
    /// Time that its program did not get: `explained_ns + unexplained_ns`.
    pub stolen_ns: u64,
    /// Time in the rows.
    pub explained_ns: u64,
    /// Time in gaps that no event accounts for.
    pub unexplained_ns: u64,
    /// Number of gaps.
    pub gaps: u64,
    /// Gaps without any traced event. If the kernel reports entries from user mode, a program has none.
    pub outside: u64,
    /// Longest time between two gaps; `None` if the individual gaps are unknown.
    pub longest_run_ns: Option<u64>,
    /// Events of this CPU that the kernel dropped, or that became readable too late. If there are any, names may be missing.
    pub lost_events: u64,
    /// The rows, most time first.
    pub interruptions: Vec<Interruption>,
    /// Individual gaps with their pieces, in order of time, limited by [`GapSelection`](crate::GapSelection).
    #[serde(skip)]
    pub stories: Vec<GapStory>,
    /// Number of gaps not in that list.
    #[serde(skip)]
    pub stories_left_out: u64,
    /// The usual time between the program and an interruption; in a recording of gaps.
    #[serde(skip)]
    pub transitions: TransitionTimes,
    /// Time in which the program ran or could have run here; `None` for a probe, which can always run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted_ns: Option<u64>,
    /// What a program requested from the kernel, system calls and page faults: none of it is stolen. A page fault has an end
    /// only if the kernel tracks the return to the program (`nohz_full`); otherwise it has no time. With tracking, a system
    /// call lasts from user mode to user mode, and `transition_ns` is the part before its first and after its last event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Interruption>,
}

impl CpuAnswer {
    /// Whether events or individual gaps are missing.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.lost_events > 0 || self.stories_left_out > 0
    }

    /// Most time first; ties by name, so that the order is always the same.
    pub(crate) fn sort(&mut self) {
        let mut rows: Vec<(usize, Interruption)> = std::mem::take(&mut self.interruptions)
            .into_iter()
            .enumerate()
            .collect();
        rows.sort_unstable_by(|(first, a), (second, b)| {
            let order = b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name));
            order.then(first.cmp(second))
        });
        let mut places = vec![0; rows.len()];
        for (new, (old, _)) in rows.iter().enumerate() {
            if let Some(place) = places.get_mut(*old) {
                *place = new;
            }
        }
        for piece in self.stories.iter_mut().flat_map(|story| &mut story.pieces) {
            piece.row = piece.row.and_then(|row| places.get(row).copied());
        }
        self.interruptions = rows.into_iter().map(|(_, row)| row).collect();
        self.own
            .sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    }
}

/// The answer for all requested CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlameResult {
    /// One entry per CPU, in their order.
    pub cpus: Vec<CpuAnswer>,
}

impl BlameResult {
    /// The watched CPUs.
    #[must_use]
    pub fn watched(&self) -> CpuSet {
        self.cpus.iter().map(|cpu| CpuId(cpu.cpu)).collect()
    }
}
