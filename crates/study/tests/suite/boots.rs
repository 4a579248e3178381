//! Boots of a study: which ones the cells need, their order, the next step of a resumed study, and which boot a command
//! line belongs to.

use crate::support::story::{StudyScenario, of, right};
use machine::CpuSet;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;
use study::{BootSession, MAX_ATTEMPTS, NextStep, RunPosition, RunSchedule, StudyRecord, blocks};

/// The article's study, with an additional isolation defined by the user.
const AXES: &str = "isolation = [\"none\", \"minimal\", \"isolcpus\", \"isolcpus_and_cpuset\", \"quiet\"]\n\
                    load = [\"idle\", \"cpu\"]\npreemption = [\"none\", \"full\"]\n\
                    [isolation.quiet]\nprofile = \"none\"\nboot = [\"nohz_full={cpus}\", \"skew_tick=1\"]";

#[test]
fn cells_with_the_same_boot_line_share_a_boot() {
    let study = of(AXES, 1);
    let cpus = CpuSet::range(2, 3);
    let texts: Vec<String> = study.boots.iter().map(|boot| boot.text(&cpus)).collect();
    assert_eq!(
        texts,
        [
            "preempt=none",
            "preempt=full",
            "isolcpus=2-3 preempt=none",
            "isolcpus=2-3 preempt=full",
            "nohz_full=2-3 skew_tick=1 preempt=none",
            "nohz_full=2-3 skew_tick=1 preempt=full",
        ]
    );
    let boot = |name: &str| study.cells.iter().find(|cell| cell.name == name).map(|cell| cell.boot);
    assert_eq!((boot("none-idle-none"), boot("minimal-cpu-none")), (Some(0), Some(0)));
    assert_eq!(
        (boot("isolcpus-idle-full"), boot("isolcpus_and_cpuset-cpu-full")),
        (Some(3), Some(3))
    );
    let makes = |name: &str| {
        let cell = study.cells.iter().find(|cell| cell.name == name).unwrap();
        cell.intent.is_some()
    };
    assert!(makes("isolcpus_and_cpuset-idle-none") && !makes("isolcpus-idle-none") && !makes("quiet-idle-none"));
    let axes: Vec<&str> = study.axes.iter().map(|axis| axis.name.as_str()).collect();
    assert_eq!(axes, ["isolation", "load", "preemption"]);
    let levels = study.levels_of(&study.cells[1]);
    assert_eq!(levels["preemption"], "full");
    for pair in study::pairs(&study.axes, &study.cells) {
        let (one, two) = (&study.cells[pair.first].levels, &study.cells[pair.other].levels);
        assert!(
            one[pair.axis] < two[pair.axis],
            "the earlier level is first: {one:?} {two:?}"
        );
    }
}

#[test]
fn each_kernel_is_a_boot_with_its_own_directory_name() {
    let study = of("kernel = [\"6.1.0-18-amd64\", \"/srv/vmlinuz-6.12-rt\"]", 1);
    let names: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["none-idle-6.1.0_18_amd64", "none-idle-vmlinuz_6.12_rt"]);
    assert_eq!(study.boots[1].kernel.as_deref(), Some("/srv/vmlinuz-6.12-rt"));
    assert_eq!(study.axes[2].levels[1], "/srv/vmlinuz-6.12-rt");
    assert!(study.needs_boots() && study.names_kernels());
}

#[test]
fn a_study_without_boots_keeps_its_order_and_record() {
    let study = of(
        "isolation = [\"none\", \"balanced\"]\nload = [\"idle\", \"cpu\", \"io\"]",
        9,
    );
    assert!(!study.needs_boots() && study.boots.len() == 1);
    assert_eq!(study.blocks(), blocks(6, 3, 9));
    let schedule = RunSchedule::new(&study, []);
    assert_eq!((schedule.next_boot_session(), schedule.boot_sessions_left()), (None, 0));
    let machine = machine::Machine::read(&root::Root::live());
    let record = StudyRecord::new(&study, &machine, &CpuSet::range(1, 1), "1");
    assert!(record.boots.is_empty() && record.kernel == machine.kernel.release);
}

#[test]
fn the_record_maps_boots_to_cells() {
    let study = of("isolation = [\"none\", \"isolcpus\"]\nload = [\"idle\", \"cpu\"]", 1);
    let machine = machine::Machine::read(&root::Root::live());
    let record = |cpus| StudyRecord::new(&study, &machine, &cpus, "1");
    let ours = record(CpuSet::range(2, 3));
    let boots: Vec<(String, &[String])> = ours
        .boots
        .iter()
        .map(|boot| (boot.words.join(" "), boot.cells.as_slice()))
        .collect();
    assert_eq!(
        boots[0],
        (String::new(), &["none-idle".to_owned(), "none-cpu".to_owned()][..])
    );
    assert_eq!(boots[1].0, "isolcpus=2-3");
    let other = StudyRecord {
        boots: Vec::new(),
        ..ours.clone()
    };
    let why = ours.same(&other).unwrap_err().to_string();
    assert!(why.contains("the list of boots"), "{why}");
}

