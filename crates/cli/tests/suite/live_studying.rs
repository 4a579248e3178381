//! `study` on this machine: its results, how it is interrupted and resumed, and that the machine returns to its
//! previous state each time.
//!
//! Each run isolates the highest CPU for one second.

use crate::support::alone;
use crate::support::program::quietcore;
use crate::support::schemas::document;
use crate::support::studied::{BOTH, JOURNAL, is_able, output_text, run, state, study_of, until, written};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Returns the results by their path in the directory.
fn results(out: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for cell in fs::read_dir(out).into_iter().flatten() {
        let cell = cell.unwrap().path();
        for file in fs::read_dir(&cell).into_iter().flatten() {
            let file = file.unwrap().path();
            found.insert(
                file.strip_prefix(out).unwrap().display().to_string(),
                fs::read_to_string(&file).unwrap(),
            );
        }
    }
    found
}

fn start(file: &str, out: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["study", "run", file, "--quiet", "--out"])
        .arg(out)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns the pids of processes whose command line contains these consecutive words.
fn processes(words: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let matching = entries.filter(|path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(words)
    });
    matching
        .filter_map(|path| path.file_name()?.to_str()?.parse().ok())
        .collect()
}

fn parent_of(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))?
        .trim()
        .parse()
        .ok()
}

/// Waits until an isolated CPU is measured.
fn until_isolated(child: &Child) {
    let pid = i32::try_from(child.id()).unwrap();
    until("a measurement of an isolated CPU", || {
        let measures = processes("measure latency --json")
            .into_iter()
            .any(|one| parent_of(one) == Some(pid));
        measures && Path::new(JOURNAL).exists()
    });
}

fn send(pid: i32, signal: i32) {
    // SAFETY: `kill` only takes integers.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
}

const ALL: [&str; 4] = [
    "balanced-idle/1.json",
    "balanced-idle/2.json",
    "none-idle/1.json",
    "none-idle/2.json",
];

#[test]
fn a_study_runs_and_its_results_are_self_contained() {
    let _alone = alone::alone();
    if !is_able("a_study_runs_and_its_results_are_self_contained") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (before, out) = (state(), dir.path().join("out"));
    let file = written(dir.path(), &study_of(&alone::cpu(), BOTH));
    let output = run(&file, &out);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert_eq!(state(), before);
    let first = results(&out);
    assert_eq!(first.keys().collect::<Vec<_>>(), ALL);
    for (name, text) in &first {
        let result: Value = document(text).unwrap();
        assert_eq!(result["complete"], true, "{name}");
        let partitioned = result["environment"]["partitioned"].as_str().unwrap_or_default();
        assert_eq!(
            partitioned == alone::cpu(),
            name.starts_with("balanced"),
            "{name}: {partitioned}"
        );
    }
    let answer: Value = document(&output.stdout).unwrap();
    assert_eq!(
        (&answer["schema"], &answer["done"]),
        (&Value::from("quietcore.study/1"), &Value::from(4))
    );
    let pair = &answer["pairs"][0];
    assert_eq!(
        (&pair["axis"], &pair["from"], &pair["to"]),
        (&"isolation".into(), &"none".into(), &"balanced".into())
    );
    assert_eq!(
        (&pair["first_runs"], &pair["withheld"]["why"]),
        (&Value::from(2), &Value::from("too_few"))
    );
    let record: Value = document(fs::read_to_string(out.join("study.json")).unwrap()).unwrap();
    assert_eq!(
        (&record["seed"], record["order"].as_array().unwrap().len()),
        (&Value::from(3), 2)
    );

    a_page_is_made_of_it(dir.path(), &out, &output.stdout);

    // The runs were executed in the order that was drawn.
    let began = |name: &String| -> Value { serde_json::from_str::<Value>(&first[name]).unwrap()["started_at"].clone() };
    let mut ran: Vec<String> = Vec::new();
    for (block, cells) in record["order"].as_array().unwrap().iter().enumerate() {
        ran.extend(
            cells
                .as_array()
                .unwrap()
                .iter()
                .map(|cell| format!("{}/{}.json", cell.as_str().unwrap(), block + 1)),
        );
    }
    assert!(
        ran.windows(2)
            .all(|two| began(&two[0]).as_str() <= began(&two[1]).as_str()),
        "{ran:?}"
    );

    // A second call has nothing left to run.
    assert_eq!(run(&file, &out).status.code(), Some(0));
    assert_eq!(results(&out), first);
    let folders = ["none-idle", "balanced-idle"].map(|name| out.join(name).display().to_string());
    assert!(quietcore(&["compare", &folders[0], &folders[1]]).status.success());

    check_differing_temperatures_are_reported(&out);
    other_forms_are_made_of_it(dir.path(), &out);
    refuses_what_is_not_its_own(dir.path(), &out, &file);
}

