//! Applies a plan: makes every change in order, and undoes all of them if one fails.

use crate::actions;
use crate::active_partition::drifted;
use crate::entry::ChangeEntry;
use crate::journal::{Journal, JournalState, Storage};
use crate::layers::{ApplyLayer, LayerState, isolated};
use crate::record::JournalEvent;
use crate::resize_record::Resize;
use crate::stage::{ActionContext, RecordingMode};
use crate::undo::{Force, OpenResize, UndoRequest, UndoTarget, undo_open};
use crate::{ApplyError, BusyLoops, System, fingerprint};
use machine::{CpuSet, Machine, Version};
use plan::{Action, Change, Finding, FindingId, Intent, IntentKind, Plan};
use std::sync::atomic::{AtomicBool, Ordering};

/// What to apply, and for which caller.
pub struct ApplyRequest<'a> {
    /// The machine as read for the plan.
    pub machine: &'a Machine,
    /// The intended partition.
    pub intent: &'a Intent,
    /// The planned changes.
    pub plan: &'a Plan,
    /// The reason for the history: `apply`, `prove`.
    pub reason: &'a str,
    /// Version of the tool.
    pub tool: &'a str,
    /// Token of an armed guard.
    pub guard: Option<String>,
    /// Becomes true when the user wants to stop; everything is then undone.
    pub stop: &'a AtomicBool,
}

/// What an apply did, step by step, for the report.
#[derive(Debug)]
pub struct ApplyOutcome {
    /// Every change with its outcome; empty if the intent was active already.
    pub entries: Vec<ChangeEntry>,
    /// What the user should know.
    pub findings: Vec<Finding>,
    /// Whether the same intent was active already, so that nothing was written.
    pub in_force: bool,
}

/// Applies a plan. The caller holds the lock of the state directory.
///
/// # Errors
/// An [`ApplyError`]; the machine is then in its former state, unless the error says what could not be undone.
pub fn apply(system: &dyn System, storage: &dyn Storage, request: &ApplyRequest) -> Result<ApplyOutcome, ApplyError> {
    apply_as(system, storage, request, OpenResize::Finish)
}

/// Like [`apply`], as the second half of a resize that has started ([`crate::resize::begin`]).
///
/// # Errors
/// As for [`apply`]; the resize is then still open.
pub fn apply_resized(
    system: &dyn System,
    storage: &dyn Storage,
    request: &ApplyRequest,
) -> Result<ApplyOutcome, ApplyError> {
    apply_as(system, storage, request, OpenResize::Continues)
}

fn apply_as(
    system: &dyn System,
    storage: &dyn Storage,
    request: &ApplyRequest,
    resize: OpenResize,
) -> Result<ApplyOutcome, ApplyError> {
    Journal::sweep(storage)?;
    let mut journal = match Journal::open(storage)? {
        None => Journal::create(storage),
        Some(journal) => match journal.state(request.machine.kernel.boot_id.as_deref()) {
            JournalState::Void | JournalState::Ended => {
                journal.retire()?;
                Journal::create(storage)
            }
            JournalState::Resizing if resize == OpenResize::Continues => {
                match compare_with_active(system, &journal, request)? {
                    Some(applied) => return Ok(applied),
                    None => journal,
                }
            }
            JournalState::Unfinished | JournalState::Resizing => return Err(unfinished(&journal)),
            JournalState::InForce => match compare_with_active(system, &journal, request)? {
                Some(applied) => return Ok(applied),
                None => journal,
            },
        },
    };
    refuse_impossible(system, request.plan)?;

    let others = OtherPartitions::of(&journal, request.machine);
    journal.append(JournalEvent::Begin {
        boot_id: request.machine.kernel.boot_id.clone().unwrap_or_default(),
        tool: request.tool.to_owned(),
        pid: std::process::id(),
        reason: request.reason.to_owned(),
        guard: request.guard.clone(),
        intent: Box::new(request.intent.clone()),
        changes: request.plan.changes.clone(),
        files: fingerprint::files(system.root(), &request.machine.cgroups),
        found: request.plan.found.values.clone(),
    })?;
    let mut findings = request.plan.findings.clone();
    match make_changes(system, &mut journal, &others, request, &mut findings) {
        Ok(entries) => Ok(ApplyOutcome {
            entries,
            findings,
            in_force: false,
        }),
        Err(failure) => Err(roll_back(system, journal, *failure, resize)),
    }
}

/// Which change failed (`None` if the user stopped the apply), and how.
struct ApplyFailure {
    change: Option<String>,
    error: ApplyError,
}

impl ApplyFailure {
    fn new(change: Option<&Change>, error: ApplyError) -> Box<ApplyFailure> {
        Box::new(ApplyFailure {
            change: change.map(|change| change.id.clone()),
            error,
        })
    }
}

