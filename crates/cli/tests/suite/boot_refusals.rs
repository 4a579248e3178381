//! Boot files that quietcore does not edit: lines that cannot be computed, entries that another program generates, and
//! files of a loader that did not boot this machine. Each refusal states the reason and the right place.

use crate::support::boot_files::{boot, captured, efi, error_text, json, tree, with};
use std::path::{Path, PathBuf};

/// Returns the text of `boot show`, which succeeds on every machine.
fn show_text(tree: &Path) -> String {
    let output = boot(tree, &["show"]);
    assert!(output.status.success(), "{}", error_text(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Checks that `boot set` and `boot trial` refuse with these parts, and that `boot show` reports the first of them.
fn refused(tree: &Path, parts: &[&str]) {
    for verb in ["set", "trial"] {
        let output = boot(tree, &[verb, "--params", "nohz_full=2-3", "--dry-run"]);
        let text = error_text(&output);
        assert_eq!(output.status.code(), Some(4), "{verb}: {text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{verb}: {text}");
    }
    let text = show_text(tree);
    assert!(text.contains(parts[0]), "{text}");
}

#[test]
fn a_line_that_no_posix_shell_can_compute_is_refused_with_its_place() {
    let debian = tree("debian-12-grub");
    let start = "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX=\"\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n";
    for (more, part) in [
        (
            "GRUB_CMDLINE_LINUX_DEFAULT+=\"isolcpus=2-3\"\n",
            "/etc/default/grub:4: `GRUB_CMDLINE_LINUX_DEFAULT+=`",
        ),
        (
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet $ISO\"\n",
            "/etc/default/grub:4: no file sets `$ISO`",
        ),
        (
            "\n. /etc/default/grub.site\n",
            "/etc/default/grub:5: /etc/default/grub.site is read at that line",
        ),
        (
            "GRUB_CMDLINE_LINUX=\"$(cat /etc/words)\"\n",
            "/etc/default/grub:4: its value is the output of a command",
        ),
        (
            "if [ -e /etc/x ]; then GRUB_CMDLINE_LINUX_DEFAULT=\"a\"; fi\n",
            "/etc/default/grub:4: GRUB_CMDLINE_LINUX_DEFAULT is set, and it is unknown",
        ),
    ] {
        let tree = with(&debian, "etc/default/grub", &format!("{start}{more}"));
        refused(
            tree.path(),
            &[
                part,
                "add these parameters by hand to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run \
                 `update-grub`",
                "nohz_full=2-3",
            ],
        );
    }
}

#[test]
fn other_files_that_a_shell_reads_are_evaluated_too() {
    for (name, path, text, parts) in [
        (
            "alpine-3.20-extlinux",
            "etc/update-extlinux.conf",
            "default_kernel_opts=quiet\ndefault_kernel_opts+=\" x\"\n",
            [
                "/etc/update-extlinux.conf:2: `default_kernel_opts+=`",
                "then run `update-extlinux`: a=1",
            ],
        ),
        (
            "debian-12-u-boot-menu",
            "etc/default/u-boot",
            "U_BOOT_PARAMETERS=\"ro $MORE\"\n",
            [
                "/etc/default/u-boot:1: no file sets `$MORE`",
                "then run `u-boot-update`: a=1",
            ],
        ),
        (
            "arch-grub",
            "etc/default/grub",
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet `cat /x`\"\n",
            [
                "/etc/default/grub:1: its value is the output",
                "`grub-mkconfig -o /boot/grub/grub.cfg`: a=1",
            ],
        ),
    ] {
        let tree = with(&tree(name), path, text);
        let output = boot(tree.path(), &["set", "--params", "a=1", "--dry-run", "--force"]);
        assert_eq!(output.status.code(), Some(4), "{name}: {}", error_text(&output));
        assert!(
            parts.iter().all(|part| error_text(&output).contains(part)),
            "{name}: {}",
            error_text(&output)
        );
        assert!(
            show_text(tree.path()).contains(parts[0]),
            "{name}: {}",
            show_text(tree.path())
        );
    }
}

#[test]
fn if_sh_is_bash_plus_equals_appends_without_a_space() {
    let debian = tree("debian-12-grub");
    let text = "GRUB_CMDLINE_LINUX_DEFAULT=\"qui\"\nGRUB_CMDLINE_LINUX_DEFAULT+=\"et\"\n";
    let tree = with(&debian, "etc/default/grub", text);
    std::fs::create_dir_all(tree.path().join("bin")).unwrap();
    std::os::unix::fs::symlink("bash", tree.path().join("bin/sh")).unwrap();
    let shown = show_text(tree.path());
    assert!(shown.contains("zz-quietcore.cfg)\n    quiet\n"), "{shown}");
    let output = boot(tree.path(), &["set", "--params", "nohz_full=2-3", "--dry-run"]);
    assert_eq!(output.status.code(), Some(0), "{}", error_text(&output));
}

#[test]
fn values_from_variables_are_computed_and_not_rewritten() {
    let debian = tree("debian-12-grub");
    let text = "CPUS=2-3\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nEXTRA=\"\"\n\
                [ \"$CPUS\" = none ] || GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT ${EXTRA:-isolcpus=$CPUS}\"\n";
    let cfg = std::fs::read_to_string(debian.join("boot/grub/grub.cfg")).unwrap();
    let with_cfg = with(
        &debian,
        "boot/grub/grub.cfg",
        &cfg.replace("ro quiet", "ro quiet isolcpus=2-3"),
    );
    let tree = with(with_cfg.path(), "etc/default/grub", text);
    assert!(
        show_text(tree.path()).contains("    quiet isolcpus=2-3\n"),
        "{}",
        show_text(tree.path())
    );
    let output = boot(tree.path(), &["set", "--params", "nohz_full=2-3", "--dry-run"]);
    assert_eq!(output.status.code(), Some(0), "{}", error_text(&output));
    let plain = "CPUS=2-3\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet isolcpus=$CPUS\"\n";
    for text in [text, plain] {
        let tree = with(with_cfg.path(), "etc/default/grub", text);
        let output = boot(tree.path(), &["set", "--params", "isolcpus=1", "--dry-run"]);
        assert_eq!(output.status.code(), Some(4), "{}", error_text(&output));
        assert!(error_text(&output).contains("by hand"), "{}", error_text(&output));
    }
}

#[test]
fn settings_missing_from_the_generated_file_are_refused() {
    let debian = tree("debian-12-grub");
    let text = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet isolcpus=2\"\nGRUB_CMDLINE_LINUX=\"\"\n";
    let changed = with(&debian, "etc/default/grub", text);
    refused(
        changed.path(),
        &[
            "the boot line of /etc/default/grub differs from the one in /boot/grub/grub.cfg",
            "the files produce `quiet isolcpus=2`",
            "ro quiet`",
            "run `update-grub`",
        ],
    );
    assert!(show_text(changed.path()).contains("the running kernel was started without isolcpus=2"));
}

#[test]
fn active_words_that_update_grub_would_remove_are_refused() {
    let debian = tree("debian-12-grub");
    let more = |path: &str| {
        let text = std::fs::read_to_string(debian.join(path)).unwrap();
        text.replace("ro quiet", "ro quiet isolcpus=2")
    };
    let generated = with(&debian, "boot/grub/grub.cfg", &more("boot/grub/grub.cfg"));
    let part = "`update-grub` removes these parameters from /boot/grub/grub.cfg, because /etc/default/grub does not \
         contain them: isolcpus=2";
    assert!(show_text(generated.path()).contains(&format!("  note: {part}\n")));
    let set = json(&boot(
        generated.path(),
        &["set", "--params", "a=1", "--dry-run", "--json"],
    ));
    assert!(set["notes"].to_string().contains(part), "{set}");
    let running = with(generated.path(), "proc/cmdline", &more("proc/cmdline"));
    refused(
        running.path(),
        &[
            "/boot/grub/grub.cfg and the running line have parameters that /etc/default/grub does not contain, and \
             `update-grub` would remove them: isolcpus=2",
            "to keep them, add them to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub",
        ],
    );
}

#[test]
fn dropped_and_unread_words_are_reported() {
    let hetzner = "GRUB_HIDDEN_TIMEOUT_QUIET=false\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n";
    let debian = with(&tree("debian-12-grub"), "etc/default/grub.d/hetzner.cfg", hetzner);
    let text = "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash isolcpus=2-3\"\nGRUB_CMDLINE_LINUX=\"\"\n";
    let debian = with(debian.path(), "etc/default/grub", text);
    let part = "/etc/default/grub.d/hetzner.cfg:2 sets GRUB_CMDLINE_LINUX_DEFAULT again, so these parameters of \
         /etc/default/grub:2 do not reach the kernel: splash isolcpus=2-3";
    assert!(show_text(debian.path()).contains(part), "{}", show_text(debian.path()));
    let set = json(&boot(debian.path(), &["set", "--params", "a=1", "--dry-run", "--json"]));
    assert!(set["notes"].to_string().contains(part), "{set}");

    let snippet = "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX isolcpus=domain,4-31 nohz_full=4-31\"\n";
    let part = "/etc/default/grub.d/cmdline.cfg (isolcpus=domain,4-31 nohz_full=4-31)";
    for (name, unread) in [
        ("rhel-9-bls", true),
        ("fedora-41-bls", true),
        ("opensuse-leap-15-grub2", true),
        ("debian-12-grub", false),
    ] {
        let tree = with(&tree(name), "etc/default/grub.d/cmdline.cfg", snippet);
        assert_eq!(
            show_text(tree.path()).contains(part),
            unread,
            "{name}: {}",
            show_text(tree.path())
        );
    }
}

#[test]
fn generated_entries_are_refused_with_the_place_to_edit() {
    let arch = tree("arch-systemd-boot");
    let nixos = with(&arch, "etc/NIXOS", "");
    refused(nixos.path(), &["NixOS generates them", "nixos-rebuild boot"]);
    let output = boot(nixos.path(), &["set", "--params", "a=1 b=2", "--dry-run"]);
    assert!(
        error_text(&output).contains("boot.kernelParams = [ \"a=1\" \"b=2\" ];"),
        "{}",
        error_text(&output)
    );
    for (managed, status) in [("true", 4), ("false", 0)] {
        let text = format!(
            "{{\n \"default\": {{\"manage_mode\": false}},\n \"user\": {{\"kernel_options\": [], \"manage_mode\": {managed}}}\n}}\n"
        );
        let tree = with(&arch, "etc/kernelstub/configuration", &text);
        let output = boot(tree.path(), &["set", "--params", "a=1", "--dry-run"]);
        assert_eq!(output.status.code(), Some(status), "{}", error_text(&output));
        if status == 4 {
            refused(tree.path(), &["kernelstub generates them"]);
            assert!(
                error_text(&output).contains("kernelstub -a 'a=1'"),
                "{}",
                error_text(&output)
            );
        }
    }
}

const LOADER_INFO: &str = "LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn files_of_a_loader_that_did_not_start_the_machine_are_refused() {
    let debian = with(&tree("debian-12-grub"), "etc/hostname", "x\n");
    efi(debian.path(), LOADER_INFO, &wide("systemd-boot 252.31-1\0"));
    refused(
        debian.path(),
        &[
            "the firmware's variable LoaderInfo names `systemd-boot 252.31-1`",
            "--loader",
        ],
    );
    let named = boot(
        debian.path(),
        &["set", "--loader", "grub-debian", "--params", "a=1", "--dry-run"],
    );
    assert_eq!(named.status.code(), Some(0), "{}", error_text(&named));
    // rEFInd starts GRUB. Older versions of GRUB do not replace the loader's name.
    efi(debian.path(), LOADER_INFO, &wide("rEFInd 0.14.0\0"));
    let output = boot(debian.path(), &["set", "--params", "a=1", "--dry-run"]);
    assert_eq!(output.status.code(), Some(0), "{}", error_text(&output));

    let stub = "initrd=\\EFI\\x\\initrd.img root=UUID=1 ro quiet\n";
    let debian = with(&tree("debian-12-grub"), "proc/cmdline", stub);
    refused(
        debian.path(),
        &["the running line has `initrd=\\EFI\\x\\initrd.img` and no BOOT_IMAGE="],
    );

    let arch = with(
        &tree("arch-systemd-boot"),
        "proc/cmdline",
        "BOOT_IMAGE=/vmlinuz-linux root=UUID=1 rw\n",
    );
    refused(arch.path(), &["the running line has BOOT_IMAGE="]);
    // The refusal also holds if the firmware started this loader: it chain-loaded GRUB.
    efi(arch.path(), LOADER_INFO, &wide("systemd-boot 254.5-1\0"));
    refused(arch.path(), &["the running line has BOOT_IMAGE="]);

    let limine = with(
        &tree("debian-12-grub"),
        "boot/limine.conf",
        "/Linux\n    cmdline: root=UUID=1\n",
    );
    std::fs::write(limine.path().join("proc/cmdline"), "root=UUID=1 rw\n").unwrap();
    refused(
        limine.path(),
        &[
            "and /boot/limine.conf exists",
            "`cmdline:` of the entry in /boot/limine.conf",
        ],
    );
}

/// A loader whose files are displayed but not edited: `fixtures/boot-shown`.
fn display_only_tree(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/boot-shown")
        .join(name)
}

/// Returns every file of a tree with its content.
fn content(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut left = vec![dir.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => left.push(path),
                false => all.push((path.clone(), std::fs::read(path).unwrap())),
            }
        }
    }
    all.sort();
    all
}

