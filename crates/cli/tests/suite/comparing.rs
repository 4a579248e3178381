//! `compare` and `report` on our own results.
//!
//! The tests cover the compared values, the reported differences of the environment, and rules for results that are
//! mixed, empty or of another version.

use crate::support::schemas::document;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn quietcore(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(arguments)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = quietcore(arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    // Undo the line wrapping.
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn compared(arguments: &[&str]) -> Value {
    let mut all = vec!["compare", "--json"];
    all.extend(arguments);
    document(&quietcore(&all).stdout).unwrap()
}

fn everything() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results/everything.json");
    document(fs::read(path).unwrap()).unwrap()
}

struct ComparisonFiles(tempfile::TempDir);

impl ComparisonFiles {
    fn new() -> ComparisonFiles {
        ComparisonFiles(tempfile::tempdir().unwrap())
    }

    /// Writes the result that has every field, changed by `change`.
    fn write(&self, name: &str, change: impl FnOnce(&mut Value)) -> String {
        let mut value = everything();
        change(&mut value);
        let path: PathBuf = self.0.path().join(name);
        fs::write(&path, value.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn without_schedule(value: &mut Value) {
    value["threads"][0].as_object_mut().unwrap().remove("schedule");
}

/// Returns the compared series and the first file's value for one metric of a thread.
fn found<'a>(all: &'a Value, thread: &str, which: &str) -> Vec<(&'a str, u64)> {
    let differences = all["differences"].as_array().unwrap();
    let named = differences
        .iter()
        .filter(|one| one["thread"] == thread && one["which"] == which);
    named
        .map(|one| {
            (
                one["basis"].as_str().unwrap(),
                one["first_ns"]["low_ns"].as_u64().unwrap(),
            )
        })
        .collect()
}

#[test]
fn expected_wake_ups_are_compared_if_both_files_have_them() {
    let files = ComparisonFiles::new();
    let a = files.write("a.json", |_| {});
    let b = files.write("b.json", |_| {});
    let raw = files.write("raw.json", without_schedule);
    let both = compared(&[&a, &b]);
    // 300 of the expected wake-ups fell into the stall that one sample represents.
    assert_eq!(found(&both, "CPU 3 due", "p99.9"), [("schedule", 150_208_000)]);
    assert_eq!(found(&both, "CPU 3", "p99.9"), [], "never mixed");
    assert_eq!(found(&both, "CPU 3 gaps", "p50"), [("samples", 1_104)]);
    for (first, other) in [(&a, &raw), (&raw, &a), (&raw, &raw)] {
        let one_raw = compared(&[first, other]);
        assert_eq!(found(&one_raw, "CPU 3", "p99.9"), [("samples", 3_203)]);
        assert_eq!(found(&one_raw, "CPU 3 due", "p99.9"), []);
    }
    assert!(text(&["compare", &a, &b]).contains("b.json, CPU 3 due: all expected wake-ups of both"));
    assert!(text(&["compare", &a, &b]).contains("max: the highest. `due` covers every expected wake-up"));
    assert!(text(&["compare", &a, &b]).ends_with("repeat each four times or more, and compare the directories."));
    assert!(text(&["compare", &a, "--require", "max < 1ns"]).contains(" 0 of "));
    let message = text(&["compare", &a, &raw]);
    assert!(message.contains("raw.json, CPU 3: the samples of both"), "{message}");
}

#[test]
fn a_requirement_applies_to_expected_wake_ups_of_its_kind() {
    let files = ComparisonFiles::new();
    let a = files.write("a.json", |_| {});
    let raw = files.write("raw.json", without_schedule);
    let judged = |rule: &str, file: &str| {
        let all = compared(&[file, "--require", rule]);
        let judged = all["requirements"].as_array().unwrap().clone();
        let each = judged.iter().map(|one| {
            let words = ["thread", "outcome", "basis"].map(|field| one[field].as_str().unwrap_or("-").to_owned());
            words.join(" ")
        });
        each.collect::<Vec<String>>()
    };
    // One sample in 1,000 may be late. Of all expected wake-ups, more than that were.
    assert_eq!(judged("latency p99.9 < 1ms", &a), ["CPU 3 due violated schedule"]);
    assert_eq!(judged("latency p99.9 < 1ms", &raw), ["CPU 3 not_shown samples"]);
    assert_eq!(judged("noise p99 < 1ms", &a), ["CPU 3 gaps held samples"]);
    assert_eq!(
        judged("p99 < 1ms", &a),
        ["CPU 3 due held schedule", "CPU 3 gaps held samples"]
    );
    let status = |rule: &str, file: &str| {
        let output = quietcore(&["compare", file, "--require", rule]);
        output.status.code().unwrap()
    };
    assert_eq!((status("noise p99 < 1ms", &a), status("noise max < 1ms", &a)), (0, 1));
    let wake_ups = files.write("latency.json", |value| {
        value["threads"].as_array_mut().unwrap().truncate(1);
    });
    assert_eq!(judged("noise max < 1s", &wake_ups), [" not_shown -"]);
    assert_eq!(status("noise max < 1s", &wake_ups), 1);
    assert!(text(&["compare", &wake_ups, "--require", "noise max < 1s"]).contains("it contains no gap of a busy loop"));
}

#[test]
fn invalid_requirements_are_usage_errors_with_a_reason() {
    let files = ComparisonFiles::new();
    let a = files.write("a.json", |_| {});
    for (rule, why) in [
        ("p99", "write it as"),
        ("p99 < 50", "has no unit"),
        ("p100 < 50us", "between p0 and p100"),
        ("mean < 50us", "neither `max` nor a percentile"),
        ("sleep max < 50us", "there are `latency` and `noise`"),
    ] {
        let output = quietcore(&["compare", &a, "--require", rule]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{rule}");
        assert!(errors.contains(why) && output.stdout.is_empty(), "{rule}: {errors}");
    }
}

#[test]
fn differences_in_machine_and_method_are_reported() {
    let files = ComparisonFiles::new();
    let a = files.write("a.json", |_| {});
    let b = files.write("b.json", |value| {
        value["environment"]["governor"] = json!("powersave");
        value["environment"]["tool_version"] = json!("0.2.0");
        value["threads"][0]["interval_ns"] = json!(500_000);
        value["threads"][0]["policy"] = json!("other");
        value["threads"][1]["threshold_ns"] = json!(5_000);
        value["threads"][1]["turns"] = json!(77);
        value["complete"] = json!(true);
    });
    let all = compared(&[&a, &b]);
    let facts: Vec<(String, Value)> = all["environment"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fact| (fact["name"].as_str().unwrap().to_owned(), fact["values"].clone()))
        .collect();
    let wanted = [
        ("governor", json!(["performance", "powersave"])),
        ("tool_version", json!(["0.1.0", "0.2.0"])),
        ("complete", json!(["false", "true"])),
        ("CPU 3 policy", json!(["fifo", "other"])),
        ("CPU 3 interval_ns", json!(["1000007", "500000"])),
        ("CPU 3 gaps threshold_ns", json!(["1100", "5000"])),
    ];
    for (name, values) in &wanted {
        assert!(
            facts.contains(&((*name).to_owned(), values.clone())),
            "{name}: {facts:?}"
        );
    }
    assert_eq!(facts.len(), wanted.len(), "results are no conditions: {facts:?}");
    let message = text(&["compare", &a, &b]);
    assert!(message.contains("CPU 3 policy: fifo | other"), "{message}");
}

#[test]
fn a_csv_export_compares_like_the_result_itself() {
    let files = ComparisonFiles::new();
    let a = files.write("a.json", |_| {});
    let table = files.0.path().join("a.csv");
    let table = table.to_str().unwrap();
    let written = quietcore(&["report", &a, "--format", "csv", "--out", table]);
    assert!(written.status.success());
    let errors = String::from_utf8(written.stderr).unwrap();
    assert!(
        errors.contains("csv has no place for what the kernel counted during the measurement"),
        "{errors}"
    );
    let all = compared(&[&a, table]);
    assert_eq!(all["environment"], json!([]), "nothing of the machine was lost");
    let [one, two] = [0, 1].map(|place: usize| all["files"][place]["threads"].clone());
    assert!(one.as_array().unwrap().len() == 2 && one == two);
    assert_eq!(found(&all, "CPU 3 due", "max"), [("schedule", 301_056_789)]);
}

#[test]
fn parts_that_a_format_omits_are_reported() {
    let files = ComparisonFiles::new();
    let a = files.write("a.json", |_| {});
    let output = quietcore(&["report", &a, "--format", "cyclictest"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    for part in [
        "cyclictest has no place for",
        "the gaps of the busy loops",
        "the jitter of the period",
    ] {
        assert!(errors.contains(part), "{errors}");
    }
}

#[test]
fn options_about_sets_are_refused_for_single_files() {
    let files = ComparisonFiles::new();
    let [a, b] = ["a.json", "b.json"].map(|name| files.write(name, |_| {}));
    for option in [&["--fail-on-worse"][..], &["--detect", "5us"]] {
        let output = quietcore(&[&["compare", &a, &b], option].concat());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(option[0]) && output.stdout.is_empty(), "{errors}");
    }
}

#[test]
fn files_of_different_quantities_are_not_called_comparable() {
    let foreign = |name: &str| format!("{}/../../fixtures/foreign/{name}", env!("CARGO_MANIFEST_DIR"));
    let message = text(&["compare", &foreign("cyclictest-2.4.json"), &foreign("oslat-1.10.txt")]);
    assert!(
        message.ends_with("No quantity of these files can be compared with the first one."),
        "{message}"
    );
}

#[test]
fn empty_results_are_handled() {
    let files = ComparisonFiles::new();
    let nobody = files.write("nobody.json", |value| value["threads"] = json!([]));
    let nothing = files.write("nothing.json", |value| {
        for thread in value["threads"].as_array_mut().unwrap() {
            *thread = json!({
                "kind": thread["kind"], "cpu": 3, "policy": "fifo", "priority": 80,
                "expected": 0, "recorded": 0, "missed": 0, "min_ns": null, "mean_ns": null, "stddev_ns": null,
                "p50_ns": null, "p99_ns": null, "p999_ns": null, "max_ns": null, "histogram": [], "own": null,
                "started_monotonic_ns": null, "duration_ns": 0,
            });
        }
    });
    let whole = files.write("whole.json", |_| {});
    for file in [&nobody, &nothing] {
        assert!(quietcore(&["report", file]).status.success(), "{file}");
        let rule = quietcore(&["compare", &whole, file, "--require", "p50 < 1s"]);
        assert_eq!(rule.status.code(), Some(1), "{file}");
        let all = compared(&[&whole, file, "--require", "p50 < 1s"]);
        let outcomes = all["requirements"].as_array().unwrap().iter();
        let of = outcomes.filter(|one| one["file"] == **file);
        assert!(
            of.clone().count() > 0 && of.clone().all(|one| one["outcome"] == "not_shown"),
            "{all}"
        );
        assert_eq!(all["differences"], json!([]), "{file}");
        for format in formats::writers().map(|format| format.name).chain(["html"]) {
            let output = quietcore(&["report", file, "--format", format]);
            assert!(output.status.success(), "{file} as {format}");
            let text = String::from_utf8(output.stdout).unwrap().to_lowercase();
            assert!(
                format == "hlog" || format == "html" || !text.contains("nan"),
                "{format}: {text}"
            );
        }
    }
}

#[test]
fn results_of_other_versions_are_refused_or_read_partially() {
    let files = ComparisonFiles::new();
    let next = files.write("next.json", |value| value["schema"] = json!("quietcore.measure/2"));
    for verb in ["report", "compare"] {
        let output = quietcore(&[verb, &next]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(errors.contains("another version of quietcore"), "{errors}");
    }
    // A later program with the same schema adds fields; an earlier one lacks some of today's.
    let later = files.write("later.json", |value| {
        value["environment"]["moon"] = json!("full");
        value["threads"][0]["aura_ns"] = json!(7);
    });
    let earlier = files.write("earlier.json", |value| {
        value["environment"]["tool_version"] = json!("0.0.9");
        for name in ["broke", "programs", "activity"] {
            value.as_object_mut().unwrap().remove(name);
        }
        for thread in value["threads"].as_array_mut().unwrap() {
            for name in [
                "schedule", "jitter", "early", "proof", "spikes", "mode_ns", "p90_ns", "p9999_ns", "tid", "clock",
            ] {
                thread.as_object_mut().unwrap().remove(name);
            }
        }
    });
    let all = compared(&[&later, &earlier]);
    assert_eq!(found(&all, "CPU 3", "p50"), [("samples", 2_101)]);
    let facts = all["environment"].as_array().unwrap();
    assert!(
        facts
            .iter()
            .any(|fact| fact["name"] == "tool_version" && fact["values"] == json!(["0.1.0", "0.0.9"])),
        "{facts:?}"
    );
}
