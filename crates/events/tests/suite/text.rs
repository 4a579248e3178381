//! Text output of ftrace: every kind of line that kernels and trace-cmd have printed since 2.6.32, and invalid lines.

use events::ClockUnit;
use events::text::{LONGEST_LINE, TextEvent, TextItem, TextReader};
use proptest::prelude::*;

fn event(line: &str) -> TextEvent<'_> {
    TextEvent::parse(line, Some("tracer")).unwrap_or_else(|| panic!("not understood: {line}"))
}

/// Task, thread, CPU, flags, time, name and text.
type Columns<'a> = (&'a str, i32, u32, &'a str, u64, &'a str, &'a str);

const LINES: &[(&str, Columns)] = &[
    // 2.6.32, latency format, tracer `sched_switch`.
    (
        "TradeApp-31594   1d.s.. 70251098us!:  31594:115:R   + [001]     6:120:R ksoftirqd",
        (
            "TradeApp",
            31594,
            1,
            "d.s..",
            70_251_098_000,
            "sched_wakeup",
            "31594:115:R   + [001]     6:120:R ksoftirqd",
        ),
    ),
    (
        "ksoftirqd-6      1d.... 70252599us!:      6:120:S ==> [001] 31594:115:R TradeApp",
        (
            "ksoftirqd",
            6,
            1,
            "d....",
            70_252_599_000,
            "sched_switch",
            "6:120:S ==> [001] 31594:115:R TradeApp",
        ),
    ),
    // Function tracer, four columns of flags.
    (
        "          <idle>-0     [047] dN..   177.931485: sched_idle_set_state <-cpuidle_enter_state",
        (
            "<idle>",
            0,
            47,
            "dN..",
            177_931_485_000,
            "function",
            "sched_idle_set_state <-cpuidle_enter_state",
        ),
    ),
    (
        "          <idle>-0     [047] dN..   177.931488: rcu_eqs_exit.constprop.71 <-rcu_idle_exit",
        (
            "<idle>",
            0,
            47,
            "dN..",
            177_931_488_000,
            "function",
            "rcu_eqs_exit.constprop.71 <-rcu_idle_exit",
        ),
    ),
    // osnoise.
    (
        "       osnoise/7-13353 [007] d.h. 37384.833988: irq_noise: ahci[0000:87:00.0]:47 start 37384.833985696 duration 2390 ns",
        (
            "osnoise/7",
            13353,
            7,
            "d.h.",
            37_384_833_988_000,
            "irq_noise",
            "ahci[0000:87:00.0]:47 start 37384.833985696 duration 2390 ns",
        ),
    ),
    (
        "           <...>-859     [000] ....    81.637220: 1000000        190  99.98100       9     18      0   1007     18      1",
        (
            "<...>",
            859,
            0,
            "....",
            81_637_220_000,
            "tracer",
            "1000000        190  99.98100       9     18      0   1007     18      1",
        ),
    ),
    // timerlat.
    (
        "          <idle>-0       [000] d.h1    54.029328: #1     context    irq timer_latency       932 ns",
        (
            "<idle>",
            0,
            0,
            "d.h1",
            54_029_328_000,
            "tracer",
            "#1     context    irq timer_latency       932 ns",
        ),
    ),
    // Five columns of flags, and names with special characters.
    (
        " lto 74yrp-4: [x]-7435    [001] d..2.  1783.517521: call_function_single_entry: vector=251",
        (
            "lto 74yrp-4: [x]",
            7435,
            1,
            "d..2.",
            1_783_517_521_000,
            "call_function_single_entry",
            "vector=251",
        ),
    ),
    (
        "     kworker/u8:1-12345   [003] DNZff.  1783.517521: workqueue_execute_start: work struct 0: function x",
        (
            "kworker/u8:1",
            12345,
            3,
            "DNZff.",
            1_783_517_521_000,
            "workqueue_execute_start",
            "work struct 0: function x",
        ),
    ),
    // `PREEMPT_RT` 3.x to 5.x: lazy preemption has its own column.
    (
        "            bash-2078  [001] d...211  4242.000001: sched_waking: comm=rcuc/1 pid=21 prio=98 target_cpu=001",
        (
            "bash",
            2078,
            1,
            "d...211",
            4_242_000_001_000,
            "sched_waking",
            "comm=rcuc/1 pid=21 prio=98 target_cpu=001",
        ),
    ),
    // `trace-cmd report`, version 3, without flags, with whole nanoseconds, with ticks, of an instance.
    (
        "            bash-21820 [000]  1783.315536: sched_switch:         bash:21820 [120] S ==> bash:21829 [120]",
        (
            "bash",
            21820,
            0,
            "",
            1_783_315_536_000,
            "sched_switch",
            "bash:21820 [120] S ==> bash:21829 [120]",
        ),
    ),
    (
        "              sh-7455  [001]202528218730611: sched_wakeup:         comm=x pid=1 prio=98 target_cpu=001",
        (
            "sh",
            7455,
            1,
            "",
            202_528_218_730_611,
            "sched_wakeup",
            "comm=x pid=1 prio=98 target_cpu=001",
        ),
    ),
    (
        "other:            rustc-5221  [001] 77840.857949123: local_timer_entry:    vector=236",
        (
            "rustc",
            5221,
            1,
            "",
            77_840_857_949_123,
            "local_timer_entry",
            "vector=236",
        ),
    ),
    // `trace-cmd report -l`.
    (
        "sampler/-10345   1d..2. 77895.111982: sched_switch:         prev_comm=a prev_pid=10345",
        (
            "sampler/",
            10345,
            1,
            "d..2.",
            77_895_111_982_000,
            "sched_switch",
            "prev_comm=a prev_pid=10345",
        ),
    ),
    // The current latency format, with and without marks.
    (
        "  <idle>-0         0d..2.    4us : tick_nohz_idle_stop_tick",
        ("<idle>", 0, 0, "d..2.", 4000, "tracer", "tick_nohz_idle_stop_tick"),
    ),
    (
        "    bash-1994     12d.h1.    0us+: _raw_spin_lock <-handle_level_irq",
        (
            "bash",
            1994,
            12,
            "d.h1.",
            0,
            "function",
            "_raw_spin_lock <-handle_level_irq",
        ),
    ),
];

