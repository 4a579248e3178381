//! An instance of tracefs of our own, which goes when it is dropped.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where instances are made. `lab-guest truth` mounts it when nobody has.
const INSTANCES: &str = "/sys/kernel/tracing/instances";

static MADE: AtomicU32 = AtomicU32::new(0);

/// One.
pub(super) struct Instance(PathBuf);

impl Instance {
    /// Why there can be none.
    ///
    /// # Errors
    /// When tracefs is not where it belongs.
    pub(super) fn reachable() -> Result<(), String> {
        match Path::new(INSTANCES).is_dir() {
            true => Ok(()),
            false => Err(format!(
                "{INSTANCES} is not there: this kernel has no tracefs, or nobody mounted it"
            )),
        }
    }

    /// Makes one.
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub(super) fn make() -> Result<Instance, String> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(INSTANCES).join(format!("lab-guest-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Instance(path))
    }

    /// Writes one of its files.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn write(&self, file: &str, value: &str) -> Result<(), String> {
        let path = self.0.join(file);
        std::fs::write(&path, value).map_err(|error| format!("{} = {value}: {error}", path.display()))
    }

    /// Reads one of its files.
    ///
    /// # Errors
    /// When it is not there.
    pub(super) fn read(&self, file: &str) -> Result<String, String> {
        let path = self.0.join(file);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir(&self.0) {
            eprintln!("lab-guest: {} stays: {error}", self.0.display());
        }
    }
}
