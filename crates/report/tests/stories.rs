//! Golden tests of what `prove` and `measure` show, from constructed models; hostile names; and that every
//! number on the page comes from the model. `BLESS=1 cargo test -p report` writes the golden files anew.

// A test may stop at what cannot happen; clippy allows it only inside `#[test]` functions by itself.
#![allow(clippy::expect_used)]

mod golden;

use machine::CpuSet;
use measure::Measurement;
use report::Style;
use report::prove::{Entry, Outcome, Phase, Restored, Step, Story, StuckInterrupt, StuckThread, residue};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn cpus(list: &str) -> CpuSet {
    CpuSet::parse_list(list).expect("a list")
}

fn environment() -> Value {
    json!({
        "tool_version": "0.1.0", "release": "6.12.0", "preemption": "lazy", "cmdline": "ro quiet",
        "model_name": "Example Processor 9000", "hypervisor": "kvm", "emulated": false, "clocksource": "tsc",
        "online": "0-1", "boot_isolated": "", "nohz_full": null, "partitioned": "", "governor": null,
        "sched_rt_runtime_us": 950_000,
    })
}

/// A result whose samples fall off like those of a real machine, with a few late ones.
fn measurement(kind: &str, centre: u64, late: &[(u64, u64)]) -> Measurement {
    let mut histogram: Vec<(u64, u64)> = (0..40)
        .map(|step| (centre + step * centre / 8, 90_000 / (1 + step * step)))
        .collect();
    histogram.extend(late);
    histogram.sort_unstable();
    let recorded: u64 = histogram.iter().map(|(_, count)| count).sum();
    let missed = u64::from(kind == "latency") * late.len() as u64;
    let mut thread = json!({
        "kind": kind, "cpu": 1, "policy": "fifo", "priority": 80, "expected": recorded + missed, "recorded": recorded,
        "missed": missed, "min_ns": centre, "mean_ns": centre as f64 * 1.37, "stddev_ns": 812.5, "p50_ns": centre + centre / 8,
        "p99_ns": centre * 3, "p999_ns": centre * 5, "max_ns": histogram.last().map(|(low, _)| low),
        "histogram": histogram, "duration_ns": 10_000_000_000_u64,
        "own": {"page_faults": 0, "voluntary_switches": 0, "involuntary_switches": 0},
    });
    if kind == "latency" {
        thread["interval_ns"] = json!(1_000_000);
    } else {
        let gaps: Vec<Value> = (0..400_u64)
            .map(|place| json!({"at_ns": place * 25_000_000, "duration_ns": centre + place % 13 * centre}))
            .chain(
                late.iter()
                    .map(|(low, _)| json!({"at_ns": low * 611 % 10_000_000_000, "duration_ns": low})),
            )
            .collect();
        thread["policy"] = json!("other");
        thread["priority"] = json!(0);
        thread["threshold_ns"] = json!(1_000);
        thread["stolen_ns"] = json!(centre * 31_415);
        thread["own_ns"] = json!(0);
        thread["gaps_total"] = json!(recorded);
        thread["gaps_kept"] = json!(gaps.len());
        thread["gaps"] = Value::from(gaps);
        thread["turn_ns_min"] = json!(24);
    }
    let value = json!({
        "schema": measure::SCHEMA, "kind": kind, "started_at": "2026-01-02T03:04:05Z", "duration_ns": 10_000_000_000_u64,
        "environment": environment(), "threads": [thread], "complete": true,
        "findings": [{"id": "guest", "level": "info", "subject": "kvm", "message": "the hypervisor may stop the whole CPU", "fix": "measure on the host"}],
    });
    serde_json::from_value(value).expect("a measurement")
}

fn activity(ticks: u64, device: u64) -> observe::Activity {
    let value = json!({"duration_ns": 10_000_000_000_u64, "cpus": [{
        "cpu": 1, "ticks": ticks,
        "interrupts": [
            {"name": "LOC", "what": "Local timer interrupts", "class": "tick", "count": ticks},
            {"name": "24", "what": "PCI-MSIX-0000:00:02.0 1-edge virtio0-req.1", "class": "device", "count": device},
        ],
        "softirqs": [{"name": "TIMER", "what": "", "class": "soft_timer", "count": ticks / 5}],
        "context_switches": device * 3, "steal_ns": 0,
    }]});
    serde_json::from_value(value).expect("an activity")
}

