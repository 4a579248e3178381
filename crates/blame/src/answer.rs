//! What `blame` answers. Field names are a contract with whoever reads its JSON.

use crate::stories::Story;
use observe::Class;
use serde::{Deserialize, Serialize};

/// How sure a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// An event of the kernel says it.
    Traced,
    /// A counter says how often, and time says when.
    Counted,
    /// It follows from events that say something else.
    Inferred,
}

/// Who is to blame.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Culprit {
    /// Its thread, the first of them when there are several; 0 when no thread did it: an interrupt, the idle loop.
    pub pid: i32,
    /// That thread's name; empty for an interrupt.
    pub comm: String,
    /// How many threads of that name did it, each counted once as far as can be told.
    pub threads: u64,
    /// CPU on which it did that.
    pub cpu: u32,
    /// Where in the kernel, where an event says so.
    pub callsite: Option<String>,
    /// The interrupt or softirq that did it.
    pub via: Option<String>,
    /// How it came from there to here, the first cause first; empty where it came at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Link>,
}

/// One link of a chain of causes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Link {
    /// What was done: `disk write`, `munmap`, `irq 45 nvme0q3`.
    pub what: String,
    /// The thread that did it; empty for an interrupt.
    pub comm: String,
    /// Its number; 0 for an interrupt.
    pub pid: i32,
    /// CPU on which that was.
    pub cpu: u32,
}

/// What a row is about, for whoever wants to change it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Nothing with a number.
    #[default]
    None,
    /// An interrupt with this number.
    Irq(i64),
    /// This thread ran, the first one of its name.
    Thread(i32),
    /// This ordinary thread ran although a real-time one could have.
    LetIn(i32),
    /// This worker did the work.
    Worker(String),
}

impl Subject {
    fn is_none(&self) -> bool {
        *self == Subject::None
    }
}

/// All interruptions of one kind, by one culprit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interruption {
    /// Its class.
    pub class: Class,
    /// What exactly: `ahci[0000:87:00.0]`, `tick_nohz_handler`, `ksoftirqd/1`.
    pub name: String,
    /// How often; 0 where only its time is known.
    pub count: u64,
    /// Time in it, without what interrupted it in turn, in nanoseconds.
    pub total_ns: u64,
    /// The longest single one.
    pub max_ns: u64,
    /// Of `total_ns`, the way into it and out of it, for which there are no events.
    pub transition_ns: u64,
    /// Who caused it; nothing when no event says so.
    pub culprit: Option<Culprit>,
    /// How sure the name is; the culprit's is not better.
    pub confidence: Confidence,
    /// The command that would stop it, or `nothing` and why; empty until [`Answer::cure`].
    pub fix: String,
    /// What that command changes, and its price.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Subject::is_none")]
    pub subject: Subject,
}

/// What told of the gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapsFrom {
    /// A probe that spins saw them.
    #[default]
    Probe,
    /// The kernel's events: time in the kernel without one counts as the program's.
    Events,
    /// The kernel's context tracking (`nohz_full`): a gap reaches from `user_exit` to `user_enter`, without what the program
    /// asked for itself.
    ContextTracking,
    /// The scheduler's accounts of threads, where nothing could be traced.
    Accounts,
}

/// One CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuAnswer {
    /// Which.
    pub cpu: u32,
    /// What told of its gaps.
    #[serde(default)]
    pub gaps_from: GapsFrom,
    /// How long it was watched, in nanoseconds.
    pub duration_ns: u64,
    /// Time that the program on it did not get: `explained_ns + unexplained_ns`.
    pub stolen_ns: u64,
    /// Time that is in the rows.
    pub explained_ns: u64,
    /// Time in gaps that no event accounts for.
    pub unexplained_ns: u64,
    /// Gaps.
    pub gaps: u64,
    /// Gaps in which nothing at all was traced. Where the kernel tells when it is entered there are none of a program.
    pub outside: u64,
    /// Longest time between two gaps; nothing where the single gaps are not known.
    pub longest_run_ns: Option<u64>,
    /// Events that the kernel could not keep for this CPU. With any, names may be missing.
    pub lost_events: u64,
    /// The rows, most time first.
    pub interruptions: Vec<Interruption>,
    /// Single gaps with their pieces, as many as [`Keep`](crate::Keep) says, in the order of time.
    #[serde(skip)]
    pub stories: Vec<Story>,
    /// Gaps that are not among them.
    #[serde(skip)]
    pub stories_left_out: u64,
    /// Time in which the program ran or could have run here; nothing for a probe, which always wants to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted_ns: Option<u64>,
    /// What a program asked of the kernel itself, system calls and page faults: nothing of it is stolen. A page fault has
    /// an end only where the kernel tracks its way back into the program (`nohz_full`); elsewhere it has no time. There a
    /// system call reaches from user mode to user mode, and `transition_ns` is the part before its first and after its last
    /// event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Interruption>,
}

impl CpuAnswer {
    /// Most time first; equal ones by name, so that an answer is the same each time.
    pub(crate) fn sort(&mut self) {
        let mut rows: Vec<(usize, Interruption)> = std::mem::take(&mut self.interruptions)
            .into_iter()
            .enumerate()
            .collect();
        rows.sort_by(|(_, a), (_, b)| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
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

/// The answer for all CPUs that were asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// One after the other, in their order.
    pub cpus: Vec<CpuAnswer>,
}
