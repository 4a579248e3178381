//! Trial boots of a named kernel: which entry of a loader is chosen, and the error if there is none. GRUB's script is
//! executed to check that it prints that entry.

use boot::{
    BootError, EditedTree, FileEdit, FileTree, MARK, MachineTree, OneShotEntry, OneShotSelection, TrialError, Work,
    choose, limit, trial,
};
use root::Root;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const SCRIPT: &str = "/etc/grub.d/43_quietcore_trial";

fn open(name: &str) -> Root {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/boot");
    Root::open(&top.join(name)).unwrap()
}

fn tried(tree: &dyn FileTree, kernel: &str) -> Result<(Work, OneShotSelection), BootError> {
    let wanted = OneShotEntry {
        words: vec!["preempt=none".to_owned()],
        kernel: Some(kernel.to_owned()),
    };
    let found = choose(tree, None, &[]).unwrap();
    trial(tree, found.loader, &wanted, &limit(Some("x86_64")))
}

/// Runs the script beside a script of the distribution that prints a part of `cfg` with the given parameters.
fn printed(script: &str, cfg: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let theirs = dir.path().join("10_linux");
    let body = cfg.split("10_linux ###\n").nth(1).unwrap().replace('$', "\\$");
    let body = body.replace("ro quiet", "ro $GRUB_CMDLINE_LINUX_DEFAULT");
    std::fs::write(&theirs, format!("#!/bin/sh\ncat <<END\n{body}\nEND\n")).unwrap();
    std::fs::set_permissions(&theirs, std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = script.replace("/etc/grub.d/10_linux", theirs.to_str().unwrap());
    let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_grub_script_prints_the_entry_of_a_kernel_also_in_a_submenu() {
    const CFG: &str = "/boot/grub/grub.cfg";
    let root = open("debian-12-grub");
    let files = MachineTree::of(&root);
    let usual = String::from_utf8(files.bytes(CFG).unwrap()).unwrap();
    // A kernel flavor whose name starts with another's comes first, and a recovery entry comes before the normal one.
    let newest = usual
        .replace("6.1.0-30-amd64", "6.1.0-30-amd64-unsigned")
        .replace("6.1.0-28-amd64", "6.1.0-30-amd64");
    let swapped = usual
        .replace("6.1.0-28-amd64-advanced-", "6.1.0-28-amd64-X-")
        .replace("6.1.0-28-amd64-recovery-", "6.1.0-28-amd64-advanced-")
        .replace("6.1.0-28-amd64-X-", "6.1.0-28-amd64-recovery-")
        .replace(" (recovery mode)", " (mode de secours)");
    let signed = usual.replace("vmlinuz-6.1.0-28-amd64 ", "vmlinuz-6.1.0-28-amd64.efi.signed ");
    for (cfg, kernel, image, line) in [
        (&usual, "6.1.0-30-amd64", "6.1.0-30-amd64", "preempt=none panic=30"),
        (&usual, "6.1.0-28-amd64", "6.1.0-28-amd64", "preempt=none panic=30"),
        (&newest, "6.1.0-30-amd64", "6.1.0-30-amd64", "preempt=none panic=30"),
        (
            &signed,
            "6.1.0-28-amd64",
            "6.1.0-28-amd64.efi.signed",
            "preempt=none panic=30",
        ),
        // Only the id identifies the entry; the titles are in another language.
        (&swapped, "6.1.0-28-amd64", "6.1.0-28-amd64", "ro single"),
    ] {
        let edit = [FileEdit::new(
            CFG,
            files.bytes(CFG).map(|_| usual.clone()),
            Some(cfg.clone()),
        )];
        let tree = EditedTree::new(&files, &edit);
        let (work, chosen) = tried(&tree, kernel).unwrap();
        let OneShotSelection::By(run) = chosen else {
            panic!("{chosen:?}");
        };
        assert_eq!(run.text(), "grub-reboot quietcore-trial");
        let script = work.edits.iter().find(|edit| edit.path == SCRIPT).unwrap();
        let printed = printed(script.after.as_ref().unwrap(), cfg);
        let count = |text: &str| printed.matches(text).count();
        assert_eq!((count("menuentry '"), count("submenu")), (1, 0), "{kernel}: {printed}");
        assert!(
            printed.starts_with("menuentry 'Linux, quietcore trial' ")
                && printed.contains("$menuentry_id_option 'quietcore-trial' {")
                && printed.trim_end().ends_with('}'),
            "{kernel}: {printed}"
        );
        assert_eq!(count(&format!("/boot/vmlinuz-{image} root=")), 1, "{kernel}: {printed}");
        assert_eq!((count("vmlinuz-"), count(line)), (1, 1), "{kernel}: {printed}");
        // GRUB reads the output as one more entry.
        let with = [FileEdit::new(CFG, Some(cfg.clone()), Some(format!("{cfg}{printed}")))];
        let after = EditedTree::new(&tree, &with);
        let entries = (choose(&after, None, &[]).unwrap().loader.entries)(&after);
        let ours = entries.iter().find(|entry| entry.id == "quietcore-trial").unwrap();
        assert!(line == "ro single" || ours.line.contains(MARK), "{ours:?}");
    }
}

#[test]
fn a_kernel_without_entry_is_refused_and_the_existing_ones_are_listed() {
    for (name, kernel, there) in [
        ("debian-12-grub", "6.1.0-29-amd64", "6.1.0-30-amd64, 6.1.0-28-amd64"),
        ("debian-12-grub", "6.1.0-30", "6.1.0-30-amd64, 6.1.0-28-amd64"),
        (
            "debian-12-grub",
            "6.1.0-30-amd64' ; reboot",
            "6.1.0-30-amd64, 6.1.0-28-amd64",
        ),
        ("arch-grub", "linux", "none whose name contains its release"),
        ("fedora-41-bls", "6.1", "6.11.4-301.fc41.x86_64"),
        (
            "rhel-9-bls",
            "0-rescue-0f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "5.14.0-503.11.1.el9_5.x86_64",
        ),
        ("arch-systemd-boot", "linux-rt", "none whose name contains its release"),
    ] {
        let root = open(name);
        let error = tried(&MachineTree::of(&root), kernel).unwrap_err();
        assert!(
            matches!(error, BootError::Trial(TrialError::NoKernel { .. })),
            "{name}: {error}"
        );
        assert!(
            error.to_string().contains(&format!("its entries start: {there}\n")),
            "{name}: {error}"
        );
    }
}

#[test]
fn a_loader_with_a_single_kernel_refuses_to_select_one() {
    for name in ["raspberry-pi-os-12", "ubuntu-25.10-raspberry-pi"] {
        let root = open(name);
        let error = tried(&MachineTree::of(&root), "6.1.0-30-amd64").unwrap_err();
        assert!(
            matches!(error, BootError::Trial(TrialError::OneKernel { .. })),
            "{name}: {error}"
        );
    }
    for name in [
        "arch-uki",
        "debian-12-u-boot-menu",
        "fedora-coreos-ostree",
        "armbian-24.8",
    ] {
        let root = open(name);
        let error = tried(&MachineTree::of(&root), "6.1.0-30-amd64").unwrap_err();
        assert!(
            matches!(error, BootError::Trial(TrialError::NoTrial { .. })),
            "{name}: {error}"
        );
    }
}

/// An entry file of a second kernel beside the existing ones.
fn beside(dir: &str, name: &str, text: &str) -> FileEdit {
    FileEdit::new(format!("{dir}/{name}.conf"), None, Some(text.to_owned()))
}

#[test]
fn a_trial_entry_is_copied_from_the_entry_of_the_given_kernel() {
    let fedora = "/boot/loader/entries";
    let systemd = "/efi/loader/entries";
    for (tree, edit, kernel, made, words) in [
        (
            "fedora-41-bls",
            beside(
                fedora,
                "0f1e-6.9.0-rt",
                "title Old\nversion 6.9.0-rt\nlinux /vmlinuz-6.9.0-rt\ninitrd /initrd-6.9.0-rt\noptions root=UUID=77 quiet\n",
            ),
            "6.9.0-rt",
            "/boot/loader/entries/0f1e-6.9.0-rt~quietcore-trial.conf",
            ["linux /vmlinuz-6.9.0-rt\n", "root=UUID=77 quiet preempt=none panic=30"],
        ),
        (
            "arch-systemd-boot",
            beside(
                systemd,
                "0f1e-6.1.0-18-amd64+3",
                "title Debian\nlinux /0f1e/6.1.0-18-amd64/linux\noptions root=UUID=78\n",
            ),
            "6.1.0-18-amd64",
            "/efi/loader/entries/0f1e-6.1.0-18-amd64~quietcore-trial.conf",
            [
                "linux /0f1e/6.1.0-18-amd64/linux\n",
                "root=UUID=78 preempt=none panic=30",
            ],
        ),
    ] {
        let root = open(tree);
        let files = MachineTree::of(&root);
        let more = [edit];
        let with = EditedTree::new(&files, &more);
        let (work, _) = tried(&with, kernel).unwrap();
        assert_eq!(work.edits.len(), 1, "{work:?}");
        assert_eq!(work.edits[0].path, made);
        let text = work.edits[0].after.clone().unwrap();
        assert!(words.iter().all(|words| text.contains(words)), "{tree}: {text}");
        // A rescue entry is not chosen, whatever its name.
        let rescue = more[0].after.clone().unwrap().replace("root=", "single root=");
        let rescue = [FileEdit::new(&more[0].path, None, Some(rescue))];
        let error = tried(&EditedTree::new(&files, &rescue), kernel).unwrap_err();
        assert!(
            matches!(error, BootError::Trial(TrialError::NoKernel { .. })),
            "{tree}: {error}"
        );
    }
}
