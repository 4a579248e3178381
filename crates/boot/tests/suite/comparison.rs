//! The line in the settings files, the lines of the entries and the running line are compared. Parameters that only
//! some of them have are reported, and `set` does not lose them.

use boot::{
    BootError, EditedTree, EveryBoot, FallbackRequirement, FileEdit, FileTree, LineLimit, MachineTree, OneShotEntry,
    choose, limit, set, trial,
};
use root::Root;
use std::path::Path;

fn open(name: &str) -> Root {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/boot");
    Root::open(&top.join(name)).unwrap()
}

/// Replaces texts in the files of a tree: path, old text, new text. An empty old text replaces the whole file.
fn changed<'a>(files: &'a MachineTree<'a>, changes: &[(&str, &str, &str)]) -> Vec<FileEdit> {
    let mut edits: Vec<FileEdit> = Vec::new();
    for (path, old, new) in changes {
        let before = files.bytes(path).map(|bytes| String::from_utf8(bytes).unwrap());
        let after = match old.is_empty() {
            true => (*new).to_owned(),
            false => {
                let text = before.clone().unwrap_or_default();
                assert!(text.contains(old), "{path}: {text}");
                text.replace(old, new)
            }
        };
        edits.push(FileEdit::new(*path, before, Some(after)));
    }
    edits
}

/// Returns the reports about a modified tree, in their order.
fn reported_differences(name: &str, changes: &[(&str, &str, &str)]) -> Vec<String> {
    let root = open(name);
    let files = MachineTree::of(&root);
    let edits = changed(&files, changes);
    let tree = EditedTree::new(&files, &edits);
    choose(&tree, None, &[]).unwrap().loader.all_remarks(&tree, &[])
}

fn most() -> LineLimit {
    limit(Some("x86_64"))
}

/// Returns the reason why `set` and `trial` do not edit a modified tree.
fn refused(name: &str, changes: &[(&str, &str, &str)]) -> BootError {
    let root = open(name);
    let files = MachineTree::of(&root);
    let edits = changed(&files, changes);
    let tree = EditedTree::new(&files, &edits);
    let loader = choose(&tree, None, &[]).unwrap().loader;
    let words = vec!["nohz_full=2-3".to_owned()];
    let wanted = EveryBoot::new(&words, FallbackRequirement::Nothing);
    let error = set(&tree, loader, None, wanted, &most()).unwrap_err();
    let wanted = OneShotEntry { words, kernel: None };
    assert!(trial(&tree, loader, &wanted, &most()).is_err());
    error
}

const CFG: &str = "/boot/grub/grub.cfg";
const RUNNING: &str = "/proc/cmdline";

