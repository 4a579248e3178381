//! The check of the command line after the reboot: a kernel that applied it, and a contradiction in each of the three
//! answers.

use machine::cmdline::BootWordStage;
use machine::{CpuId, CpuSet, Machine, Settings};
use plan::Level;
use plan::boot_check::{
    BootEvidence, BootVerdict, CountWindow, CpuCounts, CpuOccupant, DeclaredPartition, OwnBootWords, ParameterCheck,
    ParameterOutcome, PartitionDrift, Truth, UnknownCpus, boot_check, boot_part_findings,
};
use plan::declared::{ActivationMode, BootPart};
use plan::lint::{KernelFacts, ObservedBoot as Said};
use root::{Origin, Root};
use std::path::Path;

const LINE: &str = "isolcpus=managed_irq,domain,3 nohz_full=3 rcu_nocbs=3 irqaffinity=0-2 workqueue.unbound_cpus=0-2";
const MESSAGES: &[&str] = &[
    "Linux version 6.12.0",
    "rcu: \tOffload RCU callbacks from CPUs: 3.",
    "Unknown kernel command line parameters \"splash\", will be passed to user space.",
];
/// `PF_KTHREAD`
const KERNEL_THREAD: i64 = 0x0020_0000;

/// A machine of four CPUs as its kernel shows it, which the tests modify.
struct BootCheckScene {
    dir: tempfile::TempDir,
    origin: Origin,
    messages: Option<Vec<String>>,
    config: &'static str,
    own_words: Vec<OwnBootWords>,
    window: CountWindow,
    declared: Vec<DeclaredPartition>,
    declared_words: Option<Vec<String>>,
    in_force: Option<Vec<PartitionDrift>>,
    settings: Settings,
}

fn write_file(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path.trim_start_matches('/'));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn obeyed(line: &str) -> BootCheckScene {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("/proc/cmdline", line),
        ("/proc/sys/kernel/osrelease", "6.12.0"),
        ("/sys/devices/system/cpu/online", "0-3"),
        ("/sys/devices/system/cpu/possible", "0-3"),
        ("/sys/devices/system/cpu/present", "0-3"),
        ("/sys/devices/system/cpu/isolated", "3"),
        ("/sys/devices/system/cpu/nohz_full", "3"),
        ("/proc/irq/default_smp_affinity", "7"),
        ("/sys/devices/virtual/workqueue/cpumask", "7"),
        ("/proc/interrupts", "           CPU0       CPU1       CPU2       CPU3\n"),
    ] {
        write_file(dir.path(), path, text);
    }
    let scene = BootCheckScene {
        dir,
        origin: Origin::Live,
        messages: Some(MESSAGES.iter().map(|text| (*text).to_owned()).collect()),
        config: "CONFIG_HZ=250\nCONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_CPU_ISOLATION=y\n",
        own_words: Vec::new(),
        window: counted(Some(2), CpuOccupant::OwnLoop),
        declared: Vec::new(),
        declared_words: None,
        in_force: Some(vec![applied("3", &[])]),
        settings: Settings::default(),
    };
    scene.task(1, "init", 0, 0, "0-2");
    scene.task(20, "rcuop/3", KERNEL_THREAD, 0, "0-2");
    scene
}

fn counted(ticks: Option<u64>, busy: CpuOccupant) -> CountWindow {
    CountWindow::Counted {
        duration_ns: 1_000_000_000,
        cpus: vec![CpuCounts {
            cpu: CpuId(3),
            ticks,
            devices: Vec::new(),
            busy,
        }],
    }
}

impl BootCheckScene {
    fn with_file(self, path: &str, text: &str) -> BootCheckScene {
        write_file(self.dir.path(), path, text);
        self
    }

    fn task(&self, tid: u32, comm: &str, flags: i64, cpu: u32, allowed: &str) {
        let mut fields = vec!["0".to_owned(); 50];
        fields[0] = "S".to_owned();
        fields[6] = flags.to_string();
        fields[36] = cpu.to_string();
        let top = format!("/proc/{tid}/task/{tid}");
        write_file(
            self.dir.path(),
            &format!("{top}/stat"),
            &format!("{tid} ({comm}) {}\n", fields.join(" ")),
        );
        write_file(
            self.dir.path(),
            &format!("{top}/status"),
            &format!("Name:\t{comm}\nTgid:\t{tid}\nPid:\t{tid}\nCpus_allowed_list:\t{allowed}\n"),
        );
    }

