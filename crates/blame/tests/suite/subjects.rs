//! The subject of a row, which decides its fix: the number of an interrupt, the thread, the worker, and whether a
//! thread ran that should not have.

use crate::support::stream::{TestNames, TestStream};
use blame::{BlameQuestion, BlameTarget, Gap, Interruption, InterruptionSubject, RecordDecoder, Victim, attribute};

const PROBE: i32 = 100;

fn rows(stream: &TestStream) -> Vec<Interruption> {
    let span = |start, end| Gap { start, end };
    let question = BlameQuestion {
        targets: vec![BlameTarget {
            cpu: 1,
            victim: Victim {
                pids: vec![PROBE],
                ..Victim::default()
            },
            window: span(0, 1_000_000),
            gaps: Some(vec![span(10_000, 60_000)]),
        }],
        ..BlameQuestion::default()
    };
    let reader = RecordDecoder::new(stream.formats.clone());
    let answer = attribute(&reader, &TestNames, stream.events(), &question);
    let rows = answer.cpus.into_iter().flat_map(|cpu| cpu.interruptions);
    rows.collect()
}

/// Returns the names of the rows and their subjects.
fn subjects(stream: &TestStream) -> Vec<(String, InterruptionSubject)> {
    let named = |row: Interruption| (row.name, row.subject);
    rows(stream).into_iter().map(named).collect()
}

/// A thread replaces the probe. Both have a priority in the kernel's scale.
fn preemption(by: i32, probe_prio: u64, state: u64, other_prio: u64) -> Interruption {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.switch_prio(10_000, (PROBE, probe_prio), state, (by, other_prio));
    stream.on(1, by, 0);
    stream.switch_prio(60_000, (by, other_prio), 0, (PROBE, probe_prio));
    rows(&stream).into_iter().next().unwrap()
}

fn preempted(by: i32, probe_prio: u64, state: u64, other_prio: u64) -> InterruptionSubject {
    preemption(by, probe_prio, state, other_prio).subject
}

#[test]
fn an_idle_cpu_with_a_runnable_real_time_thread_is_throttled() {
    let culprit = |probe_prio, state| {
        let row = preemption(0, probe_prio, state, 120);
        row.culprit.map(|culprit| (culprit.pid, culprit.via))
    };
    let throttled = Some((0, Some("real-time throttling".to_owned())));
    assert_eq!(culprit(19, 0), throttled);
    // An ordinary thread may stop running for other reasons, and a sleeping one is not throttled.
    assert_ne!(culprit(120, 0), throttled);
    assert_ne!(culprit(19, 1), throttled);
}

#[test]
fn an_ordinary_thread_before_a_real_time_one_was_admitted() {
    assert_eq!(preempted(200, 19, 0, 120), InterruptionSubject::LetIn(200));
    // It may run instead of an ordinary thread, instead of a sleeping one, and because of its own priority.
    assert_eq!(preempted(200, 120, 0, 120), InterruptionSubject::Thread(200));
    assert_eq!(preempted(200, 19, 1, 120), InterruptionSubject::Thread(200));
    assert_eq!(preempted(200, 19, 0, 9), InterruptionSubject::Thread(200));
    // Nothing ran although the probe was runnable: it was throttled.
    assert_eq!(preempted(0, 19, 0, 120), InterruptionSubject::Thread(0));
}

#[test]
fn the_subject_is_the_interrupt_number_or_the_worker() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.at(10_000, "irq_handler_entry", &[("irq", 47)]);
    stream.at(11_000, "irq_handler_exit", &[("irq", 47)]);
    stream.switch(12_000, PROBE, 0, 50);
    stream.on(1, 50, 0);
    stream.at(13_000, "workqueue_execute_start", &[("work", 9), ("function", 0x500)]);
    stream.at(50_000, "workqueue_execute_end", &[("work", 9), ("function", 0x500)]);
    stream.switch(60_000, 50, 1, PROBE);
    let found = subjects(&stream);
    let of = |name: &str| {
        let row = found.iter().find(|(of, _)| of == name);
        row.map(|(_, subject)| subject.clone())
    };
    assert_eq!(of("irq 47 disk"), Some(InterruptionSubject::Irq(47)), "{found:?}");
    assert_eq!(
        of("vmstat_update"),
        Some(InterruptionSubject::Worker("kworker/1:1".to_owned()))
    );
    assert_eq!(of("kworker/1:1"), Some(InterruptionSubject::Thread(50)));
}
