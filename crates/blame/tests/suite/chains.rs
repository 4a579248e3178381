//! Causal chains across CPUs: an interruption is traced back to the thread that caused it.

use crate::support::stream::{TestNames, TestStream};
use blame::{
    BlameQuestion, BlameTarget, Confidence, CpuAnswer, Gap, Interruption, Link, RecordDecoder, Victim, attribute,
    interrupting_calls,
};

const PROBE: i32 = 100;
const WRITER: i32 = 300;
/// A request of `sda` for one sector.
const REQUEST: [(&str, u64); 2] = [("dev", 0x80_0000), ("sector", 2_048)];

fn answer_of(stream: &TestStream, gaps: &[(u64, u64)]) -> CpuAnswer {
    let gap = |(start, end): &(u64, u64)| Gap {
        start: *start,
        end: *end,
    };
    let question = BlameQuestion {
        targets: vec![BlameTarget {
            cpu: 1,
            victim: Victim {
                pids: vec![PROBE],
                ..Victim::default()
            },
            window: gap(&(0, 1_000_000)),
            gaps: Some(gaps.iter().map(gap).collect()),
        }],
        comms: [(PROBE, "probe".to_owned())].into(),
        ..BlameQuestion::default()
    };
    let reader = RecordDecoder::new(stream.formats.clone());
    let answer = attribute(&reader, &TestNames, stream.events(), &question);
    let cpu = answer.cpus.into_iter().next().unwrap();
    let rows: u64 = cpu.interruptions.iter().map(|row| row.total_ns).sum();
    assert_eq!(rows, cpu.explained_ns);
    cpu
}

fn row<'a>(cpu: &'a CpuAnswer, name: &str) -> &'a Interruption {
    let found = cpu.interruptions.iter().find(|row| row.name == name);
    found.unwrap_or_else(|| panic!("no row {name}: {:#?}", cpu.interruptions))
}

/// Returns the chain as text.
fn chain(row: &Interruption) -> Vec<String> {
    let culprit = row.culprit.as_ref().unwrap_or_else(|| panic!("{row:#?}"));
    let words = |link: &Link| match link.pid {
        0 => format!("{}@{}", link.what, link.cpu),
        _ => format!("{}@{}: {}", link.comm, link.cpu, link.what),
    };
    culprit.chain.iter().map(words).collect()
}

fn write_from(stream: &mut TestStream, cpu: u32, at: u64) {
    stream.on(cpu, WRITER, 0);
    stream.at(at, "block_io_start", &REQUEST);
    stream.at(at + 100, "block_rq_issue", &REQUEST);
}

#[test]
fn a_disk_interrupt_and_its_softirq_are_traced_to_the_writer() {
    let mut stream = TestStream::new();
    write_from(&mut stream, 3, 5_000);
    stream.on(1, PROBE, 0);
    stream.at(10_000, "irq_handler_entry", &[("irq", 47)]);
    stream.interrupt().at(10_500, "softirq_raise", &[("vec", 4)]);
    stream.task().at(11_000, "irq_handler_exit", &[("irq", 47)]);
    stream.at(11_000, "softirq_entry", &[("vec", 4)]);
    stream.at(15_000, "block_rq_complete", &REQUEST);
    stream.at(20_000, "softirq_exit", &[("vec", 4)]);
    let cpu = answer_of(&stream, &[(10_000, 20_000)]);
    let block = row(&cpu, "BLOCK");
    assert_eq!(chain(block), ["task-300@3: disk write", "irq 47 disk@1"]);
    let culprit = block.culprit.as_ref().unwrap();
    assert_eq!((culprit.pid, culprit.cpu, culprit.threads), (WRITER, 3, 1));
    let irq = row(&cpu, "irq 47 disk");
    assert_eq!(chain(irq), ["task-300@3: disk write"]);
    assert_eq!(irq.confidence, Confidence::Traced);
}

#[test]
fn a_completion_inside_the_interrupt_is_traced_to_the_writer() {
    let mut stream = TestStream::new();
    write_from(&mut stream, 3, 5_000);
    stream.on(1, PROBE, 0);
    stream.at(10_000, "irq_handler_entry", &[("irq", 47)]);
    stream.interrupt().at(10_500, "block_rq_complete", &REQUEST);
    stream.task().at(11_000, "irq_handler_exit", &[("irq", 47)]);
    let cpu = answer_of(&stream, &[(10_000, 11_000)]);
    assert_eq!(chain(row(&cpu, "irq 47 disk")), ["task-300@3: disk write"]);
}

