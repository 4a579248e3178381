//! A program on a CPU with context tracking: a gap lasts from leaving user mode to returning to it, even if no event
//! names the cause. Its own system calls and faults are counted separately.

use crate::support::stream::{TestNames, TestStream};
use blame::{
    BlameQuestion, BlameTarget, Class, CpuAnswer, FollowMode, Gap, GapSelection, GapSource, Interruption,
    RecordDecoder, Victim, attribute,
};

const PROGRAM: i32 = 100;

/// Returns the answer and checks that its times add up to the nanosecond.
fn answers_of(stream: &TestStream, cpus: &[u32]) -> Vec<CpuAnswer> {
    let target = |cpu: &u32| BlameTarget {
        cpu: *cpu,
        victim: Victim {
            pids: vec![PROGRAM],
            follow: FollowMode::NoThread,
        },
        window: Gap {
            start: 0,
            end: 1_000_000,
        },
        gaps: None,
    };
    let question = BlameQuestion {
        targets: cpus.iter().map(target).collect(),
        keep: GapSelection::First(usize::MAX),
        ..BlameQuestion::default()
    };
    let reader = RecordDecoder::new(stream.formats.clone());
    let answer = attribute(&reader, &TestNames, stream.events(), &question);
    for cpu in &answer.cpus {
        assert_eq!(cpu.stolen_ns, cpu.explained_ns + cpu.unexplained_ns);
        let rows: u64 = cpu.interruptions.iter().map(|row| row.total_ns).sum();
        assert_eq!(rows, cpu.explained_ns, "{:#?}", cpu.interruptions);
        let gaps = cpu.stories.iter().map(|story| story.gap.end - story.gap.start);
        assert_eq!(gaps.sum::<u64>(), cpu.stolen_ns, "{:#?}", cpu.stories);
        assert_eq!(cpu.stories.len() as u64, cpu.gaps);
    }
    answer.cpus
}

fn row<'a>(rows: &'a [Interruption], name: &str) -> &'a Interruption {
    let found = rows.iter().find(|row| row.name == name);
    found.unwrap_or_else(|| panic!("no row {name}: {rows:#?}"))
}

/// A stream with the program on CPU 1, known to be in user mode.
fn started_program() -> TestStream {
    let mut stream = TestStream::new();
    stream.on(1, PROGRAM, 0);
    stream.at(10_000, "user_enter", &[]);
    stream
}

#[test]
fn kernel_time_without_an_event_is_stolen_and_unexplained() {
    let mut stream = started_program();
    stream.at(100_000, "user_exit", &[]);
    stream.at(107_000, "user_enter", &[]);
    let cpu = answers_of(&stream, &[1]).remove(0);
    assert_eq!(cpu.gaps_from, GapSource::ContextTracking);
    assert_eq!((cpu.stolen_ns, cpu.unexplained_ns, cpu.gaps), (7_000, 7_000, 1));
    assert_eq!(cpu.outside, 0, "the kernel ran in it");
    assert_eq!(cpu.interruptions, []);
    assert_eq!(cpu.wanted_ns, Some(990_000));
    assert_eq!(cpu.longest_run_ns, Some(893_000));
}

#[test]
fn usual_entry_and_exit_times_belong_to_the_interruption() {
    let mut stream = started_program();
    for at in [100_000, 200_000, 300_000] {
        stream.at(at, "user_exit", &[]);
        stream.at(at + 300, "local_timer_entry", &[]);
        stream.at(at + 2_300, "local_timer_exit", &[]);
        // After the last tick, 50 us pass without an event.
        let out = if at == 300_000 { 50_000 } else { 200 };
        stream.at(at + 2_300 + out, "user_enter", &[]);
    }
    let cpu = answers_of(&stream, &[1]).remove(0);
    let tick = row(&cpu.interruptions, "local_timer");
    assert_eq!((tick.count, tick.class), (3, Class::Tick));
    // The long exit counts with the usual time, the median of all entries and exits here.
    let usual = 300;
    assert_eq!(tick.transition_ns, 3 * 300 + 2 * 200 + usual);
    assert_eq!(cpu.unexplained_ns, 50_000 - usual);
    assert_eq!((cpu.stolen_ns, cpu.gaps), (3 * 2_300 + 400 + 50_000, 3));
}

#[test]
fn calls_and_faults_last_from_user_mode_to_user_mode() {
    let mut stream = started_program();
    stream.at(100_000, "user_exit", &[]);
    stream.at(100_400, "sys_enter", &[("id", 9_039)]);
    stream.at(105_000, "sys_exit", &[("id", 9_039)]);
    stream.at(107_000, "user_enter", &[]);
    stream.at(200_000, "user_exit", &[]);
    stream.at(200_500, "page_fault_user", &[("address", 0x7000)]);
    stream.at(230_000, "user_enter", &[]);
    // A fault during a system call is counted, and its time belongs to the call.
    stream.at(300_000, "user_exit", &[]);
    stream.at(300_000, "sys_enter", &[("id", 9_000)]);
    stream.at(310_000, "page_fault_kernel", &[("address", 0x8000)]);
    stream.at(340_000, "sys_exit", &[("id", 9_000)]);
    stream.at(340_000, "user_enter", &[]);
    let cpu = answers_of(&stream, &[1]).remove(0);
    assert_eq!((cpu.stolen_ns, cpu.gaps), (0, 0));
    let call = row(&cpu.own, "system call 9039");
    assert_eq!((call.count, call.total_ns, call.transition_ns), (1, 7_000, 2_400));
    let fault = row(&cpu.own, "page fault");
    assert_eq!((fault.count, fault.total_ns, fault.max_ns), (2, 30_000, 30_000));
    assert_eq!(row(&cpu.own, "system call 9000").total_ns, 40_000);
}

