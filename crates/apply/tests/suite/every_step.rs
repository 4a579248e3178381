//! Level 3: applies on a simulated machine, stops at every step, undoes, and compares byte for byte.

use crate::support::rehearsal;
use crate::support::rehearsal::acting::{dies, isolate_as, request, undo};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel, SimTask};
use apply::{ApplyError, Force, UndoOutcome, UndoTarget};
use machine::CpuSet;
use plan::{Intent, KNOBS, Knob, KnobUse, PartitionName, Profile, knobs};

const ALL_RULES: [Rules; 3] = [Rules::V1DropsPins, Rules::V1KeepsPins, Rules::V2];

fn intent(cpus: &str) -> Intent {
    let mut intent = Intent::new(
        PartitionName::default(),
        CpuSet::parse_list(cpus).unwrap(),
        Profile::Strict,
    );
    // Includes a knob that this machine lacks.
    for knob in [
        "watchdog",
        "nmi_watchdog",
        "sched_rt_runtime_us=900000",
        "check_interval",
        "owner=1000:29",
        "owner_ancestor",
        "threaded",
    ] {
        intent.take(knob).unwrap();
    }
    intent
}

pub fn isolate(kernel: &SimKernel, disk: &SimDisk, cpus: &str) -> Result<apply::ApplyOutcome, ApplyError> {
    isolate_as(kernel, disk, &intent(cpus), || {})
}

fn run_undo(kernel: &SimKernel, disk: &SimDisk) -> UndoOutcome {
    undo(kernel, disk, UndoTarget::Last, Force::No).unwrap()
}

#[test]
fn apply_isolates_and_undo_restores_everything() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot_with_all_knobs(rules);
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        let applied = isolate(&kernel, &disk, "2-3").unwrap();
        assert!(!applied.entries.is_empty());
        let isolated = CpuSet::parse_list("2-3").unwrap();
        for task in kernel
            .tasks
            .borrow()
            .iter()
            .filter(|task| task.flags != rehearsal::BOUND)
        {
            assert!(
                !task.mask.intersects(&isolated),
                "{rules:?}: {} may run on {}",
                task.comm,
                task.mask
            );
        }
        let refused: Vec<&plan::Finding> = applied
            .findings
            .iter()
            .filter(|finding| finding.id.as_str() == "refused")
            .collect();
        let named = |path: &str, words: &str| {
            let fits = |finding: &&&plan::Finding| finding.subject == path && finding.message.contains(words);
            refused.iter().any(|finding| fits(&finding))
        };
        assert!(named("/proc/irq/24/smp_affinity_list", "manages its mask"));
        assert!(named("/proc/sys/kernel/nmi_watchdog", "no performance counter"));
        assert_eq!(refused.len(), 2, "{refused:?}");
        let rounded = applied
            .entries
            .iter()
            .find(|entry| entry.change.starts_with("scaling_min_freq"));
        assert_eq!(
            rounded.map(|entry| entry.outcome.text()).as_deref(),
            Some("otherwise: 2900000"),
            "what the kernel made of it is reported"
        );
        assert_ne!(kernel.dump(), before);
        let undone = run_undo(&kernel, &disk);
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
        assert_eq!(kernel.dump(), before, "{rules:?}");
        assert!(apply::Journal::open(&disk).unwrap().is_none());
        assert_eq!(apply::history(&disk).unwrap().journals.len(), 1);
    }
}

#[test]
fn the_rehearsal_applies_every_profile_knob_that_is_a_file() {
    let kernel = SimKernel::boot_with_all_knobs(Rules::V2);
    let applied = isolate(&kernel, &SimDisk::new(&kernel), "2-3").unwrap();
    let is_written = |knob: &Knob| {
        let mut own = applied.entries.iter().map(|entry| knobs::of_change(&entry.change));
        own.any(|one| one.is_some_and(|one| one.name == knob.name))
    };
    let is_setting =
        |file: &&str| ["/proc/sys/", "/sys/"].iter().any(|start| file.starts_with(start)) && !file.contains("/cgroup/");
    for knob in KNOBS.iter().filter(|knob| matches!(knob.usage, KnobUse::From(_))) {
        let is_file = knob.files.iter().any(is_setting);
        assert!(
            !is_file || is_written(knob),
            "{} has no case in which it changes a file",
            knob.name
        );
    }
}

#[test]
fn a_kill_at_any_step_leaves_a_journal_that_undo_completes() {
    for rules in ALL_RULES {
        die_at_every_step(rules, SimKernel::boot);
    }
}

