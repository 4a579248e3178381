//! Detects watched CPUs that went offline: their data is valid until then, and the report states it.

use machine::CpuSet;
use measure::{Note, NoteLevel, note};
use root::Root;

/// Where the kernel lists the CPUs that are online.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// The watched CPUs, and those that went offline.
pub struct Hotplug {
    watched: CpuSet,
    went_offline: CpuSet,
    came_online: CpuSet,
}

impl Hotplug {
    /// Assumes that all of them are online.
    pub fn of(watched: &CpuSet) -> Hotplug {
        Hotplug {
            watched: watched.clone(),
            went_offline: CpuSet::new(),
            came_online: CpuSet::new(),
        }
    }

    /// Reads the online CPUs. A CPU that goes offline and returns between two reads is not detected; the kernel needs tens of
    /// milliseconds for that.
    pub fn update(&mut self, root: &Root) {
        if let Some(online) = machine::cpu_list(root, ONLINE) {
            self.seen(&online);
        }
    }

    fn seen(&mut self, online: &CpuSet) {
        self.went_offline = self.went_offline.or(&self.watched.minus(online));
        self.came_online = self.went_offline.and(online);
    }

    /// The note about CPUs that went offline, if any.
    pub fn note(&self) -> Option<Note> {
        let offline_cpus = &self.went_offline;
        let back = match self.came_online.is_empty() {
            true => String::new(),
            false => format!(" CPU {} is online again.", self.came_online),
        };
        let message = format!(
            "CPU {offline_cpus} went offline during the measurement: from then on nothing ran there, and the kernel \
             moved its threads to other CPUs.{back}"
        );
        let subject = format!("cpus {offline_cpus}");
        let fix = "keep it online, and watch again";
        (!offline_cpus.is_empty()).then(|| note(NoteLevel::Error, "cpu_went_offline", subject, message, fix))
    }
}

/// A note as text: what happened, and what to do next.
#[must_use]
pub fn note_text(note: &Note) -> String {
    format!("{}\n next: {}\n", note.message, note.fix)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn watched_cpus_that_went_offline_are_reported_even_if_back_online() {
        let set = |list: &str| CpuSet::parse_list(list).unwrap();
        let mut hotplug = Hotplug::of(&set("1,3"));
        hotplug.seen(&set("0-1,3"));
        assert_eq!(hotplug.note(), None);
        hotplug.seen(&set("0-2"));
        let note = hotplug.note().unwrap();
        assert!(note.subject == "cpus 3" && note.level == NoteLevel::Error, "{note:?}");
        assert!(!note.message.contains("again"), "{note:?}");
        hotplug.seen(&set("0-3"));
        let note = hotplug.note().unwrap();
        assert!(note.message.contains("CPU 3 is online again"), "{note:?}");
    }
}
