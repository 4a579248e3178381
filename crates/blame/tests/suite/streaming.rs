//! An answer computed in parts, with any cuts in the events and gaps, equals the answer computed at once.

use crate::support::stream::{TestNames, TestStream};
use blame::{
    Attribution, BlameQuestion, BlameResult, BlameTarget, FollowMode, Gap, GapSelection, RecordDecoder, Victim,
    attribute,
};
use events::StreamItem;
use proptest::prelude::*;

/// The CPUs in question.
const REQUESTED_CPUS: [u32; 2] = [1, 2];
const END: u64 = 200_000;
const PROBES: [i32; 2] = [100, 101];

/// One event: its CPU, the current thread, the kind of event, and two numbers for its fields.
type StreamStep = (u32, usize, usize, u64, u64);

/// The kind of event that is recorded at its end.
const NMI: usize = 29;
/// The kind that may move a thread that runs, as no kernel does.
const MIGRATION: usize = 30;
/// The kind that is a loss: when it happened is unknown.
const LOSS: usize = 37;

fn step() -> impl Strategy<Value = StreamStep> {
    (0_u32..4, 0..5_usize, 0..=LOSS, 0_u64..4, 1_u64..2_500)
}

fn write(steps: &[StreamStep]) -> TestStream {
    let pids = [0, 50, 60, 100, 101, 300];
    let mut stream = TestStream::new();
    let mut now = 500;
    for &(cpu, current, what, number, pause) in steps {
        now += pause;
        let pid = pids[current];
        stream.on(cpu, pid, if what % 7 == 3 { 8 } else { 0 });
        let other = pids[(current + 1 + number as usize) % pids.len()];
        let target = number % 3;
        let at = now;
        match what {
            0..=5 => stream.switch(at, pid, [0, 1, 0x10, 0][number as usize], other),
            6 => stream.at(at, "local_timer_entry", &[]),
            7 => stream.at(at, "local_timer_exit", &[]),
            8 => stream.at(at, "irq_handler_entry", &[("irq", 40 + number)]),
            9 => stream.at(at, "irq_handler_exit", &[("irq", 40 + number)]),
            10 => stream.at(at, "softirq_raise", &[("vec", 3 + number % 2)]),
            11 => stream.at(at, "softirq_entry", &[("vec", 3 + number % 2)]),
            12 => stream.at(at, "softirq_exit", &[("vec", 3 + number % 2)]),
            13..=15 => stream.at(at, "sched_waking", &[("pid", other as u64), ("target_cpu", target)]),
            16 => stream.at(
                at,
                "ipi_send_cpu",
                &[("cpu", target), ("callsite", 0x205), ("callback", 0x300)],
            ),
            17 => stream.at(at, "call_function_single_entry", &[]),
            18 => stream.at(at, "call_function_single_exit", &[]),
            19 => stream.at(
                at,
                "csd_queue_cpu",
                &[("cpu", target), ("callsite", 0x205), ("csd", number)],
            ),
            20 => stream.at(at, "csd_function_entry", &[("func", 0x300), ("csd", number)]),
            21 => stream.at(at, "hrtimer_start", &[("hrtimer", number), ("function", 0x100)]),
            22 => stream.at(at, "hrtimer_expire_entry", &[("hrtimer", number), ("function", 0x100)]),
            23 => stream.at(at, "workqueue_queue_work", &[("work", number), ("function", 0x500)]),
            24 => stream.at(at, "workqueue_execute_start", &[("work", number), ("function", 0x500)]),
            25 => stream.at(at, "workqueue_execute_end", &[("work", number)]),
            26 => stream.at(at, "page_fault_user", &[("address", 0x7000)]),
            27 => stream.at(at, "sys_enter", &[("id", 9 + number)]),
            28 => stream.at(at, "sys_exit", &[("id", 9 + number)]),
            NMI => stream.at(
                at,
                "nmi_handler",
                &[("handler", 0x600), ("delta_ns", pause.min(900) / 2)],
            ),
            MIGRATION => stream.at(at, "sched_migrate_task", &[("pid", other as u64), ("dest_cpu", target)]),
            31 => stream.at(
                at,
                "task_newtask",
                &[("pid", 400 + number), ("clone_flags", number << 15)],
            ),
            32 => stream.at(at, "tlb_flush", &[("reason", 1 + number)]),
            33 | 34 => stream.at(at, "user_enter", &[]),
            35 | 36 => stream.at(at, "user_exit", &[]),
            _ => stream.lose(cpu, number + 1),
        }
    }
    stream
}