fn plan() -> plan::Plan {
    let change =
        |id: &str, target: &str, before: Option<&str>, after: &str, why: &str, undo: &str| plan::Change {
            id: id.to_owned(),
            target: target.to_owned(),
            kind: plan::ChangeKind::Runtime,
            before: before.map(str::to_owned),
            after: after.to_owned(),
            why: why.to_owned(),
            undo: undo.to_owned(),
            action: plan::Action::MakeSet {
                path: target.to_owned(),
            },
        };
    plan::Plan {
        partition: "rt".to_owned(),
        isolated: cpus("1"),
        housekeeping: cpus("0"),
        boot_line: Some("isolcpus=managed_irq,domain,1 nohz_full=1 irqaffinity=0".to_owned()),
        changes: vec![
            change(
                "cpuset_partition/rt",
                "/sys/fs/cgroup/quietcore-rt",
                None,
                "a new cgroup",
                "the partition",
                "send its tasks home, then remove it",
            ),
            change(
                "task_placement",
                "tasks of /sys/fs/cgroup",
                Some("61 movable tasks may run on 1"),
                "every movable task may run on 0 only",
                "a task that may run there sooner or later does",
                "every task goes back to where it was",
            ),
            change(
                "irq_affinity/27",
                "/proc/irq/27/smp_affinity_list",
                Some("0-1"),
                "0",
                "interrupt 27 (eth0) may fire on an isolated CPU",
                "write the former list",
            ),
        ],
        findings: vec![
            plan::Finding::new(
                plan::Level::Warning,
                "irq-managed",
                "irq/24",
                "interrupt 24 (virtio0-req.1) has a mask that the kernel manages itself",
            )
            .fix("boot with isolcpus=managed_irq,domain,1"),
        ],
    }
}

fn story() -> Story {
    let phase = |centre, late: &[(u64, u64)], noise: &[(u64, u64)], ticks, device, load: &str| Phase {
        latency: Some(measurement("latency", centre * 2, late)),
        noise: Some(measurement("noise", centre, noise)),
        activity: Some(activity(ticks, device)),
        load: load.to_owned(),
    };
    let before = phase(
        3_000,
        &[(240_000, 7), (1_050_000, 3), (4_718_592, 1)],
        &[(310_000, 4), (3_900_000, 2)],
        2_504,
        771,
        "none",
    );
    let during = phase(
        2_000,
        &[(61_000, 2)],
        &[(38_000, 3)],
        2_501,
        4,
        "cpu, memory, system calls and wake-ups on CPU 0",
    );
    let mut rest = residue(
        before.activity.as_ref(),
        during.activity.as_ref().expect("set above"),
        &cpus("1"),
    );
    rest[0].threads = ["migration/1", "ksoftirqd/1", "kworker/1:0"]
        .into_iter()
        .zip(20..)
        .map(|(comm, tid)| StuckThread {
            tid,
            comm: comm.to_owned(),
            why: "it belongs to this CPU".to_owned(),
        })
        .collect();
    rest[0].interrupts = vec![StuckInterrupt {
        irq: 24,
        name: "virtio0-req.1".to_owned(),
        why: "the kernel manages its mask and refuses a change (EIO)".to_owned(),
    }];
    let step = |name: &str, detail: &str, duration_ns| Step {
        name: name.to_owned(),
        outcome: Outcome::Done,
        detail: detail.to_owned(),
        duration_ns,
    };
    Story {
        schema: report::prove::PROVE_SCHEMA.to_owned(),
        tool_version: "0.1.0".to_owned(),
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        environment: serde_json::from_value(environment()).expect("an environment"),
        cpus: cpus("1"),
        cpus_why: "the highest core that is not the boot core".to_owned(),
        isolated: cpus("1"),
        housekeeping: cpus("0"),
        steps: vec![
            step("choose", "CPU 1", 1_200_000),
            step("measure before", "latency and noise on CPU 1", 20_050_000_000),
            step("isolate", "3 changes", 41_000_000),
            step("measure isolated", "latency and noise on CPU 1, with load on CPU 0", 20_071_000_000),
            step("undo", "3 changes taken back", 38_000_000),
            Step { name: "boot line".to_owned(), outcome: Outcome::Skipped, detail: "prove changes nothing that lasts".to_owned(), duration_ns: 0 },
        ],
        before: Some(before),
        during: Some(during),
        plan: Some(plan()),
        entries: vec![
            Entry { seq: 1, change: "cpuset_partition/rt".to_owned(), before: None, after: Some("a new cgroup".to_owned()), outcome: "done".to_owned() },
            Entry { seq: 2, change: "task_placement".to_owned(), before: None, after: None, outcome: "61 tasks moved".to_owned() },
            Entry { seq: 3, change: "irq_affinity/27".to_owned(), before: Some("0-1".to_owned()), after: Some("0".to_owned()), outcome: "done".to_owned() },
        ],
        residue: rest,
        could_not: vec![plan::Finding::new(plan::Level::Info, "tick", "timer tick", "the tick still fires 250 times a second").fix("boot with nohz_full=1")],
        restored: Some(Restored { equal: true, differences: vec![] }),
        verdict: "CPU 1 was quiet: no task and no movable interrupt touched it. The worst wake-up fell from 4.7 ms to 61.0 us, under load.".to_owned(),
        exit_status: 0,
        emulated: false,
    }
}

