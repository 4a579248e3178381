//! Event streams of kernels without events for sent interrupts: kprobes on the sending functions identify the sender.

use crate::support::answers::{PROBE, answer_of, gaps, row};
use crate::support::stream::TestStream;
use blame::{Class, Confidence, CpuAnswer, Culprit};

/// The events of the sender from 9,000 on, followed by the interrupt.
fn answer_of_sends(sends: impl Fn(&mut TestStream), vector: &str) -> CpuAnswer {
    let mut stream = TestStream::with_kprobes();
    stream.on(0, 300, 0);
    sends(&mut stream);
    stream.on(1, PROBE, 0);
    stream.at(10_200, &format!("{vector}_entry"), &[]);
    stream.at(11_200, &format!("{vector}_exit"), &[]);
    answer_of(&stream, gaps(&[(10_000, 11_400)]))
}

fn by(cpu: &CpuAnswer, name: &str) -> Culprit {
    let found = row(cpu, name);
    assert_eq!(found.confidence, Confidence::Traced);
    found.culprit.clone().unwrap()
}

fn request(function: u64, flags: u64, callsite: u64) -> [(&'static str, u64); 5] {
    [
        ("cpu", 1),
        ("call", 0x7000),
        ("flags", flags),
        ("function", function),
        ("callsite", callsite),
    ]
}

#[test]
fn a_rescheduling_ipi_names_its_sender_and_callsite() {
    let sends = |stream: &mut TestStream| stream.at(9_000, "reschedules", &[("cpu", 1), ("callsite", 0x205)]);
    let cpu = answer_of_sends(sends, "reschedule");
    let by = by(&cpu, "reschedule");
    assert_eq!(
        (by.pid, by.cpu, by.callsite.as_deref()),
        (300, 0, Some("membarrier+0x5"))
    );
}

#[test]
fn a_call_on_one_cpu_names_function_and_first_callsite() {
    let sends = |stream: &mut TestStream| {
        stream.at(9_000, "asks_one", &request(0x300, 0x10, 0x205));
        stream.at(9_010, "queues_one", &request(0x300, 0x10, 0x785));
        stream.at(9_020, "calls_one", &[("cpu", 1), ("callsite", 0x788)]);
    };
    let cpu = answer_of_sends(sends, "call_function_single");
    let by = by(&cpu, "call_function_single: ipi_mb");
    assert_eq!(
        (by.pid, by.cpu, by.callsite.as_deref()),
        (300, 0, Some("membarrier+0x5"))
    );
}

#[test]
fn a_call_on_many_cpus_matches_only_cpus_in_the_mask() {
    let sends = |mask: u64| {
        move |stream: &mut TestStream| {
            stream.at(9_000, "asks_many", &[("function", 0x400), ("callsite", 0x205)]);
            stream.at(9_020, "calls_many", &[("mask", mask), ("callsite", 0x788)]);
        }
    };
    let cpu = answer_of_sends(sends(0b1010), "call_function");
    let name = "call_function: flush_tlb_func";
    assert_eq!(row(&cpu, name).class, Class::TlbShootdown);
    assert_eq!(by(&cpu, name).callsite.as_deref(), Some("membarrier+0x5"));
    let cpu = answer_of_sends(sends(0b1100), "call_function");
    assert_eq!(row(&cpu, "call_function").culprit, None);
}

#[test]
fn a_remote_wake_up_names_the_waker() {
    let sends = |stream: &mut TestStream| {
        stream.at(8_990, "sched_waking", &[("pid", 210), ("target_cpu", 1)]);
        stream.at(9_000, "queues_one", &request(0x305, 0x30, 0x785));
        stream.at(9_020, "calls_one", &[("cpu", 1), ("callsite", 0x788)]);
    };
    let cpu = answer_of_sends(sends, "call_function_single");
    let by = by(&cpu, "call_function_single: sched_ttwu_pending");
    assert_eq!((by.pid, by.cpu), (300, 0));
    assert_eq!(by.chain.last().unwrap().what, "wakes task-210");
}

#[test]
fn requests_of_an_interrupt_are_not_confused_with_those_of_the_thread() {
    let sends = |stream: &mut TestStream| {
        stream.at(9_000, "asks_many", &[("function", 0x300), ("callsite", 0x205)]);
        stream.interrupt();
        stream.at(9_005, "asks_one", &request(0x400, 0, 0x785));
        stream.at(9_006, "calls_one", &[("cpu", 2), ("callsite", 0x788)]);
        stream.task();
        stream.at(9_020, "calls_one", &[("cpu", 1), ("callsite", 0x788)]);
    };
    let cpu = answer_of_sends(sends, "call_function_single");
    assert_eq!(by(&cpu, "call_function_single: ipi_mb").pid, 300);
}

#[test]
fn a_request_without_a_send_is_not_matched_with_an_interrupt() {
    // A request of another thread that found the queue non-empty, and one that is much older.
    let cpu = answer_of_sends(
        |stream| {
            stream.on(0, 301, 0);
            stream.at(8_000, "asks_one", &request(0x400, 0, 0x785));
            stream.on(0, 300, 0);
            stream.at(9_020, "calls_one", &[("cpu", 1), ("callsite", 0x205)]);
        },
        "call_function_single",
    );
    let by = by(&cpu, "call_function_single");
    assert_eq!((by.pid, by.callsite.as_deref()), (300, Some("membarrier+0x5")));
    let cpu = answer_of_sends(
        |stream| stream.at(9_000, "asks_one", &request(0x300, 0, 0x205)),
        "call_function_single",
    );
    assert_eq!(row(&cpu, "call_function_single").culprit, None);
}

#[test]
fn merged_calls_are_not_attributed_to_the_first_sender_for_certain() {
    let first = |stream: &mut TestStream| {
        stream.at(9_000, "asks_one", &request(0x300, 0, 0x205));
        stream.at(9_020, "calls_one", &[("cpu", 1), ("callsite", 0x788)]);
    };
    let of = |second: fn(&mut TestStream)| {
        let cpu = answer_of_sends(
            |stream| {
                first(stream);
                stream.on(0, 301, 0);
                second(stream);
            },
            "call_function_single",
        );
        let found = row(&cpu, "call_function_single: ipi_mb").clone();
        assert_eq!(found.culprit.unwrap().pid, 300);
        found.confidence
    };
    // An interrupt was pending, so the second request sends none.
    let joins = |stream: &mut TestStream| stream.at(9_500, "asks_one", &request(0x400, 0, 0x785));
    assert_eq!(of(joins), Confidence::Inferred);
    let sends = |stream: &mut TestStream| stream.at(9_500, "calls_one", &[("cpu", 1), ("callsite", 0x788)]);
    assert_eq!(of(sends), Confidence::Inferred);
    let elsewhere = |stream: &mut TestStream| {
        stream.at(9_500, "asks_one", &request(0x400, 0, 0x785));
        stream.at(9_520, "calls_one", &[("cpu", 2), ("callsite", 0x788)]);
    };
    assert_eq!(of(elsewhere), Confidence::Traced);
}

#[test]
fn an_address_that_is_no_function_gives_no_name() {
    let sends = |stream: &mut TestStream| {
        stream.at(9_000, "asks_one", &request(0x303, 0, 0x205));
        stream.at(9_020, "calls_one", &[("cpu", 1), ("callsite", 0x788)]);
    };
    assert_eq!(
        by(&answer_of_sends(sends, "call_function_single"), "call_function_single").pid,
        300
    );
}

#[test]
fn with_probed_sends_a_wake_up_alone_is_no_send() {
    let sends = |stream: &mut TestStream| stream.at(9_000, "sched_waking", &[("pid", 210), ("target_cpu", 1)]);
    assert_eq!(row(&answer_of_sends(sends, "reschedule"), "reschedule").culprit, None);
}

#[test]
fn a_request_before_lost_events_is_dropped() {
    let sends = |stream: &mut TestStream| {
        stream.at(9_000, "asks_one", &request(0x300, 0, 0x205));
        stream.lose(0, 3);
        stream.at(9_020, "calls_one", &[("cpu", 1), ("callsite", 0x788)]);
    };
    let cpu = answer_of_sends(sends, "call_function_single");
    assert_eq!(
        by(&cpu, "call_function_single").callsite.as_deref(),
        Some("process_timeout+0x8")
    );
}