#[test]
fn every_kind_of_line_is_parsed() {
    for (line, expected) in LINES {
        let event = event(line);
        let found = (
            event.task,
            event.pid,
            event.cpu,
            event.flags,
            event.at,
            event.name,
            event.text,
        );
        assert_eq!(found, *expected, "{line}");
    }
    assert_eq!(event(LINES[11].0).unit, ClockUnit::Ticks);
    assert_eq!(event(LINES[12].0).instance, Some("other"));
}

#[test]
fn the_process_column_is_parsed() {
    let line = "            bash-2078    ( 1994) [001] d..2.   12.000001: sched_waking: pid=1";
    assert_eq!((event(line).pid, event(line).tgid), (2078, Some(1994)));
    let line = "          <idle>-0       (-----) [001] d..2.   12.000001: sched_waking: pid=1";
    assert_eq!((event(line).pid, event(line).tgid), (0, None));
}

#[test]
fn fields_have_the_kernel_names_in_every_line_format() {
    let new = "a-1 [000] d..2. 1.000000: sched_switch: prev_comm=lto a b prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=x=y next_pid=8 next_prio=98";
    let plugin = "a-1 [000] 1.000000: sched_switch: lto a b:7 [120] R+ ==> x=y:8 [98]";
    let old = "a-1 0d.... 1us!:  7:120:R+ ==> [000]     8: 98:R x=y";
    for line in [new, plugin, old] {
        let event = event(line);
        for (key, value) in [
            ("prev_pid", "7"),
            ("prev_prio", "120"),
            ("prev_state", "R+"),
            ("next_comm", "x=y"),
            ("next_pid", "8"),
        ] {
            assert_eq!(event.field(key).map(str::trim), Some(value), "{key} of {line}");
        }
        assert_eq!(event.field("next_prio").map(str::trim), Some("98"), "{line}");
    }
    assert_eq!(event(new).field("prev_comm"), Some("lto a b"));
    assert_eq!(event(plugin).field("prev_comm"), Some("lto a b"));
    let wakeups = [
        "a-1 [000] 1.000000: sched_wakeup: comm=k pid=6 prio=120 target_cpu=001",
        "a-1 [000] 1.000000: sched_wakeup: k:6 [120] success=1 CPU:001",
        "a-1 1d.s.. 1us!:  3:115:R   + [001]     6:120:R k",
    ];
    for line in wakeups {
        let expected = vec![("comm", "k"), ("pid", "6"), ("prio", "120"), ("target_cpu", "001")];
        assert_eq!(event(line).fields(), expected, "{line}");
    }
    let noise = event(LINES[4].0);
    assert_eq!(
        noise.fields(),
        [
            ("desc", "ahci[0000:87:00.0]"),
            ("vector", "47"),
            ("start", "37384.833985696"),
            ("duration_ns", "2390")
        ]
    );
    let sample =
        "osnoise/7-1 [007] .... 1.000000: sample_threshold: start 37384.833985490 duration 6138539 ns interference 2";
    assert_eq!(event(sample).field("duration_ns"), Some("6138539"));
    assert_eq!(event(sample).field("interference"), Some("2"));
    assert_eq!(
        event(LINES[2].0).fields(),
        [("ip", "sched_idle_set_state"), ("parent_ip", "cpuidle_enter_state")]
    );
}

