//! Event streams with known causes, exact to the nanosecond: each disturbance separately, nested, and across CPUs.

use crate::support::answers::{PROBE, answer_keeping, answer_of, gaps, row};
use crate::support::stream::TestStream;
use blame::{Class, Confidence, CounterDeltas, GapSelection};

#[test]
fn a_tick_includes_its_entry_and_exit_time() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.at(10_200, "local_timer_entry", &[("vector", 236)]);
    stream.at(10_300, "hrtimer_expire_entry", &[("hrtimer", 7), ("function", 0x100)]);
    stream.at(11_300, "hrtimer_expire_exit", &[("hrtimer", 7)]);
    stream.at(12_200, "local_timer_exit", &[("vector", 236)]);
    let cpu = answer_of(&stream, gaps(&[(10_000, 12_500)]));
    assert_eq!(
        (cpu.stolen_ns, cpu.unexplained_ns, cpu.gaps, cpu.outside),
        (2_500, 0, 1, 0)
    );
    let tick = row(&cpu, "local_timer: tick_nohz_handler");
    assert_eq!((tick.class, tick.count), (Class::Tick, 1));
    assert_eq!((tick.total_ns, tick.max_ns, tick.transition_ns), (2_500, 2_000, 500));
    assert_eq!(tick.culprit, None);
    assert_eq!(tick.confidence, Confidence::Traced);
}

#[test]
fn nested_interruptions_are_counted_without_overlap() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.at(10_000, "irq_handler_entry", &[("irq", 47)]);
    stream.at(13_000, "irq_handler_exit", &[("irq", 47)]);
    stream.at(13_000, "softirq_entry", &[("vec", 4)]);
    stream.at(15_000, "local_timer_entry", &[]);
    stream.at(16_000, "local_timer_exit", &[]);
    stream.at(20_000, "softirq_exit", &[("vec", 4)]);
    let cpu = answer_of(&stream, gaps(&[(10_000, 20_000)]));
    assert_eq!(cpu.unexplained_ns, 0);
    assert_eq!(row(&cpu, "irq 47 disk").total_ns, 3_000);
    assert_eq!(row(&cpu, "BLOCK").total_ns, 6_000);
    assert_eq!(row(&cpu, "local_timer").total_ns, 1_000);
}

#[test]
fn a_softirq_is_attributed_to_the_interrupt_that_raised_it() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.at(10_000, "irq_handler_entry", &[("irq", 47)]);
    stream.interrupt().at(10_500, "softirq_raise", &[("vec", 4)]);
    stream.task().at(11_000, "irq_handler_exit", &[("irq", 47)]);
    stream.at(11_000, "softirq_entry", &[("vec", 4)]);
    stream.at(20_000, "softirq_exit", &[("vec", 4)]);
    let cpu = answer_of(&stream, gaps(&[(10_000, 20_000)]));
    let culprit = row(&cpu, "BLOCK").culprit.clone().unwrap();
    assert_eq!((culprit.cpu, culprit.via.as_deref()), (1, Some("irq 47 disk")));
}

#[test]
fn a_preempting_thread_is_named_with_its_waker() {
    let mut stream = TestStream::new();
    stream.on(0, 300, 0);
    stream.at(9_000, "sched_waking", &[("pid", 200), ("target_cpu", 1)]);
    stream.on(1, PROBE, 0);
    stream.switch(10_500, PROBE, 0, 200);
    stream.on(1, 200, 0);
    stream.switch(60_500, 200, 1, PROBE);
    let cpu = answer_of(&stream, gaps(&[(10_000, 61_000)]));
    assert_eq!(cpu.unexplained_ns, 0);
    let other = row(&cpu, "task-200");
    assert_eq!(
        (other.class, other.total_ns, other.max_ns),
        (Class::Preemption, 51_000, 50_000)
    );
    let culprit = other.culprit.clone().unwrap();
    assert_eq!((culprit.pid, culprit.cpu, culprit.via), (300, 0, None));
}

#[test]
fn an_ipi_names_its_sender_and_callsite() {
    let mut stream = TestStream::new();
    stream.on(0, 300, 0);
    stream.at(
        9_000,
        "ipi_send_cpu",
        &[("cpu", 1), ("callsite", 0x205), ("callback", 0x300)],
    );
    stream.on(1, PROBE, 0);
    stream.at(10_200, "call_function_single_entry", &[]);
    stream.at(11_200, "call_function_single_exit", &[]);
    let cpu = answer_of(&stream, gaps(&[(10_000, 11_400)]));
    let ipi = row(&cpu, "call_function_single: ipi_mb");
    assert_eq!((ipi.class, ipi.total_ns), (Class::FunctionCall, 1_400));
    let culprit = ipi.culprit.clone().unwrap();
    assert_eq!((culprit.pid, culprit.cpu), (300, 0));
    assert_eq!(culprit.callsite.as_deref(), Some("membarrier+0x5"));
    assert_eq!(ipi.confidence, Confidence::Traced);
}

