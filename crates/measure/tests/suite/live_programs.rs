//! Programs that run beside a measurement: where they run, that they are restarted, and that none of them is left
//! behind.

use machine::{CpuSet, Policy};
use measure::MeasureError;
use measure::configuration::EndAction;
use measure::programs::{Order, ProgramResult, RunContinuation, RunningPrograms};
use root::Root;
use std::path::Path;
use std::time::{Duration, Instant};

fn order(script: &str) -> Order {
    Order {
        name: "program[0]".to_owned(),
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        cpus: None,
        policy: Policy::Other,
        priority: 0,
        door: None,
        output: Some("/dev/null".into()),
        errors: Some("/dev/null".into()),
        after_success: EndAction::Leave,
        after_failure: EndAction::Leave,
        lifetime: None,
    }
}

/// Tends the programs until the condition holds. A timeout fails the test.
fn tend_until(programs: &mut RunningPrograms, mut so: impl FnMut(&mut RunningPrograms) -> bool) {
    let began = Instant::now();
    while !so(programs) {
        assert!(began.elapsed() < Duration::from_secs(60), "it never happened");
        programs.tend();
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap_or_default().lines().count()
}

/// Returns the processes whose command line contains this word.
fn with_word(word: &str) -> Vec<u32> {
    let root = Root::live();
    let has = |pid: &u32| {
        let line = root
            .bytes(&format!("/proc/{pid}/cmdline"))
            .ok()
            .flatten()
            .unwrap_or_default();
        String::from_utf8_lossy(&line)
            .split('\0')
            .any(|message| message == word)
    };
    let names = root.names("/proc").unwrap().unwrap();
    names.iter().filter_map(|name| name.parse().ok()).filter(has).collect()
}

/// Returns a sleep time that no other process of this machine has on its command line.
fn own_word(place: u32) -> String {
    format!("{}.{}", 3_000 + place, std::process::id())
}

fn only(results: Vec<ProgramResult>) -> ProgramResult {
    assert_eq!(results.len(), 1);
    results.into_iter().next().unwrap()
}

#[test]
fn a_program_runs_with_the_configured_cpus_and_policy() {
    let folder = tempfile::tempdir().unwrap();
    let reported = folder.path().join("reported");
    let one = CpuSet::range(0, 0);
    let mut ordered = order("grep Cpus_allowed_list /proc/self/status; cut -d' ' -f41 /proc/self/stat");
    ordered.output = Some(reported.clone());
    ordered.cpus = Some(one);
    ordered.policy = Policy::Batch;
    let mut programs = RunningPrograms::start(&[ordered]).unwrap();
    tend_until(&mut programs, |_| lines(&reported) == 2);
    let result = only(programs.end());
    let reported = std::fs::read_to_string(reported).unwrap();
    assert_eq!(reported, "Cpus_allowed_list:\t0\n3\n");
    assert_eq!((result.started, result.failed), (1, 0));
}

#[test]
fn a_program_is_restarted_only_as_configured_and_exits_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let message = folder.path().join("messages");
    let mut comes = order("echo x; sleep 0.15");
    comes.output = Some(message.clone());
    comes.after_success = EndAction::Respawn;
    let mut stays = order("exit 3");
    stays.after_success = EndAction::Respawn;
    let mut programs = RunningPrograms::start(&[comes, stays]).unwrap();
    tend_until(&mut programs, |_| lines(&message) >= 4);
    let [comes, stays] = programs.end().try_into().unwrap();
    assert!(comes.started >= 4 && comes.succeeded >= 3, "{comes:?}");
    assert!(!comes.throttled, "{comes:?}");
    assert_eq!((stays.started, stays.failed), (1, 1));
    assert!(stays.last_failure.unwrap().contains('3'));
}

#[test]
fn a_program_that_exits_immediately_is_restarted_with_a_delay() {
    let mut ordered = order("exit 1");
    ordered.after_failure = EndAction::Respawn;
    let mut programs = RunningPrograms::start(&[ordered]).unwrap();
    let began = Instant::now();
    tend_until(&mut programs, |_| began.elapsed() > Duration::from_millis(1500));
    let result = only(programs.end());
    assert!(result.throttled, "{result:?}");
    // Three starts at once, then one per second. Without the delay there would be far more.
    assert!(result.started >= 4 && result.started <= 8, "{result:?}");
}