#[test]
fn a_thread_that_preempts_a_system_call_is_named_and_the_call_continues() {
    let mut stream = started_program();
    stream.at(100_000, "user_exit", &[]);
    stream.at(100_200, "reschedule_entry", &[]);
    stream.at(100_700, "reschedule_exit", &[]);
    stream.switch(101_000, PROGRAM, 0, 300);
    stream.on(1, 300, 0);
    // The other thread enters and leaves user mode, which does not affect the program.
    stream.at(102_000, "user_enter", &[]);
    stream.at(110_000, "user_exit", &[]);
    stream.switch(111_000, 300, 0, PROGRAM);
    stream.on(1, PROGRAM, 0);
    stream.at(111_300, "user_enter", &[]);
    stream.at(200_000, "user_exit", &[]);
    stream.at(200_100, "sys_enter", &[("id", 9_000)]);
    stream.switch(201_000, PROGRAM, 0, 300);
    stream.on(1, 300, 0);
    stream.switch(205_000, 300, 1, PROGRAM);
    stream.on(1, PROGRAM, 0);
    stream.at(209_000, "sys_exit", &[("id", 9_000)]);
    stream.at(209_500, "user_enter", &[]);
    let cpu = answers_of(&stream, &[1]).remove(0);
    assert_eq!((cpu.stolen_ns, cpu.gaps), (11_300 + 4_000, 2));
    assert_eq!(cpu.unexplained_ns, 0, "{cpu:#?}");
    assert_eq!(row(&cpu.interruptions, "reschedule").total_ns, 500 + 200 + 300);
    assert_eq!(row(&cpu.interruptions, "task-300").total_ns, 10_000 + 300 + 4_000);
    assert_eq!(row(&cpu.own, "system call 9000").total_ns, 9_500 - 4_000);
}

#[test]
fn time_before_the_trace_and_after_losses_is_not_invented() {
    let mut stream = TestStream::new();
    stream.on(1, 300, 0);
    stream.at(5_000, "user_enter", &[]);
    // The program returns from a call that it made before the trace, so its entry is unknown.
    stream.switch(20_000, 300, 1, PROGRAM);
    stream.on(1, PROGRAM, 0);
    stream.at(90_000, "sys_exit", &[("id", 9_000)]);
    stream.at(91_000, "user_enter", &[]);
    stream.at(100_000, "user_exit", &[]);
    stream.at(100_500, "local_timer_entry", &[]);
    stream.lose(1, 3);
    stream.at(150_000, "sys_exit", &[("id", 9_000)]);
    stream.at(170_000, "local_timer_entry", &[]);
    stream.at(175_000, "local_timer_exit", &[]);
    stream.at(180_000, "user_enter", &[]);
    let cpu = answers_of(&stream, &[1]).remove(0);
    assert_eq!(
        (cpu.stolen_ns, cpu.unexplained_ns, cpu.gaps),
        (5_500, 500, 2),
        "{cpu:#?}"
    );
}

#[test]
fn the_end_of_the_window_ends_time_in_the_kernel() {
    let mut stream = started_program();
    stream.at(400_000, "user_exit", &[]);
    stream.at(500_000, "local_timer_entry", &[]);
    stream.at(501_000, "local_timer_exit", &[]);
    // No more events: the kernel has the CPU until the end of the window.
    let cpu = answers_of(&stream, &[1]).remove(0);
    assert_eq!((cpu.stolen_ns, cpu.gaps), (600_000, 1));
}

#[test]
fn a_system_call_of_a_migrated_thread_is_one_call() {
    let mut stream = TestStream::new();
    stream.on(1, PROGRAM, 0);
    stream.at(100_000, "sys_enter", &[("id", 9_007)]);
    stream.switch(110_000, PROGRAM, 1, 0);
    stream.on(0, 400, 0);
    stream.at(
        200_000,
        "sched_migrate_task",
        &[("pid", PROGRAM as u64), ("dest_cpu", 2)],
    );
    stream.on(2, 0, 0);
    stream.switch(210_000, 0, 0, PROGRAM);
    stream.on(2, PROGRAM, 0);
    stream.at(215_000, "sys_exit", &[("id", 9_007)]);
    stream.at(
        300_000,
        "sched_migrate_task",
        &[("pid", PROGRAM as u64), ("dest_cpu", 1)],
    );
    // On the first CPU the program is in user mode, not in that call.
    stream.on(1, 0, 0);
    stream.switch(310_000, 0, 0, PROGRAM);
    let cpus = answers_of(&stream, &[1, 2]);
    let own: Vec<(u64, u64)> = cpus
        .iter()
        .map(|cpu| row(&cpu.own, "system call 9007"))
        .map(|row| (row.count, row.total_ns))
        .collect();
    assert_eq!(own, [(1, 10_000), (0, 5_000)]);
}