#[test]
fn limine_and_refind_are_refused_with_the_intended_line() {
    for (name, parts) in [
        (
            "limine-arch",
            [
                "Limine starts this machine",
                "line 14 (Arch Linux) becomes `cmdline: root=UUID=6f1c rw quiet nohz_full=2-3`",
            ],
        ),
        (
            "limine-cachyos",
            [
                "Limine starts this machine",
                "`KERNEL_CMDLINE[default]+=\" nohz_full=2-3\"` there, then run `limine-update`",
            ],
        ),
        (
            "refind-arch",
            [
                "rEFInd starts this machine",
                "\"root=UUID=6f1c rw quiet initrd=\\boot\\initramfs-linux.img nohz_full=2-3\"`",
            ],
        ),
        (
            "refind-stanza",
            [
                "rEFInd starts this machine",
                "dyndbg=\"\"file drivers/usb/* +p\"\" nohz_full=2-3\"`",
            ],
        ),
    ] {
        let tree = display_only_tree(name);
        let before = content(&tree);
        refused(&tree, &parts);
        assert!(content(&tree) == before, "{name} changed");
    }
    // The loader name in the EFI variable takes precedence over the files.
    let debian = with(&tree("debian-12-grub"), "proc/cmdline", "root=UUID=1 rw\n");
    efi(debian.path(), LOADER_INFO, &wide("Limine 9.3.2\0"));
    refused(
        debian.path(),
        &["Limine starts this machine", "on a partition that is not mounted here"],
    );
    // A leftover file of GRUB does not make GRUB the loader.
    let left = with(
        &tree("debian-12-grub"),
        "boot/limine.conf",
        "/Linux\n    cmdline: root=UUID=1\n",
    );
    let output = boot(left.path(), &["set", "--params", "a=1", "--dry-run"]);
    assert_eq!(output.status.code(), Some(0), "{}", error_text(&output));
}