#[test]
fn the_end_of_a_program_or_its_time_limit_can_end_the_run() {
    let mut ends = order("true");
    ends.after_success = EndAction::End;
    let mut programs = RunningPrograms::start(&[ends]).unwrap();
    let mut over = false;
    tend_until(&mut programs, |programs| {
        over = over || programs.tend() == RunContinuation::End;
        over
    });
    let _ = programs.end();

    let word = own_word(0);
    let mut short = order(&format!("sleep {word}"));
    short.lifetime = Some(Duration::from_millis(200));
    short.after_failure = EndAction::Respawn;
    let mut programs = RunningPrograms::start(&[short]).unwrap();
    tend_until(&mut programs, |_| with_word(&word).is_empty());
    let result = only(programs.end());
    assert_eq!((result.started, result.failed), (1, 0), "{result:?}");
}

#[test]
fn background_processes_end_with_their_program() {
    let word = own_word(1);
    let mut programs = RunningPrograms::start(&[order(&format!("sleep {word} & sleep 0.2"))]).unwrap();
    tend_until(&mut programs, |_| with_word(&word).len() == 1);
    tend_until(&mut programs, |_| with_word(&word).is_empty());
    let result = only(programs.end());
    assert_eq!(result.succeeded, 1);
}

#[test]
fn a_program_that_ignores_sigterm_ends_with_the_run() {
    let word = own_word(2);
    let mut programs = RunningPrograms::start(&[order(&format!("trap '' TERM; sleep {word}; sleep {word}"))]).unwrap();
    tend_until(&mut programs, |_| with_word(&word).len() == 1);
    let _ = programs.end();
    // The child of the program was killed with it. A busy machine needs a moment to reap it.
    let began = Instant::now();
    while !with_word(&word).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "it is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The measurement runs in its own process, which is then killed.
#[test]
fn no_program_survives_a_killed_run() {
    let word = own_word(3);
    let script = format!("sleep {word} | cat");
    let Some(child) = root::process::fork().unwrap() else {
        let mut programs = RunningPrograms::start(&[order(&script)]).unwrap();
        loop {
            programs.tend();
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let wait = |so: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !so() {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "it never happened: {:?}",
                with_word(&word)
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait(&|| with_word(&word).len() == 1);
    root::process::send(child, 9);
    wait(&|| with_word(&word).is_empty());
    let pid = rustix::process::Pid::from_raw(i32::try_from(child).unwrap());
    let _ = rustix::process::waitpid(pid, rustix::process::WaitOptions::empty());
}

#[test]
fn a_load_started_later_does_not_delay_the_end_of_programs() {
    let programs = RunningPrograms::start(&[order("true")]).unwrap();
    let cpu = CpuSet::range(0, 0);
    let load = measure::load::RunningLoad::start(&cpu, &[measure::load::LoadKind::Timers]).unwrap();
    // The load inherited a copy of every open file descriptor and keeps running.
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || ended.send(programs.end().len()));
    assert_eq!(end.recv_timeout(Duration::from_secs(60)), Ok(1));
    load.stop();
}

#[test]
fn a_program_that_cannot_start_is_reported_and_leaves_nothing() {
    let word = own_word(4);
    let refused = |change: &dyn Fn(&mut Order), errno: i32, words: &str| {
        let mut ordered = order("true");
        ordered.name = "program[7]".to_owned();
        change(&mut ordered);
        let running = order(&format!("sleep {word}"));
        let Err(MeasureError::Program {
            name,
            what,
            errno: message,
        }) = RunningPrograms::start(&[running, ordered])
        else {
            panic!("it was started");
        };
        assert_eq!((name.as_str(), message), ("program[7]", errno), "{what}");
        assert!(what.contains(words), "{what}");
        assert_eq!(with_word(&word), Vec::<u32>::new());
    };
    refused(
        &|order| order.command = vec!["/no/such/program".to_owned()],
        libc::ENOENT,
        "start /no/such",
    );
    refused(
        &|order| order.command = vec!["/etc/passwd".to_owned()],
        libc::EACCES,
        "start /etc/passwd",
    );
    refused(
        &|order| order.output = Some("/no/such/folder/x".into()),
        libc::ENOENT,
        "write /no/such",
    );
    refused(
        &|order| order.door = Some("/no/such/tasks".to_owned()),
        libc::ENOENT,
        "cgroup",
    );
    refused(
        &|order| order.cpus = Some(CpuSet::range(4000, 4000)),
        libc::EINVAL,
        "start sh",
    );
    refused(
        &|order| (order.policy, order.priority) = (Policy::Fifo, 100),
        libc::EINVAL,
        "start sh",
    );
}
