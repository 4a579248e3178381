//! `predict --from` on captured machines: what it prints, and the recordings that it refuses.

use crate::support::captured::CaptureFixture;
use crate::support::schemas::document;
use blame::{BlameResult, Class, CpuAnswer, Gap, GapStory, Interruption, StoryPiece};
use measure::Environment;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MACHINE: &str = "8x86-2p2c2t-v2-7";

/// Ten seconds of a CPU: a tick each 10 ms, and every second an interrupt of the watchdog.
fn watched(cpu: u32) -> BlameResult {
    let story = |start: u64, length_ns: u64, row: usize| {
        let gap = Gap {
            start,
            end: start + length_ns,
        };
        GapStory {
            gap,
            pieces: vec![StoryPiece {
                span: gap,
                row: Some(row),
            }],
        }
    };
    let stories: Vec<GapStory> = (0..1_000_u64)
        .map(|tick| match tick % 100 {
            50 => story(tick * 10_000_000, 20_000, 1),
            _ => story(tick * 10_000_000, 3_000, 0),
        })
        .collect();
    BlameResult {
        cpus: vec![CpuAnswer {
            cpu,
            duration_ns: 10_000_000_000,
            gaps: stories.len() as u64,
            interruptions: vec![
                Interruption::new(Class::Tick, "tick_nohz_handler"),
                Interruption::new(Class::Nmi, "perf_event_nmi_handler"),
            ],
            stories,
            ..CpuAnswer::default()
        }],
    }
}

/// A captured machine, and a file of gaps of it.
struct Recorded {
    machine: CaptureFixture,
    file: PathBuf,
}

impl Recorded {
    fn new() -> Recorded {
        let machine = CaptureFixture::of(MACHINE);
        let file = machine.root.join("gaps.jsonl");
        let recorded = Recorded { machine, file };
        recorded.write(&watched(3), &recorded.environment());
        recorded
    }

    fn environment(&self) -> Environment {
        let root = root::Root::open(&self.machine.root).unwrap();
        Environment::of(&machine::Machine::read(&root), &root, "0.1.0")
    }

    fn write(&self, answer: &BlameResult, environment: &Environment) {
        let text = report::blame_gaps(answer, "CLOCK_MONOTONIC_RAW", Some(1_000), environment);
        fs::write(&self.file, text).unwrap();
    }

    fn predict(&self, args: &[&str]) -> Output {
        predict(&self.machine.root, &self.file, args)
    }
}

