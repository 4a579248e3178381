//! `measure run FILE` on this machine: the article's files on the available CPUs, our own format, files that are
//! refused before anything starts, and complete cleanup.

use crate::support::schemas::document;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Two samplers on one CPU would measure each other.
fn alone() -> MutexGuard<'static, ()> {
    static CPU: Mutex<()> = Mutex::new(());
    CPU.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The lowest and the highest CPU that this process may use.
fn ends() -> (String, String) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap()
        .trim();
    let end = |cut: &mut dyn Iterator<Item = &str>| cut.next().unwrap().to_owned();
    (end(&mut list.split([',', '-'])), end(&mut list.rsplit([',', '-'])))
}

fn quietcore(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
    command.current_dir(folder).args(args).stdin(Stdio::null());
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    quietcore(folder, args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns an article's file with its CPUs and times adapted to this machine.
fn article(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/systress")
        .join(name);
    let (lowest, highest) = ends();
    fs::read_to_string(path)
        .unwrap()
        .replace("cpu_affinity 0-6", &format!("cpu_affinity {lowest}"))
        .replace("cpu_affinity 7", &format!("cpu_affinity {highest}"))
        .replace("1 min", "1500 ms")
        .replace("1500 ms   #", "200 ms   #")
}

/// Returns the number of processes whose command line contains this word.
fn with_word(word: &str) -> usize {
    let lines = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
    lines
        .filter(|line| text(line).split('\0').any(|message| message == word))
        .count()
}

#[test]
fn the_first_file_of_the_article_runs_unchanged() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("host.cfg"), article("host.cfg")).unwrap();
    let output = run(folder.path(), &["systress", "--cfg=./host.cfg"]);
    let message = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{message}{}", text(&output.stderr));
    let mut lines = message.lines();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        words(lines.next().unwrap()).join(" "),
        "Index TID Samples L_min L_max L_cur L_avg"
    );
    let row = words(lines.next().unwrap());
    assert_eq!(row.len(), 7, "{message}");
    let samples: u64 = row[2].parse().unwrap();
    assert!((1..=1_500).contains(&samples), "{message}");
    assert!(
        message.contains("Statistics for timer_thread[0] in 'timer_thread00.txt'\n"),
        "{message}"
    );
    assert!(message.contains("Total elapsed time: "), "{message}");

    let file = fs::read_to_string(folder.path().join("timer_thread00.txt")).unwrap();
    let rows: Vec<(u64, u64)> = file
        .lines()
        .take_while(|line| !line.trim().is_empty())
        .map(|line| {
            let numbers: Vec<u64> = words(line).iter().map(|word| word.parse().unwrap()).collect();
            (numbers[0], numbers[1])
        })
        .collect();
    // The histogram has the size that the file requests, whatever was measured.
    assert_eq!(
        rows.iter().map(|row| row.0).collect::<Vec<_>>(),
        (0..=20).collect::<Vec<_>>(),
        "{file}"
    );
    let summary = words(file.lines().last().unwrap());
    assert_eq!(summary.len(), 12, "{file}");
    assert_eq!((summary[0].as_str(), summary[1].as_str()), ("#", "0"));
    assert_eq!(summary[2], row[1], "the thread's number");
    assert_eq!(summary[3].parse::<u64>().unwrap(), samples);
    let inside: u64 = rows.iter().map(|row| row.1).sum();
    assert_eq!(summary[7].parse::<u64>().unwrap(), inside, "{file}");
}

#[test]
fn the_second_file_of_the_article_loads_other_cpus_and_leaves_nothing() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let word = format!("/proc/{}", std::process::id());
    // Commands that run as long as the article's, on a directory that every machine has. The word distinguishes them
    // from other processes.
    let described = article("host2.cfg")
        .replace("find / ", &format!("find {word} "))
        .replace("ping -f localhost", &format!("sh -c 'while :; do :; done' {word}"))
        .replace("tar --null -cvzf - -T -", "tr a b");
    fs::write(folder.path().join("host2.cfg"), described).unwrap();
    let output = run(folder.path(), &["systress", "-c", "host2.cfg"]);
    let message = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{message}{}", text(&output.stderr));
    let (lowest, highest) = ends();
    for cpu in [&lowest, &highest] {
        assert!(
            message.lines().any(|line| line.starts_with(&format!("CPU#{cpu}"))),
            "{message}"
        );
    }
    assert!(message.lines().any(|line| line.starts_with("CPU   : ")), "{message}");
    let started = |program: usize| -> u64 {
        let line = message
            .lines()
            .find_map(|line| line.strip_prefix(&format!("program[{program}]: started ")))
            .unwrap();
        line.split(' ').next().unwrap().parse().unwrap()
    };
    assert!(started(0) >= 1 && started(2) >= 1, "{message}");
    assert_eq!(started(1), 1, "{message}");
    assert_eq!(with_word(&word), 0, "something of it still runs");
}

