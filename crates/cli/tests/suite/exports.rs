//! The shell export in every shell that it supports, and refusal to overwrite files.
//!
//! The golden files of `matrix.rs` cover the exported text. The lab covers its effect on a machine.

use crate::support::schemas::document;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Shells: the program and its first arguments.
const SHELLS: [&[&str]; 3] = [&["dash"], &["busybox", "sh"], &["bash", "--posix"]];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn quietcore(machine: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["plan", "--count", "1", "--root"])
        .arg(top().join("fixtures/machines").join(format!("{machine}.tar.gz")))
        .args(arguments)
        .output()
        .unwrap()
}

const V1: &str = "4x86-2p2n2c-v1-6.1";

/// Runs a shell. Prints a skip message and returns `None` if the shell is not installed.
fn in_shell(test: &str, shell: &[&str], arguments: &[&str]) -> Option<Output> {
    match Command::new(shell[0]).args(&shell[1..]).args(arguments).output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("SKIP: {test}: {}: {error}", shell[0]);
            None
        }
    }
}

/// Exports the script of a captured machine to a file.
fn script(folder: &Path) -> String {
    let made = quietcore(V1, &["--format", "shell", "--out", folder.to_str().unwrap()]);
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    let path = String::from_utf8(made.stdout).unwrap();
    path.trim_end().to_owned()
}

#[test]
fn every_shell_parses_and_runs_the_script() {
    let dir = tempfile::tempdir().unwrap();
    let script = script(dir.path());
    let broken = dir.path().join("broken.sh");
    fs::write(&broken, fs::read_to_string(&script).unwrap().replace("esac\n", "\n")).unwrap();
    for shell in SHELLS {
        let run = |arguments: &[&str]| in_shell("every_shell_parses_and_runs_the_script", shell, arguments);
        let Some(read) = run(&["-n", &script]) else {
            continue;
        };
        assert!(read.status.success() && read.stderr.is_empty(), "{shell:?}: {read:?}");
        let read = run(&["-n", broken.to_str().unwrap()]).unwrap();
        assert!(!read.status.success(), "{shell:?} would read anything");
        // Neither command needs root, and no partition is active.
        let status = run(&[&script, "status"]).unwrap();
        assert_eq!(status.status.code(), Some(3), "{shell:?}: {status:?}");
        let usage = run(&[&script, "applyy"]).unwrap();
        assert_eq!(usage.status.code(), Some(2), "{shell:?}: {usage:?}");
    }
}

#[test]
fn the_script_compares_values_as_the_program_does() {
    let dir = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(script(dir.path())).unwrap();
    let (functions, _) = text.split_once("# ---- the changes").unwrap();
    for line in functions.lines().filter(|line| line.contains("getline")) {
        assert!(
            line.contains("< list"),
            "mawk ends if a task ends while it reads: {line}"
        );
    }
    let questions = dir.path().join("questions.sh");
    let requested = r#"
ask() { if "$@"; then echo yes; else echo no; fi; }
list_mask 0-2,5; list_mask ''; list_mask 64; list_mask 0-31,100
ask same list 0-1 0,1
ask same list 0-1 0-2
ask same list '' 0
ask same mask ff 00000000,000000FF
ask same mask 7 f
ask same word 'cpu cpuset io' +cpuset
ask same word 'cpu cpusets io' +cpuset
ask same choice 'always [madvise] never' madvise
ask same choice 'always madvise [never]' madvise
ask restored word 'cpu' 'cpu' +cpuset
ask restored word 'cpu cpuset' 'cpu' +cpuset
ask restored word 'cpu cpuset' 'cpuset cpu' +cpuset
former_value word 'cpu' +cpuset; echo
former_value choice 'always [madvise] never' never; echo
tasks | awk -v me="^$$/" '$1 ~ me { print NF, $2, $3 }'
# A name that looks like the start of another task.
printf 'e\n1 ' >/proc/$$/comm
tasks | awk -v me="^$$/[0-9]+\$" '$1 ~ me { print NF, $2, $3 } $1 !~ /^[0-9]+\/[0-9]+$/ { print "torn", $0 }'
state=$0.state; mkdir "$state"; echo $$ >"$state/tasks"
send() { [ "$2" = $$ ] && echo moved || echo "moved $2"; return 1; }
move_all "$state" "$state"
"#;
    fs::write(&questions, format!("{functions}{requested}")).unwrap();
    let answers = "27\n\n10000000000000000\n100000000000000000ffffffff\n\
                   yes\nno\nno\nyes\nno\nyes\nno\nyes\nno\nyes\nno\nyes\n-cpuset\nmadvise\n4 1 0\n4 1 0\nmoved\n";
    for shell in SHELLS {
        let _ = fs::remove_dir_all(dir.path().join("questions.sh.state"));
        let test = "the_script_compares_values_as_the_program_does";
        let Some(output) = in_shell(test, shell, &[questions.to_str().unwrap()]) else {
            continue;
        };
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            answers,
            "{shell:?}: {output:?}"
        );
    }
}

#[test]
fn exported_files_are_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let arguments = ["--format", "cgconfig", "--out", folder];
    assert_eq!(quietcore(V1, &arguments).status.code(), Some(0));
    let configuration = dir.path().join("etc/cgconfig.conf");
    fs::write(&configuration, "mine").unwrap();
    assert_eq!(quietcore(V1, &arguments).status.code(), Some(5));
    assert_eq!(fs::read_to_string(&configuration).unwrap(), "mine");
}

#[test]
fn the_json_export_has_every_file() {
    let output = quietcore(V1, &["--format", "tuned", "--json"]);
    let printed: serde_json::Value = document(&output.stdout).unwrap();
    assert_eq!(printed["schema"], "quietcore.export/1");
    let files = printed["files"].as_array().unwrap();
    assert_eq!(files.len(), 2);
    assert_eq!(files[0]["path"], "/etc/tuned/quietcore-rt/tuned.conf");
    assert_eq!(files[0]["mode"], "0644");
    assert!(files[1]["content"].as_str().unwrap().ends_with("isolated_cores=3\n"));
}