const WHOLE: &str = "\
# tracer: function
#
# entries-in-buffer/entries-written: 102440/204880   #P:48
#
#                              _-----=> irqs-off
#           TASK-PID   CPU#  ||||    TIMESTAMP  FUNCTION
#              | |       |   ||||       |         |
CPU:47 [LOST 20900 EVENTS]
          <idle>-0     [047] dN..   177.931485: sched_idle_set_state <-cpuidle_enter_state
##### CPU 46 buffer started ####
what is this
          <idle>-0     [046] .N..   177.931487: <stack trace>
 => cpuidle_reflect
 => do_idle
CPU:1 [LOST EVENTS]
CPU:3 [20900 EVENTS DROPPED]
";

#[test]
fn the_reader_reports_facts_and_losses_of_a_text() {
    let mut reader = TextReader::new(WHOLE.as_bytes());
    let mut reported = Vec::new();
    while let Some(item) = reader.next_item().unwrap() {
        reported.push(match item {
            TextItem::Event(event) => format!("{}@{}", event.name, event.cpu),
            TextItem::Lost { cpu, count } => format!("lost {count:?}@{cpu}"),
            TextItem::BufferStart { cpu } => format!("began@{cpu}"),
            TextItem::Frame(frame) => format!("frame {frame}"),
        });
    }
    assert_eq!(
        reported,
        [
            "lost Some(20900)@47",
            "function@47",
            "began@46",
            "function@46",
            "frame cpuidle_reflect",
            "frame do_idle",
            "lost None@1",
            "lost Some(20900)@3"
        ]
    );
    let header = reader.header();
    assert_eq!(header.tracer.as_deref(), Some("function"));
    assert_eq!(
        (header.entries_in_buffer, header.entries_written),
        (Some(102_440), Some(204_880))
    );
    assert_eq!((header.overwritten(), header.cpus), (Some(102_440), Some(48)));
    assert_eq!(reader.unknown().lines, 1);
    assert_eq!(reader.unknown().first, [(11, String::from("what is this"))]);
    let mut latency = TextReader::new(&b"# latency: 28 us, #5/6, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)\n"[..]);
    assert_eq!(latency.next_item().unwrap(), None);
    let header = latency.header();
    assert_eq!(
        (header.latency_us, header.overwritten(), header.cpus),
        (Some(28), Some(1), Some(2))
    );
}