#[test]
fn a_send_is_not_matched_with_another_kind_of_ipi_or_another_cpu() {
    let mut stream = TestStream::new();
    stream.on(0, 300, 0);
    stream.at(
        8_000,
        "ipi_send_cpu",
        &[("cpu", 0), ("callsite", 0x205), ("callback", 0x300)],
    );
    stream.at(
        9_000,
        "ipi_send_cpu",
        &[("cpu", 1), ("callsite", 0x205), ("callback", 0)],
    );
    stream.on(1, PROBE, 0);
    stream.at(10_200, "call_function_single_entry", &[]);
    stream.at(11_200, "call_function_single_exit", &[]);
    let cpu = answer_of(&stream, gaps(&[(10_000, 11_400)]));
    assert_eq!(row(&cpu, "call_function_single").culprit, None);
}

#[test]
fn a_tlb_shootdown_has_its_own_class() {
    let mut stream = TestStream::new();
    stream.on(0, 300, 0);
    stream.at(
        9_000,
        "ipi_send_cpu",
        &[("cpu", 1), ("callsite", 0x205), ("callback", 0x400)],
    );
    stream.on(1, PROBE, 0);
    stream.at(10_200, "call_function_entry", &[]);
    stream.at(11_200, "call_function_exit", &[]);
    let cpu = answer_of(&stream, gaps(&[(10_000, 11_400)]));
    assert_eq!(row(&cpu, "call_function: flush_tlb_func").class, Class::TlbShootdown);
}

#[test]
fn a_gap_without_an_event_is_unexplained() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.at(500_000, "local_timer_entry", &[]);
    stream.at(501_000, "local_timer_exit", &[]);
    let cpu = answer_of(&stream, gaps(&[(10_000, 310_000), (500_000, 501_000)]));
    assert_eq!((cpu.stolen_ns, cpu.unexplained_ns, cpu.outside), (301_000, 300_000, 1));
}

#[test]
fn time_far_longer_than_an_exit_stays_unexplained() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    let mut all = Vec::new();
    for tick in 0..20_u64 {
        let at = 10_000 + tick * 20_000;
        stream.at(at + 300, "local_timer_entry", &[]);
        stream.at(at + 1_300, "local_timer_exit", &[]);
        all.push((at, at + 1_600));
    }
    // The hypervisor took the CPU away while the last tick returned.
    stream.at(900_300, "local_timer_entry", &[]);
    stream.at(901_300, "local_timer_exit", &[]);
    all.push((900_000, 990_000));
    let cpu = answer_of(&stream, gaps(&all));
    assert_eq!(cpu.unexplained_ns, 990_000 - 901_300 - 300);
    assert_eq!(row(&cpu, "local_timer").count, 21);
}

#[test]
fn work_is_named_by_its_function_and_attributed_to_the_queuer() {
    let mut stream = TestStream::new();
    stream.on(0, 300, 0);
    stream.at(9_000, "workqueue_queue_work", &[("work", 0x55), ("function", 0x500)]);
    stream.on(1, PROBE, 0);
    stream.switch(10_000, PROBE, 0, 50);
    stream.on(1, 50, 0);
    stream.at(
        11_000,
        "workqueue_execute_start",
        &[("work", 0x55), ("function", 0x500)],
    );
    stream.at(15_000, "workqueue_execute_end", &[("work", 0x55)]);
    stream.switch(16_000, 50, 1, PROBE);
    let cpu = answer_of(&stream, gaps(&[(10_000, 16_000)]));
    let work = row(&cpu, "vmstat_update");
    assert_eq!((work.class, work.total_ns), (Class::Work, 4_000));
    assert_eq!(work.culprit.as_ref().unwrap().pid, 300);
    assert_eq!(row(&cpu, "kworker/1:1").total_ns, 2_000);
}

#[test]
fn own_page_faults_and_system_calls_are_not_stolen() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.at(10_100, "page_fault_user", &[("address", 0x7000)]);
    stream.at(20_100, "sys_enter", &[("id", 9_039)]);
    stream.at(21_000, "sys_exit", &[("id", 9_039)]);
    let cpu = answer_of(&stream, gaps(&[(10_000, 13_000), (20_000, 21_100)]));
    assert_eq!(cpu.unexplained_ns, 0);
    assert_eq!(row(&cpu, "page fault").total_ns, 3_000);
    assert_eq!(row(&cpu, "system call 9039").total_ns, 1_100);
}