/// The same, where nothing could be done: no measurement, no plan.
fn refused() -> Story {
    Story {
        isolated: CpuSet::new(),
        steps: vec![Step {
            name: "isolate".to_owned(),
            outcome: Outcome::Failed,
            detail: "not permitted".to_owned(),
            duration_ns: 5,
        }],
        before: None,
        during: None,
        plan: None,
        entries: vec![],
        residue: vec![],
        restored: None,
        verdict: "Nothing was isolated: this needs root.".to_owned(),
        exit_status: 3,
        ..story()
    }
}

/// Everything foreign calls itself something nasty.
fn hostile() -> Story {
    let nasty = "<script>alert(1)</script>\u{1b}[2J\u{202e}\"'&";
    let mut story = story();
    story.environment.model_name = Some(nasty.to_owned());
    story.environment.cmdline = Some(nasty.to_owned());
    story.environment.hypervisor = Some(nasty.to_owned());
    story.verdict = nasty.to_owned();
    story.cpus_why = nasty.to_owned();
    for residue in &mut story.residue {
        for thread in &mut residue.threads {
            thread.comm = nasty.to_owned();
            thread.why = nasty.to_owned();
        }
        for irq in &mut residue.interrupts {
            irq.name = nasty.to_owned();
            irq.why = nasty.to_owned();
        }
        for row in &mut residue.rows {
            row.what = nasty.to_owned();
            row.name = nasty.to_owned();
        }
    }
    let plan = story.plan.as_mut().expect("it has one");
    plan.partition = nasty.to_owned();
    for change in &mut plan.changes {
        change.target = nasty.to_owned();
        change.before = Some(nasty.to_owned());
        change.after = nasty.to_owned();
        change.why = nasty.to_owned();
        change.undo = nasty.to_owned();
    }
    for list in [&mut plan.findings, &mut story.could_not] {
        for finding in list {
            finding.subject = nasty.to_owned();
            finding.message = nasty.to_owned();
            finding.fix = nasty.to_owned();
        }
    }
    for step in &mut story.steps {
        step.name = nasty.to_owned();
        step.detail = nasty.to_owned();
    }
    for phase in [&mut story.before, &mut story.during].into_iter().flatten() {
        phase.load = nasty.to_owned();
        for result in [&mut phase.latency, &mut phase.noise].into_iter().flatten() {
            for note in &mut result.findings {
                note.subject = nasty.to_owned();
                note.message = nasty.to_owned();
                note.fix = nasty.to_owned();
            }
        }
    }
    story.restored = Some(Restored {
        equal: false,
        differences: vec![nasty.to_owned()],
    });
    story
}

