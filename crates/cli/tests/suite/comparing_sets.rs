//! `compare` on sets of repetitions: which differences are reported, which are not, and when there is no verdict.

use crate::support::program::quietcore;
use crate::support::schemas::document;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Writes a run of one thread with this latency; `change` may modify its JSON.
fn write(dir: &Path, number: usize, late_ns: u64, change: &dyn Fn(&mut Value)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results/everything.json");
    let mut run: Value = document(fs::read(path).unwrap()).unwrap();
    run["threads"].as_array_mut().unwrap().truncate(1);
    run["environment"]["emulated"] = false.into();
    run["not_representative"] = json!([]);
    run["complete"] = true.into();
    run["started_at"] = format!("2026-01-01T00:{number:02}:00Z").into();
    let thread = run["threads"][0].as_object_mut().unwrap();
    for beside in ["schedule", "irq", "jitter", "early"] {
        thread.remove(beside);
    }
    thread["histogram"] = json!([[late_ns, 90_000], [late_ns * 2, 9_995]]);
    thread["recorded"] = 99_995.into();
    change(&mut run);
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join(format!("{number}.json")), run.to_string()).unwrap();
}

/// Creates the directories `one` and `two` with runs of these latencies, measured alternately.
fn sets(one: &[u64], two: &[u64], change: &dyn Fn(&mut Value)) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, runs, first) in [("one", one, 0), ("two", two, 1)] {
        for (place, late_ns) in runs.iter().enumerate() {
            write(&dir.path().join(name), 2 * place + first, *late_ns, change);
        }
    }
    // A page beside a result is not another result.
    fs::write(dir.path().join("one/0.html"), "<!doctype html>").unwrap();
    dir
}

