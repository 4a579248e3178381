//! `boot check` on a machine that was captured in the first boot with its declared command line, and on faulty variants
//! of that machine.

use crate::support::captured::CaptureFixture;
use crate::support::schemas::document;
use serde_json::Value;
use std::process::Command;

const WORDS: &str = " isolcpus=managed_irq,domain,2-3 nohz_full=2-3 irqaffinity=0-1";

/// Captured in the first boot with the declared parameters.
const MACHINE: &str = "4x86-2p2c-v2-boot-line-6.1";

impl CaptureFixture {
    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.root.join(path)).unwrap();
    }

    /// Changes the capture as if the machine had booted with another command line.
    fn started_with(&self, line: &str) {
        self.write_file("proc/cmdline", line);
        for file in ["isolated", "nohz_full"] {
            self.write_file(&format!("sys/devices/system/cpu/{file}"), "\n");
        }
    }

    fn without_words(&self) -> String {
        let line = self.text("proc/cmdline");
        assert!(line.contains(WORDS), "{line}");
        line.replace(WORDS, "")
    }

    /// Returns the id of the boot in which the line was written.
    fn boot_of_the_change(&self) -> String {
        let journal = self.text("var/lib/quietcore/boot-line");
        let (_, rest) = journal.split_once("\"boot_id\":\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    fn boot(&self, verb: &str) -> (Value, i32) {
        let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
            .args(["boot", verb, "--json", "--root"])
            .arg(&self.root)
            .output()
            .unwrap();
        (document(&output.stdout).unwrap(), output.status.code().unwrap())
    }

    /// Returns the verdict, the exit status and the report about one parameter.
    fn parameter(&self, word: &str) -> (String, i32, Value) {
        let (reported, status) = self.boot("check");
        let all = reported["parameters"].as_array().unwrap();
        let one = all.iter().find(|one| one["word"].as_str().unwrap().starts_with(word));
        let one = one.unwrap_or_else(|| panic!("{word} is not in {reported}"));
        (reported["verdict"].as_str().unwrap().to_owned(), status, one.clone())
    }
}

#[test]
fn words_of_this_boot_are_active_and_uncounted_effects_are_unknown() {
    let captured = CaptureFixture::of(MACHINE);
    let (verdict, status, one) = captured.parameter("isolcpus=");
    assert_eq!((verdict.as_str(), status), ("unknown", 4));
    assert_eq!(
        (one["ours"].as_str(), one["understood"]["truth"].as_str()),
        (Some("live"), Some("yes"))
    );
    let (shown, _) = captured.boot("show");
    assert_eq!(shown["noted"]["state"], "live");
    let (reported, _) = captured.boot("check");
    let one = &reported["declared"][0];
    assert_eq!(one["partition"], "rt");
    assert_eq!(
        (one["answer"]["truth"].as_str(), one["run_time"]["truth"].as_str()),
        (Some("yes"), Some("unknown"))
    );
}

#[test]
fn pending_words_differ_from_lost_words() {
    let captured = CaptureFixture::of(MACHINE);
    captured.started_with(&captured.without_words());
    let (verdict, status, one) = captured.parameter("isolcpus=");
    assert_eq!(
        (verdict.as_str(), status, one["ours"].as_str()),
        ("reverted", 5, Some("reverted"))
    );
    assert_eq!(captured.boot("show").0["ours"]["state"], "reverted");

    captured.write_file("proc/sys/kernel/random/boot_id", &captured.boot_of_the_change());
    let (verdict, status, one) = captured.parameter("isolcpus=");
    assert_eq!(
        (verdict.as_str(), status, one["ours"].as_str()),
        ("pending", 5, Some("pending"))
    );
    assert_eq!(captured.boot("show").0["ours"]["state"], "pending");
}

#[test]
fn misspelled_and_unsupported_parameters_are_errors() {
    let captured = CaptureFixture::of(MACHINE);
    let line = captured.text("proc/cmdline");
    captured.write_file("proc/cmdline", &format!("{} nohz_ful=3\n", line.trim_end()));
    let (verdict, status, one) = captured.parameter("nohz_ful=");
    assert_eq!((verdict.as_str(), status), ("broken", 1));
    assert_eq!(one["understood"]["truth"], "no", "{one}");

    let captured = CaptureFixture::of(MACHINE);
    captured.remove("sys/devices/system/cpu/nohz_full");
    captured.write_file(
        "boot/config-6.1.0-56-amd64",
        "CONFIG_CPU_ISOLATION=y\n# CONFIG_NO_HZ_FULL is not set\n",
    );
    let (verdict, status, one) = captured.parameter("nohz_full=");
    assert_eq!((verdict.as_str(), status), ("broken", 1));
    let why = one["understood"]["because"].as_str().unwrap();
    assert!(
        one["understood"]["truth"] == "no" && why.contains("CONFIG_NO_HZ_FULL"),
        "{one}"
    );
    assert_eq!(
        captured.parameter("isolcpus=").2["understood"]["truth"],
        "yes",
        "that is another option"
    );
}

/// A declaration has a boot part and a run-time part. Either can be missing.
#[test]
fn boot_part_and_run_time_part_of_a_declaration_give_one_verdict() {
    let declared = |captured: &CaptureFixture| {
        let (reported, status) = captured.boot("check");
        let truth = |part: &str| reported["declared"][0][part]["truth"].as_str().map(str::to_owned);
        (truth("answer").unwrap(), truth("run_time").unwrap(), status)
    };
    let expected = |line: &str, run_time: &str, status| (line.to_owned(), run_time.to_owned(), status);
    let captured = CaptureFixture::of(MACHINE);
    captured.write_file("sys/fs/cgroup/quietcore-rt/cpuset.cpus.partition", "member\n");
    assert_eq!(declared(&captured), expected("yes", "no", 1));

    let captured = CaptureFixture::of(MACHINE);
    captured.started_with(&captured.without_words());
    captured.remove("var/lib/quietcore/boot-line");
    assert_eq!(declared(&captured), expected("no", "unknown", 1));
    let toml = captured.text("etc/quietcore.toml");
    captured.write_file("etc/quietcore.toml", &toml.replace("boot = true\n", ""));
    let (reported, status) = captured.boot("check");
    assert_eq!(
        (reported["verdict"].as_str(), status),
        (Some("nothing"), 0),
        "nothing ties the two"
    );
}
