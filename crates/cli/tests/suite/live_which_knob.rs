//! `study which-knob` on this machine: each cell applies exactly the knobs in its name, undoes them, and is not
//! measured twice.
//!
//! The runs isolate the highest CPU for a fraction of a second each. Refusals need no privileges and run anywhere.

use crate::support::alone;
use crate::support::program::quietcore;
use crate::support::schemas::document;
use root::state::StateDir;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const STATE: &str = "/run/quietcore";

fn output_text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Returns the plan of the knobs. Prints the reason and returns `None` if no CPU can be isolated.
fn plan(test: &str) -> Option<Value> {
    let is_root = fs::read_to_string("/proc/self/status").unwrap().contains("\nUid:\t0\t");
    let began = Instant::now();
    while Path::new(STATE).join("journal").exists() && began.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let plan = quietcore(&["plan", "--cpus", &alone::cpu(), "--json"]);
    if !is_root || !plan.status.success() {
        println!(
            "SKIP: {test}: no CPU can be isolated here (it needs root, two CPUs and cpusets): {}",
            output_text(&plan)
        );
        return None;
    }
    Some(document(&plan.stdout).unwrap())
}

fn is_needed(knob: &str) -> bool {
    plan::knobs::knob(knob).is_some_and(|knob| !knob.needed.is_empty())
}

/// Returns the knobs of a plan that change something and can be left out.
fn changing(plan: &Value) -> BTreeSet<String> {
    let knobs = plan["knobs"].as_array().unwrap().iter();
    let changing = knobs.filter(|knob| knob["state"] == "changes");
    let names = changing.map(|knob| knob["name"].as_str().unwrap().to_owned());
    names.filter(|name| !is_needed(name)).collect()
}

/// Returns a knob that changes something. Prints the reason and returns `None` if there is none.
fn one_knob(test: &str, plan: &Value) -> Option<String> {
    let knob = changing(plan).pop_first();
    if knob.is_none() {
        println!("SKIP: {test}: no knob changes anything here");
    }
    knob
}

/// Returns the current value of every file that the plan would write.
fn found(plan: &Value) -> BTreeMap<String, String> {
    let changes = plan["changes"].as_array().unwrap().iter();
    // Tasks start and end at any time.
    let files = changes.filter(|change| !change["id"].as_str().unwrap().starts_with("task_placement"));
    files
        .map(|change| (change["id"].to_string(), change["before"].to_string()))
        .collect()
}

/// Returns the sets of knobs that a process applied for a study, in order of time, without those of the partition
/// itself.
fn applied_by(pid: u32) -> Vec<BTreeSet<String>> {
    let state = StateDir::open(Path::new(STATE)).unwrap().unwrap();
    let mut applied = Vec::new();
    for records in apply::history(&state).unwrap().journals {
        for layer in apply::layers(&records) {
            if layer.pid != pid || layer.reason != "study" {
                continue;
            }
            assert_eq!(layer.state, apply::LayerState::Undone, "{:?}", layer.intent);
            let knobs = layer
                .changes
                .iter()
                .filter_map(|change| plan::knobs::of_change(&change.id));
            let names = knobs
                .map(|knob| knob.name)
                .filter(|name| !is_needed(name))
                .map(str::to_owned);
            applied.push((layer.at_ns, names.collect()));
        }
    }
    applied.sort();
    applied.into_iter().map(|(_, knobs)| knobs).collect()
}

/// Runs `study which-knob` with runs of 0.1 s. Returns the pid and the output.
fn run_knobs(knobs: &str, out: &Path, more: &[&str]) -> (u32, Output) {
    let child = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["study", "which-knob", "--json", "--for", "100ms", "--cool-down", "0s"])
        .args(["--repetitions", "1", "--policy", "other", "--cpus", &alone::cpu()])
        .args(["--knobs", knobs, "--out"])
        .arg(out)
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    (child.id(), child.wait_with_output().unwrap())
}

