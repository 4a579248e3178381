//! Changes owner and permissions of a cgroup file (chown and chmod) and reads them back.

use super::{ActionContext, StepResult};
use crate::ApplyError;
use crate::record::ChangeOutcome;
use plan::{Change, UndoMethod};

/// The intended owner of a file.
pub(crate) struct FileOwnership<'a> {
    /// The file.
    pub path: &'a str,
    /// Its new owner.
    pub uid: u32,
    /// Its new group.
    pub gid: Option<u32>,
    /// How it is undone.
    pub undo: UndoMethod,
}

pub(crate) fn enact(
    stage: &mut ActionContext,
    change: &Change,
    gift: &FileOwnership,
) -> Result<StepResult, ApplyError> {
    let path = gift.path;
    let Some(now) = stage.system.ownership(path)? else {
        return Err(ApplyError::Unable {
            why: format!("{path} does not exist"),
            next: "this kernel lacks the file; leave out --owner".to_owned(),
        });
    };
    let intended = now.given_to(gift.uid, gift.gid);
    let before = Some(now.to_string());
    if intended == now {
        return Ok(StepResult::unchanged(before, ChangeOutcome::Already));
    }
    if gift.undo == UndoMethod::Restore && (now.uid, now.gid) != (0, 0) {
        return Err(ApplyError::Unable {
            why: format!("{path} already belongs to {}:{}", now.uid, now.gid),
            next: "only one owner is possible: undo the partition with that owner, or leave out owner_ancestor"
                .to_owned(),
        });
    }
    let seq = stage.record_value_intent(change, before.clone())?;
    if let Err(error) = stage.system.set_ownership(path, intended) {
        let found = stage.system.ownership(path)?;
        let value = found.map(|found| found.to_string());
        // The first of the two calls may have succeeded.
        let outcome = match found == Some(now) {
            true => ChangeOutcome::Refused(error.errno().unwrap_or(libc::EIO)),
            false => ChangeOutcome::Otherwise(value.clone().unwrap_or_default()),
        };
        stage.record_value_outcome(seq, outcome, value)?;
        return Err(error.into());
    }
    let found = stage.system.ownership(path)?;
    let after = found.map(|found| found.to_string());
    let outcome = match found == Some(intended) {
        true => ChangeOutcome::Done,
        false => ChangeOutcome::Otherwise(after.clone().unwrap_or_default()),
    };
    stage.record_value_outcome(seq, outcome.clone(), after.clone())?;
    if found != Some(intended) {
        return Err(ApplyError::Unable {
            why: format!(
                "the owner of {path} was set to {intended}, but is {}",
                after.unwrap_or_default()
            ),
            next: "the file system does not store owners; leave out --owner".to_owned(),
        });
    }
    Ok(StepResult {
        seq,
        before,
        after,
        outcome,
    })
}
