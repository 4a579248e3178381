//! Event streams with timers set by different threads, and with lost events.

use crate::support::answers::{PROBE, answer_of, gaps, row};
use crate::support::stream;
use crate::support::stream::TestStream;
use blame::{BlameQuestion, BlameTarget, Class, FollowMode, Gap, RecordDecoder, Victim, attribute};

#[test]
fn timers_of_one_softirq_are_attributed_to_their_setters() {
    let mut stream = TestStream::new();
    let expire = |stream: &mut TestStream, at, timer: u64| {
        let fields = [("timer", timer), ("function", 0x780)];
        stream.at(at, "timer_expire_entry", &fields);
        stream.at(at + 1_000, "timer_expire_exit", &fields[..1]);
    };
    stream.on(1, 210, 0);
    stream.at(5_000, "timer_start", &[("timer", 8), ("function", 0x780)]);
    stream.at(6_000, "timer_start", &[("timer", 9), ("function", 0x780)]);
    stream.switch(7_000, 210, 1, 220);
    stream.on(1, 220, 0);
    stream.at(8_000, "timer_start", &[("timer", 10), ("function", 0x780)]);
    stream.switch(9_000, 220, 1, PROBE);
    stream.on(1, PROBE, 0);
    stream.at(20_000, "local_timer_entry", &[]);
    stream.interrupt().at(20_500, "softirq_raise", &[("vec", 1)]);
    stream.task().at(21_000, "local_timer_exit", &[]);
    stream.at(21_000, "softirq_entry", &[("vec", 1)]);
    expire(&mut stream, 22_000, 8);
    expire(&mut stream, 23_000, 9);
    expire(&mut stream, 25_000, 10);
    stream.at(27_000, "softirq_exit", &[("vec", 1)]);
    let cpu = answer_of(&stream, gaps(&[(20_000, 27_000)]));
    let timers = || cpu.interruptions.iter().filter(|row| row.class == Class::SoftTimer);
    let by: Vec<(i32, u64, u64)> = timers()
        .map(|row| (row.culprit.as_ref().map_or(0, |by| by.pid), row.count, row.total_ns))
        .collect();
    // The time up to the first timer belongs to it. Two timers of one thread are merged. The last one starts with its
    // function.
    assert_eq!(by, [(210, 1, 4_000), (220, 1, 2_000)], "{:#?}", cpu.interruptions);
    assert!(timers().all(|row| row.name == "TIMER: process_timeout"));
    assert_eq!(cpu.unexplained_ns, 0);
}

#[test]
fn a_timer_is_attributed_to_its_setter_not_to_the_interrupt() {
    let mut stream = TestStream::new();
    stream.on(1, 200, 0);
    stream.at(1_000, "timer_start", &[("timer", 9), ("function", 0x500)]);
    stream.switch(2_000, 200, 1, PROBE);
    stream.on(1, PROBE, 0);
    stream.at(10_000, "local_timer_entry", &[]);
    stream.interrupt().at(10_500, "softirq_raise", &[("vec", 1)]);
    stream.task().at(11_000, "local_timer_exit", &[]);
    stream.at(11_000, "softirq_entry", &[("vec", 1)]);
    stream.at(11_500, "timer_expire_entry", &[("timer", 9), ("function", 0x500)]);
    stream.at(12_000, "timer_expire_exit", &[("timer", 9)]);
    stream.at(13_000, "softirq_exit", &[("vec", 1)]);
    // The setter of this timer is unknown, so it is attributed to the interrupt.
    stream.at(20_000, "local_timer_entry", &[]);
    stream.interrupt().at(20_500, "softirq_raise", &[("vec", 1)]);
    stream.task().at(21_000, "local_timer_exit", &[]);
    stream.at(21_000, "softirq_entry", &[("vec", 1)]);
    stream.at(21_500, "timer_expire_entry", &[("timer", 8), ("function", 0x600)]);
    stream.at(22_000, "timer_expire_exit", &[("timer", 8)]);
    stream.at(23_000, "softirq_exit", &[("vec", 1)]);
    let cpu = answer_of(&stream, gaps(&[(10_000, 13_000), (20_000, 23_000)]));
    let set = row(&cpu, "TIMER: vmstat_update").culprit.clone().unwrap();
    assert_eq!((set.pid, set.cpu, set.via), (200, 1, None));
    let unknown = row(&cpu, "TIMER: perf_event_nmi_handler").culprit.clone().unwrap();
    assert_eq!((unknown.pid, unknown.via.as_deref()), (0, Some("local_timer")));
}

#[test]
fn lost_events_are_reported() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.at(10_000, "local_timer_entry", &[]);
    stream.lose(1, 12);
    let cpu = answer_of(&stream, gaps(&[]));
    assert_eq!(cpu.lost_events, 12);
}

#[test]
fn no_culprit_is_named_for_time_with_lost_events() {
    let mut stream = TestStream::new();
    stream.on(0, 300, 0);
    stream.at(
        9_000,
        "ipi_send_cpu",
        &[("cpu", 1), ("callsite", 0x205), ("callback", 0x300)],
    );
    stream.at(9_100, "sched_waking", &[("pid", 250), ("target_cpu", 1)]);
    stream.named(210, "task-210");
    stream.on(1, PROBE, 0);
    stream.switch(10_000, PROBE, 0, 200);
    // The lost events would have shown which thread had the CPU from here on.
    stream.lose(1, 12);
    stream.on(1, 210, 0);
    stream.at(50_000, "call_function_single_entry", &[]);
    stream.at(51_000, "call_function_single_exit", &[]);
    stream.switch(60_000, 210, 0, 250);
    stream.on(1, 250, 0);
    stream.switch(61_000, 250, 1, PROBE);
    let cpu = answer_of(&stream, gaps(&[(10_000, 61_000)]));
    assert_eq!(cpu.lost_events, 12);
    assert_eq!(cpu.unexplained_ns, 40_000, "{:#?}", cpu.interruptions);
    assert_eq!(row(&cpu, "task-210").total_ns, 9_000);
    assert_eq!(
        row(&cpu, "call_function_single").culprit,
        None,
        "that call may have come before"
    );
    assert_eq!(row(&cpu, "task-250").culprit, None, "that wake-up, too");
    assert!(cpu.interruptions.iter().all(|row| row.name != "task-200"));
}

#[test]
fn time_before_the_window_is_not_stolen() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.at(600_000, "local_timer_entry", &[]);
    stream.at(600_500, "local_timer_exit", &[]);
    let gap = |start, end| Gap { start, end };
    let question = BlameQuestion {
        targets: vec![BlameTarget {
            cpu: 1,
            victim: Victim {
                pids: vec![PROBE],
                follow: FollowMode::NoThread,
            },
            window: gap(500_000, 1_000_000),
            gaps: Some(vec![gap(1_000, 2_000), gap(499_000, 501_000), gap(600_000, 600_500)]),
        }],
        ..BlameQuestion::default()
    };
    let answer = attribute(
        &RecordDecoder::new(stream.formats.clone()),
        &stream::TestNames,
        stream.events(),
        &question,
    );
    let cpu = &answer.cpus[0];
    assert_eq!((cpu.gaps, cpu.stolen_ns, cpu.unexplained_ns), (2, 1_500, 1_000));
}
