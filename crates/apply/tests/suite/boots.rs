//! Level 3: coming back at boot, with the power cut or the process killed at every single step.

use crate::support::rehearsal::acting::{dies, request};
use crate::support::rehearsal::{Death, Disk, Kernel, Rules};
use apply::boot_attempt::{Gate, ThisBoot, attempt, forget, good};
use apply::{Applied, ApplyError, Force, Request, Which, apply};
use machine::{CpuSet, Machine};
use plan::{Intent, PartitionName, Profile};
use std::sync::atomic::AtomicBool;

const NOTE: &str = "boot-attempt";
const LINE: &str = "root=/dev/sda1 ro";
/// The boot that [`Kernel::boot`] tells of.
const FIRST: &str = "11111111-2222-3333-4444-555555555555";
const SECOND: &str = "99999999-2222-3333-4444-555555555555";

type Came = Result<Gate<Result<Applied, ApplyError>>, ApplyError>;

fn come_back(kernel: &Kernel, run: &Disk, lasting: &Disk, id: Option<&str>, line: &str) -> Came {
    let isolate = || {
        use apply::System;
        let cpus = CpuSet::parse_list("3").unwrap();
        let intent = Intent::new(PartitionName::default(), cpus, Profile::Minimal);
        let machine = Machine::read(kernel.root())
            .with_tasks(kernel.root())
            .with_interrupts(kernel.root());
        let settings = machine::settings::for_cpus(kernel.root(), &intent.cpus, plan::knobs::planned());
        let plan = plan::plan(&machine, &settings, &intent).unwrap();
        let request = Request {
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
    attempt(lasting, &ThisBoot { id, line }, "0", isolate)
}

/// The next boot: nothing is left but the disk. Gives whether it tried, which it must do without changing anything
/// otherwise.
fn next_boot_tries(lasting: &Disk) -> bool {
    let kernel = Kernel::boot(Rules::V2);
    let before = kernel.dump();
    let (run, disk) = (Disk::new(&kernel), Disk::new(&kernel));
    if let Ok(note) = std::fs::read(lasting.dir.path().join(NOTE)) {
        std::fs::write(disk.dir.path().join(NOTE), note).unwrap();
    }
    match come_back(&kernel, &run, &disk, Some(SECOND), LINE).unwrap() {
        Gate::Tried(applied) => {
            applied.unwrap();
            true
        }
        Gate::LastNotGood(_) => {
            assert_eq!(kernel.dump(), before, "it leaves the machine alone");
            assert!(disk.dir.path().join(NOTE).exists(), "and goes on doing so");
            false
        }
        Gate::Off => panic!("nothing says so"),
    }
}

fn deaths(from: usize, to: usize) -> impl Iterator<Item = Death> {
    (from..=to).flat_map(|step| [Death::Before(step), Death::Torn(step), Death::After(step)])
}

#[test]
fn a_boot_after_which_the_machine_stayed_up_is_followed_by_another() {
    for rules in [Rules::V1KeepsPins, Rules::V2] {
        let kernel = Kernel::boot(rules);
        let (run, lasting) = (Disk::new(&kernel), Disk::new(&kernel));
        let came = come_back(&kernel, &run, &lasting, Some(FIRST), LINE).unwrap();
        assert!(matches!(came, Gate::Tried(Ok(_))), "{came:?}");
        assert!(good(&lasting, Some(FIRST)).unwrap());
        assert!(
            !good(&lasting, Some(FIRST)).unwrap(),
            "there is nothing left to take away"
        );
        assert!(next_boot_tries(&lasting));
    }
}

#[test]
fn the_power_may_be_cut_at_every_step() {
    let kernel = Kernel::boot(Rules::V2);
    let (run, lasting) = (Disk::new(&kernel), Disk::new(&kernel));
    come_back(&kernel, &run, &lasting, Some(FIRST), LINE).unwrap();
    let steps = kernel.steps.get();
    assert!(steps > 10);
    let mut tried = 0;
    for death in deaths(1, steps) {
        let kernel = Kernel::boot(Rules::V2);
        let before = kernel.dump();
        let (run, lasting) = (Disk::new(&kernel), Disk::new(&kernel));
        kernel.death.set(death);
        let died = dies(|| drop(come_back(&kernel, &run, &lasting, Some(FIRST), LINE)));
        assert!(died, "{death:?} did not die");
        let noted = lasting.dir.path().join(NOTE).exists();
        // The note comes first: while there is none, nothing was changed, and the next boot may try.
        assert!(noted || kernel.dump() == before, "{death:?}");
        assert_eq!(next_boot_tries(&lasting), death == Death::Before(1), "{death:?}");
        tried += 1;
    }
    println!("{tried} of {tried} power cuts left the next boot safe");
}

#[test]
fn the_power_may_be_cut_while_the_note_is_taken_away() {
    for (death, tries) in [(Death::Before(1), false), (Death::After(1), true)] {
        let kernel = Kernel::boot(Rules::V2);
        let (run, lasting) = (Disk::new(&kernel), Disk::new(&kernel));
        come_back(&kernel, &run, &lasting, Some(FIRST), LINE).unwrap();
        kernel.steps.set(0);
        kernel.death.set(death);
        assert!(dies(|| drop(good(&lasting, Some(FIRST)))));
        assert_eq!(next_boot_tries(&lasting), tries, "{death:?}");
    }
}

#[test]
fn a_killed_attempt_can_be_finished_and_tried_again_in_the_same_boot() {
    let kernel = Kernel::boot(Rules::V2);
    let (run, lasting) = (Disk::new(&kernel), Disk::new(&kernel));
    come_back(&kernel, &run, &lasting, Some(FIRST), LINE).unwrap();
    let steps = kernel.steps.get();
    for step in 2..=steps {
        let kernel = Kernel::boot(Rules::V2);
        let before = kernel.dump();
        let (run, lasting) = (Disk::new(&kernel), Disk::new(&kernel));
        kernel.death.set(Death::After(step));
        assert!(dies(|| drop(come_back(
            &kernel,
            &run,
            &lasting,
            Some(FIRST),
            LINE
        ))));
        kernel.death.set(Death::Never);
        let undone = apply::undo(
            &kernel,
            &run,
            Some(FIRST),
            request(Which::Because("boot"), Force::No),
        )
        .unwrap();
        assert!(undone.equal(), "step {step}: {:?}", undone.remains());
        assert_eq!(kernel.dump(), before, "step {step}");
        let again = come_back(&kernel, &run, &lasting, Some(FIRST), LINE).unwrap();
        assert!(matches!(again, Gate::Tried(Ok(_))), "step {step}: {again:?}");
        assert!(
            !next_boot_tries(&lasting),
            "the note stands until the boot was good"
        );
    }
}

#[test]
fn the_boot_line_and_a_machine_without_a_disk_keep_it_away() {
    let kernel = Kernel::boot(Rules::V2);
    let before = kernel.dump();
    let (run, lasting) = (Disk::new(&kernel), Disk::new(&kernel));
    for line in ["quietcore=off", "ro quietcore=off quiet"] {
        let came = come_back(&kernel, &run, &lasting, Some(FIRST), line).unwrap();
        assert!(matches!(came, Gate::Off), "{came:?}");
    }
    lasting.room.set(0);
    assert!(come_back(&kernel, &run, &lasting, Some(FIRST), LINE).is_err());
    assert_eq!(kernel.dump(), before);
    assert!(!lasting.dir.path().join(NOTE).exists());
    lasting.room.set(usize::MAX);
    let came = come_back(
        &kernel,
        &run,
        &lasting,
        Some(FIRST),
        "xquietcore=off quietcore=offer",
    )
    .unwrap();
    assert!(matches!(came, Gate::Tried(Ok(_))), "other words are other words");
}

#[test]
fn an_unknown_boot_is_never_the_one_of_the_note() {
    let kernel = Kernel::boot(Rules::V2);
    let (run, lasting) = (Disk::new(&kernel), Disk::new(&kernel));
    assert!(matches!(
        come_back(&kernel, &run, &lasting, None, LINE),
        Ok(Gate::Tried(_))
    ));
    assert!(!good(&lasting, None).unwrap());
    assert!(matches!(
        come_back(&kernel, &run, &lasting, None, LINE),
        Ok(Gate::LastNotGood(Some(_)))
    ));
}

#[test]
fn a_note_that_cannot_be_read_counts_until_somebody_confirms() {
    let kernel = Kernel::boot(Rules::V2);
    let lasting = Disk::new(&kernel);
    for bytes in [
        &b""[..],
        b"\n",
        b"qc1 00",
        b"\xff\xfe",
        b"qc1 00000002 00000000 {}\n",
    ] {
        std::fs::write(lasting.dir.path().join(NOTE), bytes).unwrap();
        assert!(!next_boot_tries(&lasting), "{bytes:?}");
        assert!(
            !good(&lasting, Some(SECOND)).unwrap(),
            "time alone does not clear it"
        );
        assert!(forget(&lasting).unwrap() && !forget(&lasting).unwrap());
        assert!(next_boot_tries(&lasting));
    }
}

#[test]
fn only_what_came_at_boot_goes_with_it() {
    let kernel = Kernel::boot(Rules::V2);
    let (run, lasting) = (Disk::new(&kernel), Disk::new(&kernel));
    come_back(&kernel, &run, &lasting, Some(FIRST), LINE).unwrap();
    let other = apply::undo(
        &kernel,
        &run,
        Some(FIRST),
        request(Which::Because("apply"), Force::No),
    )
    .unwrap();
    assert!(!other.was_in_force && other.taken.is_empty());
    let boot = apply::undo(
        &kernel,
        &run,
        Some(FIRST),
        request(Which::Because("boot"), Force::No),
    )
    .unwrap();
    assert_eq!(boot.taken, ["rt"]);
}