/// `study report --page` writes the page and prints the same as without it. An unwritable page is reported.
fn a_page_is_made_of_it(dir: &Path, out: &Path, said_before: &[u8]) {
    let report = |page: &Path| {
        quietcore(&[
            "study",
            "report",
            &out.display().to_string(),
            "--json",
            "--page",
            &page.display().to_string(),
        ])
    };
    let page = dir.join("study.html");
    let output = report(&page);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert_eq!(output.stdout, said_before);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for cell in ["none-idle", "balanced-idle"] {
        let row = format!("<th scope=\"row\">{cell}</th><td class=\"n\">2</td>");
        assert!(page.contains(&row), "{row}: {page}");
    }
    assert!(page.contains("download=\"study.json\"") && page.matches("class=\"curve ").count() == 4);
    let refused = report(Path::new("/proc/no/such/page.html"));
    assert!(
        !refused.status.success() && refused.stdout.is_empty(),
        "{}",
        output_text(&refused)
    );
}

/// The temperatures recorded for each run are compared. A file with other values is reported.
fn check_differing_temperatures_are_reported(out: &Path) {
    let report = || quietcore(&["study", "report", &out.display().to_string()]);
    let file = out.join("temperatures.json");
    let before = fs::read(&file).ok();
    let note = |degrees: [i64; 2]| {
        let mut heats = Vec::new();
        for (cell, degrees) in ["none-idle", "balanced-idle"].into_iter().zip(degrees) {
            for repetition in 1..=2 {
                let reported = serde_json::json!({"sensor": "cpu-thermal", "millidegrees_c": degrees * 1000});
                heats.push(serde_json::json!({
                    "cell": cell, "repetition": repetition, "before": reported, "after": reported,
                }));
            }
        }
        fs::write(&file, Value::from(heats).to_string()).unwrap();
        output_text(&report()).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let reported = note([41, 66]);
    assert!(
        reported.contains("the machine was at 41.0 °C, then at 66.0 °C"),
        "{reported}"
    );
    let reported = note([41, 43]);
    assert!(!reported.contains("Temperature"), "{reported}");
    fs::write(&file, "[{\"cell\": 1}]").unwrap();
    let refused = report();
    assert_eq!(refused.status.code(), Some(2), "{}", output_text(&refused));
    assert!(
        output_text(&refused).contains("temperatures.json"),
        "{}",
        output_text(&refused)
    );
    match before {
        Some(bytes) => fs::write(&file, bytes).unwrap(),
        None => fs::remove_file(&file).unwrap(),
    }
}

/// `study report --format`: each format contains every cell, on standard output and in a file. An unknown format is refused
/// and writes nothing.
fn other_forms_are_made_of_it(dir: &Path, out: &Path) {
    let out = out.display().to_string();
    let file = dir.join("form").display().to_string();
    for (form, first) in [
        ("html", "<!doctype html>"),
        ("markdown", "# Study "),
        ("csv", "cell,isolation,"),
        ("gnuplot", "# quietcore study: "),
    ] {
        let output = quietcore(&["study", "report", &out, "--format", form]);
        assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with(first), "{form}: {text}");
        assert!(
            text.contains("none-idle") && text.contains("balanced-idle"),
            "{form}: {text}"
        );
        let output = quietcore(&["study", "report", &out, "--format", form, "--out", &file]);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b""[..]));
        let written = fs::read_to_string(&file).unwrap();
        // The HTML page contains the name of its data file.
        assert_eq!(written.replace("\"form.json\"", "\"study.json\""), text, "{form}");
    }
    for words in [["--format", "pdf"], ["--out", "x"]] {
        let output = quietcore(&[&["study", "report", &out][..], &words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", output_text(&output));
    }
}

/// Refused: another study file, another version, a foreign result, a truncated result.
fn refuses_what_is_not_its_own(dir: &Path, out: &Path, file: &str) {
    let refused = |why: &str| {
        let output = run(file, out);
        assert_eq!(output.status.code(), Some(2), "{why}: {}", output_text(&output));
        assert!(output_text(&output).contains(why), "{why}: {}", output_text(&output));
    };
    let own = fs::read_to_string(file).unwrap();
    written(dir, &own.replace("seed = 3", "seed = 4"));
    refused("line 2 of its study.toml is `seed = 3`, and `seed = 4` in the given file");
    written(dir, &own);
    let change = |path: &Path, from: &str, to: &str, why: &str| {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(from), "{from}: {text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
        refused(why);
        fs::write(path, text).unwrap();
    };
    let version = env!("CARGO_PKG_VERSION");
    let tool = |version: &str| format!("\"tool_version\": \"{version}\"");
    change(
        &out.join("study.json"),
        &tool(version),
        &tool("0.0.1"),
        "the version of quietcore was 0.0.1 there",
    );
    change(&out.join("study.json"), "\"schema\"", "\"schemata\"", "schema");
    let result = out.join("none-idle/1.json");
    let tool = |version: &str| format!("\"tool_version\":\"{version}\"");
    change(
        &result,
        &tool(version),
        &tool("0.0.1"),
        "the version of quietcore is 0.0.1 there",
    );
    change(&result, "\"complete\":true", "\"complete\":false", "it was interrupted");
    change(&result, "{", "", "1.json");
    fs::rename(out.join("study.json"), out.join("gone")).unwrap();
    refused("no study.json");
    fs::rename(out.join("gone"), out.join("study.json")).unwrap();
    assert_eq!(run(file, out).status.code(), Some(0));
}

#[test]
fn an_interrupted_study_undoes_its_isolation_and_resumes() {
    let _alone = alone::alone();
    if !is_able("an_interrupted_study_undoes_its_isolation_and_resumes") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (before, out) = (state(), dir.path().join("out"));
    let file = written(
        dir.path(),
        &study_of(&alone::cpu(), BOTH)
            .replace("[measure]", "load_on = \"others\"\n[measure]")
            .replace(BOTH, &format!("{BOTH}\nload = [\"cpu\"]")),
    );
    let mut child = start(&file, &out);
    until_isolated(&child);
    send(i32::try_from(child.id()).unwrap(), libc::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(state(), before);
    let first = results(&out);
    assert!(first.len() < 4, "{:?}", first.keys());

    assert_eq!(run(&file, &out).status.code(), Some(0));
    assert_eq!(state(), before);
    let all = results(&out);
    assert_eq!(all.len(), 4, "{:?}", all.keys());
    assert!(
        first.iter().all(|(name, text)| all[name] == *text),
        "a run was made twice"
    );
}

#[test]
fn a_killed_study_is_cleaned_up_and_resumes() {
    let _alone = alone::alone();
    if !is_able("a_killed_study_is_cleaned_up_and_resumes") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (before, out) = (state(), dir.path().join("out"));
    let file = written(dir.path(), &study_of(&alone::cpu(), BOTH));

    // The guard undoes the active changes.
    let mut child = start(&file, &out);
    until_isolated(&child);
    child.kill().unwrap();
    child.wait().unwrap();
    until("the guard", || !Path::new(JOURNAL).exists());
    assert_eq!(state(), before);
    let first = results(&out);

    // If the guard is killed as well, the partition stays active until the study is resumed.
    let mut child = start(&file, &out);
    until_isolated(&child);
    let guards = processes(&format!("guard --token {}-", child.id()));
    assert_eq!(guards.len(), 1);
    send(guards[0], libc::SIGKILL);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(Path::new(JOURNAL).exists());
    let second = results(&out);

    let output = run(&file, &out);
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert!(
        output_text(&output).contains("undid what a killed study had left active"),
        "{}",
        output_text(&output)
    );
    assert_eq!(state(), before);
    let all = results(&out);
    assert_eq!(all.keys().collect::<Vec<_>>(), ALL);
    assert!(
        first.iter().chain(&second).all(|(name, text)| all[name] == *text),
        "a run was made twice"
    );
}

#[test]
fn each_call_runs_until_its_budget_is_used() {
    let _alone = alone::alone();
    if !is_able("each_call_runs_until_its_budget_is_used") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    // A run takes one second. The budget leaves half a second, so no second run starts.
    let text = study_of(&alone::cpu(), "load = [\"idle\", \"cpu\"]").replace("seed", "budget = \"1500ms\"\nseed");
    let file = written(dir.path(), &text);
    for call in 1..=4 {
        let output = run(&file, &out);
        assert_eq!(results(&out).len(), call, "{}", output_text(&output));
        let ended = i32::from(call < 4);
        assert_eq!(output.status.code(), Some(ended), "{}", output_text(&output));
    }
}