#[test]
fn every_cell_uses_the_knobs_of_its_name_and_is_undone() {
    const TEST: &str = "every_cell_uses_the_knobs_of_its_name_and_is_undone";
    let _alone = alone::alone();
    let Some(before) = plan(TEST) else { return };
    let all = changing(&before);
    let two: Vec<&str> = all.iter().take(2).map(String::as_str).collect();
    let [first, other] = two.as_slice() else {
        println!("SKIP: {TEST}: the plan has no two knobs that change something here: {all:?}");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let (pid, output) = run_knobs(&format!("{first},{other}"), &out, &[]);
    if matches!(output.status.code(), Some(3 | 4)) {
        println!("SKIP: {TEST}: no CPU may be isolated here: {}", output_text(&output));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert_eq!(found(&plan(TEST).unwrap()), found(&before));

    let record: Value = document(fs::read_to_string(out.join("study.json")).unwrap()).unwrap();
    let order: Vec<&str> = record["order"][0]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell.as_str().unwrap())
        .collect();
    let without = |knob: &str| -> BTreeSet<String> { all.iter().filter(|known| *known != knob).cloned().collect() };
    let one = |knob: &str| BTreeSet::from([knob.to_owned()]);
    let by_name: BTreeMap<String, BTreeSet<String>> = [
        ("bare".to_owned(), BTreeSet::new()),
        ("full".to_owned(), all.clone()),
        (format!("only_{first}"), one(first)),
        (format!("only_{other}"), one(other)),
        (format!("without_{first}"), without(first)),
        (format!("without_{other}"), without(other)),
    ]
    .into_iter()
    .collect();
    let expected: Vec<BTreeSet<String>> = order
        .iter()
        .filter(|cell| **cell != "none-idle")
        .map(|cell| by_name[cell.strip_suffix("-idle").unwrap()].clone())
        .collect();
    assert!(order.contains(&"none-idle"), "{order:?}");
    assert_eq!(applied_by(pid), expected, "{order:?}");
    for cell in &order {
        let result = fs::read_to_string(out.join(cell).join("1.json")).unwrap();
        let result: Value = document(&result).unwrap();
        let is_isolated = result["environment"]["partitioned"].as_str() == Some(&alone::cpu());
        assert_eq!(is_isolated, *cell != "none-idle", "{cell}");
    }

    let answer: Value = document(&output.stdout).unwrap();
    assert_eq!(answer["schema"], "quietcore.which-knob/1");
    assert_eq!(
        (&answer["done"], &answer["least_repetitions"]),
        (&order.len().into(), &5.into())
    );
    let knobs = answer["knobs"].as_array().unwrap();
    let names: Vec<&str> = knobs.iter().map(|knob| knob["knob"].as_str().unwrap()).collect();
    assert_eq!(names, ["cpuset_partition", first, other]);
    assert!(knobs.iter().all(|knob| knob["effect"] == "no_verdict"), "{answer}");

    // Nothing is left to run, and the answer comes from the directory alone.
    let (pid, again) = run_knobs(&format!("{first},{other}"), &out, &[]);
    assert_eq!(again.status.code(), Some(0), "{}", output_text(&again));
    assert_eq!((applied_by(pid), &again.stdout), (Vec::new(), &output.stdout));
    let report = quietcore(&["study", "report", &out.display().to_string(), "--json"]);
    assert_eq!(report.stdout, output.stdout);
    let text = output_text(&quietcore(&["study", "report", &out.display().to_string()]));
    assert!(text.contains("No verdict: cpuset_partition, "), "{text}");
    let (_, else_where) = run_knobs(first, &out, &[]);
    assert_eq!(else_where.status.code(), Some(2), "{}", output_text(&else_where));
    assert!(output_text(&else_where).contains("belongs to something else"));
}

#[test]
fn cells_are_predicted_before_they_run_and_shown_beside_the_results() {
    const TEST: &str = "cells_are_predicted_before_they_run_and_shown_beside_the_results";
    let _alone = alone::alone();
    let Some(before) = plan(TEST) else { return };
    let Some(knob) = one_knob(TEST, &before) else { return };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let predict = ["--measure", "noise", "--predict"];
    let (_, output) = run_knobs(&knob, &out, &predict);
    if matches!(output.status.code(), Some(3 | 4)) {
        println!("SKIP: {TEST}: nothing can be traced here: {}", output_text(&output));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert_eq!(found(&plan(TEST).unwrap()), found(&before));
    let answer: Value = document(&output.stdout).unwrap();
    let prediction = &answer["prediction"];
    let numbers = prediction["numbers"].as_array().unwrap();
    let cells: BTreeSet<&str> = numbers.iter().map(|number| number["cell"].as_str().unwrap()).collect();
    let expected = answer["cells"].as_array().unwrap().iter();
    assert_eq!(cells, expected.map(|cell| cell["cell"].as_str().unwrap()).collect());
    // Stolen time and three rates of each cell, each measured once.
    assert_eq!(numbers.len(), cells.len() * 4, "{prediction}");
    assert_eq!(prediction["measured"], numbers.len());
    let inside = numbers.iter().filter(|number| {
        let value = number["measured"][0].as_f64().unwrap();
        let bound = |name: &str| number["predicted"][name].as_f64().unwrap();
        (bound("low")..=bound("high")).contains(&value)
    });
    assert_eq!(prediction["inside"], inside.count());

    // The directory keeps the prediction: it is not made again, and `study report` shows it.
    let stored = fs::read(out.join("prediction.json")).unwrap();
    let (_, again) = run_knobs(&knob, &out, &predict);
    assert_eq!((again.status.code(), &again.stdout), (Some(0), &output.stdout));
    assert_eq!(fs::read(out.join("prediction.json")).unwrap(), stored);
    let report = output_text(&quietcore(&["study", "report", &out.display().to_string()]));
    assert!(report.contains("Predicted before the runs: "), "{report}");

    // A prediction after the runs is refused, and so is a file about other cells.
    fs::remove_file(out.join("prediction.json")).unwrap();
    let (_, late) = run_knobs(&knob, &out, &predict);
    assert_eq!(late.status.code(), Some(2));
    assert!(
        output_text(&late).contains("was started without a prediction"),
        "{}",
        output_text(&late)
    );
    fs::write(out.join("prediction.json"), r#"{"cells":[],"notes":[]}"#).unwrap();
    let foreign = quietcore(&["study", "report", &out.display().to_string()]);
    assert_eq!(foreign.status.code(), Some(0), "{}", output_text(&foreign));
    assert!(
        output_text(&foreign).contains("the prediction is not shown"),
        "{}",
        output_text(&foreign)
    );
    let (_, foreign) = run_knobs(&knob, &out, &predict);
    assert_eq!(foreign.status.code(), Some(2), "{}", output_text(&foreign));
    let (_, latency) = run_knobs(&knob, &dir.path().join("latency"), &["--predict"]);
    assert_eq!(latency.status.code(), Some(2));
    assert!(output_text(&latency).contains("only noise can be predicted"));
}

#[test]
fn impossible_questions_are_refused_and_change_nothing() {
    const TEST: &str = "impossible_questions_are_refused_and_change_nothing";
    let _alone = alone::alone();
    let Some(before) = plan(TEST) else { return };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let place = out.display().to_string();
    let cpu = alone::cpu();
    let all = changing(&before);
    let mut nothing = vec!["--cpus", &cpu];
    all.iter().for_each(|knob| nothing.extend(["--without", knob]));
    let idle = before["knobs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|knob| knob["state"] == "already" && !is_needed(knob["name"].as_str().unwrap()))
        .map(|knob| knob["name"].as_str().unwrap());
    let cases: [(&[&str], &str); 10] = [
        (&["--cpus", "4095"], "4095"),
        (&["--cpus", "no-such"], "no-such"),
        (&["--cpus", "0"], "0"),
        (&["--cpus", &cpu, "--knobs", "irq_afinity"], "irq_affinity"),
        (&["--cpus", &cpu, "--knobs", ""], "there is no knob"),
        (&["--cpus", &cpu, "--knobs", "task_placement"], "cannot be left out"),
        (&["--cpus", &cpu, "--knobs", "ext_server"], "is not in the plan"),
        (&["--cpus", &cpu, "--knobs", idle.unwrap_or("ext_server")], ""),
        (&nothing, "no knob is left"),
        (&["--cpus", &cpu, "--load", "cpu+nothing"], "there is no load `nothing`"),
    ];
    for (words, why) in cases {
        for dry in [&["--dry-run"][..], &[]] {
            let all = [&["study", "which-knob", "--out", &place], words, dry].concat();
            let output = quietcore(&all);
            assert_eq!(output.status.code(), Some(2), "{all:?}: {}", output_text(&output));
            assert!(output_text(&output).contains(why), "{why}: {}", output_text(&output));
        }
    }
    assert_eq!(
        quietcore(&["study", "which-knob", "--out", &place]).status.code(),
        Some(2)
    );

    // The same rule applies to a hand-written file: no cell may contain a knob that has no effect in it.
    let text = format!(
        "repetitions = 1\n[measure]\nwhat = \"latency\"\ncpus = \"{cpu}\"\nfor = \"1s\"\n[axes]\n\
         isolation = [\"none\", \"balanced\"]\n[[which_knob]]\nknob = \"irq_affinity\"\nalone = [\"none\", \"balanced\"]\n"
    );
    let file = dir.path().join("study.toml").display().to_string();
    fs::write(&file, text).unwrap();
    if idle.is_some() {
        let output = quietcore(&["study", "plan", &file]);
        assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
        assert!(
            output_text(&output).contains("would change nothing in it"),
            "{}",
            output_text(&output)
        );
    }
    assert!(!out.exists() && !Path::new(STATE).join("journal").exists());
    assert_eq!(found(&plan(TEST).unwrap()), found(&before));
}

#[test]
fn the_expected_time_is_reported_before_anything_runs() {
    const TEST: &str = "the_expected_time_is_reported_before_anything_runs";
    let _alone = alone::alone();
    let Some(before) = plan(TEST) else { return };
    let Some(knob) = one_knob(TEST, &before) else { return };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let place = out.display().to_string();
    let cpu = alone::cpu();
    let words = [
        "study",
        "which-knob",
        "--cpus",
        &cpu,
        "--knobs",
        &knob,
        "--for",
        "1s",
        "--cool-down",
        "1s",
        "--out",
        &place,
        "--dry-run",
    ];
    let output = quietcore(&[&words[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let said_so: Value = document(&output.stdout).unwrap();
    assert_eq!(said_so["schema"], "quietcore.study-plan/1");
    let cells = said_so["cells"].as_array().unwrap().len() as u64;
    assert_eq!(cells, 5, "{said_so}");
    // Three comparisons: they can be distinguished with 5 repetitions, and two more are added. A run takes 1 s of
    // measurement, 1 s of pause and about 2 s of overhead.
    assert_eq!(
        (&said_so["runs"], &said_so["seconds"]),
        (&(cells * 7).into(), &(cells * 7 * 4).into())
    );
    let text = output_text(&quietcore(&words));
    assert!(text.contains("5 cells, 7 times each; about 3 min in all"), "{text}");
    assert!(text.contains("task_placement is a part of every partition"), "{text}");
    assert!(!out.exists());
}