#[test]
fn prove_as_text() {
    golden::check("prove.txt", &report::prove::prove_text(&story(), Style::Plain));
    golden::check(
        "prove-refused.txt",
        &report::prove::prove_text(&refused(), Style::Plain),
    );
    let emulated = Story {
        emulated: true,
        ..story()
    };
    assert!(report::prove::prove_text(&emulated, Style::Plain).contains("EMULATED PROCESSOR"));
}

#[test]
fn prove_as_a_page() {
    golden::check("prove.html", &report::prove::prove_html(&story()));
    golden::check("prove-refused.html", &report::prove::prove_html(&refused()));
    let emulated = report::prove::prove_html(&Story {
        emulated: true,
        ..story()
    });
    assert!(emulated.contains("class=\"stamp\"") && !emulated.contains("What this proves"));
}

#[test]
fn measurements_as_text() {
    let text = |kind: &str| {
        let late: &[(u64, u64)] = &[(240_000, 7), (4_718_592, 1)];
        report::measurement_text(
            &measurement(kind, 3_000, late),
            report::Histograms::Drawn,
            Style::Plain,
        )
    };
    golden::check("latency.txt", &text("latency"));
    golden::check("noise.txt", &text("noise"));
    let mut broken = measurement("latency", 3_000, &[]);
    broken.complete = false;
    broken.environment.emulated = true;
    broken.threads[0].histogram.clear();
    let text = report::measurement_text(&broken, report::Histograms::Drawn, Style::Plain);
    assert!(text.contains("INTERRUPTED") && text.contains("EMULATED"));
}

#[test]
fn plans_as_text() {
    golden::check(
        "plan.txt",
        &report::plan_text(&plan(), report::Length::Short, Style::Plain),
    );
}

#[test]
fn screens_fit_eighty_columns() {
    let texts = [
        report::prove::prove_text(&story(), Style::Plain),
        report::plan_text(&plan(), report::Length::Whole, Style::Plain),
        report::measurement_text(
            &measurement("noise", 3_000, &[]),
            report::Histograms::Drawn,
            Style::Plain,
        ),
    ];
    for line in texts.iter().flat_map(|text| text.lines()) {
        assert!(
            line.chars().count() <= 80,
            "{} columns: {line}",
            line.chars().count()
        );
    }
}

#[test]
fn hostile_names_stay_text() {
    let story = hostile();
    let page = report::prove::prove_html(&story);
    let lower = page.to_lowercase();
    assert!(!lower.contains("<script"), "a name became markup");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;\\u{1b}[2J\\u{202e}&quot;&#39;&amp;"));
    for output in [
        page,
        report::prove::prove_text(&story, Style::Plain),
        report::plan_text(
            story.plan.as_ref().expect("a plan"),
            report::Length::Whole,
            Style::Plain,
        ),
    ] {
        let bad = output
            .chars()
            .find(|letter| letter.is_control() && *letter != '\n' || *letter == '\u{202e}');
        assert_eq!(bad, None, "a control character came through");
    }
}

#[test]
fn the_page_needs_nothing_else() {
    let page = report::prove::prove_html(&story());
    for outside in [
        "http://", "https://", "<link", "<script", "<img", "@import", "url(",
    ] {
        assert!(!page.contains(outside), "the page holds {outside}");
    }
}

#[test]
fn the_page_holds_the_whole_story() {
    let story = story();
    let page = report::prove::prove_html(&story);
    let body = page
        .split("charset=utf-8,")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a data URI");
    let mut bytes = Vec::new();
    let mut rest = body.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().expect("a digit"), rest.next().expect("a digit")];
            let digits = std::str::from_utf8(&digits).expect("ASCII").to_owned();
            bytes.push(u8::from_str_radix(&digits, 16).expect("hexadecimal"));
        } else {
            bytes.push(byte);
        }
    }
    assert_eq!(bytes, story.json().expect("JSON"));
}

/// The tokens of a text that hold a digit, with their unit where one follows.
fn numbers(text: &str) -> Vec<String> {
    let digit = |letter: char| letter.is_ascii_digit();
    text.split(|letter: char| !(letter.is_ascii_digit() || ".,".contains(letter)))
        .map(|token| token.trim_matches(['.', ',']).to_owned())
        .filter(|token| token.contains(digit))
        .collect()
}

