//! Event streams in which several CPUs request function calls on one CPU. One interrupt delivers all calls, and each is
//! attributed separately.

use crate::support::answers::{PROBE, answer_of, gaps, row};
use crate::support::stream::TestStream;
use blame::Class;

#[test]
fn calls_in_one_interrupt_are_each_attributed_to_their_requester() {
    let mut stream = TestStream::new();
    stream.on(0, 300, 0);
    let single = |callsite| [("cpu", 1), ("callsite", callsite), ("callback", 0x300)];
    let queue = |callsite, function, csd| [("cpu", 1), ("callsite", callsite), ("func", function), ("csd", csd)];
    stream.at(9_000, "csd_queue_cpu", &queue(0x205, 0x300, 0x7000));
    stream.at(9_010, "ipi_send_cpu", &single(0x205));
    // The interrupt of the first request is pending, so the second request sends none.
    stream.on(2, 301, 0);
    stream.at(9_500, "csd_queue_cpu", &queue(0x210, 0x400, 0x8000));
    stream.on(1, PROBE, 0);
    stream.at(10_000, "call_function_single_entry", &[]);
    stream.at(11_000, "csd_function_entry", &[("func", 0x300), ("csd", 0x7000)]);
    stream.at(12_000, "csd_function_exit", &[("func", 0x300), ("csd", 0x7000)]);
    stream.at(12_500, "csd_function_entry", &[("func", 0x400), ("csd", 0x8000)]);
    stream.at(14_500, "csd_function_exit", &[("func", 0x400), ("csd", 0x8000)]);
    stream.at(15_000, "call_function_single_exit", &[]);
    let cpu = answer_of(&stream, gaps(&[(10_000, 15_000)]));
    assert_eq!(cpu.unexplained_ns, 0);
    let barrier = row(&cpu, "call_function_single: ipi_mb");
    let by = barrier.culprit.clone().unwrap();
    assert_eq!(
        (barrier.class, barrier.total_ns, by.pid, by.cpu),
        (Class::FunctionCall, 2_500, 300, 0)
    );
    let flush = row(&cpu, "call_function_single: flush_tlb_func");
    let by = flush.culprit.clone().unwrap();
    assert_eq!(
        (flush.class, flush.total_ns, by.pid, by.cpu),
        (Class::TlbShootdown, 2_500, 301, 2)
    );
    assert!(by.callsite.is_some());
}

#[test]
fn two_calls_of_one_requester_are_one_interruption() {
    let mut stream = TestStream::new();
    stream.on(0, 300, 0);
    for csd in [0x7000, 0x8000] {
        let fields = [("cpu", 1), ("callsite", 0x205), ("func", 0x300), ("csd", csd)];
        stream.at(9_000, "csd_queue_cpu", &fields);
    }
    stream.on(1, PROBE, 0);
    stream.at(10_000, "call_function_single_entry", &[]);
    stream.at(11_000, "csd_function_entry", &[("func", 0x300), ("csd", 0x7000)]);
    stream.at(12_000, "csd_function_entry", &[("func", 0x300), ("csd", 0x8000)]);
    // The request structure is used again. The previous requester did not request this call.
    stream.at(13_000, "call_function_single_exit", &[]);
    stream.at(20_000, "call_function_single_entry", &[]);
    stream.at(21_000, "csd_function_entry", &[("func", 0x300), ("csd", 0x7000)]);
    stream.at(22_000, "call_function_single_exit", &[]);
    let cpu = answer_of(&stream, gaps(&[(10_000, 13_000), (20_000, 22_000)]));
    let rows: Vec<(u64, u64, Option<i32>)> = cpu
        .interruptions
        .iter()
        .map(|row| (row.count, row.total_ns, row.culprit.as_ref().map(|by| by.pid)))
        .collect();
    assert_eq!(rows, [(1, 3_000, Some(300)), (1, 2_000, None)]);
}
