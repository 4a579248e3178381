//! Changes owner and permissions of a cgroup file (chown and chmod) and reads them back.

use super::{Stage, Step};
use crate::ApplyError;
use crate::record::Outcome;
use plan::{Change, Undo};

/// The intended owner of a file.
pub(crate) struct Gift<'a> {
    /// The file.
    pub path: &'a str,
    /// Its new owner.
    pub uid: u32,
    /// Its new group.
    pub gid: Option<u32>,
    /// How it is undone.
    pub undo: Undo,
}

pub(crate) fn enact(stage: &mut Stage, change: &Change, gift: &Gift) -> Result<Step, ApplyError> {
    let path = gift.path;
    let Some(now) = stage.system.ownership(path)? else {
        return Err(ApplyError::Unable {
            why: format!("{path} does not exist"),
            next: "this kernel lacks the file; leave --owner out".to_owned(),
        });
    };
    let wanted = now.given_to(gift.uid, gift.gid);
    let before = Some(now.to_string());
    if wanted == now {
        return Ok(Step::unchanged(before, Outcome::Already));
    }
    if gift.undo == Undo::Restore && (now.uid, now.gid) != (0, 0) {
        return Err(ApplyError::Unable {
            why: format!("{path} belongs to {}:{} already", now.uid, now.gid),
            next: "one owner at a time: undo the partition that gave it away, or leave owner_ancestor out"
                .to_owned(),
        });
    }
    let seq = stage.will_value(change, before.clone())?;
    if let Err(error) = stage.system.set_ownership(path, wanted) {
        let found = stage.system.ownership(path)?;
        let value = found.map(|found| found.to_string());
        // The first of the two calls may have succeeded.
        let outcome = match found == Some(now) {
            true => Outcome::Refused(error.errno().unwrap_or(libc::EIO)),
            false => Outcome::Otherwise(value.clone().unwrap_or_default()),
        };
        stage.did_value(seq, outcome, value)?;
        return Err(error.into());
    }
    let found = stage.system.ownership(path)?;
    let after = found.map(|found| found.to_string());
    let outcome = match found == Some(wanted) {
        true => Outcome::Done,
        false => Outcome::Otherwise(after.clone().unwrap_or_default()),
    };
    stage.did_value(seq, outcome.clone(), after.clone())?;
    if found != Some(wanted) {
        return Err(ApplyError::Unable {
            why: format!(
                "{path} was given to {wanted}, and is {}",
                after.unwrap_or_default()
            ),
            next: "the file system does not keep owners; leave --owner out".to_owned(),
        });
    }
    Ok(Step {
        seq,
        before,
        after,
        outcome,
    })
}
