//! Applying a plan: every change in order, and everything taken back when one fails.

use crate::actions::{self, Noting, Stage};
use crate::entry::Entry;
use crate::journal::{Journal, JournalState, Storage};
use crate::layers::{Layer, LayerState, isolated, layers};
use crate::masks::Share;
use crate::record::{Event, Outcome, Record};
use crate::resize::Resize;
use crate::undo::{Force, OpenResize, Which, shared_now, undo_open};
use crate::{ApplyError, System, bans, fingerprint};
use machine::{CpuSet, Machine, Version, irqbalance};
use plan::{Action, Change, Compare, Finding, Intent, IntentKind, Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// What to apply, for whom.
pub struct Request<'a> {
    /// The machine as read for the plan.
    pub machine: &'a Machine,
    /// What is wanted.
    pub intent: &'a Intent,
    /// What is to be done.
    pub plan: &'a Plan,
    /// Why, for the history: `apply`, `prove`.
    pub reason: &'a str,
    /// Version of the tool.
    pub tool: &'a str,
    /// Token of an armed guard.
    pub guard: Option<String>,
    /// Becomes true when the user wants to stop: everything is taken back then.
    pub stop: &'a AtomicBool,
}

/// What was done.
#[derive(Debug)]
pub struct Applied {
    /// Every change with its outcome; empty when the intent was in force already.
    pub entries: Vec<Entry>,
    /// What the user should know.
    pub findings: Vec<Finding>,
    /// Whether the same intent was in force already, so that nothing was written.
    pub in_force: bool,
}

/// Applies a plan. The caller holds the lock of the state directory.
///
/// # Errors
/// An [`ApplyError`]; the machine is then as before, unless the error says what could not be taken back.
pub fn apply(system: &dyn System, storage: &dyn Storage, request: &Request) -> Result<Applied, ApplyError> {
    apply_as(system, storage, request, OpenResize::Finish)
}

/// As [`apply`], as the second half of a resize that has begun ([`crate::resize::begin`]).
///
/// # Errors
/// As [`apply`]; the resize is still open then.
pub fn apply_resized(
    system: &dyn System,
    storage: &dyn Storage,
    request: &Request,
) -> Result<Applied, ApplyError> {
    apply_as(system, storage, request, OpenResize::GoesOn)
}

fn apply_as(
    system: &dyn System,
    storage: &dyn Storage,
    request: &Request,
    resize: OpenResize,
) -> Result<Applied, ApplyError> {
    Journal::sweep(storage)?;
    let mut journal = match Journal::open(storage)? {
        None => Journal::create(storage),
        Some(journal) => match journal.state(request.machine.kernel.boot_id.as_deref()) {
            JournalState::Void | JournalState::Ended => {
                journal.retire()?;
                Journal::create(storage)
            }
            JournalState::Resizing if resize == OpenResize::GoesOn => {
                match beside(system, &journal, request)? {
                    Some(applied) => return Ok(applied),
                    None => journal,
                }
            }
            JournalState::Unfinished | JournalState::Resizing => return Err(unfinished(&journal)),
            JournalState::InForce => match beside(system, &journal, request)? {
                Some(applied) => return Ok(applied),
                None => journal,
            },
        },
    };
    refuse_impossible(system, request.plan)?;

    let others = Others::of(&journal, request.machine);
    journal.append(Event::Begin {
        boot_id: request.machine.kernel.boot_id.clone().unwrap_or_default(),
        tool: request.tool.to_owned(),
        pid: std::process::id(),
        reason: request.reason.to_owned(),
        guard: request.guard.clone(),
        intent: Box::new(request.intent.clone()),
        changes: request.plan.changes.clone(),
        files: fingerprint::files(system.root(), &request.machine.cgroups),
    })?;
    let mut findings = request.plan.findings.clone();
    match make_changes(system, &mut journal, &others, request, &mut findings) {
        Ok(entries) => Ok(Applied {
            entries,
            findings,
            in_force: false,
        }),
        Err(failure) => Err(roll_back(system, journal, *failure, resize)),
    }
}