#[test]
fn a_completion_by_ipi_is_traced_through_the_interrupt_elsewhere() {
    let mut stream = TestStream::new();
    write_from(&mut stream, 3, 5_000);
    stream.on(2, 0, 0);
    stream.at(8_000, "irq_handler_entry", &[("irq", 47)]);
    stream.interrupt().at(
        8_500,
        "ipi_send_cpu",
        &[("cpu", 1), ("callsite", 0x205), ("callback", 0x700)],
    );
    stream.task().at(9_000, "irq_handler_exit", &[("irq", 47)]);
    stream.on(1, PROBE, 0);
    stream.at(10_000, "call_function_single_entry", &[]);
    stream.interrupt().at(10_200, "softirq_raise", &[("vec", 4)]);
    stream.task().at(10_500, "call_function_single_exit", &[]);
    stream.at(11_000, "softirq_entry", &[("vec", 4)]);
    stream.at(15_000, "block_rq_complete", &REQUEST);
    stream.at(20_000, "softirq_exit", &[("vec", 4)]);
    let cpu = answer_of(&stream, &[(10_000, 20_000)]);
    let ipi = row(&cpu, "call_function_single: __blk_mq_complete_request_remote");
    assert_eq!(chain(ipi), ["task-300@3: disk write", "irq 47 disk@2"]);
    assert_eq!(
        chain(row(&cpu, "BLOCK")),
        ["task-300@3: disk write", "irq 47 disk@2", "call_function_single@1"]
    );
}

#[test]
fn a_packet_steered_to_this_cpu_is_traced_to_its_sender() {
    let mut stream = TestStream::new();
    // An older packet had another sender, and its softirq has ended.
    stream.on(3, 301, 0);
    stream.at(4_000, "softirq_raise", &[("vec", 3)]);
    stream.at(4_100, "softirq_entry", &[("vec", 3)]);
    stream.at(4_500, "softirq_exit", &[("vec", 3)]);
    stream.on(3, WRITER, 0);
    stream.at(8_000, "softirq_raise", &[("vec", 3)]);
    stream.at(8_100, "softirq_entry", &[("vec", 3)]);
    let steers = [("cpu", 1), ("callsite", 0x205), ("callback", 0x700)];
    stream.interrupt().at(8_500, "ipi_send_cpu", &steers);
    stream.task().at(9_000, "softirq_exit", &[("vec", 3)]);
    stream.on(1, PROBE, 0);
    stream.at(10_000, "call_function_single_entry", &[]);
    stream.interrupt().at(10_200, "softirq_raise", &[("vec", 3)]);
    stream.task().at(10_500, "call_function_single_exit", &[]);
    stream.at(11_000, "softirq_entry", &[("vec", 3)]);
    stream.at(20_000, "softirq_exit", &[("vec", 3)]);
    let cpu = answer_of(&stream, &[(10_000, 20_000)]);
    let received = row(&cpu, "NET_RX");
    let culprit = received.culprit.as_ref().unwrap();
    assert_eq!((culprit.pid, culprit.cpu), (WRITER, 3));
    assert_eq!(
        chain(received),
        ["<...>@3: ", "softirq NET_RX@3", "call_function_single@1"]
    );
}

#[test]
fn a_thread_that_runs_during_a_softirq_acts_for_itself() {
    let mut stream = TestStream::new();
    // On `PREEMPT_RT`, on a CPU whose switches are not traced.
    stream.on(3, 62, 0);
    stream.at(8_000, "softirq_entry", &[("vec", 3)]);
    stream.on(3, WRITER, 0);
    let flushes = [("cpu", 1), ("callsite", 0x205), ("callback", 0x300)];
    stream.at(8_500, "ipi_send_cpu", &flushes);
    // An interrupt of that thread belongs to it as well.
    stream.at(8_600, "local_timer_entry", &[]);
    stream.at(8_700, "local_timer_exit", &[]);
    stream.on(3, 62, 0);
    stream.at(9_000, "softirq_exit", &[("vec", 3)]);
    stream.on(1, PROBE, 0);
    stream.at(10_000, "call_function_single_entry", &[]);
    stream.at(10_500, "call_function_single_exit", &[]);
    let cpu = answer_of(&stream, &[(10_000, 10_600)]);
    let culprit = cpu.interruptions.iter().find_map(|row| row.culprit.as_ref()).unwrap();
    assert_eq!((culprit.pid, culprit.cpu, &culprit.via), (WRITER, 3, &None));
}

#[test]
fn work_in_ksoftirqd_is_traced_to_the_writer() {
    let mut stream = TestStream::new();
    write_from(&mut stream, 3, 5_000);
    stream.on(1, PROBE, 0);
    stream.at(9_000, "irq_handler_entry", &[("irq", 47)]);
    stream
        .interrupt()
        .at(9_100, "sched_waking", &[("pid", 60), ("target_cpu", 1)]);
    stream.task().at(9_200, "irq_handler_exit", &[("irq", 47)]);
    stream.switch(10_000, PROBE, 0, 60);
    stream.on(1, 60, 0);
    stream.at(11_000, "softirq_entry", &[("vec", 4)]);
    stream.at(15_000, "block_rq_complete", &REQUEST);
    stream.at(19_000, "softirq_exit", &[("vec", 4)]);
    stream.switch(20_000, 60, 1, PROBE);
    let cpu = answer_of(&stream, &[(9_000, 20_000)]);
    assert_eq!(
        chain(row(&cpu, "ksoftirqd/1")),
        ["task-300@3: disk write", "irq 47 disk@1"]
    );
    assert_eq!(chain(row(&cpu, "BLOCK")), ["task-300@3: disk write"]);
}

