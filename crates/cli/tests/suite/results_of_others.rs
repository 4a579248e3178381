//! `report` and `compare` on output of other tools, compared with golden files, and on invalid files.
//!
//! `make bless` rewrites the golden files; review their diff.

use crate::support::schemas::document;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .canonicalize()
        .unwrap()
}

fn quietcore(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(arguments)
        .current_dir(fixtures().join("foreign"))
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Returns standard output, then errors, then the status.
fn output_text(arguments: &[&str]) -> String {
    let output = quietcore(arguments);
    let mut text = String::from_utf8(output.stdout).unwrap();
    if !output.stderr.is_empty() {
        text.push_str("--- errors\n");
        text.push_str(&String::from_utf8(output.stderr).unwrap());
    }
    text.push_str(&format!("--- status {}\n", output.status.code().unwrap()));
    text
}

fn json(arguments: &[&str]) -> Value {
    document(&quietcore(arguments).stdout).unwrap()
}

/// Writes a quietcore result: latency on CPU 1, this number of samples of 7 us.
fn own(dir: &Path, name: &str, release: &str, samples: u64) -> String {
    let environment = measure::Environment {
        tool_version: "0.1.0".to_owned(),
        release: Some(release.to_owned()),
        ..measure::Environment::default()
    };
    let value = serde_json::json!({
        "schema": measure::SCHEMA, "kind": "latency", "started_at": "2026-01-02T03:04:05Z",
        "duration_ns": 2_000_000_000_u64, "environment": environment, "findings": [], "complete": true,
        "threads": [{
            "kind": "latency", "cpu": 1, "policy": "fifo", "priority": 80, "expected": samples + 1, "recorded": samples,
            "missed": 1, "min_ns": 7_000, "mean_ns": 7_000.0, "stddev_ns": 0.0, "p50_ns": 7_000, "p99_ns": 7_000,
            "p999_ns": 7_000, "max_ns": 7_000, "histogram": [[7_000, samples]], "duration_ns": 2_000_000_000_u64,
        }],
    });
    let path = dir.join(name);
    fs::write(&path, value.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn reports_of_all_foreign_files_match_the_golden_output() {
    let bless = std::env::var_os("QUIETCORE_BLESS").is_some();
    let golden = fixtures().join("foreign-golden");
    let mut cases: Vec<(String, Vec<String>)> = fs::read_dir(fixtures().join("foreign"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| (name.clone(), vec!["report".to_owned(), name]))
        .collect();
    assert!(cases.len() > 20);
    let words = |text: &str| {
        text.split(' ')
            .map(|word| word.replace('_', " "))
            .collect::<Vec<String>>()
    };
    for (name, line) in [
        ("json", "report systress.txt --json"),
        (
            "compare",
            "compare cyclictest-2.4.json oslat-2.4.json rtla-timerlat.txt",
        ),
        (
            "compare-json",
            "compare jitterdebugger-0.3.json systress.txt --json --require p99_<_50us",
        ),
        (
            "require",
            "compare cyclictest-2.4-h.txt --require p99_<_1ms --require p99.99_<_1ms --require max_<_1ms",
        ),
        ("openmetrics", "report rtla-osnoise.txt --format openmetrics"),
        ("unit", "compare systress.txt --require p99_<_50"),
        (
            "compare-summaries",
            "compare hwlatdetect-tracer.txt hwlatdetect-module.txt hwlatdetect-none.txt --require max_<_50us",
        ),
        (
            "compare-tops",
            "compare rtla-timerlat-top.txt rtla-timerlat.txt rtla-osnoise-top.txt hdrhistogram-wrk2.hgrm",
        ),
        (
            "compare-stated",
            "compare stress-ng-0.15.06-no-distribution.txt stress-ng-0.15.06.txt",
        ),
    ] {
        cases.push((format!("verb-{name}"), words(line)));
    }
    let mut wrong = Vec::new();
    for (name, arguments) in &cases {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (path, now) = (golden.join(format!("{name}.out")), output_text(&arguments));
        if bless {
            fs::create_dir_all(&golden).unwrap();
            fs::write(&path, &now).unwrap();
        } else if fs::read_to_string(&path).ok().as_ref() != Some(&now) {
            wrong.push(format!("{}:\n{now}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_unstated_count_is_null_and_not_zero() {
    let samples = |name: &str| json(&["report", name, "--json"])["threads"][0]["samples"].clone();
    assert_eq!(samples("stress-ng-0.15.06-no-distribution.txt"), Value::Null);
    assert_eq!(samples("stress-ng-0.15.06.txt"), 10_000);
    assert_eq!(samples("hwlatdetect-none.txt"), 0);
    let text = output_text(&["report", "stress-ng-0.15.06-no-distribution.txt"]);
    assert!(text.contains("\nall                      - "), "{text}");
}

#[test]
fn own_results_are_compared_together_with_their_machines() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (
        own(dir.path(), "a.json", "6.1.0", 40_000),
        own(dir.path(), "b", "6.12.0-rt", 400),
    );
    let both = json(&["compare", &a, &b, "--json"]);
    assert_eq!(both["schema"], "quietcore.compare/1");
    let release = both["environment"]
        .as_array()
        .unwrap()
        .iter()
        .find(|fact| fact["name"] == "release")
        .unwrap();
    assert_eq!(release["values"], serde_json::json!(["6.1.0", "6.12.0-rt"]));
    let median = &both["differences"][0];
    assert_eq!(
        (&median["which"], &median["first_ns"]["low_ns"]),
        (&"p50".into(), &7_000.into())
    );
    let rule = ["--require", "p99.99<8us"];
    assert_eq!(quietcore(&["compare", &a, rule[0], rule[1]]).status.code(), Some(0));
    let few = quietcore(&["compare", &b, rule[0], rule[1]]);
    assert_eq!(few.status.code(), Some(1));
    let text = String::from_utf8(few.stdout).unwrap();
    assert!(
        text.contains("NOT SHOWN") && text.contains("too few samples: 401"),
        "{text}"
    );
    let text = quietcore(&["compare", &a, &b]).stdout;
    let text = String::from_utf8(text).unwrap().to_lowercase();
    assert!(
        !text.contains("better") && !text.contains("worse"),
        "one run of each shows neither: {text}"
    );
}

#[test]
fn a_result_is_exported_as_a_page_and_in_foreign_formats() {
    let dir = tempfile::tempdir().unwrap();
    let result = own(dir.path(), "a.json", "6.1.0", 40);
    let page = dir.path().join("a.html");
    let to = page.to_str().unwrap();
    assert!(
        quietcore(&["report", &result, "--format", "html", "--out", to])
            .status
            .success()
    );
    assert!(fs::read_to_string(&page).unwrap().contains("<html"));
    for format in formats::writers() {
        let out = dir.path().join("out");
        let to = out.to_str().unwrap();
        assert!(
            quietcore(&["report", &result, "--format", format.name, "--out", to])
                .status
                .success()
        );
        let whole = fs::read(&out).unwrap();
        assert_eq!(
            quietcore(&["report", &result, "--format", format.name]).stdout,
            whole,
            "{}",
            format.name
        );
    }
    let foreign = quietcore(&["report", "systress.txt", "--format", "html"]);
    assert_eq!(foreign.status.code(), Some(2));
}

#[test]
fn unreadable_files_are_usage_errors() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let folder = dir.path().to_str().unwrap().to_owned();
    for (path, wanted) in [
        (file("empty", b""), "it is empty"),
        (file("cyclictest.txt", b"\x7fELF\0\0"), "none of the formats"),
        (
            file("a", b"# Histogram\n000001 12\n000002 1x\n"),
            "line 3, column 8: \"1x\" is not a number",
        ),
        (file("evil\u{1b}[2J", b"x"), "evil\\u{1b}[2J cannot be parsed"),
        ("none".to_owned(), "cannot be read"),
    ] {
        for verb in ["report", "compare"] {
            let output = quietcore(&[verb, &path]);
            let errors = String::from_utf8(output.stderr).unwrap();
            assert_eq!(
                (output.status.code(), output.stdout.len()),
                (Some(2), 0),
                "{path}: {errors}"
            );
            assert!(errors.contains(wanted) && errors.contains(" next: "), "{errors}");
        }
    }
    assert_eq!(
        quietcore(&["report", "systress.txt", "--format", "xml"]).status.code(),
        Some(2)
    );
    // `compare` takes a directory as a set of repetitions.
    let output = quietcore(&["report", &folder]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be read"));
    assert_eq!(quietcore(&["compare"]).status.code(), Some(2));
}

#[test]
fn report_reads_standard_input() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["report", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = fs::read(fixtures().join("foreign/cyclictest-2.4-H.txt")).unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    let value: Value = document(&output.stdout).unwrap();
    assert_eq!(
        (&value["schema"], &value["threads"][0]["missed"]),
        (&"quietcore.report/1".into(), &Value::Null)
    );
    assert_eq!(value["threads"].as_array().unwrap().len(), 2);
}
