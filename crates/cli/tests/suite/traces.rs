//! `trace` on texts and files of other programs: values that articles read from them by hand, and files that are not
//! traces.

use crate::support::schemas::document;
use events::dat::{DatWriter, PlannedBuffer, TraceFile, written};
use serde_json::Value;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn quietcore(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn out(arguments: &[&str]) -> String {
    let output = quietcore(arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const DAT: &str = "trace-dat/events.v6.dat";

fn json(arguments: &[&str]) -> Value {
    document(&quietcore(arguments).stdout).unwrap()
}

#[test]
fn the_waits_of_the_article_are_found_with_the_running_thread() {
    let text = out(&[
        "trace",
        "max-latency",
        "trace-text/sched_switch.txt",
        "--task",
        "TradeApp",
    ]);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "16.03ms  CPU 1   TradeApp[31594] from 85.246652, while ksoftirqd[6] used the CPU",
            "0.41ms  CPU 1   TradeApp[31594] from 70.252191, while ksoftirqd[6] used the CPU",
        ]
    );
}

/// The same trace as a `trace.dat` file and as text gives the same waits, except for digits that the text lacks.
#[test]
fn a_trace_dat_file_and_its_text_give_the_same_waits() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("trace.txt");
    std::fs::write(&text, out(&["trace", "report", DAT])).unwrap();
    let waits = |file: &str| -> Vec<Value> {
        let answer = json(&["--json", "trace", "max-latency", file, "--most", "1000"]);
        assert_eq!(answer["schema"], "quietcore.trace.max_latency/1");
        answer["waits"].as_array().unwrap().clone()
    };
    let (of_dat, of_text) = (waits(DAT), waits(text.to_str().unwrap()));
    assert!(of_dat.len() >= 5, "{of_dat:?}");
    assert_eq!(of_dat.len(), of_text.len());
    let lengths: Vec<u64> = of_dat.iter().map(|wait| wait["length_ns"].as_u64().unwrap()).collect();
    assert!(lengths.is_sorted_by(|one, next| one >= next), "{lengths:?}");
    for wait in &of_dat {
        let start_ns = |wait: &Value| wait["start_ns"].as_u64().unwrap();
        let is_same = |other: &&Value| start_ns(other).abs_diff(start_ns(wait)) <= 1_000 && other["pid"] == wait["pid"];
        let other = of_text
            .iter()
            .find(is_same)
            .unwrap_or_else(|| panic!("{wait} is not in {of_text:?}"));
        for part in ["cpu", "comm", "taken_by"] {
            assert_eq!(wait[part], other[part]);
        }
        let length = |wait: &Value| wait["length_ns"].as_u64().unwrap();
        assert!(length(wait).abs_diff(length(other)) <= 1_000, "{wait} {other}");
    }
}

#[test]
fn the_longest_run_agrees_with_the_awk_script_of_the_article() {
    // The article counts every line after the first one of its program. Only the time of that program counts here.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.txt");
    let text = "# tracer: function\n#\n# entries-in-buffer/entries-written: 4/4   #P:48\n#\n\
                          <idle>-0     [047] dN..   170.000000: sched_idle_set_state <-cpuidle_enter_state\n\
                            bash-3128  [047] d...   177.931492: finish_task_switch <-__schedule\n\
                            bash-3128  [047] d...   207.809162: smp_apic_timer_interrupt <-apic_timer_interrupt\n\
                          <idle>-0     [047] dN..   290.000000: sched_idle_set_state <-cpuidle_enter_state\n";
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let message = out(&["trace", "longest-run", path, "--task", "bash"]);
    assert_eq!(message.lines().next(), Some("Max uninterrupted exec: 29877.67ms"));
    let answer = json(&["--json", "trace", "longest-run", path]);
    assert_eq!(answer["schema"], "quietcore.trace.longest_run/1");
    assert_eq!(
        answer["cpus"][0]["length_ns"], 29_877_670_000_u64,
        "the idle task's time is nobody's run"
    );
    assert_eq!(answer["events"], 4);
}

