//! An instance of tracefs for as long as a measurement needs it, or the top directory, which is nobody's.

use crate::refusal::{absent, refused};
use apply::ApplyError;
use apply::tracing::Wanted;
use machine::TaskKey;
use measure::{Level, Note};
use root::{Failure, Status, Tracefs};
use session::Session;

/// A directory with a trace.
pub struct Instance<'s> {
    session: &'s Session,
    tracefs: Tracefs,
    /// Below tracefs.
    place: String,
    /// Who has to take it down; `None` for the top directory, and when it is done.
    holder: Option<TaskKey>,
}

/// The tracing files.
///
/// # Errors
/// Why there are none.
pub fn found(session: &Session) -> Result<Tracefs, Failure> {
    match Tracefs::find() {
        Ok(Some(tracefs)) => Ok(tracefs),
        Ok(None) => Err(absent(session)),
        Err(error) if error.errno() == Some(libc::ENOSYS) => Err(Failure::new(
            Status::Unable,
            "tracefs",
            "it is not mounted",
            "mount -t tracefs nodev /sys/kernel/tracing",
        )),
        Err(error) => Err(refused(session, error)),
    }
}

impl<'s> Instance<'s> {
    /// Makes one, with all that is wanted. It is in the ledger, so that it goes also when this process is killed.
    ///
    /// # Errors
    /// What the kernel refuses, or another quietcore at work.
    pub fn begin(session: &'s Session, tracefs: Tracefs, wanted: &Wanted) -> Result<Instance<'s>, Failure> {
        let changing = session.lock()?;
        let holder = own_key(session)?;
        let held = apply::tracing::hold(&changing.host, changing.state(), &tracefs, holder, wanted);
        let place = held.map_err(|error| match error {
            ApplyError::Root(error) => refused(session, error),
            error => error.into(),
        })?;
        Ok(Instance {
            session,
            tracefs,
            place,
            holder: Some(holder),
        })
    }

    /// The directory that everybody shares.
    #[must_use]
    pub fn top(session: &'s Session, tracefs: Tracefs) -> Instance<'s> {
        Instance {
            session,
            tracefs,
            place: ".".to_owned(),
            holder: None,
        }
    }

    /// Whether it is ours alone.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.holder.is_some()
    }

    /// One of its files.
    #[must_use]
    pub fn file(&self, name: &str) -> String {
        self.tracefs.file(&format!("{}/{name}", self.place))
    }

    /// One of the files of the second instance that goes with it.
    #[must_use]
    pub fn beside(&self, name: &str) -> String {
        self.tracefs
            .file(&format!("{}/{name}", apply::tracing::beside(&self.place)))
    }

    /// One of the files that all instances share.
    #[must_use]
    pub fn shared_file(&self, name: &str) -> String {
        self.tracefs.file(name)
    }

    /// One of its files as a person finds it.
    #[must_use]
    pub fn shown(&self, name: &str) -> String {
        Tracefs::shown(&format!("{}/{name}", self.place)).replace("/./", "/")
    }

    /// Stops the trace; what is in it stays.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn stop(&self) -> Result<(), Failure> {
        let host = apply::Host::new(self.session.writable()?.clone());
        Ok(apply::tracing::stop(&host, &self.tracefs, &self.place)?)
    }

    /// Takes it down when all has been read from it; what is left is to be said beside the answer, which stands.
    pub fn end(&mut self) -> Option<Note> {
        let subject = self.shown("");
        let error = self.take_down().err()?;
        Some(Note {
            id: "trace_left_behind".to_owned(),
            level: Level::Warning,
            subject,
            message: format!(
                "The trace could not be taken down: {}: {}.",
                error.what, error.why
            ),
            fix: error.next,
        })
    }

    /// Removes it and gives back what it changed. Its files have to be closed.
    ///
    /// # Errors
    /// What somebody else changed since, or reads.
    pub fn take_down(&mut self) -> Result<(), Failure> {
        let Some(holder) = self.holder.take() else {
            return Ok(());
        };
        let changing = self.session.lock()?;
        let left = apply::tracing::let_go(&changing.host, changing.state(), &self.tracefs, holder)?;
        conflict(&left)
    }
}

/// Who holds what this process takes.
///
/// # Errors
/// There is no `/proc`.
pub(crate) fn own_key(session: &Session) -> Result<TaskKey, Failure> {
    let own = machine::tasks::read_stat(session.root(), std::process::id());
    own.map(|task| task.key).ok_or_else(|| {
        Failure::new(
            Status::Unable,
            "/proc/self/stat",
            "it cannot be read",
            "mount /proc",
        )
    })
}

/// What could not be given back, because somebody else changed or uses it, is an error.
pub(crate) fn conflict(left: &[String]) -> Result<(), Failure> {
    match left.first() {
        None => Ok(()),
        Some(left) => Err(Failure::new(Status::Conflict, "tracefs", left, "quietcore undo")),
    }
}

/// A measurement that fails takes it down as well; what fails here is done by the next call.
impl Drop for Instance<'_> {
    fn drop(&mut self) {
        let _ = self.take_down();
    }
}
