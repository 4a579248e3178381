//! What `check` is asked for the view.

use crate::CommandError;
use crate::verbs::boot;
use crate::verbs::check::intention::{Asked, Declarations};
use crate::verbs::check::look::{self, Looked};
use plan::Profile;
use session::Session;
use std::time::Duration;

/// What `check` is asked.
#[derive(Clone, Debug)]
pub struct Asking {
    /// `--cpus`.
    pub cpus: Option<String>,
}

impl Asking {
    /// Asks it, with effects counted for so long.
    ///
    /// # Errors
    /// As `check`.
    pub fn look(&self, session: &Session, window: Duration) -> Result<Looked, CommandError> {
        let asked = Asked {
            cpus: self.cpus.as_deref(),
            profile: Profile::Minimal,
            declarations: Declarations::OfMachine,
        };
        session.refresh();
        look::look(&boot::Scene::read(session)?, &asked, window)
    }
}