/// `kswapd0` holds a lock for 49 ms with interrupts off. This is not a run without interruption.
#[test]
fn the_meaning_of_the_time_in_a_latency_trace_is_explained() {
    let irqsoff = "trace-text/irqsoff.txt";
    let head = "Longest time with interrupts disabled: 49040 us\n  CPU 1, kswapd0[91], from \
         _raw_spin_lock_irq+0x1a/0x40 to shrink_inactive_list+0x165/0x420\n  This is a trace of the irqsoff tracer. \
         It holds only the longest latency since\n  tracing_max_latency was reset. How long ";
    let run = "a thread ran without\n  interruption cannot be read from it: record the events of sched and irq for that.\n  6 events\n";
    assert_eq!(out(&["trace", "longest-run", irqsoff]), format!("{head}{run}"));
    let wait = "threads waited for a\n  CPU cannot be read from it: record the events of sched for that.\n";
    assert_eq!(out(&["trace", "max-latency", irqsoff]), format!("{head}{wait}"));
    for (verb, list) in [("longest-run", "cpus"), ("max-latency", "waits")] {
        let answer = json(&["--json", "trace", verb, irqsoff]);
        assert_eq!(answer[list], serde_json::json!([]), "{verb}");
        assert_eq!(
            answer["latency"],
            serde_json::json!({
                "tracer": "irqsoff", "means": "with interrupts disabled", "latency_us": 49_040, "cpu": 1, "pid": 91,
                "comm": "kswapd0", "started_at": "_raw_spin_lock_irq+0x1a/0x40",
                "ended_at": "shrink_inactive_list+0x165/0x420", "latencies": 1,
            }),
            "{verb}"
        );
    }
    // Without a latency tracer the answer is unchanged.
    let answer = json(&["--json", "trace", "longest-run", "trace-text/sched_switch.txt"]);
    assert!(answer.get("latency").is_none() && answer["cpus"].as_array().is_some_and(|cpus| !cpus.is_empty()));
}

#[test]
fn a_wake_up_trace_contains_one_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wakeup_rt.txt");
    let text = "# tracer: wakeup_rt\n#\n# wakeup_rt latency trace v1.1.5 on 6.6.7-rt18\n\
        # latency: 248 us, #3/3, CPU#1 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)\n\
        #    | task: sleep-164 (uid:0 nice:0 policy:1 rt_prio:5)\n#\n\
        \x20 <idle>-0         1dNh5.   16us+:        0:120:R   + [001]     164: 94:R sleep\n\
        \x20 <idle>-0         1dNh5.   49us+: ttwu_do_activate.constprop.0 <-try_to_wake_up\n\
        \x20 <idle>-0         1d..3.  248us :        0:120:R ==> [001]     164: 94:R sleep\n";
    std::fs::write(&path, text).unwrap();
    let message = out(&["trace", "max-latency", path.to_str().unwrap()]);
    assert!(
        message.starts_with(
            "Longest time from the wake-up of a real-time thread until it ran: 248 us\n  CPU 1, sleep[164]\n"
        ),
        "{message}"
    );
    assert!(message.ends_with("It contains no other waits.\n"), "{message}");
    let message = out(&["trace", "longest-run", path.to_str().unwrap()]);
    assert!(
        !message.contains("Max uninterrupted exec") && message.contains("cannot be read from it"),
        "{message}"
    );
}

