//! Level 2: every boot tree of `fixtures/boot` with every `boot` command, called as a user calls it. Nothing is
//! written, because a captured machine is read-only.

use crate::support::boot_files::{boot, captured, error_text, json, trees, with};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Trees whose loader, according to its documentation, keeps no unchanged entry: it has one line, or one line that all
/// entries share.
const WITHOUT_FALLBACK: &[&str] = &[
    "alpine-3.20-extlinux",
    "armbian-24.8",
    "beaglebone-debian-11",
    "orangepi-1.2",
    "proxmox-8-systemd-boot",
    "raspberry-pi-os-10",
    "raspberry-pi-os-12",
    "ubuntu-24.04-rockchip-u-boot-menu",
    "ubuntu-25.10-raspberry-pi",
];

/// Trees whose loader cannot select an entry for the next boot only.
const WITHOUT_TRIAL: &[&str] = &[
    "alpine-3.20-extlinux",
    "arch-uki",
    "armbian-24.8",
    "beaglebone-debian-11",
    "debian-12-u-boot-menu",
    "fedora-coreos-ostree",
    "jetson-extlinux",
    "opensuse-leap-15-grub2",
    "orangepi-1.2",
    "proxmox-8-systemd-boot",
    "rhel-9-zipl-s390x",
    "ubuntu-24.04-rockchip-u-boot-menu",
];

fn is_among(tree: &Path, names: &[&str]) -> bool {
    names.iter().any(|name| tree.ends_with(name))
}

#[test]
fn every_tree_is_shown_with_its_loader_and_the_running_line() {
    for tree in trees() {
        let output = boot(&tree, &["show", "--json"]);
        assert!(output.status.success(), "{}: {}", tree.display(), error_text(&output));
        let shown = json(&output);
        assert_eq!(shown["schema"], "quietcore.boot/1");
        assert_eq!(shown["loaders"].as_array().unwrap().len(), 1, "{}", tree.display());
        assert!(
            shown["ours"].is_null() && !shown["running"].as_str().unwrap().is_empty(),
            "{}",
            tree.display()
        );
        for line in shown["loaders"][0]["lines"].as_array().unwrap() {
            assert!(line["error"].is_null(), "{}: {line}", tree.display());
        }
        let text = boot(&tree, &["show"]);
        assert!(
            String::from_utf8_lossy(&text.stdout).contains("quietcore has added nothing to the boot line."),
            "{}",
            tree.display()
        );
    }
}

#[test]
fn a_dry_run_of_set_shows_the_change_or_requires_force() {
    for tree in trees() {
        let with = |more: &[&str]| {
            let mut all = vec!["set", "--cpus", "2-3", "--dry-run", "--json"];
            all.extend(more);
            boot(&tree, &all)
        };
        let careful = with(&[]);
        let forced = with(&["--force"]);
        assert_eq!(
            forced.status.code(),
            Some(0),
            "{}: {}",
            tree.display(),
            error_text(&forced)
        );
        let done = json(&forced);
        assert_eq!(
            (&done["dry_run"], &done["changed"]),
            (&Value::Bool(true), &Value::Bool(false))
        );
        let words: Vec<&str> = done["words"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert!(words.iter().any(|word| word.starts_with("isolcpus=")), "{words:?}");
        let nothing = done["edits"].as_array().unwrap().is_empty() && done["runs"].as_array().unwrap().is_empty();
        assert!(!nothing, "{}", tree.display());
        let asks = is_among(&tree, WITHOUT_FALLBACK);
        assert_eq!(careful.status.code() == Some(2), asks, "{}", tree.display());
        match careful.status.code() {
            Some(0) => assert_eq!(json(&careful)["edits"], done["edits"], "{}", tree.display()),
            Some(2) => assert!(
                error_text(&careful).contains("--force"),
                "{}: {}",
                tree.display(),
                error_text(&careful)
            ),
            other => panic!("{}: {other:?} {}", tree.display(), error_text(&careful)),
        }
    }
}

#[test]
fn trial_and_clear_work_on_every_tree() {
    for tree in trees() {
        let trial = boot(&tree, &["trial", "--params", "nohz_full=2-3", "--dry-run", "--json"]);
        let cannot = is_among(&tree, WITHOUT_TRIAL);
        assert_eq!(trial.status.code() == Some(4), cannot, "{}", tree.display());
        match trial.status.code() {
            Some(0) => {
                let edits = json(&trial)["edits"].to_string();
                assert!(
                    edits.contains("panic=30") && edits.contains("quietcore.trial=1"),
                    "{}",
                    tree.display()
                );
            }
            Some(4) => assert!(
                error_text(&trial).contains("cannot start an entry"),
                "{}: {}",
                tree.display(),
                error_text(&trial)
            ),
            other => panic!("{}: {other:?} {}", tree.display(), error_text(&trial)),
        }
        let clear = boot(&tree, &["clear", "--dry-run", "--json"]);
        assert_eq!(
            clear.status.code(),
            Some(0),
            "{}: {}",
            tree.display(),
            error_text(&clear)
        );
        assert_eq!(json(&clear)["edits"].as_array().unwrap().len(), 0);
    }
}

#[test]
fn impossible_boot_requests_are_refused_with_a_reason() {
    let tree = |name: &str| trees().into_iter().find(|path| path.ends_with(name)).unwrap();
    let debian = tree("debian-12-grub");
    for (arguments, status, words) in [
        (&["set", "--cpus", "2-3"][..], 2, "a captured machine cannot be changed"),
        (&["set", "--cpus", "0-1", "--dry-run"], 2, "CPU 0 cannot be isolated"),
        (&["set", "--params", "a=\"b", "--dry-run"], 2, "a quote is not closed"),
        (&["set", "--params", "a=$(x)", "--dry-run"], 2, "scripts"),
        (&["set", "--params", " ", "--dry-run"], 2, "no parameters"),
        (
            &["set", "--params", "a=1", "--loader", "bls", "--dry-run"],
            2,
            "was not found on this machine",
        ),
    ] {
        let output = boot(&debian, arguments);
        assert_eq!(
            output.status.code(),
            Some(status),
            "{arguments:?}: {}",
            error_text(&output)
        );
        assert!(
            error_text(&output).contains(words),
            "{arguments:?}: {}",
            error_text(&output)
        );
    }
    let long = format!("isolcpus={}", "2,".repeat(1100));
    let output = boot(&debian, &["set", "--params", &long, "--dry-run"]);
    assert_eq!(output.status.code(), Some(2), "{}", error_text(&output));
    assert!(error_text(&output).contains("is 2047"), "{}", error_text(&output));
    let empty = tempfile::tempdir().unwrap();
    captured(empty.path());
    let output = boot(empty.path(), &["set", "--params", "a=1", "--dry-run"]);
    assert_eq!(output.status.code(), Some(4), "{}", error_text(&output));
}

#[test]
fn with_several_loaders_one_must_be_selected() {
    let both = tempfile::tempdir().unwrap();
    captured(both.path());
    for path in ["boot/extlinux/extlinux.conf", "boot/armbianEnv.txt"] {
        let path = both.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "label a\n append root=x\n").unwrap();
    }
    let output = boot(both.path(), &["set", "--params", "a=1", "--dry-run"]);
    assert_eq!(output.status.code(), Some(2), "{}", error_text(&output));
    let text = error_text(&output);
    assert!(
        text.contains("extlinux") && text.contains("armbian") && text.contains("--loader"),
        "{text}"
    );
    let one = boot(
        both.path(),
        &["set", "--params", "a=1", "--dry-run", "--loader", "extlinux", "--json"],
    );
    assert_eq!(json(&one)["loader"], "extlinux");
}