#[test]
fn a_boot_line_identifies_one_boot() {
    let study = of(
        "isolation = [\"none\", \"isolcpus\", \"a\"]\n[isolation.a]\nprofile = \"none\"\nboot = [\"nohz-full={cpus}\"]",
        1,
    );
    let cpus = CpuSet::range(2, 3);
    for (line, of) in [
        ("root=/dev/sda1 quiet", Some(0)),
        ("root=/dev/sda1 isolcpus=2-3 panic=30", Some(1)),
        ("nohz-full=2-3 root=/dev/sda1", Some(2)),
        // A different isolation of other CPUs does not count as the line without isolation.
        ("isolcpus=1", None),
        ("nohz_full=2-3 isolcpus=2-3", None),
        ("isolcpus=2-31", None),
    ] {
        for boot in 0..3 {
            let why = study.wrong_line(boot, &cpus, line);
            assert_eq!(why.is_none(), of == Some(boot), "{line} for boot {boot}: {why:?}");
        }
    }
}

#[test]
fn after_power_cuts_every_run_is_measured_once_in_its_boot() {
    // Each story has a power cut at one step, of every kind.
    for cut in 0..60 {
        let mut story = StudyScenario::start();
        let (mut steps, mut measured) = (0, 0);
        loop {
            steps += 1;
            assert!(steps < 200, "cut at {cut}: it did not end");
            match story.next() {
                NextStep::Measure(sitting) => {
                    assert_eq!(story.line, right(sitting.boot));
                    story.note(sitting, true);
                    if steps == cut {
                        // The one-shot entry is used up, so the old line is booted.
                        story.boot("quiet");
                        continue;
                    }
                    let place = story.schedule.next().unwrap();
                    assert_eq!(
                        (place.block, story.study.cells[place.cell].boot),
                        (sitting.block, sitting.boot)
                    );
                    story.schedule.finish(place, Duration::from_secs(10));
                    measured += 1;
                }
                NextStep::Restart(sitting) => {
                    story.note(sitting, false);
                    // The power cut is between the record and the entry.
                    story.boot(if steps == cut { "quiet" } else { right(sitting.boot) });
                }
                NextStep::GiveUp {
                    boot_session: sitting,
                    why,
                } => panic!("cut at {cut}: {sitting:?} is given up: {why}"),
                NextStep::Over => break,
                NextStep::BudgetUsed => panic!("it has no budget"),
            }
        }
        assert_eq!(measured, 12, "cut at {cut}");
    }
}

#[test]
fn every_repetition_has_its_own_boots_and_a_study_starts_with_one() {
    let mut story = StudyScenario::start();
    let mut restarts = Vec::new();
    loop {
        match story.next() {
            NextStep::Measure(sitting) => {
                story.note(sitting, true);
                let place = story.schedule.next().unwrap();
                story.schedule.finish(place, Duration::from_secs(10));
            }
            NextStep::Restart(sitting) => {
                restarts.push(sitting);
                story.note(sitting, false);
                story.boot(right(sitting.boot));
            }
            other => {
                assert_eq!(other, NextStep::Over);
                break;
            }
        }
    }
    let different: BTreeSet<&BootSession> = restarts.iter().collect();
    assert_eq!((restarts.len(), different.len()), (6, 6), "{restarts:?}");
}

#[test]
fn a_boot_that_never_comes_up_or_crashes_is_skipped() {
    for falls in [false, true] {
        let mut story = StudyScenario::start();
        let (mut restarts, mut given_up) = (0, None);
        let mut steps = 0;
        loop {
            steps += 1;
            assert!(steps < 200, "an endless loop");
            match story.next() {
                NextStep::Measure(sitting) => {
                    story.note(sitting, true);
                    if falls && sitting.boot == 1 {
                        story.boot("quiet");
                        continue;
                    }
                    let place = story.schedule.next().unwrap();
                    story.schedule.finish(place, Duration::from_secs(10));
                }
                NextStep::Restart(sitting) => {
                    restarts += usize::from(sitting.boot == 1);
                    story.note(sitting, false);
                    // The loader falls back to the old entry.
                    story.boot(if falls { right(sitting.boot) } else { "quiet" });
                }
                NextStep::GiveUp {
                    boot_session: sitting,
                    why,
                } => {
                    assert_eq!(sitting.boot, 1);
                    assert!(given_up.replace(why).is_none(), "once for all repetitions");
                    story.schedule.give_up(sitting.boot);
                }
                NextStep::Over => break,
                NextStep::BudgetUsed => panic!("it has no budget"),
            }
        }
        assert_eq!(restarts, MAX_ATTEMPTS);
        let why = given_up.unwrap();
        assert!(why.contains("isolcpus=2-3 is not on the boot line"), "{why}");
        // The other boot has all its runs.
        assert_eq!(story.schedule.runs_done(), 6);
    }
}

