//! Level 3: each version reads the ledgers of every released version, `fixtures/ledgers/VERSION`, and cleans up what
//! they name.
//!
//! The simulated machine is the same in every run. This version plays a scene, and its ledger is replaced by the
//! released version's ledger of that scene. The processes of the ledgers have ended, so a sweep restores the machine.
//! `make bless` writes the ledgers of a version that has none yet, and never changes others.

use crate::newer_records::in_every_place;
use crate::support::rehearsal::acting::same;
use crate::support::rehearsal::{Rules, SimDisk, SimKernel};
use apply::kprobes::{Kprobe, ProbeGroup};
use apply::tracing::{TracingSetting, TracingSettings};
use apply::{ApplyError, kprobes, latency, tracing};
use machine::{CpuSet, TaskKey};
use root::Tracefs;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

const TOP: &str = "/sys/kernel/tracing";

/// Processes that have ended. Other processes use their pids now.
const ENDED: [TaskKey; 3] = [ended(100), ended(101), ended(102)];

const fn ended(tid: u32) -> TaskKey {
    TaskKey { tid, start_time: 1 }
}

type LedgerSweep = fn(&SimKernel, &SimDisk) -> Result<Vec<String>, ApplyError>;

/// A ledger, the function that fills it, and the one that cleans it up.
struct LedgerScenario {
    /// The name of the ledger's file.
    name: &'static str,
    act: fn(&SimKernel, &SimDisk),
    sweep: LedgerSweep,
    /// Every other operation that reads or writes the ledger, for a process without a record in it.
    others: &'static [LedgerSweep],
}

const SCENES: &[LedgerScenario] = &[
    LedgerScenario {
        name: "latency",
        act: limit,
        sweep: |kernel, disk| latency::sweep(kernel, disk),
        others: &[
            |kernel, disk| latency::hold(kernel, disk, ended(103), 1, &cpus("3")).map(|_| Vec::new()),
            |kernel, disk| latency::release_own(kernel, disk, ENDED[0]),
            |kernel, disk| latency::free(kernel, disk, &cpus("3")),
        ],
    },
    LedgerScenario {
        name: "tracing",
        act: trace,
        sweep: |kernel, disk| tracing::sweep(kernel, disk),
        others: &[
            |kernel, disk| {
                let own = TracingSettings::default();
                tracing::hold(kernel, disk, &Tracefs::at(TOP), ended(103), &own).map(|_| Vec::new())
            },
            |kernel, disk| tracing::release_own(kernel, disk, &Tracefs::at(TOP), ENDED[0]),
        ],
    },
    LedgerScenario {
        name: "kprobes",
        act: probe,
        sweep: |kernel, disk| kprobes::sweep(kernel, disk),
        others: &[
            |kernel, disk| {
                let tracefs = Tracefs::at(TOP);
                kprobes::hold(kernel, disk, &tracefs, group(ended(103)), &probes()).map(|_| Vec::new())
            },
            |kernel, disk| kprobes::release_own(kernel, disk, &Tracefs::at(TOP), ENDED[0]),
        ],
    },
];

fn cpus(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn boot() -> SimKernel {
    let kernel = SimKernel::boot_with_settings(Rules::V2);
    for (cpu, limit) in [(2, "0\n"), (3, "100\n")] {
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us");
        kernel.put(&file, limit);
    }
    for (file, text) in [
        ("osnoise/cpus", "0-3\n"),
        ("osnoise/timerlat_period_us", "500\n"),
        ("tracing_on", "1\n"),
        ("kprobe_events", "p:kprobes/of_another do_sys_open\n"),
        ("instances/of-another/tracing_on", "1\n"),
    ] {
        kernel.put(&format!("{TOP}/{file}"), text);
    }
    kernel
}

/// Two limits on CPU 3, of which the second is released, and one on both CPUs that lets an idle CPU poll.
fn limit(kernel: &SimKernel, disk: &SimDisk) {
    for (holder, microseconds, list) in [(ENDED[0], 50, "2-3"), (ENDED[1], 5, "3"), (ENDED[2], 0, "2-3")] {
        latency::hold(kernel, disk, holder, microseconds, &cpus(list)).unwrap();
    }
    latency::release_own(kernel, disk, ENDED[1]).unwrap();
}

/// One process with shared settings and a second instance, one that releases its instance, and one with only an
/// instance.
fn trace(kernel: &SimKernel, disk: &SimDisk) {
    let own = || TracingSettings {
        own: vec![TracingSetting::must("trace_clock", "mono")],
        ..TracingSettings::default()
    };
    let shared = TracingSettings {
        shared: vec![
            TracingSetting::must("osnoise/cpus", "3"),
            TracingSetting::must("osnoise/timerlat_period_us", "1000"),
        ],
        beside: vec![TracingSetting::must("current_tracer", "function_graph")],
        ..own()
    };
    let tracefs = Tracefs::at(TOP);
    for (holder, wanted) in [(ENDED[0], &shared), (ENDED[1], &own()), (ENDED[2], &own())] {
        tracing::hold(kernel, disk, &tracefs, holder, wanted).unwrap();
    }
    tracing::release_own(kernel, disk, &tracefs, ENDED[1]).unwrap();
}

/// Three groups, of which the second is released.
fn probe(kernel: &SimKernel, disk: &SimDisk) {
    let tracefs = Tracefs::at(TOP);
    for holder in ENDED {
        kprobes::hold(kernel, disk, &tracefs, group(holder), &probes()).unwrap();
    }
    kprobes::release_own(kernel, disk, &tracefs, ENDED[1]).unwrap();
}

fn group(holder: TaskKey) -> ProbeGroup<'static> {
    let stem = "quietcore";
    ProbeGroup { holder, stem }
}

