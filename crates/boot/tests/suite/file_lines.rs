//! Boot trees of loaders whose files are displayed but not edited (`fixtures/boot-shown`). They are detected by their
//! evidence and refused with the line that the user should write.

use boot::{
    BootError, EveryBoot, FallbackRequirement, LineLimit, MachineTree, OneShotEntry, choose, find, limit, set, trial,
};
use root::Root;
use std::path::Path;

fn open(name: &str) -> Root {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/boot-shown");
    Root::open(&top.join(name)).unwrap()
}

fn words() -> Vec<String> {
    ["nohz_full=2-3".to_owned(), "quiet".to_owned()].to_vec()
}

fn most(root: &Root) -> LineLimit {
    limit(root.value("/proc/sys/kernel/arch").unwrap().as_deref())
}

/// Tree, loader, evidence, and the end of the refusal.
const TREES: &[(&str, &str, &str, &str)] = &[
    (
        "limine-arch",
        "limine",
        "the running line has no BOOT_IMAGE=, which GRUB adds, and /boot/limine/limine.conf exists",
        "add the parameters to `cmdline:` of the entry in /boot/limine/limine.conf: line 14 (Arch Linux) becomes \
         `cmdline: root=UUID=6f1c rw quiet nohz_full=2-3`",
    ),
    (
        "limine-cachyos",
        "limine",
        "the running line has no BOOT_IMAGE=, which GRUB adds, and /boot/limine.conf exists",
        "add the line `KERNEL_CMDLINE[default]+=\" nohz_full=2-3 quiet\"` there, then run `limine-update`",
    ),
    (
        "refind-arch",
        "refind",
        "the running line has no BOOT_IMAGE=, which GRUB adds, and /boot/refind_linux.conf exists",
        "line 1 of /boot/refind_linux.conf (Boot with standard options) becomes `\"Boot with standard options\"  \
         \"root=UUID=6f1c rw quiet initrd=\\boot\\initramfs-linux.img nohz_full=2-3\"`",
    ),
    (
        "refind-stanza",
        "refind",
        "the running line has no BOOT_IMAGE=, which GRUB adds, and /boot/efi/EFI/refind/refind.conf exists",
        "line 13 of /boot/efi/EFI/refind/refind.conf (Arch Linux) becomes `options  \"root=UUID=6f1c rw dyndbg=\"\"file \
         drivers/usb/* +p\"\" nohz_full=2-3 quiet\"`",
    ),
];

#[test]
fn display_only_loaders_are_found_and_refuse_with_the_exact_line() {
    for (name, loader, evidence, next) in TREES {
        let root = open(name);
        let (files, limit) = (MachineTree::of(&root), most(&root));
        assert_eq!(find(&files).len(), 1, "{name}: {:?}", find(&files));
        let found = choose(&files, None, &[]).unwrap();
        assert_eq!(
            (found.loader.name, found.evidence.as_str()),
            (*loader, *evidence),
            "{name}"
        );
        let wanted = OneShotEntry {
            words: words(),
            kernel: None,
        };
        let refused = [
            set(
                &files,
                found.loader,
                None,
                EveryBoot::new(&words(), FallbackRequirement::Nothing),
                &limit,
            )
            .unwrap_err(),
            trial(&files, found.loader, &wanted, &limit).unwrap_err(),
        ];
        for error in refused {
            let BootError::DisplayOnly { next: message, .. } = &error else {
                panic!("{name}: {error}");
            };
            assert!(message.ends_with(next), "{name}: {message}");
            assert!(
                error
                    .to_string()
                    .contains("starts this machine, and quietcore does not edit its file")
            );
        }
    }
}

#[test]
fn lines_of_a_display_only_loader_come_from_its_files() {
    let texts = |name: &str| -> Vec<String> {
        let root = open(name);
        let files = MachineTree::of(&root);
        let loader = choose(&files, None, &[]).unwrap().loader;
        let entries = (loader.entries)(&files);
        let lines = (loader.lines)(&files).unwrap();
        assert_eq!(lines.len(), entries.len(), "{name}");
        entries
            .iter()
            .map(|one| format!("{} | {}", one.title, one.line))
            .collect()
    };
    assert_eq!(
        texts("limine-arch"),
        [
            "Arch Linux (fallback) | root=UUID=6f1c rw",
            "Arch Linux | root=UUID=6f1c rw quiet"
        ]
    );
    assert_eq!(
        texts("limine-cachyos"),
        ["linux-cachyos | root=UUID=6f1c rw quiet splash nowatchdog"]
    );
    assert_eq!(texts("refind-arch").len(), 3);
    assert_eq!(
        texts("refind-stanza"),
        ["Arch Linux | root=UUID=6f1c rw dyndbg=\"file drivers/usb/* +p\""]
    );
}
