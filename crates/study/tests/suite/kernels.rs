//! Boots of named kernels on a machine that is rebooted for them.

use crate::support::story::{OTHER, OWN, StudyScenario, of, right};
use std::time::Duration;
use study::{MAX_ATTEMPTS, NextStep};

#[test]
fn each_run_is_measured_under_its_kernel() {
    let mut story = StudyScenario::of(&format!(
        "kernel = [\"{OWN}\", \"{OTHER}\"]\nload = [\"idle\", \"cpu\"]"
    ));
    let mut measured = Vec::new();
    for _ in 0..200 {
        match story.next() {
            NextStep::Measure(sitting) => {
                assert_eq!(story.release, [OWN, OTHER][sitting.boot]);
                measured.push(sitting.boot);
                story.note(sitting, true);
                let place = story.schedule.next().unwrap();
                story.schedule.finish(place, Duration::from_secs(10));
            }
            NextStep::Restart(sitting) => {
                story.note(sitting, false);
                story.boot_kernel([OWN, OTHER][sitting.boot]);
            }
            other => {
                assert_eq!(other, NextStep::Over);
                break;
            }
        }
    }
    measured.sort_unstable();
    assert_eq!(measured, [[0; 6], [1; 6]].concat());
}

#[test]
fn a_kernel_that_never_boots_is_skipped_and_others_are_measured() {
    for axes in [
        format!("kernel = [\"{OWN}\", \"{OTHER}\"]\nload = [\"idle\", \"cpu\"]"),
        // Without the axis, every boot must have the kernel with which the study started.
        "isolation = [\"none\", \"isolcpus\"]\nload = [\"idle\", \"cpu\"]".to_owned(),
    ] {
        let mut story = StudyScenario::of(&axes);
        let named = story.study.names_kernels();
        let (mut restarts, mut given_up) = (0, None);
        for _ in 0..200 {
            match story.next() {
                NextStep::Measure(sitting) => {
                    assert_eq!(sitting.boot, 0);
                    story.note(sitting, true);
                    let place = story.schedule.next().unwrap();
                    story.schedule.finish(place, Duration::from_secs(10));
                }
                NextStep::Restart(sitting) => {
                    restarts += usize::from(sitting.boot == 1);
                    story.note(sitting, false);
                    // With the axis, the default kernel is booted again. Without it, the changed line selects another
                    // kernel.
                    if named {
                        story.boot_kernel(OWN);
                    } else {
                        story.boot(right(sitting.boot));
                        story.release = [OWN, OTHER][sitting.boot];
                    }
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
        assert_eq!((story.next(), restarts), (NextStep::Over, MAX_ATTEMPTS), "{axes}");
        let (runs, wanted) = if named { (OWN, OTHER) } else { (OTHER, OWN) };
        let why = given_up.unwrap();
        assert!(
            why.contains(&format!("kernel {runs} is running instead of {wanted}")),
            "{why}"
        );
        assert_eq!(story.schedule.runs_done(), 6);
    }
}

#[test]
fn a_result_from_another_kernel_is_recognized() {
    let study = of(&format!("kernel = [\"{OWN}\", \"{OTHER}\", \"/srv/vmlinuz\"]"), 1);
    for (boot, release, other) in [
        (0, OWN, false),
        (0, OTHER, true),
        (1, OWN, true),
        // The version inside an image file is not known here.
        (2, "6.12.1", false),
        (2, OWN, true),
    ] {
        assert_eq!(study.is_kernel_of_another(boot, release), other, "{boot} {release}");
    }
    assert!(!of("load = [\"idle\", \"cpu\"]", 1).is_kernel_of_another(0, OWN));
}
