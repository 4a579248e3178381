//! `watch --daemon` with its log on a full disk: it keeps running and reports the missing lines.

use crate::support::alone;
use crate::support::watched::{DaemonDirectory, is_able};
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[test]
fn a_log_whose_first_write_fails_is_refused() {
    if !is_able("a_log_whose_first_write_fails_is_refused") {
        return;
    }
    let place = DaemonDirectory::new();
    for log in ["/tmp", "/nonexistent/x/y.jsonl"] {
        let output = place
            .command(&format!("watch --daemon --cpus {} --log {log}", alone::cpu()))
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{log}: {message}");
        assert!(
            message.contains(&format!("the log {log} cannot be written")),
            "{message}"
        );
    }
    assert!(!std::path::Path::new("/nonexistent").exists());
}

#[test]
fn a_full_log_disk_does_not_end_the_daemon() {
    if !is_able("a_full_log_disk_does_not_end_the_daemon") {
        return;
    }
    let place = DaemonDirectory::new();
    let daemon = place.start(&format!("watch --daemon --cpus {} --log /dev/full", alone::cpu()), &[]);
    place.until_it_watches();
    let began = Instant::now();
    while !place.state()["log"].is_string() {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", place.state());
        std::thread::sleep(Duration::from_millis(20));
    }
    let trouble = place.state()["log"].as_str().unwrap().to_owned();
    assert!(
        trouble.contains("No space left") && trouble.ends_with("lines lost"),
        "{trouble}"
    );
    let message = std::fs::read_to_string(place.path("messages")).unwrap();
    assert!(
        message.contains("the log cannot be written now: cannot write /dev/full: "),
        "{message}"
    );
    assert_eq!(daemon.end(), Some(0));
}

/// A full disk only gets whole lines. The number of lost lines is logged when there is space again.
#[test]
fn a_log_on_a_full_disk_continues_when_space_is_free() {
    if !is_able("a_log_on_a_full_disk_continues_when_space_is_free") {
        return;
    }
    let place = DaemonDirectory::new();
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    // A disk of two pages, one of them in use: the first findings need more than the other.
    let daemon = place.start_line(
        &format!(
            "mount -t tmpfs -o size=8k none {0} && head -c 4096 /dev/zero >{0}/other && exec {1} watch --daemon --cpus {2} --log {0}/log",
            disk.display(),
            env!("CARGO_BIN_EXE_quietcore"),
            alone::cpu()
        ),
        &[],
    );
    place.until_it_watches();
    let inside = PathBuf::from(format!("/proc/{}/root{}", daemon.child.id(), disk.display()));
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(inside.join("log")).unwrap();
        assert!(text.ends_with('\n'), "half a line: {text}");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    place.state_with(|state| state["log"].as_str().is_some_and(|text| text.contains("No space left")));
    let before = lines();
    assert_eq!(before[0]["event"], "started");
    std::fs::remove_file(inside.join("other")).unwrap();
    daemon.signal(libc::SIGHUP);
    place.state_with(|state| state["log"].is_null());
    let after = lines();
    let new: Vec<&Value> = after[before.len()..].iter().map(|line| &line["event"]).collect();
    assert_eq!(new, ["configuration", "log"], "{after:?}");
    let lost = after.last().unwrap()["message"].as_str().unwrap();
    assert!(lost.contains("lines before this one are lost: "), "{lost}");
    assert_eq!(daemon.end(), Some(0));
}