/// Which change failed (none when the user stopped it), and how.
struct Failure {
    change: Option<String>,
    error: ApplyError,
}

impl Failure {
    fn new(change: Option<&Change>, error: ApplyError) -> Box<Failure> {
        Box::new(Failure {
            change: change.map(|change| change.id.clone()),
            error,
        })
    }
}

fn make_changes(
    system: &dyn System,
    journal: &mut Journal,
    others: &Others,
    request: &Request,
    findings: &mut Vec<Finding>,
) -> Result<Vec<Entry>, Box<Failure>> {
    let hierarchy = request.machine.cgroups.cpuset.as_ref();
    let version = hierarchy.map_or(Version::V2, |hierarchy| hierarchy.version);
    let mut entries = Vec::with_capacity(request.plan.changes.len());
    let mut usual = vec![others.usual.clone()];
    let mut pins = None;
    let noting = match request.intent.kind {
        IntentKind::Partition => Noting::Together,
        _ => Noting::OneByOne,
    };
    for change in &request.plan.changes {
        if request.stop.load(Ordering::Relaxed) {
            return Err(Failure::new(
                None,
                ApplyError::Interrupted {
                    undone: String::new(),
                },
            ));
        }
        let mut stage = Stage {
            system,
            journal,
            version,
            mount: hierarchy.map_or("", |hierarchy| hierarchy.mount.as_str()),
            noting,
            others: &others.cgroups,
            taken: &others.taken,
            usual: &usual,
            pins: &mut pins,
            findings,
        };
        let step = actions::enact(&mut stage, change).map_err(|error| Failure::new(Some(change), error))?;
        if usual.len() == 1 && actions::narrows(change) {
            usual.push(others.usual.minus(&request.intent.cpus));
        }
        entries.push(Entry {
            seq: step.seq,
            change: change.id.clone(),
            before: step.before,
            after: step.after,
            outcome: step.outcome,
        });
    }
    if request.stop.load(Ordering::Relaxed) {
        return Err(Failure::new(
            None,
            ApplyError::Interrupted {
                undone: String::new(),
            },
        ));
    }
    let online = online(system);
    findings.extend(
        online
            .as_ref()
            .and_then(|online| went_offline(online, &request.plan.isolated)),
    );
    journal
        .append(Event::Applied { online })
        .map_err(|error| Failure::new(None, error))?;
    Ok(entries)
}

fn online(system: &dyn System) -> Option<CpuSet> {
    let text = system.root().value(fingerprint::ONLINE).ok().flatten()?;
    CpuSet::parse_list(&text).ok()
}

/// A CPU that somebody took offline while it was being isolated: the kernel takes the writes all the same.
fn went_offline(online: &CpuSet, isolated: &CpuSet) -> Option<Finding> {
    let missing = isolated.minus(online);
    (!missing.is_empty()).then(|| {
        let message =
            format!("CPU {missing} went offline while it was being isolated: no program can run there");
        Finding::new(
            plan::Level::Error,
            "cpu-offline",
            format!("cpu{missing}"),
            message,
        )
        .fix("bring it online, take the partition back with `quietcore undo`, then apply again")
    })
}