fn make_changes(
    system: &dyn System,
    journal: &mut Journal,
    others: &OtherPartitions,
    request: &ApplyRequest,
    findings: &mut Vec<Finding>,
) -> Result<Vec<ChangeEntry>, Box<ApplyFailure>> {
    let hierarchy = request.machine.cgroups.cpuset.as_ref();
    let version = hierarchy.map_or(Version::V2, |hierarchy| hierarchy.version);
    let mut entries = Vec::with_capacity(request.plan.changes.len());
    let mut usual = vec![others.usual.clone()];
    let (mut pins, mut threads) = (None, None);
    let recording_mode = match request.intent.kind {
        IntentKind::Partition => RecordingMode::Together,
        _ => RecordingMode::OneByOne,
    };
    for change in &request.plan.changes {
        go_on(request)?;
        let mut stage = ActionContext {
            system,
            journal,
            version,
            mount: hierarchy.map_or("", |hierarchy| hierarchy.mount.as_str()),
            recording_mode,
            others: &others.cgroups,
            reserved_cpus: &others.cpus,
            usual: &usual,
            pins: &mut pins,
            threads: &mut threads,
            isolating: &request.intent.cpus,
            busy: BusyLoops::default(),
            content_before: None,
            findings,
        };
        let step = actions::enact(&mut stage, change).map_err(|error| ApplyFailure::new(Some(change), error))?;
        if usual.len() == 1 && actions::narrows(change) {
            usual.push(others.usual.minus(&request.intent.cpus));
        }
        entries.push(ChangeEntry {
            seq: step.seq,
            change: change.id.clone(),
            before: step.before,
            after: step.after,
            outcome: step.outcome,
        });
    }
    go_on(request)?;
    let online = online(system);
    let offline = online.as_ref();
    findings.extend(offline.and_then(|online| offline_finding(online, &request.plan.isolated)));
    journal
        .append(JournalEvent::Applied { online })
        .map_err(|error| ApplyFailure::new(None, error))?;
    Ok(entries)
}

/// Fails if the user wants to stop.
fn go_on(request: &ApplyRequest) -> Result<(), Box<ApplyFailure>> {
    match request.stop.load(Ordering::Relaxed) {
        false => Ok(()),
        true => Err(ApplyFailure::new(
            None,
            ApplyError::Interrupted { undone: String::new() },
        )),
    }
}

fn online(system: &dyn System) -> Option<CpuSet> {
    machine::cpu_list(system.root(), fingerprint::ONLINE)
}

/// Reports a CPU that went offline while it was being isolated: the kernel accepts the writes anyway.
fn offline_finding(online: &CpuSet, isolated: &CpuSet) -> Option<Finding> {
    let missing = isolated.minus(online);
    (!missing.is_empty()).then(|| {
        let message = format!("CPU {missing} went offline during the isolation: no program can run there");
        Finding::new(
            plan::Level::Error,
            FindingId::CPU_OFFLINE,
            format!("cpu{missing}"),
            message,
        )
        .fix("bring it online, run `quietcore undo`, then apply again")
    })
}

fn roll_back(system: &dyn System, journal: Journal, failure: ApplyFailure, resize: OpenResize) -> ApplyError {
    let ApplyFailure { change, error } = failure;
    let request = UndoRequest {
        which: UndoTarget::Last,
        force: Force::No,
        why: "rollback",
    };
    let undone = match undo_open(system, journal, request, resize) {
        Ok(undone) if undone.equal() => "everything done before it has been undone".to_owned(),
        Ok(undone) => format!("undone, except: {}", undone.remains().join("; ")),
        Err(error) => format!("undoing it failed ({error}); run `quietcore undo`"),
    };
    let Some(change) = change else {
        return match error {
            ApplyError::Interrupted { .. } => ApplyError::Interrupted { undone },
            other => other,
        };
    };
    match error {
        // An existing name is detected before any other change, or results from a race for the name.
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
            next: "check the path named above; `quietcore history` shows what was tried".to_owned(),
        },
        other => other,
    }
}

/// Returns the plan's own errors, and names that exist already, before the first record is written.
fn refuse_impossible(system: &dyn System, plan: &Plan) -> Result<(), ApplyError> {
    if let Some(finding) = plan.findings.iter().find(|finding| finding.level == plan::Level::Error) {
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

/// The partitions that are active already.
pub(crate) struct OtherPartitions {
    /// Their cgroups; tasks in them are not changed.
    pub cgroups: Vec<String>,
    /// Their CPUs.
    pub cpus: CpuSet,
    /// The mask of an unpinned task.
    pub usual: CpuSet,
}

impl OtherPartitions {
    pub fn of(journal: &Journal, machine: &Machine) -> OtherPartitions {
        let layers = journal.layers();
        let live: Vec<&ApplyLayer> = layers.iter().filter(|layer| layer.is_live()).collect();
        let hierarchy = machine.cgroups.cpuset.as_ref();
        let cgroup = |layer: &&ApplyLayer| layer.cgroup(hierarchy?);
        let taken = isolated(&live);
        OtherPartitions {
            cgroups: live.iter().filter_map(cgroup).collect(),
            usual: machine.topology.online.minus(&taken),
            cpus: taken,
        }
    }
}

/// Compares the request with what is active. The same intent: nothing is written, and what no longer holds is
/// reported. Other partitions that leave room for this one: `None`.
fn compare_with_active(
    system: &dyn System,
    journal: &Journal,
    request: &ApplyRequest,
) -> Result<Option<ApplyOutcome>, ApplyError> {
    let layers = journal.layers();
    let live: Vec<&ApplyLayer> = layers.iter().filter(|layer| layer.is_live()).collect();
    let requested = request.intent;
    for layer in &live {
        if layer.intent.name == requested.name {
            if layer.intent != requested {
                return Err(ApplyError::OtherIntent {
                    name: layer.intent.name.to_string(),
                    cpus: layer.intent.cpus.to_string(),
                    since: since(layer),
                });
            }
            return Ok(Some(ApplyOutcome {
                entries: Vec::new(),
                findings: drifted(system, layer, journal.records(), request.machine),
                in_force: true,
            }));
        }
    }
    for layer in &live {
        let taken = layer.intent.cpus.and(&requested.cpus);
        if !taken.is_empty() {
            return Err(ApplyError::CpusInUse {
                cpus: taken.to_string(),
                name: layer.intent.name.to_string(),
                since: since(layer),
            });
        }
    }
    Ok(None)
}

pub(crate) fn unfinished(journal: &Journal) -> ApplyError {
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

fn since(layer: &ApplyLayer<'_>) -> String {
    machine::utc_text(layer.at_ns / 1_000_000_000)
}
