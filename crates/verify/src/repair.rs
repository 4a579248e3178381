//! Implements `check --fix`: makes the changes that findings carry, under the lock and as part of the partition that lost them.

use crate::examination::Examination;
use apply::{ChangeOutcome, RepairOutcome, RepairRequest};
use check::CheckFinding;
use machine::OrderBy;
use plan::Change;
use root::{Failure, Status};
use session::Session;
use std::collections::BTreeMap;

/// The outcome of a repair, one line for each setting.
#[derive(Default)]
pub struct SettingRepairs {
    /// Restored, or already set.
    pub repaired: Vec<String>,
    /// Not restored, and why.
    pub refused: Vec<RepairRefusal>,
}

impl SettingRepairs {
    /// Adds what was done in one partition.
    fn add(&mut self, repaired: &RepairOutcome) {
        for entry in &repaired.entries {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
            let text = format!(
                "{}: {} -> {}, {}",
                entry.change,
                value(&entry.before),
                value(&entry.after),
                entry.outcome.text()
            );
            match entry.outcome {
                ChangeOutcome::Done | ChangeOutcome::Already => self.repaired.push(text),
                ChangeOutcome::Refused(_)
                | ChangeOutcome::Otherwise(_)
                | ChangeOutcome::Drift(_)
                | ChangeOutcome::Gone => {
                    self.refused.push(RepairRefusal {
                        about: entry.change.clone(),
                        text,
                    });
                }
            }
        }
        self.refused
            .extend(repaired.findings.iter().map(|finding| RepairRefusal {
                about: finding.subject.clone(),
                text: format!("{}: {}", finding.subject, finding.message),
            }));
    }
}

/// A setting that could not be restored.
pub struct RepairRefusal {
    /// The change, or the file with the problem.
    pub about: String,
    /// One line about it.
    pub text: String,
}

/// Restores lost settings; one line for each that was restored or refused. What the user ignores is left alone.
///
/// # Errors
/// No permission, another running quietcore, a journal that cannot be parsed or written.
pub fn repair(session: &Session, examined: &Examination, ignore: &[String]) -> Result<Vec<String>, Failure> {
    if !session.is_journal_readable() {
        return Err(Failure::new(
            Status::Denied,
            "nothing was repaired",
            format!(
                "{}: only root can read the journal of what was applied",
                root::state::RUN_DIR
            ),
            "run it as root (sudo quietcore check --fix)",
        ));
    }
    let is_meant = |found: &&CheckFinding| !ignore.iter().any(|pattern| found.is_meant_by(pattern));
    let repaired = repair_found(session, &examined.found.iter().filter(is_meant).collect::<Vec<_>>())?;
    let refused = repaired.refused.into_iter().map(|refusal| refusal.text);
    Ok(repaired.repaired.into_iter().chain(refused).collect())
}

/// As [`repair`], for only these findings.
///
/// # Errors
/// As [`repair`].
pub fn repair_found(session: &Session, found: &[&CheckFinding]) -> Result<SettingRepairs, Failure> {
    let mut by_partition = changes_by_partition(found);
    if by_partition.is_empty() {
        return Ok(SettingRepairs::default());
    }
    plan::joint::join(&mut by_partition.values_mut().flatten().collect::<Vec<_>>());
    let Some(changing) = session.lock_existing()? else {
        return Err(Failure::conflict(
            "no partition is active any more",
            "the partition was undone during the check",
            "run `quietcore check` again",
        ));
    };
    if !changing.ended_leases.is_empty() {
        return Err(Failure::conflict(
            "the isolated CPUs have changed",
            "a lease ended during the check, so its findings are out of date",
            "run `quietcore check` again",
        ));
    }
    let mut all = SettingRepairs::default();
    for (partition, changes) in by_partition {
        let machine = session.machine();
        let request = RepairRequest {
            partition,
            changes: &ordered(changes),
            tool: env!("CARGO_PKG_VERSION"),
        };
        let repaired = apply::repair(&*changing.host, changing.state(), &machine, request)?;
        all.add(&repaired);
    }
    session.refresh();
    Ok(all)
}

/// The changes that the findings carry, each once.
fn changes_by_partition<'a>(found: &[&'a CheckFinding]) -> BTreeMap<&'a str, Vec<Change>> {
    let mut by_partition: BTreeMap<&str, Vec<Change>> = BTreeMap::new();
    for found in found {
        let Some(change) = &found.mend else { continue };
        let changes = by_partition.entry(&found.partition).or_default();
        if !changes.iter().any(|known| known.id == change.id) {
            changes.push(change.clone());
        }
    }
    by_partition
}

/// Sorts changes in knob order, in which `apply` needs them.
fn ordered(mut changes: Vec<Change>) -> Vec<Change> {
    let place = |change: &Change| plan::KNOBS.iter().position(|knob| knob.name == change.knob());
    changes.order_by_key(|change| place(change));
    changes
}
