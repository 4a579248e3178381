//! The screens and the JSON of `inspect` for whole machines: two that are built here file by file, and every available
//! captured one.

// Tests may panic. Without this, clippy allows it only inside `#[test]` functions.

use crate::support::golden;
use machine::{CpuSet, Machine};
use report::{InspectView, PartDetail, Style};
use root::Root;
use serde_json::Value;
use std::path::Path;

fn write_file(dir: &Path, path: &str, content: &str) {
    let path = dir.join(path.trim_start_matches('/'));
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(path, content).expect("a file");
}

/// The shape of a machine. Everything is divided evenly, and the threads of a core are `cores` apart.
struct TopologyShape {
    packages: u32,
    caches_per_package: u32,
    cores_per_cache: u32,
    threads: u32,
}

impl TopologyShape {
    fn cores(&self) -> u32 {
        self.packages * self.caches_per_package * self.cores_per_cache
    }

    fn cpus(&self) -> u32 {
        self.cores() * self.threads
    }

    fn threads_of(&self, cores: std::ops::Range<u32>) -> String {
        let set: CpuSet = (0..self.threads)
            .flat_map(|thread| cores.clone().map(move |core| (thread, core)))
            .map(|(thread, core)| machine::CpuId(thread * self.cores() + core))
            .collect();
        set.to_string()
    }

    fn write(&self, dir: &Path, online: &CpuSet) {
        let sys = "/sys/devices/system";
        let all = CpuSet::range(0, self.cpus() - 1);
        for file in ["possible", "present"] {
            write_file(dir, &format!("{sys}/cpu/{file}"), &format!("{all}\n"));
        }
        write_file(dir, &format!("{sys}/cpu/online"), &format!("{online}\n"));
        for cpu in all.iter() {
            let here = format!("{sys}/cpu/cpu{cpu}");
            write_file(
                dir,
                &format!("{here}/online"),
                if online.contains(cpu) { "1\n" } else { "0\n" },
            );
            if !online.contains(cpu) {
                continue;
            }
            let core = cpu.0 % self.cores();
            let cache = core / self.cores_per_cache;
            let package = cache / self.caches_per_package;
            write_file(
                dir,
                &format!("{here}/topology/physical_package_id"),
                &format!("{package}\n"),
            );
            write_file(dir, &format!("{here}/topology/core_id"), &format!("{core}\n"));
            write_file(
                dir,
                &format!("{here}/topology/thread_siblings_list"),
                &format!("{}\n", self.threads_of(core..core + 1)),
            );
            write_file(dir, &format!("{here}/cache/index3/level"), "3\n");
            write_file(dir, &format!("{here}/cache/index3/type"), "Unified\n");
            write_file(dir, &format!("{here}/cache/index3/size"), "32768K\n");
            let first = cache * self.cores_per_cache;
            let shared = self.threads_of(first..first + self.cores_per_cache);
            write_file(
                dir,
                &format!("{here}/cache/index3/shared_cpu_list"),
                &format!("{shared}\n"),
            );
        }
    }
}

/// A machine of two packages with two caches each, of two cores with two threads. Two cores are isolated in every way,
/// and one CPU is offline.
fn isolated_machine(dir: &Path) -> Machine {
    let online = CpuSet::parse_list("0-12,14-15").expect("a list");
    TopologyShape {
        packages: 2,
        caches_per_package: 2,
        cores_per_cache: 2,
        threads: 2,
    }
    .write(dir, &online);
    write_file(dir, "/proc/sys/kernel/osrelease", "6.12.5-example\n");
    write_file(
        dir,
        "/proc/cmdline",
        "BOOT_IMAGE=/vmlinuz root=/dev/sda1 isolcpus=managed_irq,domain,6-7,14-15 nohz_full=7,15 irqaffinity=0-5\n",
    );
    write_file(
        dir,
        "/proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Example Processor 9000\n",
    );
    write_file(dir, "/sys/devices/system/cpu/isolated", "6-7,14-15\n");
    write_file(dir, "/sys/devices/system/cpu/nohz_full", "7,15\n");
    write_file(dir, "/proc/irq/default_smp_affinity", "003f\n");
    write_file(dir, "/sys/devices/virtual/workqueue/cpumask", "1f3f\n");
    let task = |tid: u32, comm: &str, state: char, flags: u32, cpu: u32, policy: u32, rt: u32, allowed: &str| {
        let stat = format!(
            "{tid} ({comm}) {state} 1 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 {} 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 {cpu} {rt} {policy} 0 0 0 0 0\n",
            tid * 10
        );
        let status = format!("Name:\t{comm}\nCpus_allowed_list:\t{allowed}\n");
        for place in [format!("/proc/{tid}"), format!("/proc/{tid}/task/{tid}")] {
            write_file(dir, &format!("{place}/stat"), &stat);
            write_file(dir, &format!("{place}/status"), &status);
        }
    };
    let (kernel, bound) = (0x0020_0000, 0x0420_0000);
    task(1, "systemd", 'S', 0x0040_0100, 0, 0, 0, "0-5");
    task(2, "kthreadd", 'S', kernel, 1, 0, 0, "0-15");
    task(30, "migration/7", 'S', bound, 7, 1, 99, "7");
    task(31, "ksoftirqd/7", 'S', bound, 7, 0, 0, "7");
    task(32, "kworker/7:1-events", 'I', bound, 7, 0, 0, "7");
    task(40, "irq/27-eth0", 'S', kernel, 6, 1, 50, "6");
    task(900, "trader (hot) \u{1b}[31m", 'R', 0x0040_0000, 7, 1, 80, "7");
    write_file(
        dir,
        "/proc/interrupts",
        "            CPU0       CPU6       CPU7\n 27:        100      20000          0   PCI-MSIX-0000:00:02.0   1-edge      eth0\n 28:          5          0         77   PCI-MSIX-0000:00:03.0   1-edge      nvme0q7\nLOC:       1000       1000       1000   Local timer interrupts\n",
    );
    for (irq, name, requested, effective) in [
        (27, "eth0", "0-15", "6"),
        (28, "nvme0q7", "7", "7"),
        (29, "", "0-5", "0"),
    ] {
        write_file(
            dir,
            &format!("/proc/irq/{irq}/smp_affinity_list"),
            &format!("{requested}\n"),
        );
        write_file(
            dir,
            &format!("/proc/irq/{irq}/effective_affinity_list"),
            &format!("{effective}\n"),
        );
        if !name.is_empty() {
            std::fs::create_dir_all(dir.join(format!("proc/irq/{irq}/{name}"))).expect("a directory");
        }
    }
    let root = Root::open(dir).expect("a root");
    Machine::read(&root).with_tasks(&root).with_interrupts(&root)
}