#[test]
fn a_kill_among_many_settings_is_undone() {
    // Values that the kernel rounds and choices in brackets do not depend on cgroups, so one hierarchy is enough.
    die_at_every_step(Rules::V2, SimKernel::boot_with_all_knobs);
}

fn die_at_every_step(rules: Rules, boot: fn(Rules) -> SimKernel) {
    let kernel = boot(rules);
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "2-3").unwrap();
    let steps = kernel.steps.get();
    let mut tried = 0;
    for step in 1..=steps {
        for death in [Death::Before(step), Death::After(step), Death::Torn(step)] {
            let kernel = boot(rules);
            let before = kernel.dump();
            let disk = SimDisk::new(&kernel);
            kernel.death.set(death);
            assert!(
                dies(|| drop(isolate(&kernel, &disk, "2-3"))),
                "{rules:?} {death:?} did not die"
            );
            kernel.death.set(Death::Never);
            let undone = run_undo(&kernel, &disk);
            assert!(undone.equal(), "{rules:?} {death:?}: {:?}", undone.remains());
            assert_eq!(kernel.dump(), before, "{rules:?} {death:?}");
            assert!(!disk.dir.path().join("journal").exists(), "{rules:?} {death:?}");
            tried += 1;
        }
    }
    println!("{rules:?}: {tried} of {tried} deaths during apply taken back ({steps} steps)");
}

#[test]
fn a_killed_undo_is_completed_by_the_next_undo() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk, "3").unwrap();
        let applied = kernel.steps.get();
        run_undo(&kernel, &disk);
        let total = kernel.steps.get();
        for step in applied + 1..=total {
            for death in [Death::Before(step), Death::After(step), Death::Torn(step)] {
                let kernel = SimKernel::boot(rules);
                let before = kernel.dump();
                let disk = SimDisk::new(&kernel);
                isolate(&kernel, &disk, "3").unwrap();
                kernel.death.set(death);
                assert!(
                    dies(|| drop(run_undo(&kernel, &disk))),
                    "{rules:?} {death:?} did not die"
                );
                kernel.death.set(Death::Never);
                let undone = run_undo(&kernel, &disk);
                assert!(undone.equal(), "{rules:?} {death:?}: {:?}", undone.remains());
                assert_eq!(kernel.dump(), before, "{rules:?} {death:?}");
                assert!(!disk.dir.path().join("journal").exists(), "{rules:?} {death:?}");
            }
        }
    }
}

#[test]
fn a_full_journal_disk_changes_nothing() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk, "3").unwrap();
        let needed = std::fs::metadata(disk.dir.path().join("journal")).unwrap().len() as usize;
        for room in (0..needed).step_by(37) {
            let kernel = SimKernel::boot(rules);
            let before = kernel.dump();
            let disk = SimDisk::new(&kernel);
            disk.room.set(room);
            assert!(
                isolate(&kernel, &disk, "3").is_err(),
                "{rules:?}: {room} bytes cannot be enough"
            );
            assert_eq!(kernel.dump(), before, "{rules:?} with room for {room} bytes");
        }
    }
}

#[test]
fn repeating_an_intent_writes_nothing_and_a_different_one_is_a_conflict() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk, "3").unwrap();
        let (in_force, steps) = (kernel.dump(), kernel.steps.get());
        let again = isolate(&kernel, &disk, "3").unwrap();
        assert!(
            again.in_force && again.findings.is_empty(),
            "{rules:?}: {:?}",
            again.findings
        );
        assert!(matches!(
            isolate(&kernel, &disk, "2"),
            Err(ApplyError::OtherIntent { .. })
        ));
        assert_eq!((kernel.dump(), kernel.steps.get()), (in_force, steps), "{rules:?}");
    }
}

#[test]
fn a_cgroup_name_already_in_use_is_left_alone() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot(rules);
        let name = if rules == Rules::V2 { "quietcore-rt" } else { "rt" };
        apply::System::make_dir(&kernel, &format!("{}/{name}", kernel.mount_point())).unwrap();
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        assert!(
            matches!(isolate(&kernel, &disk, "3"), Err(ApplyError::Exists { .. })),
            "{rules:?}"
        );
        assert_eq!(kernel.dump(), before, "{rules:?}");
    }
}

#[test]
fn changes_by_other_programs_are_reported_and_kept_unless_forced() {
    let kernel = SimKernel::boot_with_settings(Rules::V1KeepsPins);
    let before = kernel.dump();
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "3").unwrap();
    kernel.put("/proc/irq/1/smp_affinity_list", "1\n");
    let undone = run_undo(&kernel, &disk);
    assert!(undone.failed.is_empty(), "{:?}", undone.failed);
    assert_eq!(undone.drift.len(), 1, "{:?}", undone.drift);
    assert!(undone.drift[0].contains("/proc/irq/1/"));
    assert_ne!(kernel.dump(), before);
    let forced = undo(&kernel, &disk, UndoTarget::Last, Force::Restore).unwrap();
    assert!(forced.equal(), "{:?}", forced.remains());
    assert_eq!(kernel.dump(), before);
}

