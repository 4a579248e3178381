//! The longest run and the longest waits, with the values of the articles that search for them.

use blame::{
    KernelEvent, LongestRun, LongestWaits, RecordDecoder, ThreadChange, ThreadEvent, ThreadFilter, ThreadPeriod,
    longest_run_of_pages,
};
use events::StreamItem;
use events::dat::TraceFile;
use proptest::prelude::*;

fn step(cpu: u32, at: u64, pid: i32, comm: &'static str, what: ThreadChange<'static>) -> ThreadEvent<'static> {
    ThreadEvent {
        cpu,
        at,
        pid,
        comm,
        what,
    }
}

fn to(preempted: bool, next_pid: i32, next_comm: &'static str) -> ThreadChange<'static> {
    ThreadChange::Switch {
        preempted,
        next_pid,
        next_comm,
    }
}

/// "My Fear of Commitment to the 1st CPU Core": a trading program and ksoftirqd, times in microseconds.
fn trading() -> Vec<ThreadEvent<'static>> {
    vec![
        step(1, 70_251_098, 31_594, "TradeApp", ThreadChange::Woken { pid: 6 }),
        step(1, 70_252_191, 31_594, "TradeApp", to(true, 6, "ksoftirqd")),
        step(1, 70_252_599, 6, "ksoftirqd", to(false, 31_594, "TradeApp")),
        step(1, 85_246_192, 31_594, "TradeApp", ThreadChange::Woken { pid: 6 }),
        step(1, 85_246_652, 31_594, "TradeApp", to(true, 6, "ksoftirqd")),
        step(1, 85_262_686, 6, "ksoftirqd", to(true, 31_594, "TradeApp")),
    ]
}

#[test]
fn the_waits_of_the_article_are_found_with_the_thread_that_ran() {
    let mut waits = LongestWaits::of(ThreadFilter::Comm("TradeApp".to_owned()), 10);
    trading().iter().for_each(|step| waits.step(step));
    let waits = waits.end();
    let lengths: Vec<u64> = waits.iter().map(|wait| wait.len()).collect();
    assert_eq!(lengths, [16_034, 408]);
    assert_eq!(waits[0].first_runner, Some((6, "ksoftirqd".to_owned())));
}

#[test]
fn a_wait_also_starts_at_a_wake_up() {
    let mut waits = LongestWaits::of(ThreadFilter::Pid(6), 1);
    trading().iter().for_each(|step| waits.step(step));
    let waits = waits.end();
    assert_eq!(
        (waits.len(), waits[0].len(), waits[0].first_runner.clone()),
        (1, 1_093, None)
    );
}

#[test]
fn a_run_lasts_between_two_events_that_show_the_thread_running() {
    let mut run = LongestRun::of(ThreadFilter::Comm("TradeApp".to_owned()));
    trading().iter().for_each(|step| run.step(step));
    let runs = run.end();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].len(), runs[0].pid), (85_246_192 - 70_252_599, 31_594));
}

#[test]
fn time_of_another_thread_or_cpu_is_not_part_of_a_run() {
    let steps = [
        step(1, 0, 5, "bash", ThreadChange::Nothing),
        step(1, 10, 5, "bash", to(false, 0, "swapper/1")),
        step(1, 900, 0, "swapper/1", to(false, 5, "bash")),
        step(2, 950, 5, "bash", ThreadChange::Nothing),
        step(1, 960, 5, "bash", ThreadChange::Nothing),
    ];
    let mut run = LongestRun::of(ThreadFilter::Any);
    steps.iter().for_each(|step| run.step(step));
    let runs = run.end();
    assert_eq!(
        runs.iter().map(|run| (run.cpu, run.len())).collect::<Vec<_>>(),
        [(1, 60)]
    );
}

#[test]
fn lost_events_end_a_run_and_a_wait() {
    let steps = [
        step(1, 0, 5, "bash", ThreadChange::Nothing),
        step(1, 10, 5, "bash", to(true, 6, "other")),
        step(1, 20, 6, "other", ThreadChange::Lost),
        step(1, 500, 6, "other", to(false, 5, "bash")),
        step(1, 510, 5, "bash", ThreadChange::Nothing),
    ];
    let mut run = LongestRun::of(ThreadFilter::Any);
    let mut waits = LongestWaits::of(ThreadFilter::Any, 5);
    for step in &steps {
        run.step(step);
        waits.step(step);
    }
    assert_eq!(run.end()[0].len(), 10);
    assert!(waits.end().is_empty());
}

