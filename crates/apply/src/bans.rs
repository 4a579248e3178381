//! irqbalance's list of banned CPUs: asked for, and given, over its socket.

use crate::System;
use crate::layers::{Layer, layers};
use crate::record::{Before, Event, Outcome, Record};
use machine::irqbalance::{self, Setup, addresses, parse_setup};
use machine::{CpuSet, Machine, TaskKey};
use plan::{Action, Finding};
use root::RootError;
use std::time::{Duration, SystemTime};

/// It reads at most 500 bytes of a command.
const LONGEST: usize = 480;
/// It takes a list at its next look; so much later it has.
const MARGIN_S: u64 = 2;

/// What the daemon says of itself.
pub(crate) fn setup(system: &dyn System, daemon: TaskKey) -> Result<Setup, RootError> {
    let answer = ask(system, daemon, "setup")?;
    // An empty answer is a door that was closed on us.
    let errno = if answer.is_empty() {
        libc::EACCES
    } else {
        libc::EPROTO
    };
    parse_setup(&answer).ok_or_else(|| unfit(daemon, "understand the answer", errno))
}

/// Gives it a list; `None` for the one of its own.
pub(crate) fn ban(system: &dyn System, daemon: TaskKey, cpus: Option<&CpuSet>) -> Result<(), RootError> {
    // Without a word behind `cpus` it would crash.
    let list = cpus
        .filter(|cpus| !cpus.is_empty())
        .map_or("NULL".to_owned(), ToString::to_string);
    let command = format!("settings cpus {list}");
    if command.len() > LONGEST {
        return Err(unfit(daemon, "ask", libc::E2BIG));
    }
    ask(system, daemon, &command).map(|_| ())
}

/// It dies of SIGPIPE when it answers somebody who has gone (seen on 1.9.2): so a stopped one is not asked at all.
fn ask(system: &dyn System, daemon: TaskKey, question: &str) -> Result<String, RootError> {
    let task = machine::tasks::read_one(system.root(), daemon.tid);
    if task.is_some_and(|task| matches!(task.state, 'T' | 't')) {
        return Err(unfit(daemon, "ask a stopped process", libc::EBUSY));
    }
    system.ask(&addresses(daemon.tid), question)
}

fn unfit(daemon: TaskKey, doing: &'static str, errno: i32) -> RootError {
    let [address, ..] = addresses(daemon.tid);
    RootError::Io {
        path: address.text(),
        doing,
        errno,
    }
}

/// A list that we gave it.
pub(crate) struct Told {
    /// The whole list.
    pub cpus: CpuSet,
    /// When, wall clock in nanoseconds since 1970.
    at_ns: u64,
}

impl Told {
    /// Whether it may not have looked since.
    pub fn is_fresh(&self, setup: &Setup) -> bool {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        now.saturating_sub(Duration::from_nanos(self.at_ns))
            < Duration::from_secs(setup.interval_s + MARGIN_S)
    }
}

/// The last list that this journal says we gave to this daemon.
pub(crate) fn last_told(all: &[Layer], daemon: TaskKey) -> Option<Told> {
    let told = all.iter().flat_map(|layer| {
        layer.records.iter().filter_map(move |record| {
            let Event::Will {
                change,
                before: Before::Value { value, .. },
            } = &record.event
            else {
                return None;
            };
            let Action::BanCpus { daemon: of, cpus } = &layer.change(change)?.action else {
                return None;
            };
            let refused = matches!(layer.outcome(record.seq), Some(Outcome::Refused(_)));
            let former = CpuSet::parse_list(value.as_deref().unwrap_or_default()).ok()?;
            (*of == daemon && !refused).then(|| Told {
                cpus: former.or(cpus),
                at_ns: record.at_ns,
            })
        })
    });
    told.max_by_key(|told| told.at_ns)
}

/// The list that it has, or will have at its next look. An undo waits for that look.
pub(crate) fn in_force(records: &[Record], daemon: TaskKey, setup: &Setup) -> CpuSet {
    let undone = records
        .iter()
        .rfind(|record| matches!(record.event, Event::UndoBegin { .. }));
    let undone = undone.map_or(0, |record| record.at_ns);
    let told = last_told(&layers(records), daemon).filter(|told| told.is_fresh(setup) && told.at_ns > undone);
    told.map_or_else(|| setup.banned.clone(), |told| told.cpus)
}

/// What a second apply has to say about a daemon that does not ban these CPUs any more.
pub(crate) fn drifted(
    system: &dyn System,
    all: &[Layer],
    daemon: TaskKey,
    cpus: &CpuSet,
    machine: &Machine,
) -> Option<Finding> {
    let is_same = irqbalance::is_running(system.root(), daemon);
    let other = irqbalance::running(machine).filter(|_| !is_same);
    let why = match (is_same, other) {
        (false, None) => return None,
        (false, Some(_)) => "; it was started anew since it was told".to_owned(),
        (true, _) => {
            let setup = setup(system, daemon).ok()?;
            if cpus.is_subset(&setup.banned) || last_told(all, daemon)?.is_fresh(&setup) {
                return None;
            }
            format!(
                "; it bans `{}` now, because somebody else told it so",
                setup.banned
            )
        }
    };
    let pid = other.map_or(daemon.tid, |other| other.pid);
    let mut finding = plan::knobs::irqbalance_advice(machine, cpus, pid, &why);
    "drift".clone_into(&mut finding.id);
    finding.fix = format!(
        "`quietcore undo` and `quietcore apply` tell it again; for good: {}",
        finding.fix
    );
    Some(finding)
}