fn comparison(dir: &tempfile::TempDir, names: [&str; 2], more: &[&str]) -> (Option<i32>, String) {
    let paths = names.map(|name| dir.path().join(name).display().to_string());
    let mut words = vec!["compare", &paths[0], &paths[1]];
    words.extend(more);
    let output = quietcore(&words);
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (
        output.status.code(),
        text.split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

const FAST: [u64; 5] = [20_000, 20_400, 19_800, 20_100, 20_300];
const SLOW: [u64; 5] = [30_100, 30_400, 29_700, 30_000, 30_200];

#[test]
fn a_slower_set_is_reported_as_worse_with_the_difference() {
    let dir = sets(&FAST, &SLOW, &|_| {});
    let (status, message) = comparison(&dir, ["one", "two"], &[]);
    assert_eq!(status, Some(0), "{message}");
    assert!(message.contains("5 runs; compared with"), "{message}");
    assert!(message.contains("WORSE p50: "), "{message}");
    assert!(message.contains("WORSE: shown to be higher than in "), "{message}");
    assert!(
        message.contains("two is WORSE than ") && message.ends_with(" no difference is shown."),
        "{message}"
    );
    assert!(
        !message.contains("before or after"),
        "they were measured in turn: {message}"
    );
    assert_eq!(comparison(&dir, ["one", "two"], &["--fail-on-worse"]).0, Some(1));
    let (status, message) = comparison(&dir, ["two", "one"], &["--fail-on-worse"]);
    assert_eq!(status, Some(0));
    assert!(
        message.contains("better p50: ") && !message.contains("WORSE"),
        "{message}"
    );
    assert!(message.contains("one is better than "), "{message}");

    let (_, text) = comparison(&dir, ["one", "two"], &["--json"]);
    let all: Value = document(&text).unwrap();
    let (requested, answer) = (&all["sets"][0]["answers"][0][0], &all["sets"][0]["answers"][0][1]);
    assert_eq!(
        (&requested["thread"], &requested["number"]),
        (&json!("CPU 3"), &json!({ "what": "quantile", "of": 0.5 }))
    );
    assert_eq!(answer["verdict"], "higher");
    let [low, high] = [0, 1].map(|end| answer["interval"][end].as_f64().unwrap());
    assert!(
        9_000.0 < low && low < 9_960.0 && 9_960.0 < high && high < 11_000.0,
        "{answer}"
    );
}

#[test]
fn an_unproved_difference_states_the_needed_repetitions() {
    let dir = sets(&FAST, &[20_050, 20_350, 19_900, 20_200, 20_150], &|_| {});
    let (status, message) = comparison(&dir, ["one", "two"], &["--detect", "100ns", "--fail-on-worse"]);
    assert_eq!(status, Some(0), "{message}");
    assert!(message.contains("p50: no difference shown"), "{message}");
    assert!(message.contains("No difference between "), "{message}");
    assert!(
        message.contains("100 ns with ") && message.contains(" runs of each, "),
        "{message}"
    );
}

/// A pause that is twice as long is the first thing to report about two sets of wake-ups.
#[test]
fn differences_in_how_threads_were_measured_are_reported() {
    let dir = sets(&FAST, &SLOW, &|_| {});
    let (_, message) = comparison(&dir, ["one", "two"], &[]);
    assert!(!message.contains("interval_ns"), "{message}");
    for (number, late_ns) in SLOW.into_iter().enumerate() {
        write(&dir.path().join("two"), 2 * number + 1, late_ns, &|run| {
            run["threads"][0]["interval_ns"] = 2_000_000.into();
        });
    }
    let (_, message) = comparison(&dir, ["one", "two"], &[]);
    assert!(
        message.contains("Possible reason: CPU 3 interval_ns was 1000007, is 2000000."),
        "{message}"
    );
    write(&dir.path().join("two"), 1, SLOW[0], &|_| {});
    let (_, message) = comparison(&dir, ["one", "two"], &[]);
    assert!(message.contains("is not the same in all runs."), "{message}");
}

#[test]
fn files_before_and_after_with_form_two_sets() {
    let dir = sets(&FAST, &SLOW, &|_| {});
    let files = |name: &str| -> Vec<String> {
        (0..5)
            .map(|place| 2 * place + usize::from(name == "two"))
            .map(|number| dir.path().join(format!("{name}/{number}.json")).display().to_string())
            .collect()
    };
    let (one, two) = (files("one"), files("two"));
    let mut words = vec!["compare", "--json"];
    words.extend(one.iter().map(String::as_str));
    words.push("--versus");
    words.extend(two.iter().map(String::as_str));
    let output = quietcore(&words);
    let all: Value = document(&output.stdout).unwrap();
    let set = &all["sets"][0];
    assert_eq!((&set["first_runs"], &set["other_runs"]), (&json!(5), &json!(5)));
    assert_eq!(set["answers"][0][1]["verdict"], "higher");
    assert_eq!(all["files"].as_array().unwrap().len(), 10);
}

#[test]
fn without_enough_evidence_there_is_no_verdict() {
    let few = sets(&FAST[..3], &SLOW[..3], &|_| {});
    let (status, message) = comparison(&few, ["one", "two"], &["--fail-on-worse"]);
    assert_eq!(status, Some(0));
    assert!(
        message.contains("No verdict: 3 and 3 repetitions cannot show"),
        "{message}"
    );

    let emulated = sets(&FAST, &SLOW, &|run| run["environment"]["emulated"] = true.into());
    let (_, message) = comparison(&emulated, ["one", "two"], &[]);
    assert!(
        message.contains("No verdict: 10 of these runs were measured on an emulated"),
        "{message}"
    );
    assert!(!message.contains("WORSE"), "{message}");

    let doubtful = sets(&FAST, &SLOW, &|run| run["not_representative"] = json!(["cpu_shared"]));
    let (_, message) = comparison(&doubtful, ["one", "two"], &[]);
    assert!(
        message.contains("WORSE") && message.contains("Not representative of normal operation"),
        "{message}"
    );

    let dir = tempfile::tempdir().unwrap();
    for (name, late, first) in [("one", FAST, 0), ("two", SLOW, 20)] {
        for (place, late_ns) in late.iter().enumerate() {
            let governor = if name == "one" { "performance" } else { "powersave" };
            write(&dir.path().join(name), first + place, *late_ns, &|run| {
                run["environment"]["governor"] = governor.into();
            });
        }
    }
    let (_, message) = comparison(&dir, ["one", "two"], &[]);
    assert!(message.contains("were measured before or after all of"), "{message}");
    assert!(
        message.contains("Possible reason: ") && message.contains("was performance, is powersave"),
        "{message}"
    );
}

#[test]
fn a_directory_without_results_is_a_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("one")).unwrap();
    fs::create_dir(dir.path().join("two")).unwrap();
    let (status, message) = comparison(&dir, ["one", "two"], &[]);
    assert_eq!(status, Some(2), "{message}");
    assert!(message.contains("contains no result"), "{message}");
    // Pages alone are not results.
    fs::write(dir.path().join("one/0.html"), "<!doctype html>").unwrap();
    let (status, message) = comparison(&dir, ["one", "two"], &[]);
    assert_eq!(status, Some(2), "{message}");
    assert!(message.contains("one contains no result"), "{message}");
    for name in ["one", "two"] {
        fs::write(dir.path().join(name).join("notes.txt"), "not a measurement").unwrap();
    }
    let (status, message) = comparison(&dir, ["one", "two"], &[]);
    assert_eq!(status, Some(2), "{message}");
    assert!(message.contains("notes.txt cannot be parsed"), "{message}");
}

