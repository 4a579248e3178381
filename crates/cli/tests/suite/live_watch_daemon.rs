//! `watch --daemon` on this machine: it notices changes by other processes and names them, survives errors around it,
//! and keeps its state.
//!
//! Each daemon runs in its own mount namespace with its own `/run` and `/etc`. Nothing is isolated here: the CPU is
//! only named (`--cpus`). `lab/src/scenarios/daemon.rs` tests a daemon beside a partition on real kernels.

use crate::support::alone;
use crate::support::watched::{DaemonDirectory, is_able};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn is(line: &Value, event: &str, subject: &str) -> bool {
    line["event"] == event && line["subject"] == subject
}

/// Finds an interrupt that can be moved away from the CPU and back.
fn movable_interrupt(cpu: &str) -> Option<PathBuf> {
    let interrupts = std::fs::read_to_string("/proc/interrupts").unwrap();
    let numbers = interrupts
        .lines()
        .filter_map(|line| line.split(':').next()?.trim().parse::<u32>().ok());
    let paths = numbers.map(|number| PathBuf::from(format!("/proc/irq/{number}/smp_affinity_list")));
    paths.into_iter().find(|path| {
        let Ok(former) = std::fs::read_to_string(path) else {
            return false;
        };
        let holds_all = former.trim() == format!("0-{cpu}");
        holds_all && std::fs::write(path, "0").is_ok() && std::fs::write(path, former).is_ok()
    })
}

fn shell(script: &str) -> u32 {
    let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
    let pid = child.id();
    assert!(child.wait().unwrap().success());
    pid
}

#[test]
fn changes_by_other_programs_are_found_and_the_writer_is_named() {
    if !is_able("changes_by_other_programs_are_found_and_the_writer_is_named") {
        return;
    }
    let Some(path) = movable_interrupt(&alone::cpu()) else {
        return println!(
            "SKIP: no interrupt here can be moved away from CPU {} and back",
            alone::cpu()
        );
    };
    let place = DaemonDirectory::new();
    let alert_file = place.path("alerts");
    place.configure(&format!(
        "[watch]\nalert = [\"/bin/sh\", \"-c\", \"cat >>{}\"]\n",
        alert_file.display()
    ));
    let daemon = place.daemon("");
    place.until_it_watches();
    let shown = path.display().to_string();
    let subject = shown.replace("smp_affinity_list", "smp_affinity");
    let is_about = |line: &Value| line["subject"].as_str().is_some_and(|text| text.starts_with(&subject));
    let former = std::fs::read_to_string(&path).unwrap();
    let allowed = std::fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).unwrap();
    let line = allowed
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list"))
        .unwrap();
    assert!(!line.ends_with(&alone::cpu()), "it stands on {line}");

    shell(&format!("echo 0 >{shown}"));
    place.until("that it no longer exists", |line| {
        line["event"] == "gone" && is_about(line)
    });
    // The shell lives until the daemon has read its name, like the shell of a user.
    let pid = shell(&format!("echo {} >{shown}; sleep 0.3", former.trim()));
    let line = place.until("who put it back", |line| {
        line["event"] == "appeared" && is_about(line) && line["by"].as_array().is_some_and(|by| !by.is_empty())
    });
    assert_eq!(line["id"], "irq-here");
    assert_eq!(
        line["by"][0],
        serde_json::json!({ "pid": pid, "comm": "sh", "wrote": shown }),
        "{line}"
    );
    let alerts = || std::fs::read_to_string(&alert_file).unwrap_or_default();
    let is_line = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|alert| alert == line);
    let began = Instant::now();
    while !alerts().lines().any(is_line) {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "no alert is the line of the log: {}",
            alerts()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(daemon.end(), Some(0));
    assert_eq!(place.lines().last().unwrap()["event"], "stopped");
}

/// A notification of the kernel leads to the finding. Polling rounds would find it too, so they are counted.
#[test]
fn a_write_is_found_before_the_next_round() {
    if !is_able("a_write_is_found_before_the_next_round") {
        return;
    }
    let Some(path) = movable_interrupt(&alone::cpu()) else {
        return println!(
            "SKIP: no interrupt here can be moved away from CPU {} and back",
            alone::cpu()
        );
    };
    let place = DaemonDirectory::new();
    let daemon = place.daemon("");
    place.until_it_watches();
    let shown = path.display().to_string();
    let subject = shown.replace("smp_affinity_list", "smp_affinity");
    let former = std::fs::read_to_string(&path).unwrap();
    let mut requested = Vec::new();
    for _ in 0..4 {
        for (event, list) in [("gone", "0"), ("appeared", former.trim())] {
            let before = place.state()["asked"].clone();
            let lines = place.lines().len();
            shell(&format!("echo {list} >{shown}"));
            place.until("what was written", |line| {
                let is_new = place.lines().iter().skip(lines).any(|new| new == line);
                is_new
                    && line["event"] == event
                    && line["subject"].as_str().is_some_and(|text| text.starts_with(&subject))
            });
            let after = place.state_with(|state| state["asked"] != before);
            assert!(
                after["questions"].as_u64() > before["questions"].as_u64(),
                "{before} {after}"
            );
            assert_eq!(
                after["rounds"], before["rounds"],
                "everything was asked for one write, after {requested:?}"
            );
            requested.push(after);
        }
    }
    assert_eq!(requested.len(), 8);
    assert_eq!(daemon.end(), Some(0));
}

