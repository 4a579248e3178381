//! Level 3: applying at boot, with a power cut or a kill at every step.

use crate::support::rehearsal::acting::{dies, request};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel};
use apply::boot_attempt::{AttemptResult, CurrentBoot, attempt, good, remove_record};
use apply::{ApplyError, ApplyOutcome, ApplyRequest, Force, UndoTarget, apply};
use machine::{CpuSet, Machine};
use plan::{Intent, PartitionName, Profile};
use std::sync::atomic::AtomicBool;

const NOTE: &str = "boot-attempt";
const LINE: &str = "root=/dev/sda1 ro";
/// The boot id that [`SimKernel::boot`] reports.
const FIRST: &str = "11111111-2222-3333-4444-555555555555";
const SECOND: &str = "99999999-2222-3333-4444-555555555555";

type BootAttemptResult = Result<AttemptResult<Result<ApplyOutcome, ApplyError>>, ApplyError>;

fn reboot(kernel: &SimKernel, run: &SimDisk, lasting: &SimDisk, id: Option<&str>, line: &str) -> BootAttemptResult {
    let isolate = || {
        use apply::System;
        let cpus = CpuSet::parse_list("3").unwrap();
        let intent = Intent::new(PartitionName::default(), cpus, Profile::Minimal);
        let machine = Machine::read(kernel.root())
            .with_tasks(kernel.root())
            .with_interrupts(kernel.root());
        let settings = machine::settings::for_cpus(kernel.root(), &intent.cpus, plan::knobs::planned());
        let plan = plan::plan(&machine, &settings, &intent).unwrap();
        let request = ApplyRequest {
            machine: &machine,
            intent: &intent,
            plan: &plan,
            reason: "boot",
            tool: "0",
            guard: None,
            stop: &AtomicBool::new(false),
        };
        apply(kernel, run, &request)
    };
    attempt(lasting, &CurrentBoot { id, line }, "0", isolate)
}

/// Boots again with only the disk left. Returns whether it applied the partition; if not, it must change nothing.
fn next_boot_tries(lasting: &SimDisk) -> bool {
    let kernel = SimKernel::boot(Rules::V2);
    let before = kernel.dump();
    let (run, disk) = (SimDisk::new(&kernel), SimDisk::new(&kernel));
    if let Ok(note) = std::fs::read(lasting.dir.path().join(NOTE)) {
        std::fs::write(disk.dir.path().join(NOTE), note).unwrap();
    }
    match reboot(&kernel, &run, &disk, Some(SECOND), LINE).unwrap() {
        AttemptResult::Tried(applied) => {
            applied.unwrap();
            true
        }
        AttemptResult::LastNotGood(_) => {
            assert_eq!(kernel.dump(), before, "it leaves the machine alone");
            assert!(disk.dir.path().join(NOTE).exists(), "and goes on doing so");
            false
        }
        AttemptResult::Off => panic!("nothing says so"),
    }
}

fn deaths(from: usize, to: usize) -> impl Iterator<Item = Death> {
    (from..=to).flat_map(|step| [Death::Before(step), Death::Torn(step), Death::After(step)])
}

#[test]
fn after_a_good_boot_the_next_boot_isolates_again() {
    for rules in [Rules::V1KeepsPins, Rules::V2] {
        let kernel = SimKernel::boot(rules);
        let (run, lasting) = (SimDisk::new(&kernel), SimDisk::new(&kernel));
        let came = reboot(&kernel, &run, &lasting, Some(FIRST), LINE).unwrap();
        assert!(matches!(came, AttemptResult::Tried(Ok(_))), "{came:?}");
        assert!(good(&lasting, Some(FIRST)).unwrap());
        assert!(
            !good(&lasting, Some(FIRST)).unwrap(),
            "there is nothing left to take away"
        );
        assert!(next_boot_tries(&lasting));
    }
}

#[test]
fn a_power_cut_at_any_step_prevents_another_attempt() {
    let kernel = SimKernel::boot(Rules::V2);
    let (run, lasting) = (SimDisk::new(&kernel), SimDisk::new(&kernel));
    reboot(&kernel, &run, &lasting, Some(FIRST), LINE).unwrap();
    let steps = kernel.steps.get();
    assert!(steps > 10);
    let mut tried = 0;
    for death in deaths(1, steps) {
        let kernel = SimKernel::boot(Rules::V2);
        let before = kernel.dump();
        let (run, lasting) = (SimDisk::new(&kernel), SimDisk::new(&kernel));
        kernel.death.set(death);
        let died = dies(|| drop(reboot(&kernel, &run, &lasting, Some(FIRST), LINE)));
        assert!(died, "{death:?} did not die");
        let noted = lasting.dir.path().join(NOTE).exists();
        // The note is written first: without it nothing was changed, and the next boot may try.
        assert!(noted || kernel.dump() == before, "{death:?}");
        assert_eq!(next_boot_tries(&lasting), death == Death::Before(1), "{death:?}");
        tried += 1;
    }
    println!("{tried} of {tried} power cuts left the next boot safe");
}

