//! Makes and undoes the changes of a measurement in tracefs: an instance of its own, and settings that all tracers share.
//!
//! Neither ends with the process that made it. A separate ledger, written first, records which process made what. The
//! end of the measurement removes the instance and restores the settings; if the process died, the next call does.

use crate::journal::Storage;
use crate::ledger::HoldSelection;
use crate::{ApplyError, System, ledger};
use machine::TaskKey;
use root::{RootError, Tracefs};
use serde::{Deserialize, Serialize};

const NAME: &str = "tracing";

/// A file and its intended value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracingSetting {
    /// Its name below the instance, or below tracefs.
    pub file: String,
    /// What is written.
    pub value: String,
    /// Whether it is required.
    pub need: SettingRequirement,
}

/// Whether a measurement needs a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingRequirement {
    /// It does.
    Must,
    /// It can run on a kernel that lacks the file or refuses the value.
    May,
}

impl TracingSetting {
    /// A required setting.
    #[must_use]
    pub fn must(file: &str, value: impl Into<String>) -> TracingSetting {
        TracingSetting {
            file: file.to_owned(),
            value: value.into(),
            need: SettingRequirement::Must,
        }
    }

    /// A setting that may fail.
    #[must_use]
    pub fn may(file: &str, value: impl Into<String>) -> TracingSetting {
        TracingSetting {
            need: SettingRequirement::May,
            ..TracingSetting::must(file, value)
        }
    }
}

/// The settings of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracingSettings {
    /// Below tracefs, seen by every tracer; written first, in this order.
    pub shared: Vec<TracingSetting>,
    /// Below the instance, in this order.
    pub own: Vec<TracingSetting>,
    /// Below a second instance, named after the first with the suffix `-2`, for a tracer that would fill the buffers of
    /// the first. Empty means no second instance.
    pub beside: Vec<TracingSetting>,
}

/// The name of the second instance for one that [`hold`] has named.
#[must_use]
pub fn second_instance_name(instance: &str) -> String {
    format!("{instance}-2")
}

/// The largest page of any architecture: a buffer size is rounded up by less than one page.
const LARGEST_PAGE_KIB: u64 = 64;

/// What one process holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct TracingHold {
    holder: TaskKey,
    /// Below `instances`.
    instance: String,
    /// Whether there is a second instance.
    #[serde(default)]
    has_beside: bool,
    /// The shared settings, in the order of writing.
    shared: Vec<SharedSetting>,
}

impl TracingHold {
    /// Its instances below tracefs, the second one first, because it is made last.
    fn paths(&self) -> Vec<String> {
        let path = format!("instances/{}", self.instance);
        match self.has_beside {
            true => vec![second_instance_name(&path), path],
            false => vec![path],
        }
    }
}

impl ledger::ProcessHold for TracingHold {
    fn holder(&self) -> TaskKey {
        self.holder
    }
}

impl ledger::TracefsHold for TracingHold {
    const NAME: &'static str = NAME;

    /// Removes the instances first: while their tracers run, the kernel refuses some settings. Returns whether all is done.
    fn release(&self, system: &dyn System, tracefs: &Tracefs, left: &mut Vec<String>) -> Result<bool, ApplyError> {
        for path in self.paths() {
            let dir = tracefs.file(&path);
            let is_there = system.root().kind(&dir)?.is_some();
            if is_there && !ledger::remove_unless_busy(system, || system.remove_dir(&dir))? {
                left.push(format!(
                    "{}: another program reads it, so it stays until that program ends",
                    Tracefs::display_path(&path)
                ));
                return Ok(false);
            }
        }
        for shared in self.shared.iter().rev() {
            let file = tracefs.file(&shared.file);
            let Some(now) = restorable_value(system, tracefs, &shared.file)? else {
                continue;
            };
            if now == shared.former {
                continue;
            }
            if is_as_written(&shared.file, &now, &shared.ours) {
                system.write(&file, &shared.former)?;
            } else if !is_as_written(&shared.file, &now, &shared.former) {
                left.push(format!(
                    "{}: `{now}`, set by another program; previously `{}`",
                    Tracefs::display_path(&shared.file),
                    shared.former
                ));
            }
        }
        Ok(true)
    }
}

/// A shared setting.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SharedSetting {
    file: String,
    former: String,
    ours: String,
}

/// Makes an instance for a process, named after it, and writes all settings. Returns the path of the instance below tracefs.
///
/// # Errors
/// A ledger that cannot be written, or a kernel refusal; earlier steps are undone. [`ApplyError::Tracing`] if another
/// process holds shared settings already.
pub fn hold(
    system: &dyn System,
    storage: &dyn Storage,
    tracefs: &Tracefs,
    holder: TaskKey,
    settings: &TracingSettings,
) -> Result<String, ApplyError> {
    let holds: Vec<TracingHold> = ledger::read(storage, NAME)?;
    let other = holds.iter().find(|hold| !hold.shared.is_empty());
    if let Some(other) = other.filter(|_| !settings.shared.is_empty()) {
        return Err(ApplyError::Tracing { pid: other.holder.tid });
    }
    let mut shared = Vec::new();
    for setting in &settings.shared {
        match restorable_value(system, tracefs, &setting.file)? {
            Some(former) => shared.push(SharedSetting {
                file: setting.file.clone(),
                former,
                ours: setting.value.clone(),
            }),
            None if setting.need == SettingRequirement::May => {}
            None => return Err(missing(&setting.file).into()),
        }
    }
    let hold = TracingHold {
        holder,
        instance: format!("quietcore-{}", holder.tid),
        has_beside: !settings.beside.is_empty(),
        shared,
    };
    let path = format!("instances/{}", hold.instance);
    for path in hold.paths() {
        if system.root().kind(&tracefs.file(&path))?.is_some() {
            return Err(ApplyError::Exists {
                path: Tracefs::display_path(&path),
            });
        }
    }
    ledger::note(storage, NAME, hold)?;
    let done = set_up(system, tracefs, &path, settings);
    match done {
        Ok(()) => Ok(path),
        Err(error) => {
            release_own(system, storage, tracefs, holder)?;
            Err(error.into())
        }
    }
}

