//! The files of `measure --out --page` on this machine: valid at every moment, kept if the run is killed, correct on a disk
//! that fills up. If it cannot be written, the run is refused before it measures.

use crate::support::alone::{alone, cpu, small_disk};
use crate::support::schemas::document;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn measure(kind: &str, seconds: u32, out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
    command
        .args(["measure", kind, "--cpus", &cpu(), "--for", &format!("{seconds}s")])
        .args(["--page", "--out"])
        .arg(out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Returns the result in the file, whose totals must add up; `None` if there is no file.
fn read(path: &Path) -> Option<Value> {
    let bytes = fs::read(path).ok()?;
    let value: Value = document(&bytes).unwrap();
    assert_eq!(value["schema"], "quietcore.measure/1");
    for thread in value["threads"].as_array().unwrap() {
        let number = |name: &str| thread[name].as_u64().unwrap();
        assert_eq!(number("expected"), number("recorded") + number("missed"), "{thread}");
    }
    Some(value)
}

fn recorded(value: &Value) -> u64 {
    value["threads"][0]["recorded"].as_u64().unwrap()
}

fn has(value: &Value, finding: &str) -> bool {
    let mut findings = value["findings"].as_array().unwrap().iter();
    findings.any(|note| note["id"] == finding)
}

/// Reads the file repeatedly until it has been replaced this many times and contains samples.
fn until_replaced(path: &Path, times: usize, child: &mut Child) -> Value {
    let began = Instant::now();
    let mut seen: Vec<u64> = Vec::new();
    loop {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "replaced {} times in a minute",
            seen.len()
        );
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        if let Some(value) = read(path) {
            assert_eq!(value["complete"], false);
            assert!(has(&value, "still_measuring"));
            let samples = recorded(&value);
            if samples > 0 && seen.last() != Some(&samples) {
                assert!(seen.last().is_none_or(|last| *last < samples), "samples were lost");
                seen.push(samples);
            }
            if seen.len() >= times {
                return value;
            }
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn signal(pid: u32, signal: libc::c_int) {
    // SAFETY: a plain call. The process is our child or its child, and has not been waited for.
    assert_eq!(unsafe { libc::kill(pid.cast_signed(), signal) }, 0);
}

fn names(dir: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[test]
fn a_killed_run_keeps_its_intermediate_result() {
    let _alone = alone();
    for kind in ["latency", "noise"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        let mut child = measure(kind, 60, &path).spawn().unwrap();
        let before = until_replaced(&path, 2, &mut child);
        signal(child.id(), libc::SIGKILL);
        child.wait().unwrap();
        let kept = read(&path).unwrap();
        assert!(recorded(&kept) >= recorded(&before));
        assert_eq!(kept["complete"], false);
        let page = fs::read_to_string(path.with_extension("html")).unwrap();
        assert!(page.contains("interrupted: ") && page.ends_with("</html>\n"));
    }
}

#[test]
fn a_stopped_run_or_a_dead_sampler_ends_with_a_valid_result() {
    let _alone = alone();
    for (stop, finding, status) in [
        (Some(libc::SIGINT), "interrupted", 0),
        (Some(libc::SIGTERM), "interrupted", 0),
        (None, "sampler_died", 1),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        let mut child = measure("latency", 60, &path).spawn().unwrap();
        let before = until_replaced(&path, 1, &mut child);
        match stop {
            Some(number) => signal(child.id(), number),
            None => {
                let pid = child.id();
                let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
                signal(children.trim().parse().unwrap(), libc::SIGKILL);
            }
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", error_text(&output));
        let result = read(&path).unwrap();
        assert!(recorded(&result) >= recorded(&before));
        assert_eq!(result["complete"], false);
        assert!(
            has(&result, finding) && !has(&result, "still_measuring"),
            "{:?}",
            result["findings"]
        );
        assert_eq!(names(dir.path()), [path.with_extension("html"), path.clone()]);
    }
}

fn error_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_path_that_cannot_be_written_is_refused_before_measuring() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("folder")).unwrap();
    fs::create_dir(at("page.html")).unwrap();
    fs::write(at("file"), "mine").unwrap();
    for path in [
        at("absent/result.json"),
        at("folder"),
        at("file/result.json"),
        at("page.json"),
        at("result.html"),
        PathBuf::from("/proc/result.json"),
        dir.path().join("n".repeat(300)),
    ] {
        let began = Instant::now();
        let output = measure("noise", 60, &path).output().unwrap();
        let message = error_text(&output);
        assert_eq!(output.status.code(), Some(2), "{}: {message}", path.display());
        assert!(began.elapsed() < Duration::from_secs(50), "it measured first");
        assert!(message.contains("why:") && message.contains("next:"), "{message}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(
        names(dir.path()),
        [at("file"), at("folder"), at("page.html")],
        "nothing is left behind"
    );
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "mine");
}

#[test]
fn an_older_result_stays_until_replaced_and_links_are_followed() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real.json"), dir.path().join("link.json"));
    fs::write(&real, "older").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let output = measure("latency", 1, &link).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", error_text(&output));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let result = read(&real).unwrap();
    assert_eq!(result["complete"], true);
    assert!(recorded(&result) > 0 && !has(&result, "still_measuring"));
}

#[test]
fn a_full_disk_loses_the_file_but_not_the_result() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    if let Err(error) = small_disk(dir.path()) {
        println!("SKIP: a_disk_that_fills_up: no disk of our own can be mounted here: {error}");
        return;
    }
    let path = dir.path().join("result.json");
    let mut child = measure("latency", 4, &path).arg("--json").spawn().unwrap();
    // When the second version of the result exists, the page of the first one does too.
    until_replaced(&path, 2, &mut child);
    // One file takes all remaining space, including what rewriting the result frees.
    let mut filler = fs::File::create(dir.path().join("filler")).unwrap();
    let has_ended = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                if std::io::Write::write_all(&mut filler, &[1; 4096]).is_err() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        // Reads the output concurrently, because it may exceed the capacity of the pipe.
        let output = child.wait_with_output();
        has_ended.store(true, Ordering::Relaxed);
        output.unwrap()
    });
    assert_eq!(output.status.code(), Some(1), "{}", error_text(&output));
    assert!(
        error_text(&output).contains("error: ") && error_text(&output).contains("is incomplete"),
        "{}",
        error_text(&output)
    );
    let printed: Value = document(&output.stdout).unwrap();
    assert_eq!(printed["complete"], true, "the measurement itself is whole");
    let kept = read(&path).unwrap();
    assert!(kept["complete"] == false && recorded(&kept) > 0);
    assert!(recorded(&kept) < recorded(&printed));
    // A disk that is full from the start is detected before the measurement.
    let output = measure("latency", 60, &dir.path().join("other.json")).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", error_text(&output));
    assert_eq!(names(dir.path()).len(), 3, "{:?}", names(dir.path()));
}

