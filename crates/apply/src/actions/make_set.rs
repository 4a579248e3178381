//! Makes a cgroup that must not exist yet.

use super::{ActionContext, StepResult};
use crate::ApplyError;
use crate::record::{ChangeOutcome, StateAfter, StateBefore};
use plan::Change;

pub(crate) fn enact(stage: &mut ActionContext, change: &Change, path: &str) -> Result<StepResult, ApplyError> {
    let seq = stage.record_intent(change, StateBefore::Absent)?;
    match stage.system.make_dir(path) {
        Ok(()) => {
            stage.record_outcome(seq, ChangeOutcome::Done, StateAfter::Made)?;
            Ok(StepResult {
                seq,
                before: None,
                after: Some("made".to_owned()),
                outcome: ChangeOutcome::Done,
            })
        }
        Err(error) => {
            let errno = error.errno().unwrap_or(libc::EIO);
            stage.record_outcome(seq, ChangeOutcome::Refused(errno), StateAfter::Nothing)?;
            match errno {
                libc::EEXIST => Err(ApplyError::Exists { path: path.to_owned() }),
                _ => Err(error.into()),
            }
        }
    }
}
