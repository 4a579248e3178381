//! Programs without a probe: events alone show when they ran, when they waited, and which thread had their CPU.

use crate::support::stream::{TestNames, TestStream};
use blame::{
    BlameQuestion, BlameResult, BlameTarget, Class, Confidence, CpuAnswer, FollowMode, Gap, Interruption,
    RecordDecoder, Victim, attribute,
};

const PROGRAM: i32 = 100;
const CLONE_THREAD: u64 = 0x1_0000;

fn answers_of(stream: &TestStream, cpus: &[u32], follow: FollowMode) -> Vec<CpuAnswer> {
    let target = |cpu: &u32| BlameTarget {
        cpu: *cpu,
        victim: Victim {
            pids: vec![PROGRAM],
            follow,
        },
        window: Gap {
            start: 0,
            end: 1_000_000,
        },
        gaps: None,
    };
    let question = BlameQuestion {
        targets: cpus.iter().map(target).collect(),
        ..BlameQuestion::default()
    };
    let reader = RecordDecoder::new(stream.formats.clone());
    let answer: BlameResult = attribute(&reader, &TestNames, stream.events(), &question);
    for cpu in &answer.cpus {
        assert_eq!(cpu.stolen_ns, cpu.explained_ns + cpu.unexplained_ns);
        let rows: u64 = cpu.interruptions.iter().map(|row| row.total_ns).sum();
        assert_eq!(rows, cpu.explained_ns, "{:#?}", cpu.interruptions);
    }
    answer.cpus
}

fn row<'a>(rows: &'a [Interruption], name: &str) -> &'a Interruption {
    let found = rows.iter().find(|row| row.name == name);
    found.unwrap_or_else(|| panic!("no row {name}: {rows:#?}"))
}

#[test]
fn a_system_call_is_own_time_and_its_interruptions_are_not() {
    let mut stream = TestStream::new();
    stream.on(1, 0, 0);
    stream.switch(100_000, 0, 0, PROGRAM);
    stream.on(1, PROGRAM, 0);
    stream.at(200_000, "sys_enter", &[("id", 9_000)]);
    stream.at(210_000, "local_timer_entry", &[]);
    stream.at(213_000, "local_timer_exit", &[]);
    stream.at(250_000, "sys_exit", &[("id", 9_000)]);
    let cpu = answers_of(&stream, &[1], FollowMode::NoThread).remove(0);
    assert_eq!((cpu.stolen_ns, cpu.gaps), (3_000, 1));
    assert_eq!(row(&cpu.interruptions, "local_timer").class, Class::Tick);
    let own = row(&cpu.own, "system call 9000");
    assert_eq!((own.class, own.count, own.total_ns), (Class::SystemCall, 1, 47_000));
    assert_eq!(own.culprit.as_ref().unwrap().pid, PROGRAM);
    assert_eq!(cpu.wanted_ns, Some(900_000));
}

#[test]
fn a_page_fault_without_an_end_event_is_counted_without_time() {
    let mut stream = TestStream::new();
    stream.on(1, PROGRAM, 0);
    stream.at(100_000, "page_fault_user", &[("address", 0x7000)]);
    stream.at(200_000, "page_fault_user", &[("address", 0x8000)]);
    let cpu = answers_of(&stream, &[1], FollowMode::NoThread).remove(0);
    let own = row(&cpu.own, "page fault");
    assert_eq!((own.class, own.count, own.total_ns), (Class::PageFault, 2, 0));
    assert_eq!(cpu.stolen_ns, 0);
}

#[test]
fn children_and_their_threads_belong_to_the_program() {
    let mut stream = TestStream::new();
    stream.on(1, PROGRAM, 0);
    stream.at(10_000, "task_newtask", &[("pid", 200), ("clone_flags", 0)]);
    // A child of the program has the CPU, so no time is stolen.
    stream.switch(100_000, PROGRAM, 0, 200);
    stream.on(1, 200, 0);
    stream.at(150_000, "task_newtask", &[("pid", 201), ("clone_flags", CLONE_THREAD)]);
    stream.switch(200_000, 200, 0, 201);
    stream.on(1, 201, 0);
    stream.switch(300_000, 201, 1, 300);
    stream.on(1, 300, 0);
    stream.switch(310_000, 300, 1, PROGRAM);
    let children = answers_of(&stream, &[1], FollowMode::Children).remove(0);
    assert_eq!(children.stolen_ns, 10_000, "{children:#?}");
    assert_eq!(row(&children.interruptions, "task-300").total_ns, 10_000);
    let threads = answers_of(&stream, &[1], FollowMode::Threads).remove(0);
    assert_eq!(row(&threads.interruptions, "task-200").total_ns, 100_000);
    assert_eq!(threads.stolen_ns, 210_000, "{threads:#?}");
}

