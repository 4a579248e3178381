//! `-q`: a command that has a verdict prints only that, in one line.

use std::path::{Path, PathBuf};
use std::process::Command;

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(path)
}

/// What a command prints for a captured machine.
fn printed(words: &str, machine: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(words.split(' '))
        .arg("--root")
        .arg(fixture(&format!("machines/{machine}.tar.gz")))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_quiet_command_prints_its_verdict_in_one_line() {
    let (applied, plain) = ("4x86-2p2c-v2-applied-6.12-rt", "8x86-2p2c2t-v2-7");
    for (words, machine, verdict) in [
        ("status -q", applied, "CPU 2-3 is isolated, as far as could be read.\n"),
        ("status -q", plain, "No CPU is isolated.\n"),
        (
            "boot check -q",
            plain,
            "No parameter on the running line isolates anything",
        ),
        (
            "boot show -q",
            plain,
            "No boot loader was found that quietcore can edit.\n",
        ),
        ("plan -q --cpus 6-7", plain, "Partition rt: CPU 6-7 for you alone; "),
        ("check -q", plain, "No CPU is isolated here"),
        ("cpus -q core-of:3", plain, "2-3\n"),
        ("explain -q --cmdline nohz=off", plain, "Boot line for kernel 7."),
    ] {
        let text = printed(words, machine);
        assert!(text.starts_with(verdict), "{words}: {text}");
        assert_eq!(text.lines().count(), 1, "{words}: {text}");
    }
}

/// A cron job that adds `-q` still needs its file.
#[test]
fn a_requested_document_is_printed_also_when_quiet() {
    let machine = "8x86-2p2c2t-v2-7";
    for words in [
        "plan --cpus 6-7 --format shell",
        "explain --list",
        "explain gap",
        "inspect",
    ] {
        let document = printed(words, machine);
        assert!(!document.is_empty(), "{words}");
        assert_eq!(printed(&format!("{words} -q"), machine), document, "{words}");
    }
}

#[test]
fn a_quiet_comparison_prints_its_conclusion() {
    let machine = |name: &str| fixture(&format!("machines/{name}.tar.gz"));
    let result = || fixture("foreign/cyclictest-2.10.json");
    let of = |verb: &str, paths: [PathBuf; 2]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
        let output = command.args([verb, "-q"]).args(paths).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let machines = ["4x86-2p2c-v1-6.1", "4x86-2p2c-v1-applied-6.1"].map(machine);
    let [same, other] = [[&machines[0], &machines[0]], [&machines[0], &machines[1]]]
        .map(|[before, after]| of("diff", [before.clone(), after.clone()]));
    assert_eq!(same, "No relevant change.\n");
    assert!(
        other.contains(" changes, 1 of which may affect the isolated CPUs") && other.lines().count() == 1,
        "{other}"
    );
    let compared = of("compare", [result(), result()]);
    assert!(compared.starts_with("One run of each does not show"), "{compared}");
    assert_eq!(compared.lines().count(), 1, "{compared}");
}