/// Each alert equals a line of the log. A server that accepts and never answers delays neither findings nor the
/// shutdown.
#[test]
fn alerts_are_posted_and_a_silent_server_delays_nothing() {
    if !is_able("alerts_are_posted_and_a_silent_server_delays_nothing") {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = DaemonDirectory::new();
    place.configure(&format!(
        "[watch]\nwebhook = \"http://{}/drift\"\n",
        listener.local_addr().unwrap()
    ));
    let daemon = place.daemon("");
    listener.set_nonblocking(true).unwrap();
    let accept = || {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(false).unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                return stream;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("nothing was posted; {:?}", place.lines())
    };
    let body = |stream: &mut std::net::TcpStream| {
        let mut request = Vec::new();
        let mut part = [0; 4096];
        loop {
            let length = stream.read(&mut part).unwrap();
            assert!(length > 0, "cut off: {}", String::from_utf8_lossy(&request));
            request.extend(&part[..length]);
            let text = String::from_utf8_lossy(&request).into_owned();
            if let Some((_, body)) = text.split_once("\r\n\r\n")
                && let Ok(line) = serde_json::from_str::<Value>(body)
            {
                return line;
            }
        }
    };
    let mut first = accept();
    let posted = body(&mut first);
    assert_eq!(posted["event"], "appeared", "{posted}");
    place.until("the same line in the log", |line| *line == posted);
    first.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
    // The next alert is accepted and never answered.
    let mut silent = accept();
    body(&mut silent);
    place.until_it_watches();
    daemon.signal(libc::SIGHUP);
    place.until("the signal while somebody is silent", |line| {
        line["event"] == "configuration"
    });
    assert!(
        !place.lines().iter().any(|line| line["event"] == "alert"),
        "it was waited for: {:?}",
        place.lines()
    );
    place.until("that it did not answer", |line| {
        line["event"] == "alert"
            && line["message"]
                .as_str()
                .is_some_and(|text| text.contains("did not answer within"))
    });
    // A pending alert does not delay the exit.
    assert_eq!(daemon.end(), Some(0));
}

#[test]
fn a_second_daemon_names_the_first_and_a_later_one_continues() {
    if !is_able("a_second_daemon_names_the_first_and_a_later_one_continues") {
        return;
    }
    let place = DaemonDirectory::new();
    let mut daemon = place.daemon("");
    place.until_it_watches();
    let cpu = alone::cpu();
    let second = place
        .command(&format!(
            "watch --daemon --cpus {cpu} --log {}",
            place.path("other").display()
        ))
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(5), "{message}");
    assert!(message.contains(&format!("process {}", daemon.child.id())), "{message}");
    assert!(!place.path("other").exists());
    let first = place.until("a finding", |line| {
        line["event"] == "appeared" && line["id"] == "partition-missing"
    });
    // A killed daemon leaves its state behind.
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    let lines = place.lines().len();
    let next = place.daemon("");
    place.until_it_watches();
    let after: Vec<Value> = place.lines().split_off(lines);
    assert_eq!(after[0]["event"], "started");
    assert!(
        !after
            .iter()
            .any(|line| is(line, "appeared", first["subject"].as_str().unwrap())),
        "no news: {after:?}"
    );
    let standing = place.state()["findings"]["standing"].as_array().unwrap().clone();
    let kept = standing.iter().find(|one| one["id"] == "partition-missing").unwrap();
    assert_eq!(
        kept["since_s"], first["since_s"],
        "since when it stands is kept over the restart"
    );
    assert_eq!(next.end(), Some(0));
}

