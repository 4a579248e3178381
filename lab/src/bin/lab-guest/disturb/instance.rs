//! A tracefs instance that is removed when it is dropped.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The directory of instances. `lab-guest truth` mounts tracefs if it is not mounted.
const INSTANCES: &str = "/sys/kernel/tracing/instances";

static MADE: AtomicU32 = AtomicU32::new(0);

/// A tracefs instance, by its directory.
pub(super) struct TracefsInstance(PathBuf);

impl TracefsInstance {
    /// Checks that instances are possible.
    ///
    /// # Errors
    /// tracefs is not at its usual place.
    pub(super) fn reachable() -> Result<(), String> {
        match Path::new(INSTANCES).is_dir() {
            true => Ok(()),
            false => Err(format!(
                "{INSTANCES} is not there: this kernel has no tracefs, or nobody mounted it"
            )),
        }
    }

    /// Creates an instance.
    ///
    /// # Errors
    /// The kernel does not permit it.
    pub(super) fn make() -> Result<TracefsInstance, String> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(INSTANCES).join(format!("lab-guest-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(TracefsInstance(path))
    }

    /// Writes a file of the instance.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn write(&self, file: &str, value: &str) -> Result<(), String> {
        let path = self.0.join(file);
        std::fs::write(&path, value).map_err(|error| format!("{} = {value}: {error}", path.display()))
    }

    /// Reads a file of the instance.
    ///
    /// # Errors
    /// The file does not exist.
    pub(super) fn read(&self, file: &str) -> Result<String, String> {
        let path = self.0.join(file);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }
}

impl Drop for TracefsInstance {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir(&self.0) {
            eprintln!("lab-guest: {} stays: {error}", self.0.display());
        }
    }
}
