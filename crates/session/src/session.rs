//! Defines the machine that a command works on, and the location of its state.

use apply::{Host, System};
use machine::Machine;
use root::state::{LIB_DIR, RUN_DIR, StateDir};
use root::{Failure, Live, Root, RootError, Status};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Receives progress and failures while a command works, but not its result.
pub trait Reporter: Sync {
    /// Shows progress, or a note beside the result, as whole lines.
    fn note(&self, text: &str);

    /// Shows a failure that does not end the command, as a warning.
    fn warn(&self, failure: &Failure);

    /// Shows a failure that ends part of the command, as an error.
    fn error(&self, failure: &Failure);
}

/// Makes the access by which a machine is changed.
pub type SystemFactory = fn(&Live) -> Box<dyn System>;

/// The machine that a command works on: the running one, a captured one, or a directory that stands in for one.
pub struct Session {
    root: Arc<Root>,
    live: Option<Live>,
    factory: SystemFactory,
    reporter: &'static dyn Reporter,
    state: Mutex<Option<Arc<StateDir>>>,
    machine: Mutex<Option<Machine>>,
}

impl Session {
    /// The running machine.
    #[must_use]
    pub fn live(reporter: &'static dyn Reporter) -> Session {
        Session::on(Live::host(), reporter)
    }

    /// A machine that can be changed. Its state directories are below its root.
    #[must_use]
    pub fn on(live: Live, reporter: &'static dyn Reporter) -> Session {
        Session::new(Arc::new(Root::of(&live)), Some(live), reporter)
    }

    /// Changes the machine through another access: tests have a simulated kernel.
    #[must_use]
    pub fn with_system(self, factory: SystemFactory) -> Session {
        Session { factory, ..self }
    }

    /// A captured machine, with the reporter of this session.
    #[must_use]
    pub fn captured(&self, root: Root) -> Session {
        Session::new(Arc::new(root), None, self.reporter)
    }

    /// Another session on the same machine, for a thread that reads it independently.
    #[must_use]
    pub fn for_thread(&self) -> Session {
        Session::new(Arc::clone(&self.root), self.live.clone(), self.reporter).with_system(self.factory)
    }

    fn new(root: Arc<Root>, live: Option<Live>, reporter: &'static dyn Reporter) -> Session {
        Session {
            root,
            live,
            factory: |live| Box::new(Host::new(live.clone())),
            reporter,
            state: Mutex::default(),
            machine: Mutex::default(),
        }
    }

    /// Reports progress, or a note beside the result, as whole lines.
    pub fn note(&self, text: &str) {
        self.reporter.note(text);
    }

    /// Reports a failure that does not end the command, as a warning.
    pub fn warn(&self, failure: &Failure) {
        self.reporter.warn(failure);
    }

    /// Reports a failure that ends part of the command, as an error.
    pub fn error(&self, failure: &Failure) {
        self.reporter.error(failure);
    }

    /// Its files.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Its files, for another thread.
    #[must_use]
    pub fn shared_root(&self) -> Arc<Root> {
        Arc::clone(&self.root)
    }

    /// The machine to change.
    ///
    /// # Errors
    /// The machine is a captured one.
    pub fn writable(&self) -> Result<&Live, Failure> {
        self.live.as_ref().ok_or_else(|| {
            Failure::usage(
                "a captured machine cannot be changed",
                "its files are a copy",
                "leave out --root to change the running machine",
            )
        })
    }

    /// The machine to change; `None` for a captured one.
    #[must_use]
    pub fn live_root(&self) -> Option<&Live> {
        self.live.as_ref()
    }

    /// The machine without its tasks and interrupts: a copy of what the first call read.
    #[must_use]
    pub fn machine(&self) -> Machine {
        let mut known = self.machine.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_with(|| Machine::read(&self.root)).clone()
    }

    /// Discards the cached machine after a change: the next [`Session::machine`] reads it again.
    pub fn refresh(&self) {
        *self.machine.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The identifier of this boot, if the machine has one.
    #[must_use]
    pub fn boot_id(&self) -> Option<String> {
        self.root.readable_value("/proc/sys/kernel/random/boot_id")
    }

    /// The state of this boot, `/run/quietcore`; `None` if it does not exist, and on a captured machine.
    ///
    /// # Errors
    /// No permission, or an unsafe directory.
    pub fn state(&self) -> Result<Option<Arc<StateDir>>, RootError> {
        self.state_with(StateDir::open)
    }

    /// As [`Session::state`], but creates it.
    ///
    /// # Errors
    /// No permission, an unsafe directory, or a captured machine.
    pub fn made_state(&self) -> Result<Arc<StateDir>, Failure> {
        self.writable()?;
        let made = self.state_with(|path| StateDir::create(path).map(Some))?;
        made.ok_or_else(|| {
            Failure::new(
                Status::Bug,
                RUN_DIR,
                "it was just created and is missing",
                "report this as a bug",
            )
        })
    }

    /// A directory in the state of this boot; creates both if they are missing.
    ///
    /// # Errors
    /// As [`Session::made_state`].
    pub fn made_state_in(&self, name: &str) -> Result<StateDir, Failure> {
        // The parent directory must be for root only too, whichever command creates it first.
        let state = self.made_state()?;
        Ok(StateDir::create(&state.path().join(name))?)
    }

    /// State that survives a reboot, `/var/lib/quietcore`; `None` if it does not exist, and on a captured machine.
    ///
    /// # Errors
    /// No permission, or an unsafe directory.
    pub fn lasting_state(&self) -> Result<Option<StateDir>, RootError> {
        match self.path(LIB_DIR) {
            Some(path) => StateDir::open(&path),
            None => Ok(None),
        }
    }

    /// As [`Session::lasting_state`], but creates it.
    ///
    /// # Errors
    /// No permission, an unsafe directory, or a captured machine.
    pub fn made_lasting_state(&self) -> Result<StateDir, Failure> {
        Ok(StateDir::create(&self.writable()?.locate(LIB_DIR))?)
    }

    /// The access by which a machine is changed.
    pub(crate) fn system(&self, live: &Live) -> Box<dyn System> {
        (self.factory)(live)
    }

    /// The file system path of a path on a machine that can be changed.
    fn path(&self, path: &str) -> Option<PathBuf> {
        self.live.as_ref().map(|live| live.locate(path))
    }

    fn state_with(
        &self,
        open: impl FnOnce(&std::path::Path) -> Result<Option<StateDir>, RootError>,
    ) -> Result<Option<Arc<StateDir>>, RootError> {
        let mut known = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = &*known {
            return Ok(Some(Arc::clone(state)));
        }
        let Some(path) = self.path(RUN_DIR) else {
            return Ok(None);
        };
        let Some(state) = open(&path)?.map(Arc::new) else {
            return Ok(None);
        };
        *known = Some(Arc::clone(&state));
        Ok(Some(state))
    }
}

/// Seconds since 1970.
#[must_use]
pub fn seconds_now() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}