fn text(machine: &Machine, view: &InspectView) -> String {
    report::inspect_text(machine, view, Style::Plain)
}

fn json(machine: &Machine, view: &InspectView) -> Value {
    let mut bytes = Vec::new();
    report::inspect_json(machine, view, &mut bytes).expect("memory takes everything");
    serde_json::from_slice(&bytes).expect("JSON")
}

fn assert_fits(name: &str, text: &str) {
    for line in text.lines() {
        assert!(
            line.chars().count() <= 80,
            "{name}: {} columns: {line}",
            line.chars().count()
        );
    }
}

#[test]
fn the_screen_of_an_isolated_machine_matches_the_golden_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let machine = isolated_machine(dir.path());
    let plain = text(&machine, &InspectView::default());
    golden::check("inspect.txt", &plain);
    let tasks = text(
        &machine,
        &InspectView {
            tasks: PartDetail::Shortened,
            ..InspectView::default()
        },
    );
    golden::check("inspect-tasks.txt", &tasks);
    let irqs = text(
        &machine,
        &InspectView {
            interrupts: PartDetail::Shortened,
            ..InspectView::default()
        },
    );
    golden::check("inspect-irqs.txt", &irqs);
    for screen in [&plain, &tasks, &irqs] {
        assert_fits("isolated", screen);
        assert!(!screen.contains('\u{1b}'), "a task's name reached the terminal");
    }
    assert!(tasks.contains("trader (hot) \\u{1b}[31m"));
    let colour = report::inspect_text(&machine, &InspectView::default(), Style::Colour);
    assert!(colour.contains("\u{1b}[") && !colour.contains("[31m\u{1b}"));
}

#[test]
fn the_json_of_an_isolated_machine_is_complete() {
    let dir = tempfile::tempdir().expect("a directory");
    let machine = isolated_machine(dir.path());
    let plain = json(&machine, &InspectView::default());
    assert!(
        plain.get("tasks").is_none() && plain.get("irqs").is_none(),
        "not asked for"
    );
    assert_eq!(plain["isolation"]["boot_isolated"], "6-7,14-15");
    let whole = json(
        &machine,
        &InspectView {
            tasks: PartDetail::Shortened,
            interrupts: PartDetail::Shortened,
            ..InspectView::default()
        },
    );
    assert_eq!(whole["schema"], "quietcore.inspect/1");
    assert_eq!(whole["origin"], "captured");
    assert_eq!(whole["cpus"][7]["siblings"], "7,15");
    assert_eq!(whole["cpus"][13]["package"], Value::Null);
    let trader = whole["tasks"]
        .as_array()
        .expect("tasks")
        .iter()
        .find(|task| task["tid"] == 900)
        .expect("the task");
    assert_eq!(
        (&trader["policy"], &trader["priority"], &trader["cpu"]),
        (&"fifo".into(), &80.into(), &7.into())
    );
    assert_eq!((&trader["movable"], &trader["kernel"]), (&true.into(), &false.into()));
    let eth0 = whole["irqs"]
        .as_array()
        .expect("irqs")
        .iter()
        .find(|irq| irq["irq"] == 27)
        .expect("the interrupt");
    assert_eq!(eth0["counts"], serde_json::json!({"0": 100, "6": 20000}));
    let only = InspectView {
        tasks: PartDetail::Shortened,
        interrupts: PartDetail::Shortened,
        cpus: CpuSet::parse_list("6").ok(),
        own_pid: None,
    };
    let only = json(&machine, &only);
    assert_eq!(only["cpus"].as_array().map(Vec::len), Some(1));
    let tids: Vec<&Value> = only["tasks"]
        .as_array()
        .expect("tasks")
        .iter()
        .map(|task| &task["tid"])
        .collect();
    assert_eq!(tids, [2, 40]);
}

