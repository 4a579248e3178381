//! Reads and sets irqbalance's list of banned CPUs over its socket.

use crate::System;
use crate::layers::{ApplyLayer, layers};
use crate::record::{ChangeOutcome, JournalEvent, JournalRecord, StateBefore};
use machine::irqbalance::{self, Setup, addresses, parse_setup};
use machine::{CpuSet, Machine, TaskKey};
use plan::{Action, Finding, FindingId};
use root::RootError;
use std::time::{Duration, SystemTime};

/// irqbalance reads at most 500 bytes of a command.
const LONGEST: usize = 480;
/// irqbalance applies a list at its next scan; it has done so this much later.
const MARGIN_S: u64 = 2;

/// The state that the daemon reports.
pub(crate) fn setup(system: &dyn System, daemon: TaskKey) -> Result<Setup, RootError> {
    let answer = query(system, daemon, "setup")?;
    // An empty answer means that the daemon closed the connection.
    let errno = if answer.is_empty() { libc::EACCES } else { libc::EPROTO };
    parse_setup(&answer).ok_or_else(|| unfit(daemon, "understand the answer", errno))
}

/// Sets its list; `None` restores its own.
pub(crate) fn ban(system: &dyn System, daemon: TaskKey, cpus: Option<&CpuSet>) -> Result<(), RootError> {
    // It would crash without a word after `cpus`.
    let list = cpus
        .filter(|cpus| !cpus.is_empty())
        .map_or("NULL".to_owned(), ToString::to_string);
    let command = format!("settings cpus {list}");
    if command.len() > LONGEST {
        return Err(unfit(daemon, "ask", libc::E2BIG));
    }
    query(system, daemon, &command).map(|_| ())
}

/// irqbalance dies of SIGPIPE if it answers a client that has gone (seen on 1.9.2), so a stopped one is not asked at all.
fn query(system: &dyn System, daemon: TaskKey, question: &str) -> Result<String, RootError> {
    let task = machine::tasks::read_one(system.root(), daemon.tid);
    if task.is_some_and(|task| matches!(task.state, 'T' | 't')) {
        return Err(unfit(daemon, "ask a stopped process", libc::EBUSY));
    }
    system.query_daemon(&addresses(daemon.tid), question)
}

fn unfit(daemon: TaskKey, doing: &'static str, errno: i32) -> RootError {
    let [address, ..] = addresses(daemon.tid);
    RootError::Io {
        path: address.text(),
        operation: doing,
        errno,
    }
}

/// One list that we sent.
struct BanUpdate {
    /// The whole list before.
    former: CpuSet,
    /// The whole list from its next scan on.
    list: CpuSet,
    /// The time of sending, wall clock in nanoseconds since 1970.
    at_ns: u64,
}

impl BanUpdate {
    /// Whether irqbalance may not have scanned since.
    fn is_fresh(&self, setup: &Setup) -> bool {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        now.saturating_sub(Duration::from_nanos(self.at_ns)) < Duration::from_secs(setup.interval_s + MARGIN_S)
    }
}

/// The list that it has, or will have at its next scan: the list that it reports may be older than our last one. A list
/// that can only come from another program is returned as reported.
pub(crate) fn in_force(records: &[JournalRecord], daemon: TaskKey, setup: &Setup) -> CpuSet {
    let mut fresh = sent_lists(records, daemon);
    fresh.retain(|sent| sent.is_fresh(setup));
    match fresh.last() {
        Some(last) if fresh.iter().any(|sent| sent.former == setup.banned) => last.list.clone(),
        _ => setup.banned.clone(),
    }
}

/// The lists that we sent to this daemon, first to last: each apply adds to its list, and each undo removes that again.
fn sent_lists(records: &[JournalRecord], daemon: TaskKey) -> Vec<BanUpdate> {
    let layers = layers(records);
    let mut lists: Vec<BanUpdate> = Vec::new();
    // The layer that is being undone.
    let mut undoing: Option<&ApplyLayer> = None;
    for record in records {
        match &record.event {
            JournalEvent::UndoBegin { layer: seq, .. } => {
                undoing = match seq {
                    None => layers.first(),
                    Some(seq) => layers.iter().find(|layer| layer.seq == *seq),
                };
            }
            JournalEvent::Will { change, before } => {
                let layer = layers.iter().rfind(|layer| layer.seq < record.seq);
                let refused =
                    layer.is_some_and(|layer| matches!(layer.outcome(record.seq), Some(ChangeOutcome::Refused(_))));
                let added = layer.and_then(|layer| added(layer, change, before, daemon));
                if let Some((former, cpus)) = added.filter(|_| !refused) {
                    lists.push(BanUpdate {
                        list: former.or(&cpus),
                        former,
                        at_ns: record.at_ns,
                    });
                }
            }
            JournalEvent::Undid {
                change,
                outcome: ChangeOutcome::Done,
            } => {
                let added = undoing.and_then(|layer| {
                    let mut wills = layer.records.iter().filter_map(|record| match &record.event {
                        JournalEvent::Will { change, before } => Some((change, before)),
                        _ => None,
                    });
                    let (change, before) = wills.find(|(of, _)| *of == change)?;
                    added(layer, change, before, daemon)
                });
                if let Some((former, cpus)) = added {
                    let before = lists.last().map_or(&former, |last| &last.list).clone();
                    let list = without(&before, &former, &cpus);
                    lists.push(BanUpdate {
                        former: before,
                        list,
                        at_ns: record.at_ns,
                    });
                }
            }
            _ => {}
        }
    }
    lists
}

/// The list that a change of this layer found, and the CPUs that it requested; `None` for a change of another kind, or
/// of another daemon.
fn added(layer: &ApplyLayer, change: &str, before: &StateBefore, daemon: TaskKey) -> Option<(CpuSet, CpuSet)> {
    let Action::BanCpus { daemon: of, cpus } = &layer.change(change)?.action else {
        return None;
    };
    let StateBefore::Value { value, .. } = before else {
        return None;
    };
    let former = CpuSet::parse_list(value.as_deref().unwrap_or_default()).ok()?;
    (*of == daemon).then(|| (former, cpus.clone()))
}

/// A list without the CPUs that a change added. If another program has removed those, the list that the change found.
pub(crate) fn without(list: &CpuSet, former: &CpuSet, cpus: &CpuSet) -> CpuSet {
    let added = cpus.minus(former);
    if added.is_subset(list) {
        list.minus(&added)
    } else {
        former.clone()
    }
}

/// The finding of a second apply for a daemon that no longer bans these CPUs.
pub(crate) fn drifted(
    system: &dyn System,
    records: &[JournalRecord],
    daemon: TaskKey,
    cpus: &CpuSet,
    machine: &Machine,
) -> Option<Finding> {
    let is_same = irqbalance::is_running(system.root(), daemon);
    let other = machine.irqbalance().filter(|_| !is_same);
    let why = match (is_same, other) {
        (false, None) => return None,
        (false, Some(_)) => "; it restarted since it was notified".to_owned(),
        (true, _) => {
            let setup = setup(system, daemon).ok()?;
            let list = in_force(records, daemon, &setup);
            if cpus.is_subset(&list) {
                return None;
            }
            format!("; it now bans `{list}`, because another program set it")
        }
    };
    let pid = other.map_or(daemon.tid, |other| other.pid);
    let mut finding = plan::knobs::irqbalance_advice(machine, cpus, pid, &why);
    finding.id = FindingId::DRIFT;
    finding.fix = format!(
        "`quietcore undo` and `quietcore apply` notify it again; to make it permanent: {}",
        finding.fix
    );
    Some(finding)
}