fn snapshot(tree: &Path, dir: &Path) -> PathBuf {
    let archive = dir.join("box.tar");
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .arg("snapshot")
        .arg(&archive)
        .arg("--root")
        .arg(tree)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {}", tree.display(), error_text(&output));
    archive
}

#[test]
fn a_snapshot_gives_the_same_answers_as_its_tree() {
    let dir = tempfile::tempdir().unwrap();
    for tree in trees() {
        let archive = snapshot(&tree, dir.path());
        for arguments in [
            &["show", "--json"][..],
            &["check", "--json"],
            &["set", "--cpus", "2-3", "--dry-run", "--force", "--json"],
            &["trial", "--params", "nohz_full=2-3", "--dry-run", "--json"],
        ] {
            let (there, here) = (boot(&archive, arguments), boot(&tree, arguments));
            assert_eq!(
                (there.status.code(), error_text(&there)),
                (here.status.code(), error_text(&here)),
                "{} {arguments:?}",
                tree.display()
            );
            assert_eq!(there.stdout, here.stdout, "{} {arguments:?}", tree.display());
        }
    }
}

#[test]
fn a_snapshot_has_no_programs_and_no_passwords() {
    let debian = trees()
        .into_iter()
        .find(|path| path.ends_with("debian-12-grub"))
        .unwrap();
    let text = std::fs::read_to_string(debian.join("boot/grub/grub.cfg")).unwrap();
    let secret = "password_pbkdf2 root grub.pbkdf2.sha512.10000.DEADBEEF";
    let tree = with(&debian, "boot/grub/grub.cfg", &format!("{secret}\n{text}"));
    std::fs::write(
        tree.path().join("usr/sbin/update-grub"),
        [0x7f, b'E', b'L', b'F', 0, 1, 2, 3],
    )
    .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let archive = snapshot(tree.path(), dir.path());
    let bytes = std::fs::read(&archive).unwrap();
    let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(has(b"menuentry") && has(b"usr/sbin/update-grub"));
    assert!(!has(b"DEADBEEF") && !has(b"\x7fELF"));
    let (there, here) = (boot(&archive, &["show"]), boot(&debian, &["show"]));
    assert_eq!(there.stdout, here.stdout);
}