#[test]
fn an_incomplete_configuration_changes_nothing() {
    if !is_able("an_incomplete_configuration_changes_nothing") {
        return;
    }
    let place = DaemonDirectory::new();
    let cpu = alone::cpu();
    let alert_file = place.path("alerts");
    let metrics = place.path("quietcore.prom");
    let whole = format!(
        "[watch]\nalert = [\"/bin/sh\", \"-c\", \"cat >>{}\"]\ntextfile = \"{}\"\ntextfile_every_s = 1\n\
         [[partition]]\nname = \"audio\"\ncpus = \"{cpu}\"\n",
        alert_file.display(),
        metrics.display()
    );
    place.configure(&whole);
    let log = place.log();
    let daemon = place.start(&format!("watch --daemon --log {}", log.display()), &[]);
    place.until_it_watches();
    place.until("the declared one", |line| {
        is(line, "appeared", "audio") && line["id"] == "partition-missing"
    });
    place.configure(&whole[..whole.len() - 8]);
    let wrong = place.until("what is wrong", |line| line["event"] == "configuration");
    assert!(
        wrong["message"]
            .as_str()
            .unwrap()
            .starts_with("the old configuration stays active: "),
        "{wrong}"
    );
    daemon.signal(libc::SIGHUP);
    place.until("it after a signal", |line| {
        line["event"] == "configuration"
            && place
                .lines()
                .iter()
                .filter(|one| one["event"] == "configuration")
                .count()
                > 1
            && line == &wrong
    });
    // A signal makes every layer, including those that read the declaration, check again.
    let before = place.state()["asked"]["rounds"].as_u64();
    daemon.signal(libc::SIGHUP);
    place.state_with(|state| state["asked"]["rounds"].as_u64() > before);
    assert!(place.state()["configuration"].is_string(), "{}", place.state());
    assert!(
        !place.lines().iter().any(|line| line["event"] == "trouble"),
        "the old one is what is checked: {:?}",
        place.lines()
    );
    place.configure(&whole.replace(&format!("\"{cpu}\""), "\"4000\""));
    place.until("CPUs that are not there", |line| {
        line["event"] == "configuration" && line["message"].as_str().unwrap().contains("4000")
    });
    let holds = |path: &Path, words: &str| {
        let began = Instant::now();
        while !std::fs::read_to_string(path).unwrap_or_default().contains(words) {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{}: no `{words}`",
                path.display()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    holds(&alert_file, "the old configuration stays active");
    holds(&metrics, "\nquietcore_configuration_valid 0\n");
    assert!(
        !place
            .lines()
            .iter()
            .any(|line| line["event"] == "gone" && line["subject"] == "audio"),
        "{:?}",
        place.lines()
    );
    place.configure(&whole.replace("audio", "video"));
    place.until("the new one", |line| is(line, "appeared", "video"));
    place.until("that the old one is over", |line| is(line, "gone", "audio"));
    holds(&metrics, "\nquietcore_configuration_valid 1\n");
    assert_eq!(daemon.end(), Some(0));
    assert!(place.state()["configuration"].is_null());
}

/// The notifications that systemd would receive.
#[test]
fn the_service_manager_gets_watchdog_notifications() {
    if !is_able("the_service_manager_gets_watchdog_notifications") {
        return;
    }
    let place = DaemonDirectory::new();
    let socket = place.path("notify");
    let listener = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    listener.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let hear = || {
        let mut text = [0; 64];
        let length = listener.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let words = format!("watch --daemon --cpus {} --log {}", alone::cpu(), place.log().display());
    let daemon = place.start(
        &words,
        &[("NOTIFY_SOCKET", socket.to_str().unwrap()), ("WATCHDOG_USEC", "200000")],
    );
    assert_eq!(hear(), "READY=1");
    for _ in 0..5 {
        assert_eq!(hear(), "WATCHDOG=1");
    }
    daemon.signal(libc::SIGTERM);
    while hear() != "STOPPING=1" {}
    assert_eq!(daemon.end(), Some(0));
}

#[test]
fn wrong_arguments_and_files_end_the_daemon_immediately() {
    if !is_able("wrong_arguments_and_files_end_the_daemon_immediately") {
        return;
    }
    let place = DaemonDirectory::new();
    let status = |words: &str| {
        let output = place.command(words).output().unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let log = place.log();
    for words in [
        "watch --log /tmp/x",
        "watch --repair",
        "watch --json",
        "watch --json --metrics",
        "watch --record -",
        "watch --play /dev/null",
        "watch --daemon --play x",
        "watch --daemon --interval 1s",
        "watch --daemon --cpus 4000",
        "watch --install-unit",
        "watch --daemon --install-unit --remove-unit",
        "watch --daemon --install-unit --repair",
    ] {
        let (code, message) = status(words);
        assert_eq!(code, Some(2), "{words}: {message}");
    }
    for (text, wanted) in [
        ("[[partition]\n", 2),
        ("[watch]\nalert = \"page\"\n", 2),
        ("[watch]\nrepair = [\"no_knob\"]\n", 2),
        ("[watch]\nwebhook = \"https://ops/\"\n", 2),
        ("[[partition]]\ncpus = \"4000\"\n", 2),
    ] {
        place.configure(text);
        let (code, message) = status(&format!("watch --daemon --log {}", log.display()));
        assert_eq!(code, Some(wanted), "{text}: {message}");
        assert!(message.contains("next:"), "{message}");
    }
    assert!(!Path::new(&log).exists(), "nothing was began");
}