#[test]
fn a_power_cut_while_the_record_is_removed_is_safe() {
    for (death, tries) in [(Death::Before(1), false), (Death::After(1), true)] {
        let kernel = SimKernel::boot(Rules::V2);
        let (run, lasting) = (SimDisk::new(&kernel), SimDisk::new(&kernel));
        reboot(&kernel, &run, &lasting, Some(FIRST), LINE).unwrap();
        kernel.steps.set(0);
        kernel.death.set(death);
        assert!(dies(|| drop(good(&lasting, Some(FIRST)))));
        assert_eq!(next_boot_tries(&lasting), tries, "{death:?}");
    }
}

#[test]
fn a_killed_attempt_can_be_undone_and_retried_in_the_same_boot() {
    let kernel = SimKernel::boot(Rules::V2);
    let (run, lasting) = (SimDisk::new(&kernel), SimDisk::new(&kernel));
    reboot(&kernel, &run, &lasting, Some(FIRST), LINE).unwrap();
    let steps = kernel.steps.get();
    for step in 2..=steps {
        let kernel = SimKernel::boot(Rules::V2);
        let before = kernel.dump();
        let (run, lasting) = (SimDisk::new(&kernel), SimDisk::new(&kernel));
        kernel.death.set(Death::After(step));
        assert!(dies(|| drop(reboot(&kernel, &run, &lasting, Some(FIRST), LINE))));
        kernel.death.set(Death::Never);
        let undone = apply::undo(
            &kernel,
            &run,
            Some(FIRST),
            request(UndoTarget::Because("boot"), Force::No),
        )
        .unwrap();
        assert!(undone.equal(), "step {step}: {:?}", undone.remains());
        assert_eq!(kernel.dump(), before, "step {step}");
        let again = reboot(&kernel, &run, &lasting, Some(FIRST), LINE).unwrap();
        assert!(matches!(again, AttemptResult::Tried(Ok(_))), "step {step}: {again:?}");
        assert!(!next_boot_tries(&lasting), "the note stands until the boot was good");
    }
}

#[test]
fn the_boot_line_or_a_full_disk_prevents_isolation_at_boot() {
    let kernel = SimKernel::boot(Rules::V2);
    let before = kernel.dump();
    let (run, lasting) = (SimDisk::new(&kernel), SimDisk::new(&kernel));
    for line in ["quietcore=off", "ro quietcore=off quiet"] {
        let came = reboot(&kernel, &run, &lasting, Some(FIRST), line).unwrap();
        assert!(matches!(came, AttemptResult::Off), "{came:?}");
    }
    lasting.room.set(0);
    assert!(reboot(&kernel, &run, &lasting, Some(FIRST), LINE).is_err());
    assert_eq!(kernel.dump(), before);
    assert!(!lasting.dir.path().join(NOTE).exists());
    lasting.room.set(usize::MAX);
    let came = reboot(&kernel, &run, &lasting, Some(FIRST), "xquietcore=off quietcore=offer").unwrap();
    assert!(
        matches!(came, AttemptResult::Tried(Ok(_))),
        "other words are other words"
    );
}

#[test]
fn an_unknown_boot_id_never_matches_the_record() {
    let kernel = SimKernel::boot(Rules::V2);
    let (run, lasting) = (SimDisk::new(&kernel), SimDisk::new(&kernel));
    assert!(matches!(
        reboot(&kernel, &run, &lasting, None, LINE),
        Ok(AttemptResult::Tried(_))
    ));
    assert!(!good(&lasting, None).unwrap());
    assert!(matches!(
        reboot(&kernel, &run, &lasting, None, LINE),
        Ok(AttemptResult::LastNotGood(Some(_)))
    ));
}

#[test]
fn an_unreadable_record_blocks_until_it_is_cleared_explicitly() {
    let kernel = SimKernel::boot(Rules::V2);
    let lasting = SimDisk::new(&kernel);
    for bytes in [&b""[..], b"\n", b"qc1 00", b"\xff\xfe", b"qc1 00000002 00000000 {}\n"] {
        std::fs::write(lasting.dir.path().join(NOTE), bytes).unwrap();
        assert!(!next_boot_tries(&lasting), "{bytes:?}");
        assert!(!good(&lasting, Some(SECOND)).unwrap(), "time alone does not clear it");
        assert!(remove_record(&lasting).unwrap() && !remove_record(&lasting).unwrap());
        assert!(next_boot_tries(&lasting));
    }
}

#[test]
fn undo_by_cause_undoes_only_what_was_applied_at_boot() {
    let kernel = SimKernel::boot(Rules::V2);
    let (run, lasting) = (SimDisk::new(&kernel), SimDisk::new(&kernel));
    reboot(&kernel, &run, &lasting, Some(FIRST), LINE).unwrap();
    let other = apply::undo(
        &kernel,
        &run,
        Some(FIRST),
        request(UndoTarget::Because("apply"), Force::No),
    )
    .unwrap();
    assert!(!other.was_in_force && other.undone_partitions.is_empty());
    let boot = apply::undo(
        &kernel,
        &run,
        Some(FIRST),
        request(UndoTarget::Because("boot"), Force::No),
    )
    .unwrap();
    assert_eq!(boot.undone_partitions, ["rt"]);
}
