//! `predict` on this kernel: the same watch, as a file and now; what a change removes was there.

use crate::support::alone::{alone, cpu};
use crate::support::schemas::document;
use crate::support::traced::tracing;
use serde_json::Value;
use std::process::{Command, Output};

fn quietcore(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(args)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {errors}");
    output
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// No change makes anything worse, nothing is negative, and what is left and what is removed add up.
fn check_sums(answer: &Value) {
    let now = number(&answer["now"]["stolen_ns_per_s"]["value"]);
    for change in answer["changes"].as_array().unwrap() {
        let left = &change["outcome"]["stolen_ns_per_s"];
        let removed = &change["removed_ns_per_s"];
        assert!(
            (number(&left["value"]) + number(&removed["value"]) - now).abs() < 1.0,
            "{change}"
        );
        for estimate in [left, removed] {
            let [low, value, high] = ["low", "value", "high"].map(|end| number(&estimate[end]));
            assert!(0.0 <= low && low <= value && value <= high, "{change}");
        }
    }
}

#[test]
fn live_a_watch_is_predicted_now_and_from_its_file() {
    let _alone = alone();
    if let Err(why) = tracing() {
        return println!("SKIP: a_watch_is_predicted_now_and_from_its_file: {why}");
    }
    let now: Value = document(&quietcore(&["--json", "predict", "--cpus", &cpu(), "--for", "2s"]).stdout).unwrap();
    assert_eq!(now["cpus"], cpu());
    check_sums(&now);
    // A wake-up takes time, and the other CPUs have some load, which moved work increases.
    assert!(
        now["base_latency_ns"].as_u64().is_some_and(|base_ns| base_ns > 0),
        "{now}"
    );
    // A second without a trace follows. Where events were lost there is nothing to compare it with.
    let is_listed = number(&now["lost_events"]) + number(&now["unlisted_gaps"]) == 0.0;
    for share in ["stolen", "gaps", "gaps_10us"] {
        let is_share = || (0.0..=1.0).contains(&number(&now["untraced"][share]));
        assert!(!is_listed || is_share(), "{now}");
    }
    let busy = number(&now["others"]["busy_share"]);
    for change in now["changes"].as_array().unwrap() {
        let then = number(&change["others_busy_share"]);
        let is_moved = number(&change["moved_ns_per_s"]) > 0.0;
        assert!(
            busy <= then && then <= 1.0 && (busy < then) == (is_moved && busy < 1.0),
            "{change}"
        );
    }

    let file = tempfile::NamedTempFile::new().unwrap();
    let gaps = file.path().to_str().unwrap();
    let watch = ["--json", "blame", "--cpus", &cpu(), "--for", "2s", "--gaps", gaps];
    let blamed: Value = document(&quietcore(&watch).stdout).unwrap();
    let later: Value = document(&quietcore(&["--json", "predict", "--from", gaps]).stdout).unwrap();
    check_sums(&later);
    assert!(
        later["base_latency_ns"].is_null() && later["others"].is_null(),
        "{later}"
    );
    let cpu = &blamed["cpus"][0];
    assert_eq!(later["gaps"], cpu["gaps"]);
    assert_eq!(later["watched_ns"], cpu["duration_ns"]);
    let stolen = number(&cpu["stolen_ns"]) * 1e9 / number(&cpu["duration_ns"]);
    let predicted = number(&later["now"]["stolen_ns_per_s"]["value"]);
    assert!(
        (stolen - predicted).abs() <= 1.0 + stolen * 1e-6,
        "{stolen} {predicted}"
    );
}

#[test]
fn live_a_plan_shows_what_a_watch_of_its_cpus_predicts() {
    let _alone = alone();
    if let Err(why) = tracing() {
        return println!("SKIP: a_plan_shows_what_a_watch_of_its_cpus_predicts: {why}");
    }
    let page = tempfile::NamedTempFile::new().unwrap();
    let page = page.path().to_str().unwrap();
    let cpu = cpu();
    let plan = |options: &[&str]| -> Value {
        let words = [&["--json", "plan", "--cpus", &cpu], options].concat();
        document(&quietcore(&words).stdout).unwrap()
    };
    let now: Value = document(&quietcore(&["--json", "predict", "--cpus", &cpu, "--for", "1s"]).stdout).unwrap();
    let strict = plan(&["--profile", "strict"]);
    assert_eq!(
        strict["predicted"]["now"]["stolen_ns_per_s"],
        now["now"]["stolen_ns_per_s"]
    );
    let profile = |change: &&Value| change["name"] == "profile strict";
    let profile = now["changes"].as_array().unwrap().iter().find(profile).unwrap();
    assert_eq!(
        strict["predicted"]["with_plan"]["gaps"]["stolen_ns_per_s"],
        profile["outcome"]["stolen_ns_per_s"]
    );
    quietcore(&["blame", "--cpus", &cpu, "--for", "1s", "--page", page]);
    let later = plan(&[]);
    assert_ne!(later["predicted"]["now"], strict["predicted"]["now"]);
    assert!(plan(&["--without", "irq_affinity"])["predicted"].is_null());
    let text = quietcore(&["plan", "--cpus", &cpu]).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(
        text.contains("Predicted effect") && text.contains("  this plan\n"),
        "{text}"
    );
}