#[test]
fn an_nmi_is_recognized_from_an_event_after_its_end() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.at(15_000, "nmi_handler", &[("handler", 0x600), ("delta_ns", 4_000)]);
    let cpu = answer_of(&stream, gaps(&[(10_900, 15_100)]));
    let nmi = row(&cpu, "nmi: perf_event_nmi_handler");
    assert_eq!((nmi.class, nmi.max_ns, nmi.transition_ns), (Class::Nmi, 4_000, 200));
}

#[test]
fn time_outside_every_gap_is_not_stolen() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.at(10_000, "local_timer_entry", &[]);
    stream.at(10_100, "local_timer_exit", &[]);
    let cpu = answer_of(&stream, gaps(&[]));
    assert_eq!((cpu.stolen_ns, cpu.interruptions.len()), (0, 0));
    assert_eq!(cpu.longest_run_ns, Some(1_000_000));
}

#[test]
fn without_measured_gaps_events_define_the_gaps() {
    let mut stream = TestStream::new();
    stream.on(1, 0, 0);
    stream.switch(100_000, 0, 0, PROBE);
    stream.on(1, PROBE, 0);
    stream.at(200_000, "local_timer_entry", &[]);
    stream.at(203_000, "local_timer_exit", &[]);
    // The probe sleeps voluntarily. What runs then takes no time from it.
    stream.switch(400_000, PROBE, 1, 200);
    stream.on(1, 200, 0);
    stream.at(500_000, "sched_waking", &[("pid", PROBE as u64), ("target_cpu", 1)]);
    // From the wake-up on, it waits.
    stream.switch(550_000, 200, 0, PROBE);
    let cpu = answer_of(&stream, None);
    assert_eq!(cpu.unexplained_ns, 0);
    assert_eq!(row(&cpu, "local_timer").total_ns, 3_000);
    assert_eq!(row(&cpu, "task-200").total_ns, 50_000);
    assert_eq!(cpu.longest_run_ns, Some(450_000));
}

#[test]
fn entry_time_is_bounded_by_other_entries_not_by_exits() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    let mut seen = Vec::new();
    for n in 1..=12 {
        // One timer interrupt delayed by the hypervisor, and two whose gap begins with their first event.
        for (at, way_in) in [(n * 60_000, 10_000), (n * 60_000 + 20_000, 0), (n * 60_000 + 40_000, 0)] {
            stream.at(at + way_in, "local_timer_entry", &[]);
            stream.at(at + way_in + 2_000, "local_timer_exit", &[]);
            seen.push((at, at + way_in + 3_000));
        }
    }
    // Nine times the usual time. The rest is not this interrupt's entry.
    stream.at(990_000, "local_timer_entry", &[]);
    stream.at(992_000, "local_timer_exit", &[]);
    seen.push((900_000, 993_000));
    let cpu = answer_of(&stream, gaps(&seen));
    assert_eq!(cpu.unexplained_ns, 80_000);
    let (in_ns, out_ns) = (10_000, 1_000);
    assert_eq!(cpu.transitions, blame::TransitionTimes { in_ns, out_ns });
}

#[test]
fn a_preempted_softirq_excludes_the_time_of_the_preempting_thread() {
    // `PREEMPT_RT`: softirqs run in threads and are preempted.
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.switch(10_000, PROBE, 0, 60);
    stream.on(1, 60, 0);
    stream.at(11_000, "softirq_entry", &[("vec", 3)]);
    stream.switch(12_000, 60, 0, 200);
    stream.on(1, 200, 0);
    stream.switch(15_000, 200, 1, 60);
    stream.on(1, 60, 0);
    stream.at(18_000, "softirq_exit", &[("vec", 3)]);
    stream.switch(19_000, 60, 1, PROBE);
    let cpu = answer_of(&stream, gaps(&[(10_000, 19_000)]));
    assert_eq!(row(&cpu, "NET_RX").total_ns, 1_000 + 3_000);
    assert_eq!(row(&cpu, "task-200").total_ns, 3_000);
    assert_eq!(row(&cpu, "ksoftirqd/1").total_ns, 2_000);
}

#[test]
fn threads_with_one_name_are_one_culprit() {
    let mut stream = TestStream::new();
    let mut all = Vec::new();
    for (at, pid) in [(10_000, 300), (20_000, 301), (30_000, 300)] {
        stream.on(0, pid, 0);
        stream.named(pid, "cc1");
        stream.at(
            at - 500,
            "ipi_send_cpu",
            &[("cpu", 1), ("callsite", 0x205), ("callback", 0)],
        );
        stream.on(1, PROBE, 0);
        stream.at(at, "reschedule_entry", &[]);
        stream.at(at + 300, "reschedule_exit", &[]);
        all.push((at, at + 300));
    }
    let cpu = answer_of(&stream, gaps(&all));
    let row = row(&cpu, "reschedule");
    let culprit = row.culprit.clone().unwrap();
    assert_eq!((row.count, culprit.comm.as_str(), culprit.threads), (3, "cc1", 2));
}