/// The gap file holds every gap of the result, and `report` reads back the same gaps.
#[test]
fn every_gap_is_in_the_file_and_is_read_back() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let (json, gaps) = (dir.path().join("result.json"), dir.path().join("gaps.csv"));
    let output = measure("noise", 2, &json)
        .args(["--threshold", "100ns", "--gaps"])
        .arg(&gaps)
        .output()
        .unwrap();
    let result = read(&json).unwrap();
    assert!(
        has(&result, "gaps_written") || has(&result, "gaps_lost"),
        "{}: {}",
        error_text(&output),
        result["findings"]
    );
    let thread = &result["threads"][0];
    let lost = result["gap_file"]["lost"].as_u64().unwrap();
    assert_eq!(
        result["gap_file"]["written"].as_u64().unwrap() + lost,
        thread["expected"].as_u64().unwrap()
    );
    let back = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["report", "--json"])
        .arg(&gaps)
        .output()
        .unwrap();
    let back: Value = document(&back.stdout).unwrap();
    assert_eq!(back["format"], "gaps");
    let series = &back["threads"][0];
    assert_eq!(series["missed"].as_u64(), Some(lost), "{series}");
    assert_eq!(series["samples"], result["gap_file"]["written"], "{series}");
    // The file has the same times as the result, within the error of two clock readings.
    let text = fs::read_to_string(&gaps).unwrap();
    let mut rows = text
        .lines()
        .filter(|line| line.starts_with(|digit: char| digit.is_ascii_digit()));
    let first: u64 = rows.next().unwrap().split(',').next().unwrap().parse().unwrap();
    let began = thread["started_monotonic_ns"].as_u64().unwrap();
    // The window can start at the first gap. Both times come from separate clock readings.
    assert!(first + 5_000 > began, "{first} before {began}");
    let since = first.saturating_sub(began);
    assert!(since < 2_100_000_000, "{since}");
    if thread["gaps_total"] == thread["gaps_kept"] {
        let listed = thread["gaps"][0]["at_ns"].as_u64().unwrap();
        assert!(listed.abs_diff(since) < 5_000, "{listed} and {since}");
    }
    let end = text.trim_end().lines().last().unwrap();
    assert_eq!(end, "# end");
}

#[test]
fn a_full_disk_loses_the_gap_file_but_not_the_result() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    if let Err(error) = small_disk(dir.path()) {
        println!("SKIP: a_full_disk_costs_the_gaps: no disk of our own can be mounted here: {error}");
        return;
    }
    let gaps = dir.path().join("gaps.csv");
    let other = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("filler"), vec![1; 512 * 1024 - 12 * 1024]).unwrap();
    let json = other.path().join("result.json");
    let mut child = measure("noise", 4, &json)
        .args(["--threshold", "100ns", "--gaps"])
        .arg(&gaps)
        .spawn()
        .unwrap();
    let mut filler = fs::File::create(dir.path().join("more")).unwrap();
    while child.try_wait().unwrap().is_none() {
        let began = fs::metadata(&gaps).is_ok_and(|file| file.len() > 0);
        if !began || std::io::Write::write_all(&mut filler, &[1; 4096]).is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let output = child.wait_with_output().unwrap();
    let result = read(&json).unwrap();
    if !has(&result, "gaps_incomplete") {
        println!("SKIP: a_full_disk_costs_the_gaps: there were too few gaps to fill what was left of a page");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{}", error_text(&output));
    assert_eq!(result["complete"], true);
    assert!(recorded(&result) > 0 && result["gap_file"]["lost"].as_u64() > Some(0));
}

#[test]
fn a_gap_file_that_cannot_be_written_is_refused_before_measuring() {
    let dir = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let output = measure("noise", 60, &dir.path().join("result.json"))
        .arg("--gaps")
        .arg(dir.path().join("absent/gaps.csv"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", error_text(&output));
    assert!(began.elapsed() < Duration::from_secs(50), "it measured first");
    assert!(names(dir.path()).is_empty());
}