#[test]
fn proxmox_takes_precedence_over_a_leftover_grub() {
    let debian = tree("debian-12-grub");
    let line = "root=ZFS=rpool/ROOT/pve-1 boot=zfs\n";
    let proxmox = with(
        &tree("proxmox-8-systemd-boot"),
        "etc/default/grub",
        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n",
    );
    for path in ["boot/grub/grub.cfg", "usr/sbin/update-grub"] {
        let to = proxmox.path().join(path);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(debian.join(path), to).unwrap();
    }
    let set = json(&boot(
        proxmox.path(),
        &["set", "--params", "a=1", "--dry-run", "--force", "--json"],
    ));
    assert_eq!(
        (&set["loader"], &set["runs"][0]),
        (&"proxmox".into(), &"proxmox-boot-tool refresh".into()),
        "{set}"
    );
    assert_eq!(set["edits"][0]["after"], format!("{} a=1\n", line.trim_end()));
    // If GRUB is on the partitions of proxmox-boot-tool, nothing reads `/boot/grub/grub.cfg`.
    let grub = with(&debian, "etc/kernel/proxmox-boot-uuids", "5A3C-1D2E\n");
    let grub = with(grub.path(), "etc/kernel/cmdline", line);
    refused(
        grub.path(),
        &["proxmox-boot-tool keeps the GRUB", "proxmox-boot-tool refresh"],
    );
}