#[test]
fn the_header_of_a_latency_trace_has_task_and_places() {
    let head = |text: &str| {
        let mut reader = TextReader::new(text.as_bytes());
        while reader.next_item().unwrap().is_some() {}
        reader.header().clone()
    };
    let text = include_str!("../../../../fixtures/trace-text/irqsoff.txt");
    let found = head(text);
    assert_eq!(
        (found.tracer.as_deref(), found.latency_us),
        (Some("irqsoff"), Some(49_040))
    );
    assert_eq!((found.latency_cpu, found.cpus, found.latencies), (Some(1), Some(8), 1));
    assert_eq!(found.latency_task, Some((String::from("kswapd0"), 91)));
    assert_eq!(found.started_at.as_deref(), Some("_raw_spin_lock_irq+0x1a/0x40"));
    assert_eq!(found.ended_at.as_deref(), Some("shrink_inactive_list+0x165/0x420"));
    // A tracer of wake-ups states no start and end functions, and those of an earlier header are gone. A name may
    // contain any character.
    let next = "# latency: 5 us, #4/4, CPU#3 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)\n\
        #    | task: a-b (uid:1)-c-2389 (uid:0 nice:0 policy:1 rt_prio:5)\n";
    let found = head(&format!("{text}# tracer: wakeup_rt\n#\n{next}"));
    assert_eq!(
        (found.latency_us, found.latency_cpu, found.latencies),
        (Some(5), Some(3), 2)
    );
    assert_eq!(found.latency_task, Some((String::from("a-b (uid:1)-c"), 2389)));
    assert_eq!((found.started_at, found.ended_at), (None, None));
    for torn in [
        "# latency: us, CPU#",
        "# latency: 5 us, CPU#99999999999",
        "#    | task: x (uid:",
        "#    | task: -",
    ] {
        let found = head(torn);
        assert_eq!((found.latency_cpu, found.latency_task), (None, None), "{torn}");
    }
}

#[test]
fn every_line_of_a_real_kernel_is_parsed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/6.18-x86_64");
    for cpu in 0..2 {
        let text = std::fs::read_to_string(folder.join(format!("text{cpu}"))).unwrap();
        let expected = text
            .lines()
            .filter(|line| line.contains(&format!(" [{cpu:03}] ")))
            .count();
        let mut reader = TextReader::new(text.as_bytes());
        let mut events = 0;
        while let Some(item) = reader.next_item().unwrap() {
            if let TextItem::Event(event) = item {
                assert_eq!(event.cpu, cpu);
                assert!(!event.name.is_empty() && event.flags.len() == 5, "{event:?}");
                events += 1;
            }
        }
        assert_eq!(events, expected);
        assert!(events > 300);
        assert_eq!(reader.unknown().lines, 0, "{:?}", reader.unknown().first);
        assert!(reader.header().overwritten().is_some_and(|lost| lost > 0));
    }
}

#[test]
fn an_overlong_line_is_cut_and_the_next_is_read() {
    let mut text = vec![b'x'; 3 * LONGEST_LINE];
    text.extend(b"\na-1 [000] d..2. 1.000000: irq_entry: irq=1\n");
    let mut reader = TextReader::new(text.as_slice());
    let Some(TextItem::Event(event)) = reader.next_item().unwrap() else {
        panic!("the second line is lost");
    };
    assert_eq!(event.name, "irq_entry");
    assert_eq!((reader.unknown().lines, reader.unknown().cut), (1, 1));
    assert_eq!(reader.lines(), 2);
}

proptest! {
    #[test]
    fn a_written_event_line_is_parsed_back(
        task in "[a-z][a-z0-9/:\\[\\] .-]{0,13}[a-z0-9]",
        pid in 0_i32..4_194_304,
        cpu in 0_u32..4096,
        at in 0_u64..1 << 40,
        name in "[a-z_][a-z0-9_]{0,20}",
        values in prop::collection::vec(("[a-z_][a-z0-9_]{0,8}", "[a-zA-Z0-9/|+.-]{1,8}"), 0..5),
    ) {
        let text: Vec<String> = values.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let text = text.join(" ");
        let line = format!("{task:>16}-{pid:<7} [{cpu:03}] d.h2.  {}.{:06}: {name}: {text}", at / 1_000_000, at % 1_000_000);
        let event = event(&line);
        prop_assert_eq!((event.task, event.pid, event.cpu, event.at), (task.as_str(), pid, cpu, at * 1000));
        prop_assert_eq!((event.flags, event.name, event.text), ("d.h2.", name.as_str(), text.as_str()));
        if !name.ends_with("_noise") {
            let expected: Vec<(&str, &str)> = values.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            prop_assert_eq!(event.fields(), expected);
        }
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), line in 0..LINES.len(), at in any::<prop::sample::Index>()) {
        let mut text = LINES[line].0.as_bytes().to_vec();
        let at = at.index(text.len());
        text.splice(at..at, bytes);
        let mut reader = TextReader::new(text.as_slice());
        while let Some(item) = reader.next_item().unwrap() {
            if let TextItem::Event(event) = item {
                let _ = event.fields();
            }
        }
    }
}
