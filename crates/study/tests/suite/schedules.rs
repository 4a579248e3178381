//! The order of the runs, and the remaining runs after an interruption.

use machine::CpuSet;
use proptest::prelude::*;
use std::time::Duration;
use study::{RunPosition, RunSchedule, Study, StudyRecord, blocks, parse};

fn of(repetitions: usize, seed: u64) -> Study {
    let text = format!(
        "repetitions = {repetitions}\nseed = {seed}\ncool_down = \"2s\"\n[measure]\nwhat = \"latency\"\ncpus = \"1\"\nfor = \"10s\"\n\
         [axes]\nisolation = [\"none\", \"balanced\"]\nload = [\"idle\", \"cpu\", \"io\"]\n"
    );
    parse(text.as_bytes()).unwrap()
}

proptest! {
    #[test]
    fn every_block_has_every_cell_once(cells in 1_usize..40, repetitions in 0_usize..20, seed: u64) {
        let order = blocks(cells, repetitions, seed);
        prop_assert_eq!(order.len(), repetitions);
        for block in &order {
            let mut sorted = block.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..cells).collect::<Vec<_>>());
        }
        // More repetitions do not change the earlier ones.
        prop_assert_eq!(&blocks(cells, repetitions + 3, seed)[..repetitions], order.as_slice());
    }

    #[test]
    fn after_a_stop_the_next_run_follows_and_none_runs_twice(stops in 0_usize..=30, seed: u64) {
        let study = of(5, seed);
        let mut first = RunSchedule::new(&study, []);
        let mut ran = Vec::new();
        for _ in 0..stops {
            let place = first.next().unwrap();
            first.finish(place, Duration::from_secs(12));
            ran.push(place);
        }
        let mut again = RunSchedule::new(&study, ran.iter().copied());
        prop_assert_eq!(again.runs_done(), stops);
        while let Some(place) = again.next() {
            again.finish(place, Duration::from_secs(12));
            ran.push(place);
        }
        prop_assert_eq!(ran.as_slice(), again.order());
        prop_assert_eq!(ran.len(), 5 * study.cells.len());
    }
}

#[test]
fn cells_are_distributed_evenly_over_the_places_of_a_block() {
    // In 6,000 blocks each of 6 cells is 1,000 times at each position. Five standard deviations of that are 144.
    let mut seen = [[0_i32; 6]; 6];
    for block in blocks(6, 6_000, 7) {
        for (place, cell) in block.into_iter().enumerate() {
            seen[place][cell] += 1;
        }
    }
    for count in seen.iter().flatten() {
        assert!((count - 1_000).abs() < 145, "{seen:?}");
    }
    assert_ne!(blocks(6, 4, 1), blocks(6, 4, 2));
}

#[test]
fn foreign_results_do_not_count_as_done() {
    let study = of(2, 1);
    let foreign = [
        RunPosition { block: 2, cell: 0 },
        RunPosition { block: 0, cell: 99 },
        RunPosition { block: 1, cell: 3 },
    ];
    let schedule = RunSchedule::new(&study, foreign);
    assert_eq!(schedule.runs_done(), 1);
}

#[test]
fn the_remaining_time_follows_the_duration_of_past_runs() {
    let study = of(2, 1);
    let mut schedule = RunSchedule::new(&study, []);
    // 12 runs of 10 s, each after a pause of 2 s, and about 2 s to apply and undo.
    assert_eq!(schedule.remaining(), Duration::from_secs(12 * 14));
    let place = schedule.next().unwrap();
    schedule.finish(place, Duration::from_secs(17));
    assert_eq!(schedule.remaining(), Duration::from_secs(11 * 17));
    while let Some(place) = schedule.next() {
        schedule.finish(place, Duration::from_secs(13));
    }
    assert_eq!(schedule.remaining(), Duration::ZERO);
}

#[test]
fn a_directory_of_another_study_machine_or_version_is_recognized() {
    let machine = machine::Machine::read(&root::Root::live());
    let record = |study: &Study, version: &str| StudyRecord {
        kernel: None,
        ..StudyRecord::new(study, &machine, &CpuSet::range(1, 1), version)
    };
    let ours = record(&of(2, 1), "1.0");
    assert_eq!(ours.same(&record(&of(2, 1), "1.0")), Ok(()));
    let cases: [(StudyRecord, &str); 5] = [
        (
            record(&of(2, 1), "1.1"),
            "the version of quietcore was 1.0 there, but is 1.1 now",
        ),
        (record(&of(2, 2), "1.0"), "the seed was 1 there, but is 2 now"),
        (record(&of(3, 1), "1.0"), "12 runs there, but is another, 18 runs now"),
        (
            StudyRecord {
                kernel: Some("6.1".to_owned()),
                ..ours.clone()
            },
            "the kernel was unknown there, but is 6.1 now",
        ),
        (
            StudyRecord {
                cpus: CpuSet::range(2, 3),
                ..ours.clone()
            },
            "CPUs measured was 1 there, but is 2-3 now",
        ),
    ];
    for (other, words) in cases {
        let why = ours.same(&other).unwrap_err().to_string();
        assert!(why.contains(words), "{why}");
    }
}
