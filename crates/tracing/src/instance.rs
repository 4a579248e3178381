//! Manages an instance of tracefs for the duration of a measurement, or uses the top directory, which has no owner.

use crate::refusal::{absent, refused};
use apply::ApplyError;
use apply::tracing::TracingSettings;
use machine::TaskKey;
use measure::{Note, NoteLevel, note};
use root::{Failure, Tracefs};
use session::Session;

/// A directory with a trace.
pub struct TraceInstance<'s> {
    session: &'s Session,
    tracefs: Tracefs,
    /// The path below tracefs.
    place: String,
    /// The process that has to remove it; `None` for the top directory, and after its removal.
    holder: Option<TaskKey>,
}

/// Finds the tracing files.
///
/// # Errors
/// The reason why there are none.
pub fn found(session: &Session) -> Result<Tracefs, Failure> {
    match Tracefs::find() {
        Ok(Some(tracefs)) => Ok(tracefs),
        Ok(None) => Err(absent(session)),
        Err(error) if error.errno() == Some(libc::ENOSYS) => Err(Failure::unable(
            "tracefs",
            "it is not mounted",
            "mount -t tracefs nodev /sys/kernel/tracing",
        )),
        Err(error) => Err(refused(session, error)),
    }
}

impl<'s> TraceInstance<'s> {
    /// Creates an instance with the requested settings. The ledger records it for removal, even if this process is killed.
    ///
    /// # Errors
    /// The kernel refuses a setting, or another quietcore is running.
    pub fn create(
        session: &'s Session,
        tracefs: Tracefs,
        settings: &TracingSettings,
    ) -> Result<TraceInstance<'s>, Failure> {
        let changing = session.lock_for_trace()?;
        let holder = own_key(session)?;
        let held = apply::tracing::hold(&*changing.host, changing.state(), &tracefs, holder, settings);
        let place = held.map_err(|error| match error {
            ApplyError::Root(error) => refused(session, error),
            error => error.into(),
        })?;
        Ok(TraceInstance {
            session,
            tracefs,
            place,
            holder: Some(holder),
        })
    }

    /// The shared top directory.
    #[must_use]
    pub fn top(session: &'s Session, tracefs: Tracefs) -> TraceInstance<'s> {
        TraceInstance {
            session,
            tracefs,
            place: ".".to_owned(),
            holder: None,
        }
    }

    /// Whether it is our own instance.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.holder.is_some()
    }

    /// One of its files.
    #[must_use]
    pub fn file(&self, name: &str) -> String {
        self.tracefs.file(&format!("{}/{name}", self.place))
    }

    /// One of the files of the second instance that belongs to it.
    #[must_use]
    pub fn second_instance_file(&self, name: &str) -> String {
        self.tracefs
            .file(&format!("{}/{name}", apply::tracing::second_instance_name(&self.place)))
    }

    /// One of the files that all instances share.
    #[must_use]
    pub fn shared_file(&self, name: &str) -> String {
        self.tracefs.file(name)
    }

    /// The full path of one of its files, for users.
    #[must_use]
    pub fn display_path(&self, name: &str) -> String {
        Tracefs::display_path(&format!("{}/{name}", self.place)).replace("/./", "/")
    }

    /// Stops the trace; its content remains.
    ///
    /// # Errors
    /// The kernel refuses to stop it.
    pub fn stop(&self) -> Result<(), Failure> {
        let host = apply::Host::new(self.session.writable()?.clone());
        Ok(apply::tracing::stop(&host, &self.tracefs, &self.place)?)
    }

    /// Removes it after its content has been read. If that fails, returns a note; the result remains valid.
    pub fn end(&mut self) -> Option<Note> {
        let subject = self.display_path("");
        let error = self.remove().err()?;
        let message = format!("The trace could not be removed: {}.", error.reason());
        Some(note(
            NoteLevel::Warning,
            "trace_left_behind",
            subject,
            message,
            &error.next,
        ))
    }

    /// Removes it and restores what it changed. Its files must be closed.
    ///
    /// # Errors
    /// Another process has changed it since then, or is reading it.
    pub fn remove(&mut self) -> Result<(), Failure> {
        let Some(holder) = self.holder.take() else {
            return Ok(());
        };
        let changing = self.session.lock_for_trace()?;
        let left = apply::tracing::release_own(&*changing.host, changing.state(), &self.tracefs, holder)?;
        conflict(&left)
    }
}

/// The key under which this process records its changes.
///
/// # Errors
/// There is no `/proc`.
pub(crate) fn own_key(session: &Session) -> Result<TaskKey, Failure> {
    let own = machine::tasks::read_stat(session.root(), std::process::id());
    own.map(|task| task.key)
        .ok_or_else(|| Failure::unable("/proc/self/stat", "it cannot be read", "mount /proc"))
}

/// Returns an error if something could not be restored, because another process changed or uses it.
pub(crate) fn conflict(left: &[String]) -> Result<(), Failure> {
    match left.first() {
        None => Ok(()),
        Some(left) => Err(Failure::conflict("tracefs", left, "quietcore undo")),
    }
}

/// Removes the instance if a measurement fails. If the removal fails, the next call does it.
impl Drop for TraceInstance<'_> {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}