#[test]
fn lost_events_are_reported_with_the_answer() {
    let output = quietcore(&["trace", "longest-run", "traces/6.18-x86_64/text1"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("events were lost"), "{message}");
}

#[test]
fn a_trace_report_has_the_lines_of_the_kernel() {
    let text = out(&["trace", "report", "traces/6.18-x86_64/text1", "--event", "ipi_send_cpu"]);
    let kernel = include_str!("../../../../fixtures/traces/6.18-x86_64/text1");
    let expected: Vec<&str> = kernel
        .lines()
        .filter(|line| line.contains(": ipi_send_cpu: "))
        .collect();
    assert!(!expected.is_empty());
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let found: Vec<Vec<String>> = text.lines().map(words).collect();
    let expected: Vec<Vec<String>> = expected.into_iter().map(words).collect();
    assert_eq!(found, expected);
    assert_eq!(out(&["trace", "report", "traces/6.18-x86_64/text1", "--cpus", "0"]), "");
}

#[test]
fn files_of_trace_cmd_are_read_too() {
    let mut read = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/trace-dat")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".dat") {
            continue;
        }
        read += 1;
        let path = format!("trace-dat/{name}");
        let lines = out(&["trace", "report", &path]);
        let events = json(&["--json", "trace", "longest-run", &path])["events"]
            .as_u64()
            .unwrap();
        let lost = lines.lines().filter(|line| line.contains("LOST")).count();
        assert_eq!(lines.lines().count() - lost, usize::try_from(events).unwrap(), "{name}");
        assert!(events > 0, "{name}");
    }
    assert!(read > 0);
}

#[test]
fn a_file_that_is_no_trace_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let files = [
        path("empty", b""),
        path("words", b"nothing that any tracer wrote\n"),
        path("torn.dat", b"\x17\x08\x44tracing6\0\0\x08"),
        path("bytes", &[0xff; 5_000]),
        folder.path().join("absent").to_str().unwrap().to_owned(),
        folder.path().to_str().unwrap().to_owned(),
    ];
    for verb in ["report", "longest-run", "max-latency"] {
        for file in &files {
            let output = quietcore(&["trace", verb, file]);
            assert_eq!(output.status.code(), Some(2), "{verb} {file}: {output:?}");
            assert_eq!(String::from_utf8(output.stderr).unwrap().trim_end().lines().count(), 3);
        }
    }
}

#[test]
fn a_trace_truncated_while_it_is_read_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.dat");
    std::fs::write(&path, longer_than_any_pipe()).unwrap();
    // A pipe of one page makes the report wait for the test in the middle of its events.
    let (mut reading, writing) = std::io::pipe().unwrap();
    // SAFETY: a plain call on an open pipe.
    let size = unsafe { libc::fcntl(writing.as_raw_fd(), libc::F_SETPIPE_SZ, 4096) };
    assert_eq!(size, 4096);
    let report = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["trace", "report"])
        .arg(&path)
        .stdout(writing)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    reading.read_exact(&mut first).unwrap();
    std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(0)
        .unwrap();
    let mut rest = Vec::new();
    reading.read_to_end(&mut rest).unwrap();
    let output = report.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.starts_with("error: the trace was cut short"), "{message}");
    assert_eq!(message.lines().count(), 3, "{message}");
}

/// Returns a trace file that repeats the pages of a fixture 100 times.
fn longer_than_any_pipe() -> Vec<u8> {
    let bytes = include_bytes!("../../../../fixtures/trace-dat/events.v6.dat");
    let file = TraceFile::parse(bytes, 0).unwrap();
    let [buffer] = file.buffers.as_slice() else {
        panic!("one buffer")
    };
    let pages: Vec<Vec<u8>> = buffer.cpus.iter().map(|cpu| cpu.bytes.repeat(100)).collect();
    let planned = PlannedBuffer {
        clock: buffer.clock.clone(),
        cpus: pages.iter().map(|pages| pages.len() as u64).collect(),
        ..PlannedBuffer::default()
    };
    let writing = DatWriter {
        description: &file.description,
        page_len: u32::try_from(buffer.layout.page_len).unwrap(),
        long_len: file.long_len,
        options: &[],
        buffers: &[planned],
    };
    written(&writing, &[pages.iter().map(Vec::as_slice).collect()])
}