fn predict(root: &Path, file: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["predict", "--root"])
        .arg(root)
        .arg("--from")
        .arg(file)
        .args(args)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_recording_of_a_captured_machine_is_predicted() {
    let recorded = Recorded::new();
    let output = recorded.predict(&["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let answer: Value = document(&output.stdout).unwrap();
    assert_eq!(answer["schema"], "quietcore.predict/1");
    assert_eq!((&answer["cpus"], &answer["gaps"]), (&"3".into(), &1_000.into()));
    let of = |name: &str| {
        let changes = answer["changes"].as_array().unwrap();
        let found = changes.iter().find(|change| change["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}: {changes:?}")).clone()
    };
    // 990 ticks of 3 us and 10 interrupts of 20 us, in 10 s.
    assert_eq!(of("boot line")["removed_ns_per_s"]["value"], 317_000.0, "all of them");
    assert_eq!(of("watchdog_cpumask")["removed_ns_per_s"]["value"], 20_000.0);
    assert_eq!(of("profile balanced")["outcome"]["longest_ns"], 3_000);
    assert_eq!(of("boot line")["needs_reboot"], true);

    let screen = text(&recorded.predict(&[]).stdout);
    assert!(screen.starts_with("CPU 3: 317 us of each second stolen; "), "{screen}");
    assert!(screen.contains("\nNext:\n  quietcore apply --cpus 3"), "{screen}");
    let verdict = text(&recorded.predict(&["-q"]).stdout);
    assert_eq!(verdict.matches('\n').count(), 1, "{verdict:?}");
    assert!(verdict.ends_with('\n'), "{verdict:?}");
    let both = text(&recorded.predict(&["--profile", "strict", "--boot"]).stdout);
    assert!(both.contains("  profile strict + boot line\n"), "{both}");
    assert!(!both.contains("watchdog_cpumask"), "{both}");
}

#[test]
fn a_recording_of_another_machine_is_refused() {
    let recorded = Recorded::new();
    let here = recorded.environment();
    let kernel = Environment {
        release: Some("5.10.0-1-amd64".to_owned()),
        ..here.clone()
    };
    let processor = Environment {
        model_name: Some("another".to_owned()),
        ..here.clone()
    };
    for (answer, environment, why) in [
        (watched(3), &kernel, "with kernel 5.10.0-1-amd64"),
        (watched(3), &processor, "its processor was another"),
        (watched(99), &here, "it is about CPU 99"),
    ] {
        recorded.write(&answer, environment);
        let output = recorded.predict(&["--json"]);
        assert_eq!(
            (output.status.code(), text(&output.stdout).as_str()),
            (Some(2), ""),
            "{why}"
        );
        let message = text(&output.stderr);
        assert!(
            message.contains("does not fit this machine") && message.contains(why),
            "{message}"
        );
    }
    let isolated = Environment {
        cmdline: Some("isolcpus=3".to_owned()),
        ..here
    };
    recorded.write(&watched(3), &isolated);
    let output = recorded.predict(&[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stderr).contains("isolated differently"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn what_is_no_recording_is_refused_and_no_number_is_printed() {
    let recorded = Recorded::new();
    let good = fs::read_to_string(&recorded.file).unwrap();
    let older = "{\"clock\":\"CLOCK_MONOTONIC_RAW\",\"gaps\":0,\"left_out\":0}\n";
    for (content, why) in [
        ("", "is missing"),
        (&good[..good.len() / 2], "line "),
        ("{\"schema\":\"quietcore.blame/1\",\"cpus\":[]}", "line 1"),
        (older, "an older version"),
        ("\u{1}\u{2}\u{3}", "line 1"),
    ] {
        fs::write(&recorded.file, content).unwrap();
        let output = recorded.predict(&[]);
        assert_eq!(
            (output.status.code(), text(&output.stdout).as_str()),
            (Some(2), ""),
            "{why}"
        );
        let message = text(&output.stderr);
        assert!(message.contains(why) && message.contains("blame --gaps"), "{message}");
    }
    let of_program = report::blame_gaps(&watched(3), "CLOCK_MONOTONIC_RAW", None, &recorded.environment());
    fs::write(&recorded.file, of_program).unwrap();
    let output = recorded.predict(&[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("a program was watched"),
        "{}",
        text(&output.stderr)
    );
    fs::write(&recorded.file, [0xff, 0xfe]).unwrap();
    assert_eq!(recorded.predict(&[]).status.code(), Some(2));
    let mut sums_only = watched(3);
    sums_only.cpus[0].stories_left_out = sums_only.cpus[0].gaps;
    sums_only.cpus[0].stories.clear();
    recorded.write(&sums_only, &recorded.environment());
    let output = recorded.predict(&[]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    for args in [&["--cpus", "3"][..], &["--for", "3s"], &["--profile", "quiet"]] {
        assert_eq!(recorded.predict(args).status.code(), Some(2), "{args:?}");
    }
    let missing = predict(&recorded.machine.root, Path::new("/nonexistent"), &[]);
    assert_ne!(missing.status.code(), Some(0));
    let directory = predict(&recorded.machine.root, &recorded.machine.root, &[]);
    assert_ne!(directory.status.code(), Some(0));
}

#[test]
fn a_captured_machine_cannot_be_watched() {
    let machine = CaptureFixture::of(MACHINE);
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(["predict", "--root"])
        .arg(&machine.root)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("--from"), "{}", text(&output.stderr));
}