/// A trace of two CPUs with some bytes of its pages changed.
fn damaged(hits: &[(usize, u8)]) -> Vec<u8> {
    let mut bytes = include_bytes!("../../../../fixtures/trace-dat/events.v6.dat").to_vec();
    // The pages are the last part of the file.
    let pages: usize = TraceFile::parse(&bytes, 0).unwrap().buffers[0]
        .cpus
        .iter()
        .map(|cpu| cpu.bytes.len())
        .sum();
    let first = bytes.len() - pages;
    for (at, value) in hits {
        bytes[first + at % pages] = *value;
    }
    bytes
}

/// Computes the waits step by step, in order of time over all CPUs.
fn by_steps(file: &TraceFile, whose: ThreadFilter) -> (Vec<ThreadPeriod>, u64, u64) {
    let reader = RecordDecoder::new(file.description.formats().0);
    let mut comms = file.description.comms();
    let mut run = LongestRun::of(whose);
    let (mut events, mut broken) = (0, 0);
    for item in file.events() {
        let (cpu, record) = match item.event {
            StreamItem::Record { cpu, record } => (cpu, record),
            StreamItem::Lost { cpu, .. } | StreamItem::Broken { cpu, .. } => {
                broken += u64::from(matches!(item.event, StreamItem::Broken { .. }));
                run.step(&step(cpu, 0, 0, "", ThreadChange::Lost));
                continue;
            }
        };
        events += 1;
        let Some(common) = reader.formats().common(record.payload) else {
            broken += 1;
            continue;
        };
        let mut what = ThreadChange::Nothing;
        if let Some(KernelEvent::Switch { prev, next, .. }) = reader.read(&record) {
            comms.insert(common.pid, String::from_utf8_lossy(prev.comm).into_owned());
            comms.insert(next.pid, String::from_utf8_lossy(next.comm).into_owned());
            what = ThreadChange::Switch {
                preempted: false,
                next_pid: next.pid,
                next_comm: "",
            };
        }
        run.step(&ThreadEvent {
            cpu,
            at: record.at,
            pid: common.pid,
            comm: comms.get(&common.pid).map_or("<...>", String::as_str),
            what,
        });
    }
    (run.end(), events, broken)
}

fn by_pages(file: &TraceFile, whose: &ThreadFilter) -> (Vec<ThreadPeriod>, u64, u64) {
    let (formats, comms) = (file.description.formats().0, file.description.comms());
    let buffer = &file.buffers[0];
    let (mut runs, mut events, mut broken) = (Vec::new(), 0, 0);
    for cpu in &buffer.cpus {
        let reported = longest_run_of_pages(buffer, cpu, &formats, &comms, whose);
        runs.extend(reported.longest);
        events += reported.events;
        broken += reported.broken;
    }
    (runs, events, broken)
}

#[test]
fn longest_runs_by_pages_equal_those_by_events() {
    let bytes = damaged(&[]);
    let file = TraceFile::parse(&bytes, 0).unwrap();
    let mut found = 0;
    let pids = by_steps(&file, ThreadFilter::Any).0.into_iter().map(|run| run.pid);
    let comms = file.description.comms();
    let all = pids.chain(comms.keys().copied()).map(ThreadFilter::Pid);
    let named = comms.values().cloned().map(ThreadFilter::Comm);
    for whose in all.chain(named).chain([ThreadFilter::Any]) {
        let steps = by_steps(&file, whose.clone());
        assert_eq!(by_pages(&file, &whose), steps, "{whose:?}");
        found += steps.0.len();
    }
    assert!(found > 4, "{found}");
}

proptest! {
    #[test]
    fn longest_runs_of_damaged_pages_equal_those_by_events(
        hits in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..40),
    ) {
        let bytes = damaged(&hits);
        let file = TraceFile::parse(&bytes, 0).unwrap();
        let bare = |(runs, events, broken): (Vec<ThreadPeriod>, u64, u64)| {
            let runs: Vec<_> = runs.iter().map(|run| (run.cpu, run.pid, run.start, run.end)).collect();
            (runs, events, broken)
        };
        prop_assert_eq!(bare(by_pages(&file, &ThreadFilter::Any)), bare(by_steps(&file, ThreadFilter::Any)));
    }
}