#[test]
fn counters_explain_only_time_without_an_event() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    let mut cpu = answer_of(&stream, gaps(&[(10_000, 310_000)]));
    cpu.confirm(CounterDeltas {
        steal_ns: Some(200_000),
        smi: Some(0),
    });
    assert_eq!((cpu.explained_ns, cpu.unexplained_ns), (200_000, 100_000));
    let steal = row(&cpu, "the hypervisor");
    assert_eq!(
        (steal.class, steal.total_ns, steal.confidence),
        (Class::Steal, 200_000, Confidence::Counted)
    );
    cpu.confirm(CounterDeltas {
        steal_ns: Some(10_000_000),
        smi: Some(3),
    });
    assert_eq!((cpu.explained_ns, cpu.unexplained_ns), (300_000, 0));
    assert_eq!(row(&cpu, "SMI").count, 3);
}

#[test]
fn the_longest_gaps_are_reported_with_the_cause_of_each_piece() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    let mut all = Vec::new();
    // A hundred short gaps, and a long one in which a thread is interrupted.
    for at in (0..100).map(|number| 1_000 + number * 2_000) {
        if at == 101_000 {
            stream.switch(at + 100, PROBE, 0, 200);
            stream.on(1, 200, 0);
            stream.at(at + 500, "local_timer_entry", &[]);
            stream.at(at + 700, "local_timer_exit", &[]);
            stream.switch(at + 1_400, 200, 1, PROBE);
            stream.on(1, PROBE, 0);
            all.push((at, at + 1_500));
        } else {
            stream.at(at, "local_timer_entry", &[]);
            stream.at(at + 300, "local_timer_exit", &[]);
            all.push((at, at + 300));
        }
    }
    let cpu = answer_keeping(&stream, gaps(&all), GapSelection::Longest(1));
    assert_eq!((cpu.stories.len(), cpu.stories_left_out, cpu.gaps), (1, 99, 100));
    let steps: Vec<(u64, u64, &str)> = cpu.stories[0]
        .pieces
        .iter()
        .map(|piece| {
            let row = &cpu.interruptions[piece.row.unwrap()];
            (piece.span.start, piece.span.end, row.name.as_str())
        })
        .collect();
    // The entry and exit times belong to the thread, as they do in its row.
    assert_eq!(
        steps,
        [
            (101_000, 101_500, "task-200"),
            (101_500, 101_700, "local_timer"),
            (101_700, 102_500, "task-200"),
        ]
    );
    let whole = answer_keeping(&stream, gaps(&all), GapSelection::First(usize::MAX));
    // As many as fit. A later, shorter story is not added either.
    let kept = |bytes| {
        let short = answer_keeping(&stream, gaps(&all), GapSelection::First(bytes));
        assert_eq!(short.stories.len() as u64 + short.stories_left_out, 100);
        assert_eq!(short.stories, whole.stories[..short.stories.len()]);
        short.stories.len()
    };
    assert_eq!(kept(0), 0);
    let (some, more) = (kept(2_000), kept(4_000));
    assert!(0 < some && some < more && more < 40, "{some} {more}");
    assert_eq!(answer_keeping(&stream, gaps(&all), GapSelection::Nothing).stories, []);
}

#[test]
fn overlapping_gaps_are_counted_once() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.at(10_000, "local_timer_entry", &[]);
    stream.at(12_500, "local_timer_exit", &[]);
    stream.at(12_500, "reschedule_entry", &[]);
    stream.at(14_000, "reschedule_exit", &[]);
    let cpu = answer_of(&stream, gaps(&[(12_000, 14_000), (10_000, 12_700), (10_500, 11_000)]));
    assert_eq!((cpu.stolen_ns, cpu.explained_ns, cpu.gaps), (4_000, 4_000, 2));
}

#[test]
fn a_tlb_flush_at_a_switch_does_not_change_the_current_thread() {
    let mut stream = TestStream::new();
    stream.on(1, PROBE, 0);
    stream.switch(10_000, PROBE, 0, 200);
    // `switch_mm` runs before the next thread is current, so its event has the pid of the previous thread.
    stream.at(10_400, "tlb_flush", &[("reason", 0)]);
    stream.on(1, 200, 0);
    stream.switch(60_000, 200, 1, PROBE);
    stream.at(60_400, "tlb_flush", &[("reason", 0)]);
    stream.on(1, PROBE, 0);
    let cpu = answer_of(&stream, gaps(&[(9_500, 60_500)]));
    assert_eq!(cpu.unexplained_ns, 0, "{:#?}", cpu.interruptions);
    let other = row(&cpu, "task-200");
    assert_eq!((other.count, other.max_ns, other.transition_ns), (1, 50_000, 1_000));
}