#[test]
fn a_thread_whose_creation_may_be_lost_is_not_named_for_certain() {
    let mut stream = TestStream::new();
    stream.on(1, PROGRAM, 0);
    // Seen before any event was lost, so it is certainly not a child.
    stream.switch(100_000, PROGRAM, 0, 300);
    stream.on(1, 300, 0);
    stream.switch(110_000, 300, 0, PROGRAM);
    stream.on(1, PROGRAM, 0);
    stream.lose(1, 2);
    stream.at(200_000, "task_newtask", &[("pid", 201), ("clone_flags", 0)]);
    stream.switch(300_000, PROGRAM, 0, 200);
    stream.on(1, 200, 0);
    stream.switch(320_000, 200, 0, 201);
    stream.on(1, 201, 0);
    stream.switch(330_000, 201, 0, 300);
    stream.on(1, 300, 0);
    stream.switch(340_000, 300, 0, PROGRAM);
    let cpu = answers_of(&stream, &[1], FollowMode::Children).remove(0);
    assert_eq!(row(&cpu.interruptions, "task-200").confidence, Confidence::Inferred);
    assert_eq!(row(&cpu.interruptions, "task-300").confidence, Confidence::Traced);
    assert!(
        cpu.interruptions.iter().all(|row| row.name != "task-201"),
        "its birth is reported"
    );
    // A question about a single thread does not include children.
    let alone = answers_of(&stream, &[1], FollowMode::NoThread).remove(0);
    assert_eq!(row(&alone.interruptions, "task-200").confidence, Confidence::Traced);
}

#[test]
fn a_reused_number_of_a_dead_child_belongs_to_the_new_process() {
    let mut stream = TestStream::new();
    stream.on(1, PROGRAM, 0);
    stream.at(10_000, "task_newtask", &[("pid", 200), ("clone_flags", 0)]);
    stream.on(0, 400, 0);
    stream.at(20_000, "task_newtask", &[("pid", 200), ("clone_flags", 0)]);
    stream.on(1, PROGRAM, 0);
    stream.switch(100_000, PROGRAM, 0, 200);
    stream.on(1, 200, 0);
    stream.switch(130_000, 200, 1, PROGRAM);
    let cpu = answers_of(&stream, &[1], FollowMode::Children).remove(0);
    assert_eq!(row(&cpu.interruptions, "task-200").total_ns, 30_000);
}

#[test]
fn a_wait_starts_at_the_wake_up_and_follows_a_migration() {
    let mut stream = TestStream::new();
    stream.on(1, PROGRAM, 0);
    stream.switch(100_000, PROGRAM, 1, 300);
    stream.on(0, 500, 0);
    stream.at(200_000, "sched_waking", &[("pid", PROGRAM as u64), ("target_cpu", 1)]);
    // The program waits on CPU 1 for 30 us and then on CPU 2 for 20 us, while other threads have both.
    stream.at(
        230_000,
        "sched_migrate_task",
        &[("pid", PROGRAM as u64), ("dest_cpu", 2)],
    );
    stream.on(2, 600, 0);
    stream.switch(250_000, 600, 0, PROGRAM);
    let cpus = answers_of(&stream, &[1, 2], FollowMode::NoThread);
    assert_eq!(row(&cpus[0].interruptions, "task-300").total_ns, 30_000);
    assert_eq!(cpus[0].stolen_ns, 30_000);
    assert_eq!(cpus[1].stolen_ns, 0, "who had CPU 2 before its first event is unknown");
    assert_eq!(cpus[1].wanted_ns, Some(770_000));
}

