//! Applying a plan: every change in order, and everything taken back when one fails.

use crate::actions::{self, Stage};
use crate::entry::Entry;
use crate::journal::{Journal, JournalState, Storage};
use crate::record::{Event, Outcome};
use crate::undo::{Force, undo_open};
use crate::{ApplyError, System, fingerprint};
use machine::{Machine, Version};
use plan::{Action, Change, Finding, Intent, Plan};
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
    Journal::sweep(storage)?;
    if let Some(journal) = Journal::open(storage)? {
        match journal.state(request.machine.kernel.boot_id.as_deref()) {
            JournalState::Void => journal.retire()?,
            JournalState::Unfinished => return Err(unfinished(&journal)),
            JournalState::InForce => return in_force(system, &journal, request),
        }
    }
    refuse_impossible(system, request.plan)?;

    let mut journal = Journal::create(storage);
    journal.append(Event::Begin {
        boot_id: request.machine.kernel.boot_id.clone().unwrap_or_default(),
        tool: request.tool.to_owned(),
        pid: std::process::id(),
        reason: request.reason.to_owned(),
        guard: request.guard.clone(),
        intent: request.intent.clone(),
        changes: request.plan.changes.clone(),
        files: fingerprint::files(system.root(), request.machine),
    })?;
    let mut findings = request.plan.findings.clone();
    let version = request
        .machine
        .cgroups
        .cpuset
        .as_ref()
        .map_or(Version::V2, |hierarchy| hierarchy.version);
    match make_changes(system, &mut journal, version, request, &mut findings) {
        Ok(entries) => Ok(Applied {
            entries,
            findings,
            in_force: false,
        }),
        Err(failure) => Err(roll_back(system, journal, failure.change, failure.error)),
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
    version: Version,
    request: &Request,
    findings: &mut Vec<Finding>,
) -> Result<Vec<Entry>, Box<Failure>> {
    let mut entries = Vec::with_capacity(request.plan.changes.len());
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
            findings,
        };
        let step = actions::enact(&mut stage, change).map_err(|error| Failure::new(Some(change), error))?;
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
    journal
        .append(Event::Applied)
        .map_err(|error| Failure::new(None, error))?;
    Ok(entries)
}

fn roll_back(system: &dyn System, journal: Journal, change: Option<String>, error: ApplyError) -> ApplyError {
    let undone = match undo_open(system, journal, Force::No, "rollback") {
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

/// The same intent again: nothing is written, and what no longer holds is said.
fn in_force(system: &dyn System, journal: &Journal, request: &Request) -> Result<Applied, ApplyError> {
    let Some(Event::Begin { intent, changes, .. }) = journal.begin() else {
        return Err(ApplyError::Journal {
            record: 1,
            why: "it does not begin with a `begin` record".to_owned(),
        });
    };
    if intent != request.intent {
        return Err(ApplyError::OtherIntent {
            name: intent.name.to_string(),
            cpus: intent.cpus.to_string(),
            since: time_of(journal),
        });
    }
    let refused = refused(journal);
    let findings = changes
        .iter()
        .filter(|change| !refused.contains(change.id.as_str()))
        .filter_map(|change| drifted(system, change))
        .collect();
    Ok(Applied {
        entries: Vec::new(),
        findings,
        in_force: true,
    })
}

/// Changes that the kernel refused, or made something else of: that was said when it happened.
fn refused<'a>(journal: &'a Journal) -> BTreeSet<&'a str> {
    let begun: BTreeMap<u64, &str> = journal
        .records()
        .iter()
        .filter_map(|record| match &record.event {
            Event::Will { change, .. } => Some((record.seq, change.as_str())),
            _ => None,
        })
        .collect();
    let answers = journal.records().iter().filter_map(|record| match &record.event {
        Event::Did {
            of,
            outcome: Outcome::Refused(_) | Outcome::Otherwise(_),
            ..
        } => begun.get(of).copied(),
        _ => None,
    });
    answers.collect()
}

fn drifted(system: &dyn System, change: &Change) -> Option<Finding> {
    let Action::Write {
        path, value, compare, ..
    } = &change.action
    else {
        return None;
    };
    let now = system.root().value(path).ok().flatten()?;
    (!compare.same(&now, value)).then(|| {
        let message = format!("{path} reads `{now}` now, and `{value}` was applied");
        plan::Finding::new(plan::Level::Warning, "drift", path, message)
            .fix("find out who changed it; `quietcore undo` and `quietcore apply` set it again")
    })
}

fn unfinished(journal: &Journal) -> ApplyError {
    let pid = match journal.begin() {
        Some(Event::Begin { pid, .. }) => *pid,
        _ => 0,
    };
    ApplyError::Unfinished {
        pid,
        since: time_of(journal),
    }
}

fn time_of(journal: &Journal) -> String {
    let seconds = journal
        .records()
        .first()
        .map_or(0, |record| record.at_ns / 1_000_000_000);
    machine::utc_text(seconds)
}