#[test]
fn a_machine_without_facts_is_shown_as_unknown() {
    let dir = tempfile::tempdir().expect("a directory");
    write_file(dir.path(), "/proc/version", "nothing of use\n");
    let root = Root::open(dir.path()).expect("a root");
    let machine = Machine::read(&root).with_tasks(&root).with_interrupts(&root);
    let screen = text(
        &machine,
        &InspectView {
            tasks: PartDetail::Shortened,
            interrupts: PartDetail::Shortened,
            ..InspectView::default()
        },
    );
    assert!(screen.contains("Unknown"), "{screen}");
    assert!(text(&machine, &InspectView::default()).contains("unknown"));
    let whole = json(
        &machine,
        &InspectView {
            tasks: PartDetail::Shortened,
            interrupts: PartDetail::Shortened,
            ..InspectView::default()
        },
    );
    assert_eq!(whole["irqs"], Value::Null, "asked for and unknown is null");
    assert_eq!(whole["kernel"]["release"], Value::Null);
    assert_eq!(whole["isolation"]["boot_isolated"], Value::Null);
}

#[test]
fn a_machine_with_a_thousand_cpus_fits_the_screen() {
    let dir = tempfile::tempdir().expect("a directory");
    let shape = TopologyShape {
        packages: 8,
        caches_per_package: 8,
        cores_per_cache: 8,
        threads: 2,
    };
    shape.write(dir.path(), &CpuSet::range(0, shape.cpus() - 1));
    write_file(dir.path(), "/sys/devices/system/cpu/isolated", "100-199\n");
    let machine = Machine::read(&Root::open(dir.path()).expect("a root"));
    let screen = text(&machine, &InspectView::default());
    assert_fits("1024", &screen);
    assert!(
        screen.contains("1,024 CPUs online") && screen.lines().count() < 60,
        "{screen}"
    );
    let some = text(
        &machine,
        &InspectView {
            cpus: CpuSet::parse_list("96-103").ok(),
            ..InspectView::default()
        },
    );
    assert!(some.contains("100b") && !some.contains("104"), "{some}");
}

/// Returns every separate number in the drawing, which ends before the legend.
fn drawn(screen: &str) -> Vec<u32> {
    let rows = screen
        .lines()
        .skip_while(|line| !line.is_empty())
        .skip(1)
        .take_while(|line| !line.is_empty());
    let rows = rows.filter(|line| line.starts_with("  "));
    let words = rows.flat_map(|line| line.split(|letter: char| " []()".contains(letter)));
    // Labels contain numbers too (`node 0`, `L3 32 MB`). The number of a CPU has no word before it and no unit after
    // it.
    let mut numbers = Vec::new();
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    for (place, word) in words.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| words.get(before)).unwrap_or(&"");
        let after = words.get(place + 1).unwrap_or(&"");
        let label = ["node", "die", "L1", "L2", "L3", "L4"].contains(before) || ["KB", "MB", "GB"].contains(after);
        let digits = word.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        if let (false, Ok(number)) = (label, digits.parse()) {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    numbers
}

#[test]
fn every_captured_machine_is_drawn_completely() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/machines");
    let Ok(files) = std::fs::read_dir(&corpus) else {
        println!("SKIP: every_captured_machine_is_drawn_completely: no corpus of captured machines beside the project");
        return;
    };
    let mut seen = 0;
    for file in files {
        let path = file.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.contains(".tar") {
            continue;
        }
        seen += 1;
        let machine = Machine::read(&Root::open(&path).expect("a readable archive"));
        let screen = text(&machine, &InspectView::default());
        assert_fits(&name, &screen);
        let present: Vec<u32> = machine.topology.cpus.iter().map(|cpu| cpu.id.0).collect();
        if present.len() <= 160 {
            assert_eq!(drawn(&screen), present, "{name}:\n{screen}");
        }
        let document = json(
            &machine,
            &InspectView {
                tasks: PartDetail::Shortened,
                interrupts: PartDetail::Shortened,
                ..InspectView::default()
            },
        );
        assert_eq!(document["cpus"].as_array().map(Vec::len), Some(present.len()), "{name}");
    }
    assert!(seen > 0, "the corpus is there and empty");
}