#[test]
fn without_a_switch_event_on_an_idle_cpu_a_thread_runs_from_its_wake_up() {
    let mut stream = TestStream::new();
    stream.on(1, PROGRAM, 0);
    stream.switch(100_000, PROGRAM, 1, 0);
    stream.on(0, 500, 0);
    stream.at(200_000, "sched_waking", &[("pid", PROGRAM as u64), ("target_cpu", 1)]);
    // The interrupt wakes the CPU 10 us later. The first event of the program is a tick.
    stream.on(1, 0, 0);
    stream.at(210_000, "reschedule_entry", &[]);
    stream.at(212_000, "reschedule_exit", &[]);
    stream.on(1, PROGRAM, 0);
    stream.at(900_000, "local_timer_entry", &[]);
    stream.at(903_000, "local_timer_exit", &[]);
    let cpu = answers_of(&stream, &[1], FollowMode::NoThread).remove(0);
    assert_eq!(row(&cpu.interruptions, "<idle>").total_ns, 10_000);
    assert_eq!(row(&cpu.interruptions, "local_timer").total_ns, 3_000);
    assert_eq!((cpu.stolen_ns, cpu.gaps), (15_000, 2));
    assert_eq!(cpu.wanted_ns, Some(800_000));
}

#[test]
fn without_a_switch_event_a_throttled_thread_waits_until_its_next_event() {
    let mut stream = TestStream::new();
    stream.on(1, PROGRAM, 0);
    stream.switch_prio(100_000, (PROGRAM, 19), 0, (0, 120));
    stream.on(1, PROGRAM, 0);
    stream.at(150_000, "local_timer_entry", &[]);
    stream.at(153_000, "local_timer_exit", &[]);
    let cpu = answers_of(&stream, &[1], FollowMode::NoThread).remove(0);
    assert_eq!(row(&cpu.interruptions, "<idle>").total_ns, 50_000);
}

#[test]
fn waking_a_running_thread_changes_nothing() {
    let mut stream = TestStream::new();
    stream.on(1, PROGRAM, 0);
    stream.at(50_000, "sys_enter", &[("id", 1)]);
    stream.on(0, 500, 0);
    stream.at(60_000, "sched_waking", &[("pid", PROGRAM as u64), ("target_cpu", 1)]);
    stream.on(1, PROGRAM, 0);
    stream.at(70_000, "sys_exit", &[("id", 1)]);
    stream.switch(100_000, PROGRAM, 1, 300);
    let cpu = answers_of(&stream, &[1], FollowMode::NoThread).remove(0);
    assert_eq!(cpu.stolen_ns, 0);
}

#[test]
fn counters_give_counts_and_leave_the_time_unexplained() {
    let counted = |name: &str, what: &str, class, count| observe::CounterIncrease {
        name: name.to_owned(),
        what: what.to_owned(),
        class,
        count,
    };
    let activity = observe::CpuActivity {
        cpu: machine::CpuId(1),
        ticks: Some(250),
        interrupts: vec![
            counted("LOC", "Local timer interrupts", Class::Tick, 250),
            counted("36", "PCI-MSIX-0000:00:02.0 virtio1-req.0", Class::Device, 7),
        ],
        softirqs: vec![counted("TIMER", "", Class::SoftTimer, 300)],
        context_switches: None,
        steal_ns: None,
        close: None,
    };
    let gap = Gap {
        start: 10_000,
        end: 60_000,
    };
    let question = BlameQuestion {
        targets: vec![BlameTarget {
            cpu: 1,
            victim: Victim::default(),
            window: Gap {
                start: 0,
                end: 1_000_000,
            },
            gaps: Some(vec![gap]),
        }],
        ..BlameQuestion::default()
    };
    let reader = RecordDecoder::new(events::Formats::default());
    let mut cpu = attribute(&reader, &TestNames, std::iter::empty(), &question)
        .cpus
        .remove(0);
    cpu.count(&activity);
    assert_eq!(
        (cpu.stolen_ns, cpu.unexplained_ns, cpu.explained_ns),
        (50_000, 50_000, 0)
    );
    assert_eq!(cpu.outside, 0, "nobody looked");
    let times: Vec<(&str, u64)> = cpu
        .interruptions
        .iter()
        .map(|row| (row.name.as_str(), row.count))
        .collect();
    assert_eq!(
        times,
        [
            ("TIMER", 300),
            ("Local timer interrupts", 250),
            ("irq 36 virtio1-req.0", 7)
        ]
    );
    assert!(
        cpu.interruptions
            .iter()
            .all(|row| row.confidence == Confidence::Counted && row.total_ns == 0)
    );
}