fn roll_back(system: &dyn System, journal: Journal, failure: Failure, resize: OpenResize) -> ApplyError {
    let Failure { change, error } = failure;
    let undone = match undo_open(system, journal, Which::Last, Force::No, "rollback", resize) {
        Ok(undone) if undone.equal() => "everything that was done before it has been taken back".to_owned(),
        Ok(undone) => format!("taken back, except: {}", undone.remains().join("; ")),
        Err(error) => format!("taking it back failed ({error}); run `quietcore undo`"),
    };
    let Some(change) = change else {
        return match error {
            ApplyError::Interrupted { .. } => ApplyError::Interrupted { undone },
            other => other,
        };
    };
    match error {
        // A name that is taken is found before anything else was done, or means a race for it.
        ApplyError::Exists { path } => ApplyError::Exists { path },
        ApplyError::Unable { why, next } => ApplyError::RolledBack {
            change,
            why,
            undone,
            next,
            errno: None,
        },
        ApplyError::Root(error) => ApplyError::RolledBack {
            change,
            errno: error.errno(),
            why: error.to_string(),
            undone,
            next: "look at the path named above; `quietcore history` shows what was tried".to_owned(),
        },
        other => other,
    }
}

/// The plan's own errors, and names that are taken, are met before the first record.
fn refuse_impossible(system: &dyn System, plan: &Plan) -> Result<(), ApplyError> {
    if let Some(finding) = plan
        .findings
        .iter()
        .find(|finding| finding.level == plan::Level::Error)
    {
        return Err(ApplyError::Unable {
            why: finding.message.clone(),
            next: finding.fix.clone(),
        });
    }
    for change in &plan.changes {
        if let Action::MakeSet { path } = &change.action
            && system.root().kind(path)?.is_some()
        {
            return Err(ApplyError::Exists { path: path.clone() });
        }
    }
    Ok(())
}

/// The partitions that are in force already.
struct Others {
    /// Their cgroups: tasks there are not touched.
    cgroups: Vec<String>,
    /// Their CPUs.
    taken: CpuSet,
    /// The mask of a task that nobody pinned.
    usual: CpuSet,
}

impl Others {
    fn of(journal: &Journal, machine: &Machine) -> Others {
        let layers = journal.layers();
        let live: Vec<&Layer> = layers.iter().filter(|layer| layer.is_live()).collect();
        let hierarchy = machine.cgroups.cpuset.as_ref();
        let cgroup = |layer: &&Layer| layer.cgroup(hierarchy?);
        let taken = isolated(&live);
        Others {
            cgroups: live.iter().filter_map(cgroup).collect(),
            usual: machine.topology.online.minus(&taken),
            taken,
        }
    }
}

/// What is in force already: the same intent (nothing is written, and what no longer holds is said), or others that
/// leave room for this one (`None`).
fn beside(system: &dyn System, journal: &Journal, request: &Request) -> Result<Option<Applied>, ApplyError> {
    let layers = journal.layers();
    let live: Vec<&Layer> = layers.iter().filter(|layer| layer.is_live()).collect();
    let wanted = request.intent;
    for layer in &live {
        if layer.intent.name == wanted.name {
            if layer.intent != wanted {
                return Err(ApplyError::OtherIntent {
                    name: layer.intent.name.to_string(),
                    cpus: layer.intent.cpus.to_string(),
                    since: since(layer),
                });
            }
            return Ok(Some(Applied {
                entries: Vec::new(),
                findings: drifted(system, layer, journal.records(), request.machine),
                in_force: true,
            }));
        }
    }
    for layer in &live {
        let taken = layer.intent.cpus.and(&wanted.cpus);
        if !taken.is_empty() {
            return Err(ApplyError::Taken {
                cpus: taken.to_string(),
                name: layer.intent.name.to_string(),
                since: since(layer),
            });
        }
    }
    Ok(None)
}

/// Every partition in force, with what was applied and does not hold any more. Nothing is written.
#[must_use]
pub fn standing(system: &dyn System, journal: &Journal, machine: &Machine) -> Vec<(Intent, Vec<Finding>)> {
    let layers = journal.layers();
    let live = layers
        .iter()
        .filter(|layer| layer.is_live() && layer.is_partition());
    live.map(|layer| {
        (
            layer.intent.clone(),
            drifted(system, layer, journal.records(), machine),
        )
    })
    .collect()
}

