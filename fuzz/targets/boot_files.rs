//! Files of boot loaders. Whatever they contain, words that were set are on the line exactly once, and clearing
//! restores every byte.

use super::{FuzzTarget, owned};
use boot::{EditedTree, EveryBoot, FallbackRequirement, FileTree, LOADERS, LineLimit, clear, set};

/// A machine with a few files in memory.
pub(super) struct MemoryFiles<'a>(pub(super) &'a [(&'a str, &'a [u8])]);

impl FileTree for MemoryFiles<'_> {
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let one = self.0.iter().find(|(name, _)| *name == path);
        one.map(|(_, bytes)| bytes.to_vec())
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let below = self
            .0
            .iter()
            .filter_map(|(path, _)| path.strip_prefix(dir)?.strip_prefix('/'));
        below.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }

    fn link(&self, _path: &str) -> Option<String> {
        None
    }
}

/// A test case: the loader, the file that contains the input, and other files that the loader needs.
type BootFileCase = (&'static str, &'static str, &'static [(&'static str, &'static [u8])]);

const CASES: &[BootFileCase] = &[
    (
        "grub-debian",
        "/etc/default/grub",
        &[
            ("/boot/grub/grub.cfg", b"menuentry 'a' {\n}\n"),
            ("/usr/sbin/update-grub", b""),
        ],
    ),
    (
        "grub-debian",
        "/boot/grub/grub.cfg",
        &[("/etc/default/grub", b"A=1\n"), ("/usr/sbin/update-grub", b"")],
    ),
    (
        "grub",
        "/etc/default/grub",
        &[
            ("/boot/grub2/grub.cfg", b"menuentry 'a' {\n}\n"),
            ("/usr/sbin/grub2-mkconfig", b""),
        ],
    ),
    (
        "bls",
        "/boot/loader/entries/a.conf",
        &[("/boot/grub2/grub.cfg", b"blscfg\n")],
    ),
    (
        "bls",
        "/boot/grub2/grubenv",
        &[
            ("/boot/grub2/grub.cfg", b"blscfg\n"),
            ("/boot/loader/entries/a.conf", b"linux /v\noptions $kernelopts\n"),
        ],
    ),
    (
        "systemd-boot",
        "/boot/loader/entries/a.conf",
        &[("/boot/loader/loader.conf", b"")],
    ),
    (
        "proxmox",
        "/etc/kernel/cmdline",
        &[
            ("/etc/kernel/proxmox-boot-uuids", b"1234-ABCD\n"),
            ("/usr/sbin/proxmox-boot-tool", b""),
        ],
    ),
    ("uki", "/etc/kernel/cmdline", &[("/efi/EFI/Linux/a.efi", b"")]),
    ("raspberry-pi", "/boot/cmdline.txt", &[("/boot/config.txt", b"")]),
    ("raspberry-pi", "/boot/config.txt", &[("/boot/cmdline.txt", b"a b\n")]),
    (
        "u-boot-menu",
        "/etc/default/u-boot",
        &[("/boot/extlinux/extlinux.conf", b""), ("/usr/sbin/u-boot-update", b"")],
    ),
    (
        "update-extlinux",
        "/etc/update-extlinux.conf",
        &[("/boot/extlinux.conf", b""), ("/sbin/update-extlinux", b"")],
    ),
    ("extlinux", "/boot/extlinux/extlinux.conf", &[]),
    ("armbian", "/boot/armbianEnv.txt", &[]),
    ("beaglebone", "/boot/uEnv.txt", &[]),
    ("limine", "/boot/limine.conf", &[]),
    ("limine", "/boot/limine.cfg", &[]),
    ("refind", "/boot/refind_linux.conf", &[]),
    ("refind", "/efi/EFI/refind/refind.conf", &[]),
    (
        "systemd-boot",
        "/etc/kernelstub/configuration",
        &[
            ("/boot/loader/entries/a.conf", b"linux /v\noptions a\n"),
            ("/boot/loader/loader.conf", b""),
        ],
    ),
];

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "boot_files",
    seeds: || {
        owned(&[
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet \\\"a b\\\" isolcpus=1\"\nGRUB_CMDLINE_LINUX='x'\nGRUB_DISABLE_RECOVERY=true\n",
            "A=`x`\nif [ \"$B\" = a ] || ! test -z ''; then GRUB_CMDLINE_LINUX=\"${GRUB_CMDLINE_LINUX:-a} $(x \\\n)\"; else :; fi # c\n\
             case $A in (a*|'b') B=1;; *) export C=\"d\" ;; esac\n. /etc/default/grub && D+=~ E=\\f\n",
            "# c\r\ntitle  a\r\nlinux /v\r\noptions root=x  isolcpus=1 -- z\r\noptions nohz_full=1 nohz_full=2",
            "# GRUB Environment Block\nkernelopts=root=x isolcpus=1 \\\\ q\n##########################################################################",
            "console=tty1 root=x isolcpus=3 rootwait\n",
            "DEFAULT a\nLABEL a\n  MENU LABEL ^A\n  LINUX /v\n  APPEND root=x isolcpus=1 \n# b\nlabel b\n append y single",
            "U_BOOT_PARAMETERS=\"ro quiet\"\ndefault_kernel_opts=quiet\nextraargs=a  b\ncmdline=c\n[all]\nos_prefix=x/\ncmdline=y\n",
            "timeout: 3\n/+a\n  //b\n  protocol: linux\n  cmdline: root=x  quiet \n:c\nKERNEL_CMDLINE=root=y isolcpus=1\ncmdline=",
            "# c\n\"a\" \"root=x isolcpus=1\"\n\"b \"\"c\"\"\"  \"\"\nmenuentry \"d\" {\n loader /v\n options \"root=x quiet\"\n submenuentry e {\n add_options \"y\"\n }\n}\n",
            "{\"default\": {\"manage_mode\": false}, \"user\": {\"kernel_options\": [\"quiet\"], \"manage_mode\" : true}}",
        ])
    },
    run: |bytes| {
        let words = ["isolcpus=2-3".to_owned(), "nohz_full=2-3".to_owned()];
        let limit = LineLimit {
            most: 4095,
            source_name: String::new(),
        };
        for (name, path, beside) in CASES {
            let mut files = vec![(*path, bytes)];
            files.extend_from_slice(beside);
            let tree = MemoryFiles(&files);
            let loader = LOADERS
                .iter()
                .copied()
                .find(|loader| loader.name == *name)
                .expect("a loader of the list");
            let _ = ((loader.entries)(&tree), (loader.lines)(&tree));
            // Callers never edit a refused file.
            if loader.refusal(&tree, &words).is_some() {
                continue;
            }
            let Ok(work) = set(
                &tree,
                loader,
                None,
                EveryBoot::new(&words, FallbackRequirement::Nothing),
                &limit,
            ) else {
                continue;
            };
            let Some(ours) = work.own_changes else {
                assert!(work.edits.is_empty(), "{name}: an edit that is nobody's");
                continue;
            };
            let done = EditedTree::new(&tree, &work.edits);
            let wanted = EveryBoot::new(&words, FallbackRequirement::Nothing);
            let again = set(&done, loader, Some(&ours), wanted, &limit).expect("what was set can be set");
            assert!(
                again.edits.is_empty(),
                "{name}: a second time changes {:?}",
                again.edits
            );
            let back = clear(&done, loader, &ours).expect("what was set can be cleared");
            let bare = EditedTree::new(&done, &back.edits);
            for file in &ours.files {
                assert_eq!(bare.bytes(&file.path), tree.bytes(&file.path), "{name}: {}", file.path);
            }
        }
    },
};