fn set_up(system: &dyn System, tracefs: &Tracefs, path: &str, settings: &TracingSettings) -> Result<(), RootError> {
    system.make_dir(&tracefs.file(path))?;
    for setting in &settings.shared {
        let file = tracefs.file(&setting.file);
        if restorable_value(system, tracefs, &setting.file)?.is_some_and(|now| now != setting.value) {
            take(setting, system.write(&file, &setting.value))?;
        }
    }
    let second = second_instance_name(path);
    if !settings.beside.is_empty() {
        system.make_dir(&tracefs.file(&second))?;
    }
    let own = settings.own.iter().map(|setting| (path, setting));
    let beside = settings.beside.iter().map(|setting| (second.as_str(), setting));
    for (path, setting) in own.chain(beside) {
        let file = tracefs.file(&format!("{path}/{}", setting.file));
        take(setting, system.write(&file, &setting.value))?;
    }
    Ok(())
}

/// The value of a shared file, in the form that restores it.
///
/// An unused trace buffer has a page or two per CPU, and shows the size that it gets on first use: `7 (expanded:
/// 1408)`. That size is what the next user finds, and what has to be restored for each CPU's own file. Restoring the
/// pages would leave that CPU with them permanently.
fn restorable_value(system: &dyn System, tracefs: &Tracefs, file: &str) -> Result<Option<String>, RootError> {
    let says = system.root().value(&tracefs.file(file))?;
    let whole = match file.starts_with("per_cpu/") && file.ends_with("/buffer_size_kb") {
        true => system.root().value(&tracefs.file("buffer_size_kb"))?,
        false => None,
    };
    let unused = whole.as_deref().and_then(|whole| whole.split_once(" (expanded: "));
    Ok(says.map(|says| match unused {
        Some((now, then)) if now == says => then.trim_end_matches(')').to_owned(),
        _ => chosen(&says).to_owned(),
    }))
}

/// Whether a file has the value that was written. The kernel rounds a buffer up to whole pages and shows the result:
/// 16387 for 16384 KiB on 6.1, whose pages hold 4080 bytes each (`kernel/trace/ring_buffer.c`).
fn is_as_written(file: &str, now: &str, written: &str) -> bool {
    let kib = |text: &str| text.parse::<u64>().ok();
    let rounded = file
        .ends_with("buffer_size_kb")
        .then(|| kib(now)?.checked_sub(kib(written)?))
        .flatten();
    now == written || rounded.is_some_and(|more_kib| more_kib < LARGEST_PAGE_KIB)
}

/// The value of a file. For several words, that is the one in brackets (`[local] global mono`), which the file accepts back.
fn chosen(text: &str) -> &str {
    let mut words = text.split_whitespace();
    let word = words.find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    word.unwrap_or(text)
}

fn take(setting: &TracingSetting, outcome: Result<(), RootError>) -> Result<(), RootError> {
    match setting.need {
        SettingRequirement::Must => outcome,
        SettingRequirement::May => Ok(()),
    }
}

/// Stops the trace of an instance; its buffers keep their content.
///
/// # Errors
/// A refused write.
pub fn stop(system: &dyn System, tracefs: &Tracefs, instance: &str) -> Result<(), ApplyError> {
    Ok(system.write(&tracefs.file(&format!("{instance}/tracing_on")), "0")?)
}

/// Removes the instance of one process and restores the settings that it changed. What another program changed since,
/// or uses, is left alone and reported. Files of the instance have to be closed first.
///
/// # Errors
/// A ledger that cannot be read or written, or a refused write.
pub fn release_own(
    system: &dyn System,
    storage: &dyn Storage,
    tracefs: &Tracefs,
    holder: TaskKey,
) -> Result<Vec<String>, ApplyError> {
    ledger::release::<TracingHold>(system, storage, &HoldSelection::Own(holder, tracefs))
}

/// Does the same for processes that ended without it.
///
/// # Errors
/// As for [`release_own`].
pub fn sweep(system: &dyn System, storage: &dyn Storage) -> Result<Vec<String>, ApplyError> {
    ledger::release::<TracingHold>(system, storage, &HoldSelection::Ended)
}

fn missing(file: &str) -> RootError {
    RootError::Io {
        path: Tracefs::display_path(file),
        operation: "open",
        errno: libc::ENOENT,
    }
}