    fn check(&self) -> BootVerdict {
        let root = Root::open(self.dir.path()).unwrap();
        let mut machine = Machine::read(&root).with_tasks_and_interrupts(&root);
        machine.origin = self.origin;
        let mut facts = KernelFacts::of_machine(&machine).with_config(machine::kernel::parse_config(self.config));
        facts.outcome = Some(Said {
            messages: self.messages.clone(),
            isolated: machine.isolation.boot_isolated.clone(),
            nohz_full: machine.isolation.nohz_full.clone(),
        });
        boot_check(&BootEvidence {
            machine: &machine,
            facts: &facts,
            settings: &self.settings,
            own_words: self.own_words.clone(),
            window: self.window.clone(),
            most: 2047,
            declared: self.declared.clone(),
            declared_words: self.declared_words.clone(),
            in_force: self.in_force.clone(),
        })
    }

    fn of(&self, word: &str) -> ParameterCheck {
        let found = self
            .check()
            .parameters
            .into_iter()
            .find(|one| one.word.starts_with(word));
        found.unwrap()
    }
}

fn declared(name: &str, cpus: &str, boot: BootPart) -> DeclaredPartition {
    DeclaredPartition {
        name: name.to_owned(),
        cpus: Ok(CpuSet::parse_list(cpus).unwrap()),
        boot,
        restored_at_boot: ActivationMode::AtBoot,
    }
}

/// The active partition `rt`.
fn applied(cpus: &str, drift: &[&str]) -> PartitionDrift {
    PartitionDrift {
        name: "rt".to_owned(),
        cpus: CpuSet::parse_list(cpus).unwrap(),
        drift: drift.iter().map(|text| (*text).to_owned()).collect(),
    }
}

fn words(text: &str, stage: BootWordStage) -> Vec<OwnBootWords> {
    vec![OwnBootWords {
        words: text.split(' ').map(str::to_owned).collect(),
        stage,
    }]
}

#[test]
fn parameters_that_the_kernel_obeyed_are_confirmed() {
    let verdict = obeyed(LINE).check();
    assert_eq!(verdict.parameters.len(), 5);
    for one in &verdict.parameters {
        assert_eq!(one.outcome, ParameterOutcome::Works, "{one:?}");
        assert_eq!(
            (one.reached.truth, one.works.truth),
            (Truth::Yes, Truth::Yes),
            "{one:?}"
        );
    }
    assert_eq!(verdict.outcome, Some(ParameterOutcome::Works));
    assert_eq!(obeyed("quiet root=/dev/vda1").check().outcome, None);
}

#[test]
fn a_lost_parameter_is_reported_with_the_place_of_the_loss() {
    let lost = |line: &str, ours: &str, stage, config: Option<&'static str>| {
        let mut scene = obeyed(line);
        scene.own_words = words(ours, stage);
        scene.config = config.unwrap_or(scene.config);
        let one = scene.of("nohz_full=3");
        assert_eq!((one.reached.truth, one.works.truth), (Truth::No, Truth::No), "{one:?}");
        (one.reached.because, one.outcome)
    };
    let (why, outcome) = lost("quiet", "nohz_full=3", BootWordStage::Pending, None);
    assert!(
        why.contains("has not been restarted") && outcome == ParameterOutcome::Pending,
        "{why}"
    );
    let (why, outcome) = lost("nohz_full=2", "nohz_full=3", BootWordStage::Reverted, None);
    assert!(
        why.contains("`nohz_full=2`") && outcome == ParameterOutcome::Reverted,
        "{why}"
    );
    let (why, outcome) = lost("quiet -- nohz_full=3", "nohz_full=3", BootWordStage::Live, None);
    assert!(why.contains(" -- ") && outcome == ParameterOutcome::Broken, "{why}");
    let own = Some("CONFIG_CMDLINE_OVERRIDE=y\n");
    let (why, outcome) = lost("quiet", "nohz_full=3", BootWordStage::Reverted, own);
    assert!(
        why.contains("CONFIG_CMDLINE_OVERRIDE") && outcome == ParameterOutcome::Broken,
        "{why}"
    );
    let long = format!("quiet {}", "x".repeat(2041));
    let (why, outcome) = lost(&long, "nohz_full=3", BootWordStage::Reverted, None);
    assert!(why.contains("cut off") && outcome == ParameterOutcome::Broken, "{why}");
}

