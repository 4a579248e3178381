//! `study run --in vm`: missing parts are reported before anything runs, and guests on a real kernel measure the setup
//! of their command lines. A killed guest or study loses only the run in progress.

use crate::support::alone;
use crate::support::program::quietcore;
use crate::support::schemas::document;
use crate::support::studied::{output_text, until, written};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const QEMU: &str = "qemu-system-x86_64";

/// Three ways to isolate, in two boots.
const STUDY: &str = "repetitions = 1\nseed = 3\n[measure]\nwhat = \"latency\"\ncpus = \"3\"\nfor = \"1s\"\n[axes]\n\
                     isolation = [\"none\", \"isolcpus\", \"balanced\"]\n";

/// Returns a static quietcore and a kernel for the guests. Prints a skip message if one is missing.
fn ground(test: &str) -> Option<(String, String)> {
    let skip = |why: &str| {
        println!("SKIP: {test}: {why}");
        None
    };
    if Command::new(QEMU).arg("--version").output().is_err() {
        return skip(&format!("no {QEMU}; scripts/setup test installs it"));
    }
    let static_one = std::env::var_os("QUIETCORE_BIN").map(PathBuf::from).or_else(|| {
        let target = Path::new(env!("CARGO_BIN_EXE_quietcore")).parent()?.parent()?;
        Some(target.join("x86_64-unknown-linux-musl/release/quietcore"))
    });
    let Some(static_one) = static_one.filter(|path| path.is_file()) else {
        return skip("no static quietcore; `make test` builds one, QUIETCORE_BIN names one");
    };
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let kernels = cache.join("quietcore-lab/kernels/6.1");
    let releases = fs::read_dir(&kernels)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    let Some(image) = releases
        .map(|release| release.join("vmlinuz"))
        .find(|image| image.is_file())
    else {
        return skip(&format!("no kernel in {}; `make lab` unpacks some", kernels.display()));
    };
    Some((static_one.display().to_string(), image.display().to_string()))
}

fn run(file: &str, out: &Path, ground: &(String, String)) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
    command
        .args(["study", "run", file, "--json", "--in", "vm"])
        .args(["--vm-binary", &ground.0, "--vm-kernel", &ground.1, "--out"])
        .arg(out)
        .stdin(Stdio::null());
    command
}

/// Returns the pid of the QEMU of a study, found by the directory on its command line.
fn guest_of(out: &Path) -> Option<i32> {
    let out = out.display().to_string();
    let entries = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let is_it = |path: &PathBuf| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.starts_with(QEMU) && line.contains(&out)
    };
    entries
        .filter(is_it)
        .find_map(|path| path.file_name()?.to_str()?.parse().ok())
}