fn question(gaps: Option<[Vec<Gap>; 2]>, keep: GapSelection, end: u64) -> BlameQuestion {
    let of = |place: usize| BlameTarget {
        cpu: REQUESTED_CPUS[place],
        victim: Victim {
            pids: vec![PROBES[place]],
            follow: if gaps.is_some() {
                FollowMode::NoThread
            } else {
                FollowMode::Children
            },
        },
        window: Gap { start: 2_000, end },
        gaps: gaps.as_ref().map(|gaps| gaps[place].clone()),
    };
    BlameQuestion {
        targets: vec![of(0), of(1)],
        comms: [(100, "probe".to_owned()), (300, "known".to_owned())].into(),
        keep,
    }
}

/// Consecutive gaps of a CPU; some are adjacent.
fn gaps() -> impl Strategy<Value = Vec<Gap>> {
    prop::collection::vec((0_u64..6_000, 1_u64..6_000), 0..40).prop_map(|all| {
        let mut at = 1_000;
        let mut gap = |(pause, len): (u64, u64)| {
            let start = at + pause;
            at = start + len;
            Gap { start, end: at }
        };
        all.into_iter().map(&mut gap).collect()
    })
}

fn check_sums(answer: &BlameResult, keep: GapSelection) -> Result<(), TestCaseError> {
    for cpu in &answer.cpus {
        prop_assert_eq!(cpu.stolen_ns, cpu.explained_ns + cpu.unexplained_ns);
        let rows: u64 = cpu.interruptions.iter().map(|row| row.total_ns).sum();
        prop_assert_eq!(rows, cpu.explained_ns, "{:#?}", cpu.interruptions);
        prop_assert!(cpu.stolen_ns <= cpu.duration_ns);
        if keep == GapSelection::First(usize::MAX) {
            let pieces = cpu.stories.iter().flat_map(|story| &story.pieces);
            let named: u64 = pieces
                .filter(|piece| piece.row.is_some())
                .map(|piece| piece.span.end - piece.span.start)
                .sum();
            prop_assert_eq!(named, cpu.explained_ns, "{:#?}", cpu.stories);
        }
    }
    Ok(())
}

/// Reports the first line that differs.
fn same(parts: &BlameResult, whole: &BlameResult) -> Result<(), TestCaseError> {
    let (parts, whole) = (format!("{parts:#?}"), format!("{whole:#?}"));
    for (number, (part, of_whole)) in parts.lines().zip(whole.lines()).enumerate() {
        prop_assert_eq!(part, of_whole, "line {}", number);
    }
    prop_assert_eq!(parts.len(), whole.len());
    Ok(())
}

fn time_of(event: &StreamItem<'_>) -> Option<u64> {
    match event {
        StreamItem::Record { record, .. } => Some(record.at),
        _ => None,
    }
}

fn any_keep() -> impl Strategy<Value = GapSelection> {
    prop_oneof![
        Just(GapSelection::First(usize::MAX)),
        Just(GapSelection::First(600)),
        Just(GapSelection::Longest(2)),
        Just(GapSelection::Nothing)
    ]
}

/// Adds events and gaps in parts: before each cut, everything earlier is added. At the cuts `passed` it is known that
/// nothing earlier comes.
fn in_parts(
    stream: &TestStream,
    gaps: Option<&[Vec<Gap>; 2]>,
    keep: GapSelection,
    cuts: &[u64],
    passed: &[u64],
) -> BlameResult {
    let empty = gaps.map(|_| [Vec::new(), Vec::new()]);
    let reader = RecordDecoder::new(stream.formats.clone());
    let mut attribution = Attribution::new(&reader, &TestNames, &question(empty, keep, u64::MAX));
    let all: Vec<StreamItem> = stream.events().collect();
    let (mut at, mut taken) = (0, [0, 0]);
    for cut in cuts.iter().chain([&u64::MAX]) {
        for (place, all) in gaps.into_iter().flatten().enumerate() {
            let until = all.partition_point(|gap| gap.start < *cut);
            attribution.gaps(REQUESTED_CPUS[place], &all[taken[place]..until.max(taken[place])]);
            taken[place] = until.max(taken[place]);
        }
        if *cut == u64::MAX {
            REQUESTED_CPUS.iter().for_each(|cpu| attribution.ends(*cpu, END));
        }
        while let Some(event) = all.get(at) {
            // A loss is added together with the event after it.
            let next = all[at..].iter().find_map(time_of);
            if next.map_or(*cut != u64::MAX, |next| next >= *cut) {
                break;
            }
            attribution.event(event);
            at += 1;
        }
        if passed.contains(cut) {
            attribution.pass(*cut);
        }
    }
    attribution.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_answer_for_a_probe_does_not_depend_on_the_cuts(
        steps in prop::collection::vec(step(), 0..160),
        gaps in [gaps(), gaps()],
        keep in any_keep(),
        mut cuts in prop::collection::vec(0..END, 0..30),
    ) {
        cuts.sort_unstable();
        let stream = write(&steps);
        let reader = RecordDecoder::new(stream.formats.clone());
        let whole = attribute(&reader, &TestNames, stream.events(), &question(Some(gaps.clone()), keep, END));
        check_sums(&whole, keep)?;
        same(&in_parts(&stream, Some(&gaps), keep, &cuts, &[]), &whole)?;
    }

    #[test]
    fn the_answer_for_a_program_does_not_depend_on_the_cuts(
        steps in prop::collection::vec(step(), 0..160),
        keep in any_keep(),
        mut cuts in prop::collection::vec(0..END, 0..30),
    ) {
        cuts.sort_unstable();
        // Of the others, an event never changes what was known about the time before it.
        let is_in_order = |step: &&StreamStep| ![NMI, MIGRATION, LOSS].contains(&step.2);
        let in_order: Vec<StreamStep> = steps.iter().filter(is_in_order).copied().collect();
        for (steps, passed) in [(steps, &[][..]), (in_order, &cuts)] {
            let stream = write(&steps);
            let reader = RecordDecoder::new(stream.formats.clone());
            let whole = attribute(&reader, &TestNames, stream.events(), &question(None, keep, END));
            check_sums(&whole, keep)?;
            same(&in_parts(&stream, None, keep, &cuts, passed), &whole)?;
        }
    }
}