/// Returns the part of a page between two texts.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let rest = page.split_once(from).unwrap_or_else(|| panic!("{from}: {page}")).1;
    rest.split_once(to).unwrap().0
}

#[test]
fn the_comparison_page_shows_differences_and_possible_reasons() {
    const HOSTILE: &str = "<script>alert('&')</script>";
    let dir = tempfile::tempdir().unwrap();
    let name = |set: &str| dir.path().join(set).display().to_string();
    for (set, runs, first, governor) in [("<b>one</b>", FAST, 0, "performance"), ("two", SLOW, 1, HOSTILE)] {
        for (place, late_ns) in runs.iter().enumerate() {
            write(&dir.path().join(set), 2 * place + first, *late_ns, &|run| {
                run["environment"]["governor"] = governor.into();
            });
        }
    }
    let sets = [name("<b>one</b>"), name("two")];
    let out = name("page.html");
    let words = ["compare", &sets[0], &sets[1], "--format", "html"];
    let rule = ["--require", "p50 < 25us", "--out", &out];
    let status = quietcore(&[&words[..], &rule].concat());
    assert_eq!(status.status.code(), Some(1), "two does not hold it");
    assert!(status.stdout.is_empty());
    let page = fs::read_to_string(&out).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("<script").count(), 1, "that of the page itself");
    assert!(!page.contains("<b>one"), "{page}");
    // Names are escaped in the markup and unchanged in the exported numbers.
    assert!(page.contains("&lt;b&gt;one&lt;/b&gt;") && page.contains("&lt;script&gt;alert('&amp;')"));
    let title = between(&page, "<h1>", "</h1>");
    assert!(title.starts_with("Worse in "), "{title}");
    assert!(page.contains("<td class=\"bad\">worse</td>"), "{page}");
    let row = between(&page, "<th scope=\"row\">governor</th>", "</tr>");
    assert!(
        row.contains("<td>performance</td>") && row.contains("possible reason"),
        "{row}"
    );
    assert!(page.contains("<td class=\"bad\">VIOLATED</td>") && page.contains("<td class=\"good\">holds</td>"));
    for curve in ["class=\"curve k0\"", "class=\"curve k1\""] {
        assert_eq!(page.matches(curve).count(), 2, "{curve}");
    }
    assert!(page.contains("download=\"page.json\""));
    // Without `--out` the page goes to standard output.
    let shown = quietcore(&words);
    assert_eq!(shown.status.code(), Some(0));
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.starts_with("<!doctype html>") && !shown.contains("VIOLATED"),
        "{shown}"
    );
    // Other formats and combinations are refused, and no file is written.
    for wrong in [
        &["--format", "pdf"][..],
        &["--format", "html", "--json"],
        &["--out", "x.html"],
    ] {
        let refused = quietcore(&[&["compare", &sets[0], &sets[1]], wrong].concat());
        assert_eq!(refused.status.code(), Some(2), "{wrong:?}");
        assert!(refused.stdout.is_empty());
    }
}

#[test]
fn a_page_of_single_files_states_differences_and_no_verdict() {
    let dir = sets(&FAST[..1], &SLOW[..1], &|_| {});
    let file = |set: &str, name: &str| dir.path().join(set).join(name).display().to_string();
    let output = quietcore(&[
        "compare",
        &file("one", "0.json"),
        &file("two", "1.json"),
        "--format",
        "html",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(
        page.contains("<h1>No verdict</h1>") && page.contains("Differences from the first"),
        "{page}"
    );
    assert!(page.contains("<td>p50</td>") && page.contains(" more</td>"), "{page}");
    assert!(!page.contains(">worse<") && !page.contains(">better<"), "{page}");
}