fn kill(pid: i32) {
    // SAFETY: `kill` only takes integers.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

fn result(out: &Path, cell: &str) -> Option<String> {
    fs::read_to_string(out.join(cell).join("1.json")).ok()
}

fn start(mut command: Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn each_cell_is_measured_under_its_line_despite_kills() {
    let test = "each_cell_is_measured_under_its_line_despite_kills";
    let Some(ground) = ground(test) else { return };
    let _alone = alone::alone();
    let dir = tempfile::tempdir().unwrap();
    let (out, file) = (dir.path().join("out"), written(dir.path(), STUDY));
    let cells = ["none-idle", "balanced-idle", "isolcpus-idle"];
    let there = || -> Vec<&str> {
        let is_there = |cell: &&str| result(&out, cell).is_some();
        cells.into_iter().filter(is_there).collect()
    };

    // The study is killed after its first result. Its guest ends with it.
    let mut study = start(run(&file, &out, &ground));
    until("a first result", || !there().is_empty() || study_ended(&study));
    study.kill().unwrap();
    study.wait().unwrap();
    until("the end of the guest", || guest_of(&out).is_none());
    let first = there();
    assert!(!first.is_empty() && first.len() < 3, "{first:?}");
    let texts: Vec<_> = first.iter().map(|cell| result(&out, cell)).collect();

    // An interrupted study ends its guest itself.
    let mut study = start(run(&file, &out, &ground));
    until("a guest", || guest_of(&out).is_some() || study_ended(&study));
    // SAFETY: `kill` only takes integers.
    unsafe { libc::kill(i32::try_from(study.id()).unwrap(), libc::SIGINT) };
    assert_eq!(study.wait().unwrap().code(), Some(1));
    assert_eq!(guest_of(&out), None);

    // The study is resumed, and now the guest is killed. Another guest replaces it.
    let study = start(run(&file, &out, &ground));
    until("a guest", || guest_of(&out).is_some() || study_ended(&study));
    guest_of(&out).into_iter().for_each(kill);
    let output = study.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    assert!(
        output_text(&output).contains("the machine of repetition 1"),
        "{}",
        output_text(&output)
    );
    assert_eq!(there(), cells);
    let again: Vec<_> = first.iter().map(|cell| result(&out, cell)).collect();
    assert_eq!(again, texts, "a run was made twice");
    for cell in cells {
        claims(cell, &result(&out, cell).unwrap(), &ground.1);
    }

    // Nothing is left to run, and no times are reported.
    let output = run(&file, &out, &ground).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output_text(&output));
    let report: Value = document(&output.stdout).unwrap();
    let pairs = report["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 3);
    for pair in pairs {
        let withheld = serde_json::json!({"why": "emulated", "what": 2});
        assert_eq!(pair["withheld"], withheld, "{pair}");
        assert_eq!(pair["answers"].as_array().unwrap().len(), 0, "{pair}");
    }
    // With other sizes, the guests would be a different machine.
    let other = run(&file, &out, &ground).args(["--vm-cpus", "5"]).output().unwrap();
    assert_eq!(other.status.code(), Some(2), "{}", output_text(&other));
    assert!(
        output_text(&other).contains("the processor was QEMU, 4 CPUs"),
        "{}",
        output_text(&other)
    );
}

fn study_ended(study: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", study.id())).unwrap_or_default();
    status
        .rsplit(')')
        .next()
        .is_none_or(|rest| rest.trim_start().starts_with('Z'))
}

/// Checks a result of a cell: the command line of its boot, where it was measured, and what was counted there.
fn claims(cell: &str, text: &str, image: &str) {
    let result: Value = document(text).unwrap();
    let environment = &result["environment"];
    let line = environment["cmdline"].as_str().unwrap();
    let isolcpus = cell.starts_with("isolcpus");
    assert_eq!(line.contains(" isolcpus=3"), isolcpus, "{cell}: {line}");
    let alone = |is_so: bool| Value::from(if is_so { "3" } else { "" });
    assert_eq!(environment["boot_isolated"], alone(isolcpus), "{cell}");
    assert_eq!(
        environment["partitioned"],
        alone(cell.starts_with("balanced")),
        "{cell}"
    );
    assert_eq!(environment["online"], "0-3", "{cell}");
    assert_eq!(environment["emulated"], true, "{cell}");
    let release = environment["release"].as_str().unwrap();
    assert!(image.contains(release), "{cell}: {release} of {image}");
    let thread = &result["threads"][0];
    assert_eq!(thread["cpu"], 3, "{cell}");
    let number = |name: &str| thread[name].as_u64().unwrap();
    assert_eq!(number("expected"), number("recorded") + number("missed"), "{cell}");
    // The timer interrupt wakes a thread that sleeps on a clock, isolated or not.
    let counted = &result["activity"]["cpus"][0];
    assert_eq!(counted["cpu"], 3, "{cell}");
    assert!(
        counted["ticks"].as_u64().unwrap() >= number("recorded") / 2,
        "{cell}: {counted}"
    );
}

#[test]
fn cells_that_cannot_boot_get_a_reason_and_the_rest_is_measured() {
    let test = "cells_that_cannot_boot_get_a_reason_and_the_rest_is_measured";
    let Some(ground) = ground(test) else { return };
    let _alone = alone::alone();
    let dir = tempfile::tempdir().unwrap();
    let text = STUDY
        .replace("\"isolcpus\", \"balanced\"", "\"broken\"")
        .replace("repetitions = 1", "repetitions = 2");
    let text = format!("{text}[isolation.broken]\nprofile = \"none\"\nboot = [\"rdinit=/nowhere\"]\n");
    let (out, file) = (dir.path().join("out"), written(dir.path(), &text));
    let output = run(&file, &out, &ground).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", output_text(&output));
    for words in [
        "not run: boot 2 (rdinit=/nowhere): none of its machines started: its kernel panicked: ",
        "2 runs are left; the same command continues with them",
    ] {
        assert!(
            output_text(&output).contains(words),
            "{words}: {}",
            output_text(&output)
        );
    }
    // Once in each of two attempts, and not again in the second repetition.
    assert_eq!(
        output_text(&output).matches("of repetition").count(),
        2,
        "{}",
        output_text(&output)
    );
    let found: Vec<bool> = ["none-idle/1.json", "none-idle/2.json", "broken-idle"]
        .iter()
        .map(|name| out.join(name).exists())
        .collect();
    assert_eq!(found, [true, true, false]);
    let kept: Vec<String> = ["console", "why"]
        .iter()
        .flat_map(|kind| (1..=2).map(move |block| format!("{block}-2.{kind}")))
        .filter(|name| out.join("vm").join(name).exists())
        .collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(!out.join("vm/1-1.console").exists());
}

/// Runs a study with a program named like QEMU. It passes the probe and otherwise executes `body`.
fn pretended(dir: &Path, body: &str) -> Output {
    let (file, out) = (written(dir, &STUDY.replace("1s", "100ms")), dir.join("out"));
    let program = dir.join(QEMU);
    let text = format!("#!/bin/sh\ncase \"$*\" in *' -S '*) exit 0 ;; esac\n{body}\n");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["study", "run", &file, "--in", "vm", "--vm-timeout", "300ms"])
        .args(["--vm-kernel", &image(dir), "--vm-binary", &elf(dir), "--out"])
        .arg(&out)
        .env("PATH", format!("{}:/usr/bin:/bin", dir.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn a_misbehaving_guest_ends_and_leaves_no_false_result() {
    let _alone = alone::alone();
    let frame = |name: &str, body: &str| {
        let sum = crc32fast::hash(body.as_bytes());
        format!("printf '\\nFRAME {name} {} {sum:08x}\\n{body}\\n'\n", body.len())
    };
    let up = |line: &str| frame("up", &format!("{{\"release\":\"6.1\",\"cmdline\":\"{line}\"}}"));
    for (body, status, words) in [
        ("exec sleep 1000".to_owned(), 1, "it sent nothing for 0 s"),
        (
            "echo sick >&2; exit 3".to_owned(),
            1,
            "boot 1 (the present boot line): none of its machines started: sick",
        ),
        ("kill -9 $$".to_owned(), 1, "its kernel printed nothing"),
        ("head -c 200000 /dev/urandom".to_owned(), 1, "3 runs are left"),
        (
            "printf '\\nFRAME result/0/0 2 00000000\\n{}\\n'".to_owned(),
            1,
            "3 runs are left",
        ),
        (frame("result/0/0", "{}"), 2, "none-idle/1.json"),
        (frame("result/7/7", "{}"), 1, "3 runs are left"),
        (up("isolcpus=3"), 4, "a virtual machine is not as intended"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let output = pretended(dir.path(), &body);
        assert_eq!(output.status.code(), Some(status), "{body}: {}", output_text(&output));
        assert!(output_text(&output).contains(words), "{body}: {}", output_text(&output));
        assert_eq!(result(&dir.path().join("out"), "none-idle"), None, "{body}");
    }
}

#[test]
fn missing_requirements_are_reported_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let file = written(dir.path(), STUDY);
    let out = dir.path().join("out");
    let folder = dir.path().display().to_string();
    let (image, missing) = (image(dir.path()), dir.path().join("none").display().to_string());
    let refused = |more: &[&str], words: &str| {
        let mut all = vec!["study", "run", &file, "--out", out.to_str().unwrap()];
        all.extend(more);
        let output: Output = quietcore(&all);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", output_text(&output));
        assert!(
            output_text(&output).contains(words),
            "{words}: {}",
            output_text(&output)
        );
        assert!(!out.exists(), "{more:?}");
    };
    refused(
        &["--vm-kernel", &image],
        "--vm-kernel is an option for virtual machines",
    );
    refused(&["--vm-cpus", "8"], "--vm-cpus is an option for virtual machines");
    refused(&["--in", "vm"], "no kernel was given");
    refused(&["--in", "vm", "--vm-kernel", &missing], "none");
    refused(&["--in", "vm", "--vm-kernel", &folder], "is not a kernel image");
    refused(&["--in", "vm", "--vm-kernel", &file], "it is not an x86 bzImage");
    refused(
        &["--in", "vm", "--vm-kernel", &image, "--vm-binary", &file],
        "it is not a program for x86-64",
    );
    refused(
        &["--in", "vm", "--vm-kernel", &image, "--vm-binary", "/bin/sh"],
        "it is not static: it needs /lib",
    );
    refused(&["--in", "vm", "--vm-kernel", &image, "--vm-cpus", "1"], "1");
    refused(&["--in", "sand"], "sand");

    // QEMU is not installed.
    let program = elf(dir.path());
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["study", "plan", &file, "--in", "vm", "--vm-kernel", &image])
        .args(["--vm-binary", &program])
        .env("PATH", dir.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    for words in [
        "qemu-system-x86_64 cannot be started",
        "it is not installed",
        "qemu-system-x86 on Debian",
    ] {
        assert!(
            output_text(&output).contains(words),
            "{words}: {}",
            output_text(&output)
        );
    }

    // A machine that is not a guest is not mistaken for one.
    let output = quietcore(&["study", "in-guest"]);
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    assert!(
        output_text(&output).contains("not a guest of a study"),
        "{}",
        output_text(&output)
    );
}

/// Writes a file that passes for a static program.
fn elf(dir: &Path) -> String {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(64, 0);
    bytes[18] = 62;
    let path = dir.join("program");
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// Writes a file that passes for an x86 kernel image.
fn image(dir: &Path) -> String {
    let mut bytes = vec![0; 0x300];
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    bytes[0x20f] = 1;
    bytes.extend_from_slice(b"6.1 x\0");
    let path = dir.join("image");
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}
