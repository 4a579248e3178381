//! A program on a CPU whose context the kernel tracks: its gaps reach from leaving user mode to going back there, also where
//! no event tells what ran, and what it asked for itself has an end.

use crate::support::stream::{Names, Stream};
use blame::{
    Class, CpuAnswer, Follow, Gap, GapsFrom, Interruption, Keep, Question, Reader, Target, Victim, attribute,
};

const PROGRAM: i32 = 100;

/// The answer, whose accounts hold to the nanosecond.
fn ask(stream: &Stream, cpus: &[u32]) -> Vec<CpuAnswer> {
    let target = |cpu: &u32| Target {
        cpu: *cpu,
        victim: Victim {
            pids: vec![PROGRAM],
            follow: Follow::Nobody,
        },
        window: Gap {
            start: 0,
            end: 1_000_000,
        },
        gaps: None,
    };
    let question = Question {
        targets: cpus.iter().map(target).collect(),
        keep: Keep::First(usize::MAX),
        ..Question::default()
    };
    let reader = Reader::new(stream.formats.clone());
    let answer = attribute(&reader, &Names, stream.events(), &question);
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

/// The program runs on CPU 1, and the kernel has told that it is in user mode.
fn begun() -> Stream {
    let mut stream = Stream::new();
    stream.on(1, PROGRAM, 0);
    stream.at(10_000, "user_enter", &[]);
    stream
}

#[test]
fn time_in_the_kernel_without_an_event_is_stolen_and_nobody_is_named() {
    let mut stream = begun();
    stream.at(100_000, "user_exit", &[]);
    stream.at(107_000, "user_enter", &[]);
    let cpu = ask(&stream, &[1]).remove(0);
    assert_eq!(cpu.gaps_from, GapsFrom::ContextTracking);
    assert_eq!((cpu.stolen_ns, cpu.unexplained_ns, cpu.gaps), (7_000, 7_000, 1));
    assert_eq!(cpu.outside, 0, "the kernel ran in it");
    assert_eq!(cpu.interruptions, []);
    assert_eq!(cpu.wanted_ns, Some(990_000));
    assert_eq!(cpu.longest_run_ns, Some(893_000));
}

#[test]
fn the_way_into_and_out_of_an_interruption_is_part_of_it_as_long_as_it_is_usual() {
    let mut stream = begun();
    for at in [100_000, 200_000, 300_000] {
        stream.at(at, "user_exit", &[]);
        stream.at(at + 300, "local_timer_entry", &[]);
        stream.at(at + 2_300, "local_timer_exit", &[]);
        // After the last one something of which no event tells takes 50 us.
        let out = if at == 300_000 { 50_000 } else { 200 };
        stream.at(at + 2_300 + out, "user_enter", &[]);
    }
    let cpu = ask(&stream, &[1]).remove(0);
    let tick = row(&cpu.interruptions, "local_timer");
    assert_eq!((tick.count, tick.class), (3, Class::Tick));
    // Of the long one the usual way out, which is the median of all edges here.
    let usual = 300;
    assert_eq!(tick.transition_ns, 3 * 300 + 2 * 200 + usual);
    assert_eq!(cpu.unexplained_ns, 50_000 - usual);
    assert_eq!((cpu.stolen_ns, cpu.gaps), (3 * 2_300 + 400 + 50_000, 3));
}

#[test]
fn a_system_call_and_a_fault_reach_from_user_mode_to_user_mode() {
    let mut stream = begun();
    stream.at(100_000, "user_exit", &[]);
    stream.at(100_400, "sys_enter", &[("id", 9_039)]);
    stream.at(105_000, "sys_exit", &[("id", 9_039)]);
    stream.at(107_000, "user_enter", &[]);
    stream.at(200_000, "user_exit", &[]);
    stream.at(200_500, "page_fault_user", &[("address", 0x7000)]);
    stream.at(230_000, "user_enter", &[]);
    // A fault in the middle of a call is counted: its time is the call's.
    stream.at(300_000, "user_exit", &[]);
    stream.at(300_000, "sys_enter", &[("id", 9_000)]);
    stream.at(310_000, "page_fault_kernel", &[("address", 0x8000)]);
    stream.at(340_000, "sys_exit", &[("id", 9_000)]);
    stream.at(340_000, "user_enter", &[]);
    let cpu = ask(&stream, &[1]).remove(0);
    assert_eq!((cpu.stolen_ns, cpu.gaps), (0, 0));
    let call = row(&cpu.own, "system call 9039");
    assert_eq!((call.count, call.total_ns, call.transition_ns), (1, 7_000, 2_400));
    let fault = row(&cpu.own, "page fault");
    assert_eq!((fault.count, fault.total_ns, fault.max_ns), (2, 30_000, 30_000));
    assert_eq!(row(&cpu.own, "system call 9000").total_ns, 40_000);
}

#[test]
fn who_preempts_on_the_way_is_named_and_the_call_goes_on_afterwards() {
    let mut stream = begun();
    stream.at(100_000, "user_exit", &[]);
    stream.at(100_200, "reschedule_entry", &[]);
    stream.at(100_700, "reschedule_exit", &[]);
    stream.switch(101_000, PROGRAM, 0, 300);
    stream.on(1, 300, 0);
    // The other one is in user mode and back: that says nothing of the program.
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
    let cpu = ask(&stream, &[1]).remove(0);
    assert_eq!((cpu.stolen_ns, cpu.gaps), (11_300 + 4_000, 2));
    assert_eq!(cpu.unexplained_ns, 0, "{cpu:#?}");
    assert_eq!(row(&cpu.interruptions, "reschedule").total_ns, 500 + 200 + 300);
    assert_eq!(row(&cpu.interruptions, "task-300").total_ns, 10_000 + 300 + 4_000);
    assert_eq!(row(&cpu.own, "system call 9000").total_ns, 9_500 - 4_000);
}

#[test]
fn what_was_before_anybody_looked_and_after_losses_is_not_made_up() {
    let mut stream = Stream::new();
    stream.on(1, 300, 0);
    stream.at(5_000, "user_enter", &[]);
    // The program comes out of a call that it began before: nobody has told of its way in.
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
    let cpu = ask(&stream, &[1]).remove(0);
    assert_eq!(
        (cpu.stolen_ns, cpu.unexplained_ns, cpu.gaps),
        (5_500, 500, 2),
        "{cpu:#?}"
    );
}

#[test]
fn the_end_of_the_watch_ends_a_stay_in_the_kernel() {
    let mut stream = begun();
    stream.at(400_000, "user_exit", &[]);
    stream.at(500_000, "local_timer_entry", &[]);
    stream.at(501_000, "local_timer_exit", &[]);
    // Nothing more: until the end of the window the kernel has the CPU.
    let cpu = ask(&stream, &[1]).remove(0);
    assert_eq!((cpu.stolen_ns, cpu.gaps), (600_000, 1));
}

#[test]
fn a_call_goes_on_where_its_thread_goes_and_is_one_call() {
    let mut stream = Stream::new();
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
    // Back on the first CPU it is in user mode, not in that call.
    stream.on(1, 0, 0);
    stream.switch(310_000, 0, 0, PROGRAM);
    let cpus = ask(&stream, &[1, 2]);
    let own: Vec<(u64, u64)> = cpus
        .iter()
        .map(|cpu| row(&cpu.own, "system call 9007"))
        .map(|row| (row.count, row.total_ns))
        .collect();
    assert_eq!(own, [(1, 10_000), (0, 5_000)]);
}