#[test]
fn active_words_that_regeneration_would_remove_are_refused() {
    let both = [
        (CFG, "ro quiet", "ro quiet isolcpus=2 dyndbg=\"file a +p\""),
        (RUNNING, "ro quiet", "ro quiet isolcpus=2 \"dyndbg=file a +p\""),
    ];
    let error = refused("debian-12-grub", &both);
    let BootError::Disagree { why, next, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(
        why,
        "/boot/grub/grub.cfg and the running line have parameters that /etc/default/grub does not contain, and \
         `update-grub` would remove them: isolcpus=2 dyndbg=\"file a +p\""
    );
    assert_eq!(
        next,
        "to keep them, add them to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub; to remove them, run `update-grub`; then \
         try again"
    );
    for (name, path, line) in [
        ("alpine-3.20-extlinux", "/boot/extlinux.conf", "quiet rootfstype"),
        ("debian-12-u-boot-menu", "/boot/extlinux/extlinux.conf", "ro quiet"),
    ] {
        let more = format!("isolcpus=2 {line}");
        let error = refused(name, &[(path, line, &more), (RUNNING, line, &more)]);
        assert!(matches!(&error, BootError::Disagree { .. }), "{name}: {error}");
    }
}

#[test]
fn words_found_only_in_the_generated_file_are_reported() {
    let remarks = reported_differences("debian-12-grub", &[(CFG, "ro quiet", "ro quiet isolcpus=2")]);
    assert_eq!(
        remarks,
        [
            "`update-grub` removes these parameters from /boot/grub/grub.cfg, because /etc/default/grub does not \
             contain them: isolcpus=2"
        ]
    );
    let remarks = reported_differences(
        "alpine-3.20-extlinux",
        &[("/etc/update-extlinux.conf", "quiet", "quiet isolcpus=2")],
    );
    assert_eq!(
        remarks,
        [
            "no entry of /boot/extlinux.conf has these parameters of /etc/update-extlinux.conf, because \
             `update-extlinux` has not run since that change: isolcpus=2",
            "the running kernel was started without isolcpus=2: the files changed since then, or another entry was chosen"
        ]
    );
}

#[test]
fn words_from_custom_entries_are_no_disagreement() {
    let own = "### BEGIN /etc/grub.d/40_custom ###\nmenuentry 'mine' {\n linux /vmlinuz root=/dev/x isolcpus=2\n}\n### END \
               /etc/grub.d/40_custom ###\n### BEGIN /etc/grub.d/41_custom ###\n";
    let by_hand = ("/boot/grub/grub.cfg", "### BEGIN /etc/grub.d/10_linux ###", own);
    let own_first = format!("{own}### END /etc/grub.d/41_custom ###\n### BEGIN /etc/grub.d/10_linux ###");
    let by_hand = (by_hand.0, by_hand.1, own_first.as_str());
    let running = (RUNNING, "ro quiet", "ro quiet isolcpus=2");
    assert_eq!(
        reported_differences("debian-12-grub", &[by_hand, running]),
        [
            "the running kernel was started with parameters that no boot file contains, so the next boot will not \
             have them: isolcpus=2"
        ]
    );
    // A script of the distribution that the administrator changed.
    let script = "#!/bin/sh\n  linux ${rel_dirname}/${basename} root=${device} ro ${args} panic=-1\n";
    let changes = [
        ("/etc/grub.d/10_linux", "", script),
        (CFG, "ro quiet", "ro quiet panic=-1"),
        (RUNNING, "ro quiet", "ro quiet panic=-1"),
    ];
    assert!(reported_differences("debian-12-grub", &changes).is_empty());
}

#[test]
fn every_loader_compares_its_entries_with_the_running_line() {
    for (name, before, after) in [
        ("debian-12-grub", "ro quiet", "ro typed=1"),
        ("arch-systemd-boot", "rw quiet", "rw typed=1"),
        ("fedora-41-bls", "rhgb quiet", "rhgb typed=1"),
        ("rhel-8-bls", "rhgb quiet", "rhgb typed=1"),
        ("debian-12-u-boot-menu", "ro quiet", "ro typed=1"),
        ("alpine-3.20-extlinux", "quiet", "typed=1"),
    ] {
        assert_eq!(
            reported_differences(name, &[])
                .iter()
                .filter(|one| one.contains("running kernel"))
                .count(),
            0,
            "{name}"
        );
        let remarks = reported_differences(name, &[(RUNNING, before, after)]);
        for part in [
            "the running kernel was started without quiet: ",
            "the running kernel was started with parameters that no boot file contains, so the next boot will not \
             have them: typed=1",
        ] {
            assert!(remarks.iter().any(|one| one.starts_with(part)), "{name}: {remarks:?}");
        }
    }
    let remarks = reported_differences(
        "proxmox-8-systemd-boot",
        &[(RUNNING, "boot=zfs", "boot=zfs isolcpus=2")],
    );
    assert!(
        remarks
            .iter()
            .any(|one| one.ends_with("will not have them: isolcpus=2")),
        "{remarks:?}"
    );
    // The board's script adds parameters, so only those that are missing are reported.
    let env = ("/boot/orangepiEnv.txt", "extraargs=", "extraargs=isolcpus=2 ");
    let remarks = reported_differences("orangepi-1.2", &[env]);
    assert!(
        remarks[0].starts_with("the running kernel was started without isolcpus=2"),
        "{remarks:?}"
    );
    assert!(!remarks[0].contains("rootwait"), "{remarks:?}");
}

#[test]
fn words_that_later_kernels_lack_are_reported() {
    let file = ("/etc/kernel/cmdline", "", "root=PARTUUID=0a1b rw quiet later=1\n");
    assert_eq!(
        reported_differences("arch-systemd-boot", &[file]),
        [
            "kernels that are installed later take their line from /etc/kernel/cmdline, which lacks these parameters \
             of the entry arch.conf: loglevel=3",
            "kernels that are installed later take their line from /etc/kernel/cmdline, which has parameters that \
             the entry arch.conf lacks: later=1"
        ]
    );
}

#[test]
fn own_words_that_wait_for_a_boot_are_no_disagreement() {
    let root = open("debian-12-grub");
    let files = MachineTree::of(&root);
    let loader = choose(&files, None, &[]).unwrap().loader;
    let words = ["isolcpus=2-3".to_owned()];
    let wanted = EveryBoot::new(&words, FallbackRequirement::Nothing);
    let work = set(&files, loader, None, wanted, &most()).unwrap();
    let cfg = String::from_utf8(files.bytes(CFG).unwrap()).unwrap();
    let mut edits = work.edits.clone();
    let generated = cfg.replace("ro quiet", "ro quiet isolcpus=2-3");
    edits.push(FileEdit::new(CFG, Some(cfg), Some(generated)));
    let after = EditedTree::new(&files, &edits);
    assert!(loader.all_remarks(&after, &words).is_empty());
    assert_eq!(loader.all_remarks(&after, &[]).len(), 1);
    let other = ["isolcpus=1".to_owned()];
    let wanted = EveryBoot::new(&other, FallbackRequirement::Nothing);
    let again = set(&after, loader, work.own_changes.as_ref(), wanted, &most());
    assert!(again.is_ok(), "{again:?}");
}

#[test]
fn lines_of_etc_kernel_cmdline_count_as_each_reader_uses_them() {
    let path = "/etc/kernel/cmdline";
    let text = "root=PARTUUID=0a1b rw isolcpus=1\n\nquiet loglevel=3\n\n";
    let running = "root=PARTUUID=0a1b rw isolcpus=1\n";
    let set_on = |name: &str| {
        let root = open(name);
        let files = MachineTree::of(&root);
        let edits = changed(&files, &[(path, "", text), (RUNNING, "", running)]);
        let tree = EditedTree::new(&files, &edits);
        let loader = choose(&tree, None, &[]).unwrap().loader;
        let lines = (loader.lines)(&tree).unwrap();
        let of_file = lines.iter().find(|line| line.slots[0].path == path).unwrap();
        let line = of_file.text(&tree).unwrap();
        let words = ["isolcpus=2-3".to_owned(), "nohz_full=2-3".to_owned()];
        let wanted = EveryBoot::new(&words, FallbackRequirement::Nothing);
        let work = set(&tree, loader, None, wanted, &most()).unwrap();
        let edit = work.edits.iter().find(|edit| edit.path == path).unwrap();
        let remarks = loader.all_remarks(&tree, &[]);
        (line, edit.after.clone().unwrap(), remarks)
    };
    // `kernel-install` joins the lines.
    for name in ["arch-systemd-boot", "fedora-41-bls", "arch-uki"] {
        let (line, after, remarks) = set_on(name);
        assert_eq!(line, "root=PARTUUID=0a1b rw isolcpus=1 quiet loglevel=3", "{name}");
        assert_eq!(
            after, "root=PARTUUID=0a1b rw isolcpus=2-3\n\nquiet loglevel=3 nohz_full=2-3\n\n",
            "{name}"
        );
        assert!(
            !remarks.iter().any(|one| one.contains("only the first line")),
            "{name}: {remarks:?}"
        );
    }
    for (name, tool) in [
        ("proxmox-8-systemd-boot", "proxmox-boot-tool"),
        ("ubuntu-24.04-rockchip-u-boot-menu", "u-boot-update"),
    ] {
        let (line, after, remarks) = set_on(name);
        assert_eq!(line, "root=PARTUUID=0a1b rw isolcpus=1", "{name}");
        assert_eq!(
            after, "root=PARTUUID=0a1b rw isolcpus=2-3 nohz_full=2-3\n\nquiet loglevel=3\n\n",
            "{name}"
        );
        let lost = format!(
            "`{tool}` puts only the first line of /etc/kernel/cmdline on the boot line, so these parameters do not \
             reach the kernel: quiet loglevel=3"
        );
        assert!(remarks.contains(&lost), "{name}: {remarks:?}");
    }
}
