//! Event formats read from a tracefs directory, and buffer statistics as kernels write them.

use root::Root;
use std::path::Path;
use trace::{Stats, TraceError, catalogue, events_of};

/// A tracefs with the events of the captured kernel.
fn machine() -> tempfile::TempDir {
    let captured = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/6.18-x86_64");
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("sys/kernel/tracing");
    let put = |name: &str, text: &str| {
        let path = top.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let all = std::fs::read_to_string(captured.join("formats")).unwrap();
    for one in all.split("system: ").filter(|one| !one.is_empty()) {
        let (system, text) = one.split_once('\n').unwrap();
        let name = text.lines().find_map(|line| line.strip_prefix("name: ")).unwrap();
        put(&format!("events/{system}/{name}/format"), text);
        put(&format!("events/{system}/{name}/enable"), "0\n");
    }
    // A system directory contains files beside its events.
    put("events/irq_vectors/enable", "0\n");
    put("events/irq_vectors/filter", "none\n");
    for name in ["header_page", "header_event"] {
        put(
            &format!("events/{name}"),
            &std::fs::read_to_string(captured.join(name)).unwrap(),
        );
    }
    put(
        "saved_cmdlines",
        &std::fs::read_to_string(captured.join("saved_cmdlines")).unwrap(),
    );
    put(
        "printk_formats",
        &std::fs::read_to_string(captured.join("printk_formats")).unwrap(),
    );
    dir
}

const TOP: &str = "/sys/kernel/tracing";

#[test]
fn a_system_name_selects_its_events_and_an_absent_one_is_an_error() {
    let dir = machine();
    let root = Root::open(dir.path()).unwrap();
    let vectors = events_of(&root, TOP, "irq_vectors").unwrap();
    assert!(
        vectors.contains(&"irq_vectors/local_timer_entry".to_owned()),
        "{vectors:?}"
    );
    assert!(
        vectors
            .iter()
            .all(|event| !event.ends_with("enable") && !event.ends_with("filter"))
    );

    let found = catalogue(
        &root,
        TOP,
        &["irq_vectors", "sched/sched_switch", "context_tracking/user_enter"],
    )
    .unwrap();
    assert_eq!(found.absent, ["context_tracking/user_enter"]);
    assert_eq!(found.events.len(), vectors.len() + 1);
    assert!(found.formats.named("sched", "sched_switch").is_some());
    assert_eq!(found.layout.page_len, 4096);
    assert!(!found.description.comms().is_empty());
}

#[test]
fn events_requested_twice_are_selected_once() {
    let dir = machine();
    let root = Root::open(dir.path()).unwrap();
    let found = catalogue(&root, TOP, &["irq_vectors", "irq_vectors/local_timer_entry"]).unwrap();
    assert_eq!(found.events.len(), events_of(&root, TOP, "irq_vectors").unwrap().len());
}

#[test]
fn missing_events_and_damaged_descriptions_are_errors() {
    let dir = machine();
    let root = Root::open(dir.path()).unwrap();
    let error = catalogue(&root, TOP, &["osnoise"]).unwrap_err();
    assert!(
        matches!(&error, TraceError::NoEvents { requested } if requested == "osnoise"),
        "{error}"
    );

    let spoilt = dir.path().join("sys/kernel/tracing/events/sched/sched_switch/format");
    std::fs::write(&spoilt, "name: sched_switch\nID: many\n").unwrap();
    let error = catalogue(&root, TOP, &["sched/sched_switch"]).unwrap_err().to_string();
    assert!(
        error.contains("sched_switch/format") && error.contains("line 2"),
        "{error}"
    );
}

#[test]
fn lost_events_are_the_sum_of_three_kernel_counters() {
    let stats = Stats::parse(
        "entries: 65\noverrun: 20\ncommit overrun: 3\nbytes: 2484\noldest event ts: 76527.105411\n\
         now ts: 76527.2\ndropped events: 4\nread events: 90\n",
    );
    assert_eq!(
        (stats.entries, stats.read, stats.lost()),
        (Some(65), Some(90), Some(27))
    );
    assert_eq!(
        Stats::parse("").lost(),
        None,
        "a kernel that says nothing has not said: none"
    );
}
