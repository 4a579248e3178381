//! Level 3: each version reads the journals of every released version, `fixtures/journals/VERSION`, and undoes what
//! they record.
//!
//! The simulated machine is the same in every run. This version plays a scene, and its journal is replaced by the
//! released version's journal of that scene. Undo then restores the original state to the byte. `make bless` writes the
//! journals of a version that has none yet, and never changes others.

use crate::support::rehearsal::acting::{same, undo};
use crate::support::rehearsal::{Rules, SimDisk, SimKernel};
use crate::{boot_line, cycling, every_step, hand_moves, installing, repairs, resizing, threads};
use apply::{Force, Journal, JournalEvent, UndoTarget};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// A scene: the machine, and what is done on it.
struct JournalScenario {
    name: &'static str,
    start: fn() -> SimKernel,
    act: fn(&SimKernel, &SimDisk),
}

fn strict(kernel: &SimKernel, disk: &SimDisk) {
    every_step::isolate(kernel, disk, "2-3").unwrap();
}

fn hot_unplugged(kernel: &SimKernel, disk: &SimDisk) {
    cycling::isolate(kernel, disk).unwrap();
}

fn moved(kernel: &SimKernel, disk: &SimDisk) {
    crate::support::rehearsal::moving::isolate(kernel, disk);
    hand_moves::move_in(kernel, disk);
}

fn divided(kernel: &SimKernel, disk: &SimDisk) {
    crate::support::rehearsal::moving::isolate(kernel, disk);
    threads::divide(kernel, disk);
}

fn resized(kernel: &SimKernel, disk: &SimDisk) {
    resizing::inhabited(kernel, disk);
    resizing::recreate(kernel, disk, "2-3");
}

fn repaired(kernel: &SimKernel, disk: &SimDisk) {
    repairs::isolate_and_break(kernel, disk);
    repairs::repair_rt(kernel, disk);
    let mut journal = Journal::open(disk).unwrap().unwrap();
    journal.append(JournalEvent::Confirmed { layer: None }).unwrap();
}

const SCENES: &[JournalScenario] = &[
    JournalScenario {
        name: "strict-v1-pins-dropped",
        start: || SimKernel::boot_with_settings(Rules::V1DropsPins),
        act: strict,
    },
    JournalScenario {
        name: "strict-v1-pins-kept",
        start: || SimKernel::boot_with_settings(Rules::V1KeepsPins),
        act: strict,
    },
    JournalScenario {
        name: "strict-v2",
        start: || SimKernel::boot_with_settings(Rules::V2),
        act: strict,
    },
    JournalScenario {
        name: "cycled-v2",
        start: || SimKernel::boot_with_hotplug(Rules::V2),
        act: hot_unplugged,
    },
    JournalScenario {
        name: "moved-v1",
        start: || hand_moves::isolated(Rules::V1KeepsPins),
        act: moved,
    },
    JournalScenario {
        name: "moved-v2",
        start: || hand_moves::isolated(Rules::V2),
        act: moved,
    },
    JournalScenario {
        name: "divided-v2",
        start: threads::with_threads,
        act: divided,
    },
    JournalScenario {
        name: "resized-v2",
        start: || resizing::boot(Rules::V2),
        act: resized,
    },
    JournalScenario {
        name: "repaired-v1",
        start: || repairs::wrong_before(Rules::V1KeepsPins),
        act: repaired,
    },
];

fn journals() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journals")
}

/// Writes the journals of this version, if requested and if there are none.
fn bless(own: &Path) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("QUIETCORE_BLESS").is_none() || own.exists() {
            return;
        }
        fs::create_dir_all(own).unwrap();
        for scene in SCENES {
            let kernel = (scene.start)();
            let disk = SimDisk::new(&kernel);
            (scene.act)(&kernel, &disk);
            fs::copy(disk.dir.path().join("journal"), own.join(scene.name)).unwrap();
            undo(&kernel, &disk, UndoTarget::All, Force::No).unwrap();
            let past = fs::read_dir(disk.dir.path().join("history")).unwrap().flatten();
            let past = past.map(|entry| fs::read(entry.path()).unwrap()).max_by_key(Vec::len);
            fs::write(own.join(format!("{}-undone", scene.name)), past.unwrap()).unwrap();
        }
        installing::write_released(own);
        boot_line::write_released(own);
    });
}