#[test]
fn the_thread_that_issues_a_request_is_not_its_creator() {
    let mut stream = TestStream::new();
    stream.on(3, WRITER, 0);
    stream.at(5_000, "block_rq_insert", &REQUEST);
    stream.on(0, 50, 0);
    stream.at(6_000, "block_rq_issue", &REQUEST);
    stream.on(1, PROBE, 0);
    stream.at(10_000, "irq_handler_entry", &[("irq", 47)]);
    stream.interrupt().at(10_500, "block_rq_complete", &REQUEST);
    stream.task().at(11_000, "irq_handler_exit", &[("irq", 47)]);
    let cpu = answer_of(&stream, &[(10_000, 11_000)]);
    assert_eq!(row(&cpu, "irq 47 disk").culprit.as_ref().unwrap().pid, WRITER);
}

#[test]
fn a_request_without_a_recorded_creator_names_no_thread() {
    let mut stream = TestStream::new();
    write_from(&mut stream, 3, 5_000);
    stream.on(1, PROBE, 0);
    stream.at(10_000, "irq_handler_entry", &[("irq", 47)]);
    let other = [("dev", 0x80_0000), ("sector", 4_096)];
    stream.interrupt().at(10_500, "block_rq_complete", &other);
    stream.task().at(11_000, "irq_handler_exit", &[("irq", 47)]);
    let cpu = answer_of(&stream, &[(10_000, 11_000)]);
    assert_eq!(row(&cpu, "irq 47 disk").culprit, None);
}

#[test]
fn an_interrupt_for_several_requests_names_no_thread_for_certain() {
    let mut stream = TestStream::new();
    let other = [("dev", 0x80_0000), ("sector", 4_096)];
    write_from(&mut stream, 3, 5_000);
    stream.on(2, 301, 0);
    stream.at(6_000, "block_rq_issue", &other);
    stream.on(1, PROBE, 0);
    stream.at(10_000, "irq_handler_entry", &[("irq", 47)]);
    stream.interrupt().at(10_500, "softirq_raise", &[("vec", 4)]);
    stream.task().at(11_000, "irq_handler_exit", &[("irq", 47)]);
    stream.at(11_000, "softirq_entry", &[("vec", 4)]);
    stream.at(12_000, "block_rq_complete", &REQUEST);
    stream.at(15_000, "block_rq_complete", &other);
    stream.at(20_000, "softirq_exit", &[("vec", 4)]);
    let cpu = answer_of(&stream, &[(10_000, 20_000)]);
    assert_eq!(row(&cpu, "irq 47 disk").confidence, Confidence::Inferred);
}

/// Returns the number of the system call `munmap` on the architecture of the test.
fn munmap() -> u64 {
    let filter = interrupting_calls();
    let known = ["id == 11", "id == 215", "id == 91"];
    let number = known
        .iter()
        .find(|number| filter.split(" || ").any(|part| part == **number));
    number.unwrap().strip_prefix("id == ").unwrap().parse().unwrap()
}

fn shootdown(stream: &mut TestStream) {
    stream.at(
        9_000,
        "ipi_send_cpu",
        &[("cpu", 1), ("callsite", 0x205), ("callback", 0x400)],
    );
    stream.on(1, PROBE, 0);
    stream.at(10_200, "call_function_entry", &[]);
    stream.at(11_200, "call_function_exit", &[]);
}

#[test]
fn a_tlb_shootdown_names_the_system_call_of_its_sender() {
    let mut stream = TestStream::new();
    stream.on(0, WRITER, 0);
    stream.at(8_000, "sys_enter", &[("id", munmap())]);
    shootdown(&mut stream);
    let cpu = answer_of(&stream, &[(10_000, 11_400)]);
    let row = row(&cpu, "call_function: flush_tlb_func");
    assert_eq!(chain(row), ["<...>@0: munmap"]);
    assert_eq!(row.culprit.as_ref().unwrap().pid, WRITER);
}

#[test]
fn a_finished_system_call_is_not_part_of_the_chain() {
    let mut stream = TestStream::new();
    stream.on(0, WRITER, 0);
    stream.at(8_000, "sys_enter", &[("id", munmap())]);
    stream.at(8_500, "sys_exit", &[("id", munmap())]);
    shootdown(&mut stream);
    let cpu = answer_of(&stream, &[(10_000, 11_400)]);
    assert_eq!(chain(row(&cpu, "call_function: flush_tlb_func")), [""; 0]);
}

#[test]
fn a_rescheduling_ipi_names_the_woken_thread() {
    let mut stream = TestStream::new();
    stream.on(0, WRITER, 0);
    stream.at(8_900, "sched_waking", &[("pid", 200), ("target_cpu", 1)]);
    stream.at(
        9_000,
        "ipi_send_cpu",
        &[("cpu", 1), ("callsite", 0x205), ("callback", 0)],
    );
    stream.on(1, PROBE, 0);
    stream.at(10_200, "reschedule_entry", &[]);
    stream.at(11_200, "reschedule_exit", &[]);
    let cpu = answer_of(&stream, &[(10_000, 11_400)]);
    assert_eq!(chain(row(&cpu, "reschedule")), ["<...>@0: wakes task-200"]);
}