/// The text of a page without its tags, its style, and the labels of the axes.
fn visible(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page.split_once("</head>").expect("a head").1;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        if tag.starts_with("g class=\"tick\"") {
            rest = tag.split_once("</g>").expect("the end of the axis").1;
        } else {
            rest = tag.split_once('>').expect("the end of a tag").1;
        }
    }
    text.replace("&nbsp;", " ").replace("&#39;", "'")
}

/// Every form in which a number of the model may be shown.
fn forms(value: &Value, forms_of: &mut BTreeSet<String>) {
    match value {
        Value::Number(number) => {
            let mut add = |text: String| forms_of.extend(numbers(&text));
            if let Some(number) = number.as_u64() {
                add(number.to_string());
                add(machine::Nanos(number).to_string());
                let digits = number.to_string();
                let groups: Vec<&str> = digits
                    .as_bytes()
                    .rchunks(3)
                    .rev()
                    .map(|part| std::str::from_utf8(part).expect("ASCII"))
                    .collect();
                add(groups.join(","));
                for scale in [1_000, 1_000_000, 1_000_000_000] {
                    if number % scale == 0 {
                        add((number / scale).to_string());
                    }
                }
            }
            if let Some(number) = number.as_f64() {
                for digits in [0, 1, 3] {
                    add(format!("{number:.digits$}"));
                }
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                add(machine::Nanos(number.abs().round() as u64).to_string());
            }
        }
        Value::String(text) => forms_of.extend(numbers(text)),
        Value::Array(values) => values.iter().for_each(|value| forms(value, forms_of)),
        Value::Object(fields) => fields.values().for_each(|value| forms(value, forms_of)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// What the page works out itself, worked out here once more from the model.
fn derived(story: &Story) -> BTreeSet<String> {
    let mut text = String::from("99 99.9 95 %");
    let thread = |phase: &Option<Phase>| {
        phase
            .as_ref()
            .and_then(|phase| phase.noise.as_ref())
            .map(|result| result.threads[0].clone())
    };
    for thread in [&story.before, &story.during].into_iter().filter_map(thread) {
        let share = thread.stolen_ns.unwrap_or(0) as f64 * 100.0 / thread.duration_ns as f64;
        let rate = thread.expected as f64 * 1e9 / thread.duration_ns as f64;
        let whole = rate.round() as u64;
        text.push_str(&format!(
            " {share:.2} {share:.4} {rate:.1} {},{:03}",
            whole / 1_000,
            whole % 1_000
        ));
        text.push_str(&format!(" {}", thread.gaps.as_ref().map_or(0, Vec::len)));
    }
    for phase in [&story.before, &story.during].into_iter().flatten() {
        let third = phase
            .latency
            .as_ref()
            .map_or(0, |result| result.threads[0].recorded / 3);
        text.push_str(&format!(" {},{:03} ", third / 1_000, third % 1_000));
    }
    let plan = story.plan.as_ref().expect("a plan");
    let mut by_knob = std::collections::BTreeMap::<&str, usize>::new();
    for change in &plan.changes {
        *by_knob
            .entry(change.id.split('/').next().expect("a name"))
            .or_default() += 1;
    }
    for count in by_knob.values() {
        text.push_str(&format!(" {count}"));
    }
    for knob in plan::KNOBS {
        text.push_str(&format!(" {}", knob.what));
    }
    numbers(&text).into_iter().collect()
}

#[test]
fn every_number_on_the_page_comes_from_the_model() {
    let mut story = story();
    story.residue[0].rows[0].count = 987_654;
    let mut allowed = derived(&story);
    forms(&serde_json::to_value(&story).expect("JSON"), &mut allowed);
    let shown = numbers(&visible(&report::prove::prove_html(&story)));
    assert!(
        shown.contains(&"987,654".to_owned()),
        "the check sees the page's numbers"
    );
    assert!(shown.len() > 100);
    let invented: BTreeSet<&String> = shown.iter().filter(|number| !allowed.contains(*number)).collect();
    assert_eq!(invented, BTreeSet::new());
}