/// Returns the directories of the journals of each released version.
fn versions() -> Vec<PathBuf> {
    let own = journals().join(env!("CARGO_PKG_VERSION"));
    bless(&own);
    let mut all: Vec<PathBuf> = fs::read_dir(journals())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    assert!(
        all.contains(&own),
        "{} is not there: `make bless` writes it",
        own.display()
    );
    all
}

/// Returns the name of an event. A new event needs a scene that contains it.
const fn name(event: &JournalEvent) -> &'static str {
    match event {
        JournalEvent::Begin { .. } => "begin",
        JournalEvent::Will { .. } => "will",
        JournalEvent::Did { .. } => "did",
        JournalEvent::Applied { .. } => "applied",
        JournalEvent::Confirmed { .. } => "confirmed",
        // Only versions before 0.1.0 wrote this event.
        JournalEvent::Joined { .. } => "joined",
        JournalEvent::Threading { .. } => "threading",
        JournalEvent::Moving { .. } => "moving",
        JournalEvent::Moved { .. } => "moved",
        JournalEvent::Demoted { .. } => "demoted",
        JournalEvent::Resizing { .. } => "resizing",
        JournalEvent::Resized { .. } => "resized",
        JournalEvent::Mending { .. } => "mending",
        JournalEvent::Mended { .. } => "mended",
        JournalEvent::UndoBegin { .. } => "undo_begin",
        JournalEvent::Undid { .. } => "undid",
        JournalEvent::Undone { .. } => "undone",
    }
}

#[test]
fn journals_of_all_released_versions_are_undone_exactly() {
    for version in versions() {
        for scene in SCENES {
            let what = format!("{} {}", version.display(), scene.name);
            let kernel = (scene.start)();
            let before = kernel.dump();
            let disk = SimDisk::new(&kernel);
            (scene.act)(&kernel, &disk);
            let journal = disk.dir.path().join("journal");
            assert!(journal.exists(), "{what}");
            fs::copy(version.join(scene.name), &journal).unwrap();
            let undone = undo(&kernel, &disk, UndoTarget::All, Force::No).unwrap();
            assert!(undone.equal(), "{what}: {:?}", undone.remains());
            // Undo leaves a program that spun with a real-time policy demoted, and reports it.
            if undone.notes.iter().any(|note| note.contains("spinner")) {
                kernel
                    .policies
                    .borrow_mut()
                    .insert(resizing::SPINNER, resizing::FIFO_50);
                kernel.render();
            }
            same(&kernel, &before, &what);
        }
        installing::undo_released(&version);
        boot_line::undo_released(&version);
    }
}

#[test]
fn fixtures_of_released_journals_are_readable_and_cover_every_event() {
    let kernel = SimKernel::boot(Rules::V2);
    for version in versions() {
        let mut names = BTreeSet::new();
        for scene in SCENES.iter().map(|scene| scene.name) {
            for file in [scene.to_owned(), format!("{scene}-undone")] {
                let bytes = fs::read(version.join(&file)).unwrap();
                let disk = SimDisk::new(&kernel);
                fs::write(disk.dir.path().join("journal"), &bytes).unwrap();
                let journal = Journal::open(&disk).unwrap().unwrap();
                let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
                assert_eq!(journal.records().len(), lines, "{}/{file}", version.display());
                names.extend(journal.records().iter().map(|record| name(&record.event)));
            }
        }
        let all = [
            "applied",
            "begin",
            "confirmed",
            "demoted",
            "did",
            "mended",
            "mending",
            "moved",
            "moving",
            "resized",
            "resizing",
            "threading",
            "undid",
            "undo_begin",
            "undone",
            "will",
        ];
        assert_eq!(names, BTreeSet::from(all), "{}", version.display());
    }
}