#[test]
fn settings_changed_or_removed_since_are_reported() {
    let kernel = SimKernel::boot_with_settings(Rules::V2);
    let before = kernel.dump();
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "3").unwrap();
    kernel.put(
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "always madvise [never]\n",
    );
    let again = isolate(&kernel, &disk, "3").unwrap();
    let drifted: Vec<&str> = again.findings.iter().map(|finding| finding.subject.as_str()).collect();
    assert_eq!(drifted, ["/sys/kernel/mm/transparent_hugepage/enabled"]);
    // The CPU was unplugged together with its directory.
    let governor = "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor";
    kernel.remove(governor);
    let undone = run_undo(&kernel, &disk);
    assert!(
        undone.failed.is_empty() && undone.drift.len() == 1,
        "{:?}",
        undone.remains()
    );
    assert!(
        undone.notes.iter().any(|note| note.starts_with(governor)),
        "{:?}",
        undone.notes
    );
    let forced = undo(&kernel, &disk, UndoTarget::Last, Force::Restore).unwrap();
    assert!(forced.equal(), "{:?}", forced.remains());
    kernel.put(governor, "schedutil\n");
    assert_eq!(kernel.dump(), before);
}

#[test]
fn different_knobs_make_a_different_intent() {
    let kernel = SimKernel::boot_with_settings(Rules::V2);
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "3").unwrap();
    let mut other = intent("3");
    other.take("no_turbo").unwrap();
    let refused = isolate_as(&kernel, &disk, &other, || {});
    assert!(matches!(refused, Err(ApplyError::OtherIntent { .. })), "{refused:?}");
}

#[test]
fn tasks_created_since_get_the_cgroup_and_mask_of_their_parent() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot(rules);
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk, "3").unwrap();
        let child = SimTask {
            tid: 200,
            pid: 200,
            ppid: 103,
            comm: "child",
            flags: 0,
            ..kernel.task(103)
        };
        kernel.tasks.borrow_mut().push(child);
        kernel.render();
        let undone = run_undo(&kernel, &disk);
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
        let child = kernel.task(200);
        assert_eq!(
            (child.cgroup.as_str(), child.mask.to_string().as_str()),
            ("/", "1-3"),
            "{rules:?}"
        );
    }
}

#[test]
fn a_moved_interrupt_thread_is_not_reported_as_drift() {
    for rules in ALL_RULES {
        let kernel = SimKernel::boot(rules);
        kernel.tasks.borrow_mut().push(SimTask {
            tid: 40,
            pid: 40,
            ppid: 2,
            comm: "irq/25-eth0",
            flags: rehearsal::KTHREAD,
            mask: CpuSet::parse_list("3").unwrap(),
            user_mask: None,
            cgroup: "/".to_owned(),
        });
        kernel.render();
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk, "3").unwrap();
        // The interrupt fired, and its thread moved to the CPU of the interrupt.
        for task in kernel.tasks.borrow_mut().iter_mut().filter(|task| task.tid == 40) {
            task.mask = CpuSet::parse_list("1").unwrap();
        }
        kernel.render();
        let undone = run_undo(&kernel, &disk);
        assert!(undone.equal(), "{rules:?}: {:?}", undone.remains());
    }
}

#[test]
fn a_journal_of_another_boot_is_ignored() {
    let kernel = SimKernel::boot(Rules::V2);
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "3").unwrap();
    let steps = kernel.steps.get();
    let undone = apply::undo(&kernel, &disk, Some("another"), request(UndoTarget::Last, Force::No)).unwrap();
    assert!(!undone.was_in_force && undone.entries.is_empty());
    assert_eq!(kernel.steps.get(), steps + 1, "only the journal was put away");
}

#[test]
fn a_damaged_journal_is_an_error_and_changes_nothing() {
    let kernel = SimKernel::boot(Rules::V2);
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "3").unwrap();
    let path = disk.dir.path().join("journal");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x01;
    std::fs::write(&path, bytes).unwrap();
    let in_force = kernel.dump();
    let refused = undo(&kernel, &disk, UndoTarget::Last, Force::No);
    assert!(matches!(refused, Err(ApplyError::Journal { .. })), "{refused:?}");
    assert_eq!(kernel.dump(), in_force);
}
