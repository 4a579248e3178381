//! Level 2: every captured machine with every read-only command, compared with golden files.
//!
//! `make bless` rewrites the golden files; review their diff. The captured machines of `fixtures/` belong to the
//! project. Those beside the checkout are tested where they exist.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands and the names of their golden files.
const VERBS: [(&str, &[&str]); 7] = [
    ("inspect", &["inspect"]),
    ("tasks", &["inspect", "--tasks"]),
    ("irqs", &["inspect", "--irqs"]),
    ("cpus", &["cpus", "all"]),
    ("plan", &["plan", "--count", "1"]),
    ("json", &["inspect", "--json"]),
    ("check", &["check", "-v"]),
];

/// Exported plans, on machines with cgroup v1, with two memory nodes, and with cgroup v2.
const EXPORTS: [(&str, &[&str]); 4] = [
    ("export-shell", &["plan", "--count", "1", "--format", "shell"]),
    ("export-systemd", &["plan", "--count", "1", "--format", "systemd"]),
    ("export-cgconfig", &["plan", "--count", "1", "--format", "cgconfig"]),
    ("export-tuned", &["plan", "--count", "1", "--format", "tuned"]),
];
const EXPORTED: [&str; 3] = ["4x86-2p2c-v1-6.1", "4x86-2p2n2c-v1-6.1", "8x86-2p2c2t-v2-7"];

/// The machine that was captured in the first boot with its declared command line.
const BOOT: [(&str, &[&str]); 4] = [
    ("boot-show", &["boot", "show"]),
    ("boot-check", &["boot", "check"]),
    ("boot-check-json", &["boot", "check", "--json"]),
    ("check-json", &["check", "--json"]),
];
const BOOTED: [&str; 1] = ["4x86-2p2c-v2-boot-line-6.1"];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn archives(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut archives: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains(".tar"))
        .collect();
    archives.sort();
    archives
}

/// Returns what a command prints: standard output, then errors, then its status.
fn output_text(archive: &Path, verb: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(verb)
        .arg("--root")
        .arg(archive)
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    if !output.stderr.is_empty() {
        text.push_str("--- errors\n");
        text.push_str(&String::from_utf8(output.stderr).unwrap());
    }
    text.push_str(&format!("--- status {}\n", output.status.code().unwrap()));
    text
}

/// Compares every archive of a directory with the golden files. Returns the number of comparisons.
fn compare(folder: &Path, golden: &Path) -> usize {
    let bless = std::env::var_os("QUIETCORE_BLESS").is_some();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for archive in archives(folder) {
        let name = archive
            .file_name()
            .unwrap()
            .to_string_lossy()
            .split(".tar")
            .next()
            .unwrap()
            .to_owned();
        let exports = EXPORTS.iter().filter(|_| EXPORTED.contains(&name.as_str()));
        let boot = BOOT.iter().filter(|_| BOOTED.contains(&name.as_str()));
        for &(verb_name, verb) in VERBS.iter().chain(exports).chain(boot) {
            let text = output_text(&archive, verb);
            assert!(
                !text.contains("error: this is a bug in quietcore"),
                "{name} {verb:?}: {text}"
            );
            let path = golden.join(&name).join(verb_name).with_extension("txt");
            if bless {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, &text).unwrap();
            }
            compared += 1;
            if fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
                wrong.push(format!("{name} {verb_name}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "not as in {}: {}; `make bless` and read the diff",
        golden.display(),
        wrong.join(", ")
    );
    compared
}

#[test]
fn captured_machines_of_the_project_match_the_golden_output() {
    let fixtures = top().join("fixtures");
    assert!(
        compare(&fixtures.join("machines"), &fixtures.join("golden"))
            >= 6 * VERBS.len() + EXPORTED.len() * EXPORTS.len() + BOOTED.len() * BOOT.len()
    );
}

#[test]
fn captured_machines_next_to_the_checkout_match_the_golden_output() {
    let machines = top().join("../shared/machines");
    if archives(&machines).is_empty() {
        println!(
            "SKIP: captured_machines_next_to_the_checkout_match_the_golden_output: ../shared/machines is not here"
        );
        return;
    }
    assert!(compare(&machines, &top().join("fixtures/golden-shared")) >= VERBS.len());
}