#[test]
fn words_of_tuned_that_conflict_with_own_words_are_reported() {
    let kept = "TUNED_BOOT_CMDLINE=\"skew_tick=1 isolcpus=1\"\nTUNED_BOOT_INITRD_ADD=\"\"\n";
    let rhel = trees().into_iter().find(|path| path.ends_with("rhel-9-bls")).unwrap();
    let tree = with(&rhel, "etc/tuned/bootcmdline", kept);
    for (arguments, meets) in [
        (&["set", "--cpus", "2-3"][..], true),
        (&["set", "--params", "nohz_full=2-3"], false),
        (&["trial", "--cpus", "2-3"], true),
    ] {
        let mut all = arguments.to_vec();
        all.extend(["--dry-run", "--json"]);
        let output = boot(tree.path(), &all);
        let notes = json(&output)["notes"].to_string();
        let named = notes.contains("TuneD adds isolcpus=1 to every line (/etc/tuned/bootcmdline)");
        assert_eq!(named, meets, "{arguments:?}: {notes}");
    }
    let output = boot(tree.path(), &["show"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("TuneD adds skew_tick=1 isolcpus=1"), "{text}");
    let line = std::fs::read_to_string(tree.path().join("proc/cmdline")).unwrap();
    std::fs::write(
        tree.path().join("proc/cmdline"),
        format!("{} isolcpus=1 isolcpus=2-3\n", line.trim_end()),
    )
    .unwrap();
    let notes = json(&boot(tree.path(), &["check", "--json"]))["notes"].to_string();
    assert!(notes.contains("tuned-adm profile"), "{notes}");
}

#[test]
fn settings_of_grub_that_cannot_be_computed_are_not_edited() {
    let debian = trees()
        .into_iter()
        .find(|path| path.ends_with("debian-12-grub"))
        .unwrap();
    let perhaps = "if [ -d /sys/firmware/efi ]; then\n  GRUB_CMDLINE_LINUX_DEFAULT=\"perhaps\"\nfi\n";
    let tree = with(&debian, "etc/default/grub.d/some.cfg", perhaps);
    for arguments in [
        &["set", "--params", "a=1", "--dry-run"][..],
        &["trial", "--params", "a=1", "--dry-run"],
    ] {
        let output = boot(tree.path(), arguments);
        assert_eq!(output.status.code(), Some(4), "{}", error_text(&output));
        let text = error_text(&output);
        for part in [
            "/etc/default/grub.d/some.cfg:2: GRUB_CMDLINE_LINUX_DEFAULT is set, and it is unknown whether that \
             command runs",
            "then run `update-grub`: a=1",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
    let shown = boot(tree.path(), &["show"]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.status.success() && text.contains("some.cfg:2:"), "{text}");
    // Other variables may depend on the machine.
    let other = "if [ -d /sys/firmware/efi ]; then\n  GRUB_TERMINAL=gfxterm\nfi\n";
    let tree = with(&debian, "etc/default/grub.d/some.cfg", other);
    let output = boot(tree.path(), &["set", "--params", "a=1", "--dry-run"]);
    assert_eq!(output.status.code(), Some(0), "{}", error_text(&output));
}

#[test]
fn the_declared_line_follows_from_cpus_and_profiles() {
    let debian = trees()
        .into_iter()
        .find(|path| path.ends_with("debian-12-grub"))
        .unwrap();
    let text = "[[partition]]\ncpus = \"3\"\nboot = true\n\n[[partition]]\nname = \"b\"\ncpus = \"2\"\nprofile = \"strict\"\n\n[[partition]]\nname = \"c\"\ncount = 1\n";
    let tree = with(&debian, "etc/quietcore.toml", text);
    let words = |more: &[&str]| {
        let mut all = vec!["set", "--dry-run", "--json"];
        all.extend(more);
        json(&boot(tree.path(), &all))["words"].clone()
    };
    assert_eq!(words(&[]), words(&["--cpus", "3"]));
    assert_eq!(
        words(&["--partition", "b"]),
        words(&["--cpus", "2-3", "--profile", "strict"])
    );
    for (arguments, part) in [
        (
            &["--partition", "c"][..],
            "etc/quietcore.toml:10: the CPUs of partition c are chosen",
        ),
        (&["--partition", "d"], "declares no partition d"),
        (
            &["--params", "quiet", "--save"],
            "declares no partition whose CPUs this line isolates",
        ),
    ] {
        let mut all = vec!["set", "--dry-run"];
        all.extend(arguments);
        let output = boot(tree.path(), &all);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", error_text(&output));
        assert!(
            error_text(&output).contains(part),
            "{arguments:?}: {}",
            error_text(&output)
        );
    }
    let notes = |more: &[&str]| {
        let mut all = vec!["set", "--cpus", "2-3", "--dry-run", "--json"];
        all.extend(more);
        json(&boot(tree.path(), &all))["notes"].to_string()
    };
    assert!(
        notes(&[]).contains("--save (`boot = true` for b) connects"),
        "{}",
        notes(&[])
    );
    assert!(
        notes(&["--save"]).contains("/etc/quietcore.toml: `boot = true` for b"),
        "{}",
        notes(&["--save"])
    );
    let output = boot(&debian, &["set", "--dry-run"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error_text(&output).contains("no parameters for the boot line"),
        "{}",
        error_text(&output)
    );
}