#[test]
fn a_display_only_loader_is_named() {
    for (path, text, parts) in [
        (
            "boot/limine.conf",
            "timeout: 5\n",
            ["Limine starts this machine", "/boot/limine.conf"],
        ),
        (
            "boot/refind_linux.conf",
            "\"Boot\" \"root=UUID=1\"\n",
            ["rEFInd starts this machine", "/boot/refind_linux.conf"],
        ),
        ("etc/NIXOS", "", ["boot.kernelParams", "nixos-rebuild boot"]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        captured(dir.path());
        let tree = with(dir.path(), path, text);
        let output = boot(tree.path(), &["set", "--params", "a=1", "--dry-run"]);
        assert_eq!(output.status.code(), Some(4), "{}", error_text(&output));
        for part in parts {
            assert!(error_text(&output).contains(part), "{path}: {}", error_text(&output));
            assert!(
                show_text(tree.path()).contains(part),
                "{path}: {}",
                show_text(tree.path())
            );
        }
    }
}

#[test]
fn environments_of_orange_pi_and_dietpi_are_edited_like_armbian() {
    for path in [
        "boot/orangepiEnv.txt",
        "boot/dietpiEnv.txt",
        "boot/firmware/dietpiEnv.txt",
    ] {
        let dir = tempfile::tempdir().unwrap();
        captured(dir.path());
        let tree = with(dir.path(), path, "verbosity=1\nextraargs=cma=128M\n");
        let set = json(&boot(
            tree.path(),
            &["set", "--params", "a=1", "--dry-run", "--force", "--json"],
        ));
        assert_eq!(set["edits"][0]["path"], format!("/{path}"), "{set}");
        assert_eq!(
            set["edits"][0]["after"], "verbosity=1\nextraargs=cma=128M a=1\n",
            "{set}"
        );
    }
}

#[test]
fn a_line_that_cannot_be_edited_is_shown_with_its_reason() {
    let text = "console=tty1 root=PARTUUID=1-02 rootwait\nisolcpus=3 nohz_full=3\n";
    let tree = with(&tree("raspberry-pi-os-12"), "boot/firmware/cmdline.txt", text);
    let shown = show_text(tree.path());
    assert!(!shown.contains("()"), "{shown}");
    assert!(
        shown.contains(
            "  the line: unknown\n    /boot/firmware/cmdline.txt has no line for kernel parameters\n    why: it has \
             more"
        ),
        "{shown}"
    );
    assert!(
        shown.contains("these parameters do not reach the kernel: isolcpus=3 nohz_full=3\n    next: move"),
        "{shown}"
    );
}