#[test]
fn a_parameter_that_the_kernel_rejected_is_reported_with_the_reason() {
    let refused = |scene: BootCheckScene, word: &str, part: &str| {
        let one = scene.of(word);
        assert_eq!(
            (one.reached.truth, one.understood.truth, one.works.truth),
            (Truth::Yes, Truth::No, Truth::No),
            "{one:?}"
        );
        assert_eq!(one.outcome, ParameterOutcome::Broken);
        assert!(one.understood.because.contains(part), "{one:?}");
        assert_eq!(scene.check().outcome, Some(ParameterOutcome::Broken));
    };
    let none = |line: &str| {
        obeyed(line)
            .with_file("/sys/devices/system/cpu/isolated", "")
            .with_file("/sys/devices/system/cpu/nohz_full", "(null)")
    };
    refused(none("isolcpus=3"), "isolcpus", "without CPU 3");
    refused(none("nohz_full=3"), "nohz_full", "without CPU 3");
    refused(obeyed("nohz_full=0,3"), "nohz_full", "boots on");
    refused(obeyed("isolcpus=3,9"), "isolcpus", "9");
    refused(obeyed("isolcpu=3"), "isolcpu=", "looks like isolcpus");
    refused(
        obeyed("nohz_full=2 nohz_full=3").with_file("/sys/devices/system/cpu/nohz_full", "2"),
        "nohz_full=3",
        "the first one counts",
    );
    let mut without = none("nohz_full=3");
    without.config = "CONFIG_HZ=250\n";
    refused(without, "nohz_full", "CONFIG_NO_HZ_FULL");
    let mut board = none("nohz_full=3").with_file("/proc/sys/kernel/osrelease", "6.12.25+rpt-rpi-v8");
    board.config = "CONFIG_HZ=250\n";
    refused(board, "nohz_full", "Raspberry Pi");
    let mut printed = none("rcu_nocbs=3");
    printed.messages = Some(vec!["rcu: \tOffload RCU callbacks from CPUs: (none).".to_owned()]);
    refused(printed, "rcu_nocbs", "(none)");
    let mut unknown = obeyed("skew_tick=1");
    unknown.messages = Some(vec![
        "Unknown kernel command line parameters \"skew_tick=1\", will be passed to user space.".to_owned(),
    ]);
    refused(unknown, "skew_tick", "Unknown kernel");
    let mut silent = obeyed("irqaffinity=0-2");
    silent.messages = None;
    assert_eq!(silent.of("irqaffinity").understood.truth, Truth::Unknown);
}

#[test]
fn a_parameter_without_effect_is_reported_with_the_counts() {
    let broken = |scene: BootCheckScene, word: &str, part: &str| {
        let one = scene.of(word);
        assert_eq!(
            (one.understood.truth, one.works.truth),
            (Truth::Yes, Truth::No),
            "{one:?}"
        );
        assert!(one.works.because.contains(part), "{one:?}");
        assert_eq!(scene.check().outcome, Some(ParameterOutcome::Broken));
    };
    let mut ticking = obeyed(LINE);
    ticking.window = counted(Some(250), CpuOccupant::OtherProgram("robot".to_owned()));
    broken(ticking, "nohz_full", "250 ticks");
    broken(obeyed("nohz=off nohz_full=3"), "nohz_full", "keeps the periodic tick");
    let stray = obeyed(LINE);
    stray.task(30, "browser", 0, 3, "0-3");
    broken(stray, "isolcpus", "browser");
    let pinned = obeyed(LINE);
    pinned.task(30, "robot", 0, 3, "3");
    assert_eq!(pinned.of("isolcpus").works.truth, Truth::Yes);
    broken(
        obeyed(LINE).with_file("/proc/irq/default_smp_affinity", "f"),
        "irqaffinity",
        "0-3",
    );
    let threads = obeyed(LINE);
    std::fs::remove_dir_all(threads.dir.path().join("proc/20")).unwrap();
    broken(threads, "rcu_nocbs", "no thread");
    let mut shown = obeyed("nosoftlockup");
    let path = "/proc/sys/kernel/soft_watchdog".to_owned();
    let requested = plan::boot_check::paths(["nosoftlockup"].into_iter());
    assert_eq!(requested.first(), Some(&path));
    assert_eq!(shown.of("nosoftlockup").works.truth, Truth::Unknown);
    shown.settings.values.insert(path, "1".to_owned());
    broken(shown, "nosoftlockup", "soft_watchdog has `1`");
}

