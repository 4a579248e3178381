//! The files of a result: `--out` writes JSON and no page; `--page` writes the page.

use experiment::ResultFile;
use measure::Measurement;
use std::fs;
use std::path::Path;
use std::process::Command;

fn measurement() -> Measurement {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results/everything.json");
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn a_page_is_written_only_where_it_is_requested() {
    let result = measurement();
    for (json, page, expected) in [
        (Some("r.json"), None, &["r.json"][..]),
        (Some("r.json"), Some("r.html"), &["r.html", "r.json"]),
        (None, Some("p.html"), &["p.html"]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: Option<&str>| name.map(|name| dir.path().join(name));
        let files = ResultFile::at(at(json).as_deref(), at(page).as_deref()).unwrap();
        assert!(names(dir.path()).is_empty(), "a check leaves nothing behind");
        files.so_far(&result);
        assert_eq!(names(dir.path()), expected, "during the run");
        files.end(&result).unwrap();
        assert_eq!(names(dir.path()), expected);
        if let Some(page) = at(page) {
            let page = fs::read_to_string(page).unwrap();
            let json = json.unwrap_or("p.json");
            assert!(page.starts_with("<!doctype html>") && page.contains(&format!("download=\"{json}\"")));
        }
    }
}

#[test]
fn a_page_without_a_name_and_json_with_the_name_of_a_page_are_refused() {
    for (words, why) in [
        (
            &["measure", "noise", "--page"][..],
            "--page without FILE is named after the file of --out",
        ),
        (
            &["measure", "noise", "--out", "r.html"],
            ".html is the ending of its page",
        ),
        (
            &["measure", "noise", "--out", "r.json", "--page", "no/such/page.html"],
            "No such file or directory",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
        let output = command.args(words).current_dir(dir.path()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {message}");
        assert!(
            message.contains(why) && message.contains("next: ") && output.stdout.is_empty(),
            "{words:?}: {message}"
        );
        assert!(names(dir.path()).is_empty(), "{words:?}");
    }
}

/// A script that parses the output would find no JSON.
#[test]
fn a_command_without_json_refuses_it_before_it_does_anything() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("man").display().to_string();
    let commands: [&[&str]; 4] = [
        &["completions", "bash"],
        &["man", "--out", &pages],
        &["trace", "report", "/nowhere"],
        &["watch", "--metrics"],
    ];
    for words in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
            .args(words)
            .arg("--json")
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
        assert!(output.stdout.is_empty(), "{words:?}");
        assert!(error.contains("has no JSON output"), "{words:?}: {error}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