fn probes() -> Vec<Kprobe> {
    vec![Kprobe {
        event: "reschedule".to_owned(),
        functions: vec!["native_smp_send_reschedule".to_owned()],
        fetches: "cpu=%di:u32".to_owned(),
    }]
}

fn ledgers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/ledgers")
}

/// Writes the ledgers of this version, if requested and if there are none.
fn bless(own: &Path) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("QUIETCORE_BLESS").is_none() || own.exists() {
            return;
        }
        fs::create_dir_all(own).unwrap();
        for scene in SCENES {
            let kernel = boot();
            let disk = SimDisk::new(&kernel);
            (scene.act)(&kernel, &disk);
            fs::copy(disk.dir.path().join(scene.name), own.join(scene.name)).unwrap();
        }
    });
}

/// Returns the directories of the ledgers of each released version.
fn versions() -> Vec<PathBuf> {
    let own = ledgers().join(env!("CARGO_PKG_VERSION"));
    bless(&own);
    let entries = fs::read_dir(ledgers()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    all.sort();
    assert!(
        all.contains(&own),
        "{} is missing: `make bless` writes it",
        own.display()
    );
    all
}

/// Plays a scene and replaces the ledger by that of a released version.
fn play(version: &Path, scene: &LedgerScenario, act: impl FnOnce(&SimKernel, &SimDisk, &Path)) {
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    (scene.act)(&kernel, &disk);
    let ledger = disk.dir.path().join(scene.name);
    assert!(ledger.exists(), "{}", scene.name);
    fs::copy(version.join(scene.name), &ledger).unwrap();
    act(&kernel, &disk, &ledger);
}

#[test]
fn ledgers_of_all_released_versions_are_swept_and_restore_the_machine() {
    for version in versions() {
        for scene in SCENES {
            let what = format!("{} {}", version.display(), scene.name);
            let before = boot().dump();
            play(&version, scene, |kernel, disk, ledger| {
                assert_ne!(kernel.dump(), before, "{what}");
                let left = (scene.sweep)(kernel, disk).unwrap();
                assert!(left.is_empty(), "{what}: {left:?}");
                same(kernel, &before, &what);
                assert!(!ledger.exists(), "{what}: the ledger goes with its last record");
            });
        }
    }
}

/// Returns the records of a released version with the number of a later format; everything else stays valid.
fn of_a_later_format(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap().replace("qc1 ", "qc2 ")
}

#[test]
fn a_ledger_of_a_later_format_is_neither_swept_nor_extended() {
    for version in versions() {
        for scene in SCENES {
            play(&version, scene, |kernel, disk, ledger| {
                let later = of_a_later_format(&fs::read(ledger).unwrap());
                fs::write(ledger, &later).unwrap();
                let held = kernel.dump();
                for act in scene.others.iter().chain([&scene.sweep]) {
                    let error = act(kernel, disk).unwrap_err();
                    assert!(
                        matches!(error, ApplyError::OtherVersion { .. }),
                        "{}: {error}",
                        scene.name
                    );
                    let message = error.to_string();
                    assert!(message.contains("its format is 2"), "{message}");
                    assert!(message.contains(&format!("/run/quietcore/{}", scene.name)), "{message}");
                    assert_eq!(fs::read_to_string(ledger).unwrap(), later, "{}", scene.name);
                    same(kernel, &held, scene.name);
                }
            });
        }
    }
}

/// Runs every operation that reads or writes a ledger while one of its records is from a newer version. Nothing may
/// change.
pub fn with_newer_records(is_refused: impl Fn(&str, Result<(), ApplyError>)) {
    for version in versions() {
        for scene in SCENES {
            play(&version, scene, |kernel, disk, ledger| {
                let held = kernel.dump();
                in_every_place(&ledger.to_path_buf(), |what| {
                    let what = format!("{}: {what}", scene.name);
                    for act in scene.others.iter().chain([&scene.sweep]) {
                        is_refused(&what, act(kernel, disk).map(drop));
                        same(kernel, &held, &what);
                    }
                });
                assert!((scene.sweep)(kernel, disk).unwrap().is_empty());
                same(kernel, &boot().dump(), scene.name);
            });
        }
    }
}