fn own(highest: &str, more: &str) -> String {
    format!("[[latency]]\ncpus = \"{highest}\"\npolicy = \"other\"\nfor = \"1 s\"\nout = \"wake.json\"\n{more}")
}

#[test]
fn several_samplers_and_a_load_run_from_the_own_form() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (lowest, highest) = ends();
    let mut described = own(&highest, "");
    let _ = write!(
        described,
        "[[noise]]\ncpus = \"{highest}\"\nfor = \"600 ms\"\nthreshold = \"5 us\"\n\
         [[load]]\nkind = \"timers\"\ncpus = \"{lowest}\"\n\
         [[program]]\nname = \"short\"\ncommand = \"true\"\ncpus = \"{lowest}\"\n"
    );
    fs::write(folder.path().join("run.toml"), described).unwrap();
    let output = run(
        folder.path(),
        &["measure", "run", "run.toml", "--json", "--out", "all.json"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed: Value = document(&output.stdout).unwrap();
    let kept: Value = document(fs::read(folder.path().join("all.json")).unwrap()).unwrap();
    assert_eq!(printed, kept);
    let threads = printed["threads"].as_array().unwrap();
    let kinds: Vec<&str> = threads.iter().map(|thread| thread["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["latency", "noise"]);
    for thread in threads {
        let number = |name: &str| thread[name].as_u64().unwrap();
        assert_eq!(number("expected"), number("recorded") + number("missed"), "{thread}");
    }
    assert_eq!(threads[0]["expected"], 1_000);
    // Each thread has its own duration.
    let lasted = |place: usize| threads[place]["duration_ns"].as_u64().unwrap();
    assert!(lasted(1) < lasted(0), "{threads:?}");
    assert_eq!(printed["programs"][0]["name"], "short");
    assert_eq!(printed["programs"][0]["succeeded"], 1);
    let wake: Value = document(fs::read(folder.path().join("wake.json")).unwrap()).unwrap();
    assert_eq!(wake["threads"].as_array().unwrap().len(), 1);
    assert_eq!(wake["threads"][0], printed["threads"][0]);
}

#[test]
fn programs_that_share_the_measured_cpu_or_exit_early_are_reported() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (_, highest) = ends();
    let program = format!("[[program]]\ncommand = \"false\"\ncpus = \"{highest}\"\nafter_failure = \"respawn\"\n");
    fs::write(folder.path().join("run.toml"), own(&highest, &program)).unwrap();
    let output = run(folder.path(), &["measure", "run", "run.toml", "--json"]);
    let printed: Value = document(&output.stdout).unwrap();
    let has = |id: &str| {
        printed["findings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|note| note["id"] == id)
    };
    assert!(has("measured_cpu_shared") && has("program_ends_at_once"), "{printed}");
}

#[test]
fn the_run_can_end_with_a_program() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (lowest, highest) = ends();
    let program = format!("[[program]]\ncommand = \"sleep 0.5\"\ncpus = \"{lowest}\"\nafter_success = \"end\"\n");
    let described = own(&highest, &program).replace("1 s", "1 h");
    fs::write(folder.path().join("run.toml"), described).unwrap();
    let began = Instant::now();
    let output = run(folder.path(), &["measure", "run", "run.toml", "--json"]);
    assert!(began.elapsed() < Duration::from_secs(600));
    let printed: Value = document(&output.stdout).unwrap();
    assert_eq!(printed["complete"], false);
    let mut findings = printed["findings"].as_array().unwrap().iter();
    assert!(findings.any(|note| note["id"] == "ended_by_program"), "{printed}");
}

/// Checks that the file is refused with this status and these words on standard error, and that nothing is left behind.
fn refused(described: &str, status: i32, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.cfg"), described).unwrap();
    let output = run(folder.path(), &["measure", "run", "run.cfg"]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{described}\n{message}");
    for word in words {
        assert!(message.contains(word), "{word}: {message}");
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "{described}: something was written"
    );
}

#[test]
fn unsupported_runs_are_refused_with_the_position_and_start_nothing() {
    let (lowest, highest) = ends();
    let timer = |keys: &str| format!("timer_thread[0]\n{{\n  {keys}\n}}\n");
    refused(&timer("cpu_affinity 60000"), 2, &["line 3, column 16", "60000"]);
    refused(
        &timer("colour red"),
        2,
        &[
            "run.cfg",
            "line 3, column 3",
            "`colour`",
            "next: the keys are cpu_affinity",
        ],
    );
    refused(&timer("stats.filename /no/such/folder/x.txt"), 2, &["/no/such/folder"]);
    if lowest != highest {
        let both = format!("cpu_affinity {lowest},{highest}");
        refused(&timer(&both), 2, &["several CPUs", "its own timer_thread"]);
    }
    refused(
        &own(&highest, "format = \"tea\"\n"),
        2,
        &["line 6, column 10", "tea", "cyclictest"],
    );
    refused(
        &own(&highest, "").replace("other", "fifo:0"),
        2,
        &["line 3, column 10", "priority"],
    );
    let program = |keys: &str| own(&highest, &format!("[[program]]\n{keys}\n"));
    refused(
        &program("command = \"/no/such/program\""),
        2,
        &["/no/such/program", "program[0]"],
    );
    refused(
        &program("command = \"true\"\ncgroup = \"/no/such/cgroup\""),
        2,
        &["line 8, column 10", "cgroup"],
    );
    refused(
        &program("command = \"true\"\npolicy = \"deadline:1ms/10ms\""),
        2,
        &["line 8, column 10", "DEADLINE"],
    );
    refused("", 2, &["no section of this file measures"]);

    let folder = tempfile::tempdir().unwrap();
    for (file, status) in [("absent.cfg", 2), (".", 2)] {
        let output = run(folder.path(), &["measure", "run", file]);
        assert_eq!(output.status.code(), Some(status), "{file}: {}", text(&output.stderr));
    }
}

#[test]
fn check_shows_what_would_run_and_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("host2.cfg"), article("host2.cfg")).unwrap();
    let output = run(folder.path(), &["measure", "run", "--dry-run", "host2.cfg"]);
    let message = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let (_, highest) = ends();
    assert!(
        message.contains(&format!("timer_thread[0]: CPU {highest}")),
        "{message}"
    );
    assert!(
        message.contains("find / -type d -exec /bin/ls {} ; -print"),
        "{message}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_systress_front_end_accepts_its_options() {
    let folder = tempfile::tempdir().unwrap();
    let version = run(folder.path(), &["systress", "-V"]);
    assert_eq!(version.status.code(), Some(0));
    assert!(text(&version.stdout).contains(env!("CARGO_PKG_VERSION")));
    let help = run(folder.path(), &["systress", "-h"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(text(&help.stdout).contains("--cfg"), "{}", text(&help.stdout));
    for wrong in [
        &["systress"][..],
        &["systress", "--cfg"],
        &["systress", "-x"],
        &["systress", "-c", "a", "b"],
    ] {
        let output = run(folder.path(), wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn an_interrupted_run_ends_its_programs_and_prints_its_statistics() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (lowest, highest) = ends();
    let word = format!("3600.{}", std::process::id());
    let program = format!("[[program]]\ncommand = \"sh -c 'sleep {word} & sleep {word}'\"\ncpus = \"{lowest}\"\n");
    let described = own(&highest, &program).replace("1 s", "1 h");
    fs::write(folder.path().join("run.toml"), described).unwrap();
    let mut child = quietcore(folder.path(), &["measure", "run", "run.toml", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while with_word(&word) < 2 {
        assert!(began.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    root::process::send(child.id(), 2);
    let output = child.wait_with_output().unwrap();
    assert_eq!(with_word(&word), 0);
    let printed: Value = document(&output.stdout).unwrap();
    assert_eq!(printed["complete"], false);
    assert!(folder.path().join("wake.json").exists());
}