#[test]
fn an_effect_that_cannot_be_observed_is_never_confirmed() {
    let mut idle = obeyed(LINE);
    idle.window = counted(Some(0), CpuOccupant::Idle("robot lives there and slept".to_owned()));
    assert_eq!(idle.of("nohz_full").works.truth, Truth::Unknown);
    assert_eq!(idle.check().outcome, Some(ParameterOutcome::Unknown));
    idle.window = counted(None, CpuOccupant::OwnLoop);
    assert_eq!(idle.of("nohz_full").works.truth, Truth::Unknown);
    let mut captured = obeyed(LINE);
    captured.origin = Origin::Captured;
    for one in captured.check().parameters {
        assert_eq!(one.works.truth, Truth::Unknown, "{one:?}");
        assert_eq!(one.outcome, ParameterOutcome::Unknown);
    }
    // An error in a capture is still an error.
    captured.task(30, "browser", 0, 3, "0-3");
    assert_eq!(captured.of("isolcpus").works.truth, Truth::No);
}

#[test]
fn declared_partitions_and_the_own_line_give_one_verdict() {
    let declared = |name: &str, cpus: &str| declared(name, cpus, BootPart::Unspecified);
    let mut scene = obeyed(LINE);
    scene.declared = vec![declared("rt", "3")];
    assert!(scene.check().declared.is_empty(), "no words are ours");
    scene.own_words = words(LINE, BootWordStage::Live);
    let verdict = scene.check();
    assert_eq!(verdict.outcome, Some(ParameterOutcome::Works));
    assert_eq!(verdict.declared[0].answer.truth, Truth::Yes);
    assert_eq!(verdict.parameters.len(), 5, "each word once");
    scene.declared = vec![declared("rt", "2")];
    let verdict = scene.check();
    assert_eq!(verdict.outcome, Some(ParameterOutcome::Broken));
    let truths: Vec<Truth> = verdict.declared.iter().map(|one| one.answer.truth).collect();
    assert_eq!(truths, [Truth::No, Truth::No], "{:?}", verdict.declared);
    assert_eq!(verdict.declared[1].partition, None);
    scene.declared = vec![DeclaredPartition {
        name: "rt".to_owned(),
        cpus: Err(UnknownCpus::ChosenLater),
        boot: BootPart::Unspecified,
        restored_at_boot: ActivationMode::AtBoot,
    }];
    let verdict = scene.check();
    assert_eq!(
        (verdict.declared.len(), verdict.declared[0].answer.truth),
        (1, Truth::Unknown)
    );
}

#[test]
fn boot_part_and_run_time_part_of_a_partition_give_one_verdict() {
    let mut scene = obeyed(LINE);
    scene.own_words = words(LINE, BootWordStage::Live);
    scene.declared = vec![declared("rt", "3", BootPart::OnLine)];
    scene.declared_words = Some(vec!["nohz_full=3".to_owned()]);
    let good = scene.check();
    assert_eq!(good.outcome, Some(ParameterOutcome::Works), "{:?}", good.declared);
    assert_eq!(boot_part_findings(&good), []);

    for (in_force, seen, part) in [
        (Some(vec![]), Truth::No, "it is not active"),
        (Some(vec![applied("2", &[])]), Truth::No, "it is active with CPU 2"),
        (
            Some(vec![applied("3", &["/proc/x reads `0` now"])]),
            Truth::No,
            "but /proc/x reads `0` now",
        ),
        (None, Truth::Unknown, "only root"),
    ] {
        scene.in_force = in_force;
        let verdict = scene.check();
        let run_time = verdict.declared[0].run_time.clone().unwrap();
        assert_eq!(run_time.truth, seen);
        assert!(run_time.because.contains(part), "{run_time:?}");
        let expected = if seen == Truth::No {
            ParameterOutcome::Broken
        } else {
            ParameterOutcome::Unknown
        };
        assert_eq!(verdict.outcome, Some(expected), "{part}");
        assert_eq!(boot_part_findings(&verdict), [], "the boot part is as declared");
    }
    scene.in_force = Some(Vec::new());
    scene.declared[0].restored_at_boot = ActivationMode::ByHand;
    assert_eq!(
        scene.check().outcome,
        Some(ParameterOutcome::Works),
        "nobody called `apply` yet"
    );
}

