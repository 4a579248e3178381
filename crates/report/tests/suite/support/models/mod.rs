//! Constructed models: a successful record of `prove`, one that was refused, and one with hostile names.

pub mod blamed;

use super::predicted::prediction;
use machine::CpuSet;
use measure::Measurement;
use predict::Prediction;
use report::prove::{
    JournalEntry, ProvePhase, ProveRecord, ProveStep, RestorationCheck, StepOutcome, StuckInterrupt, StuckThread,
    residue,
};
use serde_json::{Value, json};

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

/// Returns a result whose histogram falls off like that of a real machine, with a few late samples.
pub fn measurement(kind: &str, centre: u64, late: &[(u64, u64)]) -> Measurement {
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

/// A small plan.
pub fn plan() -> plan::Plan {
    let change = |id: &str, target: &str, before: Option<&str>, after: &str, why: &str, undo: &str| plan::Change {
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
        choice: None,
        partition: "rt".to_owned(),
        isolated: cpus("1"),
        housekeeping: cpus("0"),
        shared_with: Vec::new(),
        profile: plan::Profile::Balanced,
        knobs: Vec::new(),
        without: Vec::new(),
        boot_line: Some("isolcpus=managed_irq,domain,1 nohz_full=1 irqaffinity=0".to_owned()),
        changes: vec![
            change(
                "cpuset_partition/rt",
                "/sys/fs/cgroup/quietcore-rt",
                None,
                "a new cgroup",
                "the partition",
                "move its tasks back, then remove it",
            ),
            change(
                "task_placement",
                "tasks of /sys/fs/cgroup",
                Some("61 movable tasks may run on 1"),
                "every movable task may run only on 0",
                "a task that may run there will do so sooner or later",
                "every task returns to its former cpuset and mask",
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
                plan::FindingId::IRQ_MANAGED,
                "irq/24",
                "interrupt 24 (virtio0-req.1) has a mask that the kernel manages",
            )
            .fix("boot with isolcpus=managed_irq,domain,1"),
        ],
        found: machine::Settings::default(),
    }
}

/// The record of a successful proof.
pub fn story() -> ProveRecord {
    let phase = |centre, late: &[(u64, u64)], noise: &[(u64, u64)], ticks, device, load: &str| ProvePhase {
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
    let step = |name: &str, detail: &str, duration_ns| ProveStep {
        name: name.to_owned(),
        outcome: StepOutcome::Done,
        detail: detail.to_owned(),
        duration_ns,
    };
    ProveRecord {
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
            ProveStep { name: "boot line".to_owned(), outcome: StepOutcome::Skipped, detail: "prove changes nothing that lasts".to_owned(), duration_ns: 0 },
        ],
        before: Some(before),
        during: Some(during),
        prediction: Some(Prediction { cpus: cpus("1"), ..prediction() }),
        predicted_isolation: Some((&prediction().changes[1].outcome).into()),
        plan: Some(plan()),
        entries: vec![
            JournalEntry { seq: 1, change: "cpuset_partition/rt".to_owned(), before: None, after: Some("a new cgroup".to_owned()), outcome: "done".to_owned() },
            JournalEntry { seq: 2, change: "task_placement".to_owned(), before: None, after: None, outcome: "61 tasks moved".to_owned() },
            JournalEntry { seq: 3, change: "irq_affinity/27".to_owned(), before: Some("0-1".to_owned()), after: Some("0".to_owned()), outcome: "done".to_owned() },
        ],
        residue: rest,
        could_not: vec![plan::Finding::new(plan::Level::Info, plan::FindingId::TICK, "timer tick", "the tick still fires 250 times a second").fix("boot with nohz_full=1")],
        restored: Some(RestorationCheck { equal: true, differences: vec![] }),
        verdict: "CPU 1 was quiet: no task and no movable interrupt touched it. The worst wake-up fell from 4.7 ms to 61.0 us, under load.".to_owned(),
        exit_status: 0,
        emulated: false,
    }
}

/// The record of a refused proof: no measurement and no plan.
pub fn refused() -> ProveRecord {
    ProveRecord {
        isolated: CpuSet::new(),
        steps: vec![ProveStep {
            name: "isolate".to_owned(),
            outcome: StepOutcome::Failed,
            detail: "not permitted".to_owned(),
            duration_ns: 5,
        }],
        before: None,
        during: None,
        prediction: None,
        predicted_isolation: None,
        plan: None,
        entries: vec![],
        residue: vec![],
        restored: None,
        verdict: "Nothing was isolated: this needs root.".to_owned(),
        exit_status: 3,
        ..story()
    }
}

/// A record in which every foreign name is hostile.
pub fn hostile() -> ProveRecord {
    named("<script>alert(1)</script>\u{1b}[2J\u{202e}\"'&")
}

/// A record in which every foreign name is this one.
pub fn named(nasty: &str) -> ProveRecord {
    let mut story = story();
    story.started_at = nasty.to_owned();
    story.tool_version = nasty.to_owned();
    story.environment.release = Some(nasty.to_owned());
    story.environment.clocksource = Some(nasty.to_owned());
    story.environment.governor = Some(nasty.to_owned());
    story.restored = Some(RestorationCheck {
        equal: false,
        differences: vec![nasty.to_owned()],
    });
    for entry in &mut story.entries {
        entry.outcome = nasty.to_owned();
    }
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
            row.cure = nasty.to_owned();
        }
    }
    for predicted in story
        .prediction
        .iter_mut()
        .flat_map(|prediction| &mut prediction.changes)
    {
        predicted.change.name = nasty.to_owned();
        predicted.change.commands = vec![nasty.to_owned()];
        predicted.change.excluded = vec![nasty.to_owned()];
    }
    let plan = story.plan.as_mut().expect("it has one");
    plan.partition = nasty.to_owned();
    plan.boot_line = Some(nasty.to_owned());
    plan.shared_with = vec![nasty.to_owned()];
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
    story.restored = Some(RestorationCheck {
        equal: false,
        differences: vec![nasty.to_owned()],
    });
    story
}