/// Restarts count, and so does the time between them.
#[test]
fn a_budget_counts_from_the_start_and_allows_at_least_one_result() {
    let mut story = StudyScenario::start();
    story.study.budget = Some(Duration::from_secs(120));
    // The budget is exceeded, but a study without any result continues.
    story.under_way_for = Duration::from_secs(3_600);
    let NextStep::Restart(sitting) = story.next() else {
        panic!("{:?}", story.next());
    };
    story.note(sitting, false);
    story.boot(right(sitting.boot));
    for _ in 0..2 {
        let NextStep::Measure(sitting) = story.next() else {
            panic!("{:?}", story.next());
        };
        story.note(sitting, true);
        let place = story.schedule.next().unwrap();
        story.schedule.finish(place, Duration::from_secs(10));
    }
    assert_eq!(story.next(), NextStep::BudgetUsed);
    story.under_way_for = Duration::from_secs(60);
    assert!(matches!(story.next(), NextStep::Restart(_)), "{:?}", story.next());
    // The run itself has to fit as well.
    story.under_way_for = Duration::from_secs(119);
    assert_eq!(story.next(), NextStep::BudgetUsed);
    story.study.budget = None;
    assert!(matches!(story.next(), NextStep::Restart(_)));
}

#[test]
fn a_machine_that_crashes_with_its_usual_line_is_skipped_too() {
    let mut story = StudyScenario::start();
    let mut measures = [0; 2];
    let mut given_up = Vec::new();
    for _ in 0..200 {
        match story.next() {
            NextStep::Measure(sitting) => {
                measures[sitting.boot] += 1;
                story.note(sitting, true);
                // Every measurement crashes the machine, which then boots its usual line.
                story.boot("quiet");
            }
            NextStep::Restart(sitting) => {
                story.note(sitting, false);
                story.boot(right(sitting.boot));
            }
            NextStep::GiveUp {
                boot_session: sitting, ..
            } => {
                given_up.push(sitting.boot);
                story.schedule.give_up(sitting.boot);
            }
            NextStep::Over => break,
            NextStep::BudgetUsed => panic!("it has no budget"),
        }
    }
    assert_eq!(story.next(), NextStep::Over);
    given_up.sort_unstable();
    assert_eq!((given_up, measures), (vec![0, 1], [MAX_ATTEMPTS; 2]));
}

proptest! {
    #[test]
    fn a_block_has_every_boot_and_every_cell_once(seed: u64) {
        let study = of(AXES, seed);
        let mut orders = BTreeSet::new();
        for block in study.blocks() {
            let mut boots: Vec<usize> = block.iter().map(|cell| study.cells[*cell].boot).collect();
            boots.dedup();
            orders.insert(boots.clone());
            boots.sort_unstable();
            prop_assert_eq!(boots, (0..6).collect::<Vec<_>>());
            let mut cells = block;
            cells.sort_unstable();
            prop_assert_eq!(cells, (0..20).collect::<Vec<_>>());
        }
        // There are 720 orders, so three blocks should not all have the same one.
        prop_assert!(orders.len() > 1);
    }

    #[test]
    fn after_a_stop_the_next_boot_is_that_of_the_next_run(stops in 0_usize..=60, seed: u64) {
        let study = of(AXES, seed);
        let mut ran: Vec<RunPosition> = Vec::new();
        let mut first = RunSchedule::new(&study, []);
        prop_assert_eq!(first.boot_sessions_left(), 18);
        for _ in 0..stops {
            let place = first.next().unwrap();
            first.finish(place, Duration::from_secs(10));
            ran.push(place);
        }
        let again = RunSchedule::new(&study, ran.iter().copied());
        let needed = again.next().map(|place| BootSession { block: place.block, boot: study.cells[place.cell].boot });
        prop_assert_eq!(again.next_boot_session(), needed);
        let left: BTreeSet<(usize, usize)> = again.order()[stops..]
            .iter()
            .map(|place| (place.block, study.cells[place.cell].boot))
            .collect();
        prop_assert_eq!(again.boot_sessions_left(), left.len());
    }
}