#[test]
fn the_first_long_gap_of_a_program_ends_the_answer() {
    let mut stream = TestStream::new();
    stream.on(1, 0, 0);
    stream.switch(10_000, 0, 0, 100);
    stream.on(1, 100, 0);
    stream.at(20_000, "local_timer_entry", &[]);
    stream.at(22_000, "local_timer_exit", &[]);
    stream.switch(50_000, 100, 0, 300);
    stream.on(1, 300, 0);
    stream.switch(90_000, 300, 1, 100);
    stream.on(1, 100, 0);
    stream.at(95_000, "local_timer_entry", &[]);
    stream.at(99_000, "local_timer_exit", &[]);
    stream.switch(120_000, 100, 0, 300);
    let reader = RecordDecoder::new(stream.formats.clone());
    let question = question(None, GapSelection::First(usize::MAX), u64::MAX);
    let mut attribution = Attribution::new(&reader, &TestNames, &question).until(30_000);
    stream.events().for_each(|event| attribution.event(&event));
    let gap = Gap {
        start: 50_000,
        end: 90_000,
    };
    assert_eq!(attribution.found(), Some((1, gap)));
    let answer = attribution.finish();
    let cpu = &answer.cpus[0];
    assert_eq!((cpu.stolen_ns, cpu.duration_ns, cpu.gaps), (42_000, 93_000, 2));
    assert_eq!(cpu.stories.last().unwrap().gap, gap);
}

#[test]
fn the_window_extends_beyond_the_last_event() {
    let mut stream = TestStream::new();
    stream.on(1, 100, 0);
    stream.switch(50_000, 100, 0, 300);
    stream.on(1, 300, 0);
    stream.switch(90_000, 300, 1, 100);
    let reader = RecordDecoder::new(stream.formats.clone());
    let question = question(None, GapSelection::First(usize::MAX), u64::MAX);
    let mut attribution = Attribution::new(&reader, &TestNames, &question).until(30_000);
    stream.events().for_each(|event| attribution.event(&event));
    assert_eq!(attribution.found(), None, "nothing says yet that the program runs on");
    attribution.pass(400_000);
    assert!(attribution.found().is_some());
    let answer = attribution.finish();
    let cpu = &answer.cpus[0];
    assert!(cpu.wanted_ns.unwrap() <= cpu.duration_ns, "{cpu:#?}");
    assert_eq!(cpu.duration_ns, 398_000);
}

#[test]
fn a_thread_that_leaves_idle_without_a_switch_event_is_not_interrupted() {
    let mut stream = TestStream::new();
    stream.on(1, 0, 0);
    stream.at(10_000, "softirq_entry", &[("vec", 7)]);
    stream.at(20_000, "sched_migrate_task", &[("pid", 100), ("dest_cpu", 1)]);
    stream.at(22_000, "softirq_exit", &[("vec", 7)]);
    let pulled = stream.events().count();
    stream.on(1, 100, 0);
    stream.at(900_000, "local_timer_entry", &[]);
    stream.at(903_000, "local_timer_exit", &[]);
    let reader = RecordDecoder::new(stream.formats.clone());
    for (end, stolen_ns) in [(800_000, 2_000), (1_000_000, 5_000)] {
        let question = question(None, GapSelection::First(usize::MAX), end);
        let mut attribution = Attribution::new(&reader, &TestNames, &question).until(100_000);
        for (place, event) in stream.events().enumerate() {
            if place == pulled {
                attribution.pass(800_000);
                if end == 800_000 {
                    break;
                }
            }
            attribution.event(&event);
        }
        assert_eq!(attribution.found(), None, "the program ran since it was pulled");
        assert_eq!(attribution.finish().cpus[0].stolen_ns, stolen_ns);
    }
}
