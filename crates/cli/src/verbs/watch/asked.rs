//! The options that the view passes to `check`.

use plan::Profile;
use root::Failure;
use session::Session;
use session::boot_files::BootScene;
use std::time::Duration;
use verify::examination::{Examination, examine};
use verify::intention::{CheckScope, Declarations};

/// The options of `check`.
#[derive(Clone, Debug)]
pub struct Asking {
    /// `--cpus`.
    pub cpus: Option<String>,
}

impl Asking {
    /// Runs it and counts effects for this time.
    ///
    /// # Errors
    /// As `check`.
    pub fn look(&self, session: &Session, window: Duration) -> Result<Examination, Failure> {
        let asked = CheckScope {
            cpus: self.cpus.as_deref(),
            profile: Profile::Minimal,
            declarations: Declarations::OfMachine,
        };
        session.refresh();
        examine(&BootScene::read(session)?, &asked, window)
    }
}