/// Without a journal, the kernel's own partitions show what is certainly missing.
#[test]
fn without_a_journal_the_partitions_of_the_kernel_are_the_evidence() {
    let mut scene = obeyed(LINE)
        .with_file(
            "/proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        )
        .with_file("/sys/fs/cgroup/cgroup.controllers", "cpuset\n")
        .with_file("/sys/fs/cgroup/cpuset.cpus.effective", "0-2\n")
        .with_file("/sys/fs/cgroup/quietcore-rt/cpuset.cpus", "3\n")
        .with_file("/sys/fs/cgroup/quietcore-rt/cpuset.cpus.effective", "3\n")
        .with_file("/sys/fs/cgroup/quietcore-rt/cpuset.cpus.partition", "isolated\n");
    scene.in_force = None;
    scene.own_words = words(LINE, BootWordStage::Live);
    scene.declared = vec![declared("rt", "3", BootPart::OnLine)];
    let verdict = scene.check();
    let run_time = verdict.declared[0].run_time.clone().unwrap();
    assert_eq!(run_time.truth, Truth::Unknown, "{run_time:?}");
    assert!(run_time.because.contains("quietcore-rt"), "{run_time:?}");
    let scene = scene.with_file("/sys/fs/cgroup/quietcore-rt/cpuset.cpus.partition", "member\n");
    let verdict = scene.check();
    assert_eq!(verdict.declared[0].run_time.clone().unwrap().truth, Truth::No);
    assert_eq!(verdict.outcome, Some(ParameterOutcome::Broken));
}

#[test]
fn a_declared_boot_part_that_is_not_active_is_reported_with_its_state() {
    let ids = |scene: &BootCheckScene| {
        let reported = boot_part_findings(&scene.check());
        let all = reported.iter().map(|one| (one.id.to_string(), one.level));
        all.collect::<std::collections::BTreeSet<_>>()
    };
    let one = |id: &str, level| [(id.to_owned(), level)].into_iter().collect();
    let mut scene = obeyed("quiet");
    scene.declared = vec![declared("rt", "3", BootPart::OnLine)];
    assert_eq!(ids(&scene), one("boot-part-differs", Level::Error), "missing");
    assert_eq!(scene.check().outcome, Some(ParameterOutcome::Broken));
    scene.own_words = words(LINE, BootWordStage::Pending);
    assert_eq!(ids(&scene), one("boot-part-pending", Level::Info));
    scene.own_words = words(LINE, BootWordStage::Reverted);
    assert_eq!(ids(&scene), one("boot-part-reverted", Level::Error));
    scene.declared[0].cpus = Ok(CpuSet::parse_list("2").unwrap());
    assert!(ids(&scene).contains(&("boot-part-differs".to_owned(), Level::Error)));

    let mut scene = obeyed(LINE).with_file("/sys/devices/system/cpu/isolated", "");
    scene.own_words = words(LINE, BootWordStage::Live);
    scene.declared = vec![declared("rt", "3", BootPart::OnLine)];
    assert_eq!(ids(&scene), one("boot-part-without-effect", Level::Error));

    // The line comes from another profile, or from another program.
    let mut scene = obeyed(LINE);
    scene.declared = vec![declared("rt", "3", BootPart::OnLine)];
    assert_eq!(
        ids(&scene),
        std::collections::BTreeSet::new(),
        "who wrote it is no matter"
    );
    scene.declared_words = Some(vec!["nohz_full=3".to_owned(), "skew_tick=1".to_owned()]);
    assert_eq!(ids(&scene), one("boot-part-differs", Level::Error));
    scene.own_words = words(LINE, BootWordStage::Live);
    assert_eq!(ids(&scene), one("boot-part-differs", Level::Error));
    let printed = &boot_part_findings(&scene.check())[0].message;
    assert!(
        printed.contains("skew_tick=1") && !printed.contains("nohz_full"),
        "{printed}"
    );

    // The declaration does not mention the line, or states that the line does not belong to it.
    scene.declared[0].boot = BootPart::RunTimeOnly;
    scene.declared[0].cpus = Ok(CpuSet::parse_list("2-3").unwrap());
    assert_eq!(scene.check().declared[0].answer.truth, Truth::Unseen);
    assert_eq!(ids(&scene), std::collections::BTreeSet::new());
}
