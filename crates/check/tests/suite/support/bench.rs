//! A captured machine with an active partition, whose model the tests break.

use check::{
    CheckCase, CheckEvidence, CheckFinding, CheckVerdict, IntendedIsolation, Intention, IntentionSource,
    IsolationMeans, ObservedActivity, check, judge,
};
use machine::{CpuId, CpuSet, Machine};
use observe::{Activity, Class, CounterIncrease, CpuActivity};
use plan::{Intent, Level, PartitionName, Profile};
use root::Root;
use std::collections::BTreeMap;
use std::path::Path;

/// A machine with `apply --cpus 3` active on cgroup v1, and the events counted there.
pub struct CheckFixture {
    pub machine: Machine,
    pub isolation: IntendedIsolation,
    /// Files with other contents than captured; `None` is a missing file.
    pub files: BTreeMap<String, Option<String>>,
    pub counters: ObservedActivity,
    /// Unknown parts of the intention.
    pub unseen: Vec<String>,
}

fn root() -> Root {
    let archive = "../../fixtures/machines/4x86-2p2c-v1-applied-6.1.tar.gz";
    Root::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(archive)).unwrap()
}

/// The machine as captured.
pub fn bench() -> CheckFixture {
    let root = root();
    let machine = Machine::read(&root).with_interrupts(&root).with_task_cgroups(&root);
    let cpus = CpuSet::parse_list("3").unwrap();
    let intent = Intent::new(PartitionName::default(), cpus, Profile::Minimal);
    let mut wish = IntendedIsolation::new(intent, IsolationMeans::Partition);
    // Changes that a kernel of that version refuses.
    for irq in ["irq_affinity/0", "irq_affinity/2", "irq_affinity/28"] {
        wish.refused
            .insert(irq.to_owned(), "refused: Input/output error".to_owned());
    }
    wish.applied.insert("cpuset_partition".to_owned());
    CheckFixture {
        machine,
        isolation: wish,
        files: BTreeMap::new(),
        counters: ObservedActivity::Seen(counted(&[])),
        unseen: Vec::new(),
    }
}

/// Events counted on CPU 3 in one second.
pub fn counted(interrupts: &[(&str, Class, u64)]) -> Activity {
    let interrupts = interrupts.iter().map(|&(name, class, count)| CounterIncrease {
        name: name.to_owned(),
        what: "a device".to_owned(),
        class,
        count,
    });
    Activity {
        duration_ns: 1_000_000_000,
        cpus: vec![CpuActivity {
            cpu: CpuId(3),
            ticks: Some(0),
            interrupts: interrupts.collect(),
            softirqs: Vec::new(),
            context_switches: None,
            steal_ns: Some(0),
            close: None,
        }],
    }
}

impl CheckFixture {
    pub fn judge(&self) -> (Vec<CheckFinding>, CheckVerdict) {
        let root = root();
        let settings = machine::settings::for_cpus(&root, &self.isolation.intent.cpus, plan::knobs::planned());
        let mut case = CheckCase::new(self.isolation.clone(), &self.machine, &settings, &[]);
        for path in case.paths() {
            let read = root.readable_value(&path);
            let there = read.or_else(|| root.kind(&path).ok().flatten().map(|_| String::new()));
            let now = self.files.get(&path).cloned().unwrap_or(there);
            case.values.insert(path, now);
        }
        let evidence = CheckEvidence {
            machine: &self.machine,
            counters: &self.counters,
            boot: None,
        };
        let found = check(&evidence, &[case]);
        let intention = Intention {
            source: IntentionSource::Journal,
            isolations: vec![self.isolation.clone()],
            unseen: self.unseen.clone(),
        };
        let judged = judge(&evidence, &intention, found, &[], Level::Error);
        (judged.findings, judged.verdict)
    }

    pub fn file(&mut self, path: &str, value: Option<&str>) {
        self.files.insert(path.to_owned(), value.map(str::to_owned));
    }

    pub fn irq(&mut self, number: u32) -> &mut machine::Interrupt {
        let all = self.machine.interrupts.iter_mut().flatten();
        all.into_iter().find(|one| one.irq == number).unwrap()
    }

    pub fn task(&mut self, movable: bool) -> &mut machine::Task {
        let all = self.machine.tasks.iter_mut().flatten();
        all.into_iter()
            .find(|task| task.is_movable() == movable && !task.is_irq_thread() && task.cgroup.as_deref() != Some("/rt"))
            .unwrap()
    }
}

/// The mask of a task that may run on all CPUs.
pub fn three() -> Option<CpuSet> {
    CpuSet::parse_list("0-3").ok()
}
