//! Makes a cgroup that must not exist yet.

use super::{Stage, Step};
use crate::ApplyError;
use crate::record::{After, Before, Outcome};
use plan::Change;

pub(crate) fn enact(stage: &mut Stage, change: &Change, path: &str) -> Result<Step, ApplyError> {
    let seq = stage.will(change, Before::Absent)?;
    match stage.system.make_dir(path) {
        Ok(()) => {
            stage.did(seq, Outcome::Done, After::Made)?;
            Ok(Step {
                seq,
                before: None,
                after: Some("made".to_owned()),
                outcome: Outcome::Done,
            })
        }
        Err(error) => {
            let errno = error.errno().unwrap_or(libc::EIO);
            stage.did(seq, Outcome::Refused(errno), After::Nothing)?;
            match errno {
                libc::EEXIST => Err(ApplyError::Exists {
                    path: path.to_owned(),
                }),
                _ => Err(error.into()),
            }
        }
    }
}