/// Files of a layer that no longer hold what they should, with all partitions that are in force.
fn drifted(system: &dyn System, layer: &Layer, records: &[Record], machine: &Machine) -> Vec<Finding> {
    let all = layers(records);
    let live: Vec<&Layer> = all.iter().filter(|layer| layer.is_live()).collect();
    let share = isolated(&live);
    let share = Share {
        housekeeping: machine.topology.online.minus(&share),
        isolated: share,
    };
    let shared = shared_now(&all, &live, &share, machine.cgroups.cpuset.as_ref());
    let refused = refused(layer);
    // irqbalance places interrupts as it likes on the CPUs that are left to it.
    let places = irqbalance::running(machine).is_some();
    layer
        .changes
        .iter()
        .filter(|change| !refused.contains(change.id.as_str()))
        .filter_map(|change| {
            if let Action::BanCpus { daemon, cpus } = &change.action {
                return bans::drifted(system, records, *daemon, cpus, machine);
            }
            let Action::Write {
                path, value, compare, ..
            } = &change.action
            else {
                return None;
            };
            let now = system.root().value(path).ok().flatten()?;
            // A later partition narrows what they share, unless it does not take the knob at all; and the kernel may
            // have narrowed it before either of them could.
            let narrowed = without(*compare, value, &share.isolated);
            let expected = shared.get(path).unwrap_or(value);
            let good = [Some(expected), Some(value), narrowed.as_ref()];
            let holds = good.into_iter().flatten().any(|good| compare.same(&now, good))
                || (places && path.starts_with("/proc/irq/") && is_off(&now, &share.isolated));
            let value = expected;
            (!holds).then(|| {
                let message = format!("{path} reads `{now}` now, and `{value}` was applied");
                Finding::new(plan::Level::Warning, "drift", path, message)
                    .fix("find out who changed it; `quietcore undo` and `quietcore apply` set it again")
            })
        })
        .collect()
}

/// Whether the list of an interrupt has none of these CPUs.
fn is_off(list: &str, isolated: &CpuSet) -> bool {
    CpuSet::parse_list(list).is_ok_and(|list| !list.is_empty() && !list.intersects(isolated))
}

/// A set of CPUs less some of them; `None` for a value that is none.
fn without(compare: Compare, value: &str, cpus: &CpuSet) -> Option<String> {
    match compare {
        Compare::List => Some(CpuSet::parse_list(value).ok()?.minus(cpus).to_string()),
        // Compared as a set, so its width does not matter.
        Compare::Mask => Some(CpuSet::parse_mask(value).ok()?.minus(cpus).to_mask(1)),
        _ => None,
    }
}

/// Changes that the kernel refused, or made something else of: that was said when it happened.
fn refused<'a>(layer: &Layer<'a>) -> BTreeSet<&'a str> {
    let begun: BTreeMap<u64, &str> = layer
        .records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Will { change, .. } => Some((record.seq, change.as_str())),
            _ => None,
        })
        .collect();
    let answers = layer.records.iter().filter_map(|record| match &record.event {
        Event::Did {
            of,
            outcome: Outcome::Refused(_) | Outcome::Otherwise(_),
            ..
        } => begun.get(of).copied(),
        _ => None,
    });
    answers.collect()
}

fn unfinished(journal: &Journal) -> ApplyError {
    if let Some(resize) = Resize::open(journal.records()) {
        return ApplyError::Resizing {
            name: resize.name,
            cpus: resize.cpus.to_string(),
            pid: resize.pid,
            since: machine::utc_text(resize.at_ns / 1_000_000_000),
        };
    }
    let layers = journal.layers();
    let open = layers
        .iter()
        .find(|layer| layer.is_live() && layer.state != LayerState::InForce);
    ApplyError::Unfinished {
        pid: open.map_or(0, |layer| layer.pid),
        since: open.map_or_else(|| "an unknown time".to_owned(), since),
    }
}

fn since(layer: &Layer<'_>) -> String {
    machine::utc_text(layer.at_ns / 1_000_000_000)
}
