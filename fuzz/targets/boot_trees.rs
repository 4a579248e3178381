//! All files of all boot loaders at once, one section each: which loader it is, its lines, entries, fallback and trial,
//! and what a change would write.

use super::boot_files::MemoryFiles;
use super::{FuzzTarget, owned, sections};
use boot::{
    EveryBoot, FallbackRequirement, LOADERS, OneShotEntry, WordChange, choose, contradiction, find, limit, other_way,
    reads, set, trial, tuned,
};

/// The file of each section, in order. An empty section means no file.
const PATHS: &[&str] = &[
    "/etc/default/grub",
    "/boot/grub/grub.cfg",
    "/boot/grub2/grub.cfg",
    "/boot/grub2/grubenv",
    "/boot/loader/entries/a-6.12.0.conf",
    "/boot/loader/entries/ostree-1-b.conf",
    "/boot/loader/loader.conf",
    "/etc/kernel/cmdline",
    "/etc/kernel/proxmox-boot-uuids",
    "/boot/extlinux/extlinux.conf",
    "/etc/default/u-boot",
    "/boot/config.txt",
    "/boot/cmdline.txt",
    "/boot/armbianEnv.txt",
    "/boot/uEnv.txt",
    "/etc/default/grub.d/50-a.cfg",
    "/etc/tuned/bootcmdline",
    "/proc/cmdline",
    "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f",
    "/boot/boot.cmd",
    "/efi/loader/entries/a.conf",
    "/etc/update-extlinux.conf",
    "/boot/limine.conf",
    "/etc/default/limine",
    "/boot/refind_linux.conf",
    "/boot/efi/EFI/refind/refind.conf",
    "/etc/kernelstub/configuration",
];

/// Programs that exist on the machine.
const PROGRAMS: &[&str] = &[
    "/usr/sbin/update-grub",
    "/usr/sbin/grub2-mkconfig",
    "/usr/sbin/proxmox-boot-tool",
    "/usr/bin/rpm-ostree",
    "/usr/sbin/u-boot-update",
    "/usr/sbin/grub-reboot",
    "/sbin/update-extlinux",
];

/// Files of loaders that are shown but not edited, and of kernelstub.
const DISPLAY_ONLY: &[&[(&str, &str)]] = &[
    &[
        ("/proc/cmdline", "root=x quiet\n"),
        (
            "/boot/limine.conf",
            "timeout: 3\n/+a\n  //b\n  protocol: linux\n  cmdline: root=x  quiet \n//c\n  kernel_cmdline: root=y\n",
        ),
    ],
    &[
        ("/boot/limine.conf", "/a\n  cmdline: root=x\n"),
        ("/etc/default/limine", "KERNEL_CMDLINE[default]+=\"quiet\"\n"),
    ],
    &[
        ("/proc/cmdline", "root=x initrd=\\i quiet\n"),
        (
            "/boot/refind_linux.conf",
            "# c\n\"a\" \"root=x \"\"q\"\" isolcpus=1\"\n\"b\" \"\"\n",
        ),
        (
            "/boot/efi/EFI/refind/refind.conf",
            "menuentry \"d\" {\n loader /v\n options \"root=x quiet\"\n submenuentry e {\n  add_options \"y\"\n }\n}\n",
        ),
    ],
    &[
        (
            "/boot/loader/entries/a-6.12.0.conf",
            "title a\nlinux /v\noptions root=x\n",
        ),
        ("/boot/loader/loader.conf", "default a*\n"),
        (
            "/etc/kernelstub/configuration",
            "{\"default\": {\"manage_mode\": false}, \"user\": {\"kernel_options\": [\"quiet\"], \"manage_mode\" : true}}",
        ),
    ],
];

/// An input with content for these files.
fn with_files(files: &[(&str, &str)]) -> Vec<u8> {
    let content = |path: &&str| {
        let file = files.iter().find(|(name, _)| name == path);
        file.map_or("", |(_, content)| content)
    };
    let sections: Vec<&str> = PATHS.iter().map(content).collect();
    sections.join("\u{1e}").into_bytes()
}

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "boot_trees",
    seeds: || {
        let mut seeds = owned(&[
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n\u{1e}menuentry 'a' --class b $x {\n\tlinux /vmlinuz-6.12.0 root=x ro\n}\nsubmenu 'b' {\nmenuentry 'c' {\n linux /v-6.1 root=x\n}\n}\n\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX x\"\n",
            "GRUB_ENABLE_BLSCFG=true\n\u{1e}\u{1e}blscfg\nset kernelopts=\"root=x\"\n\u{1e}# GRUB Environment Block\nsaved_entry=a-6.12.0\nkernelopts=root=x\ntuned_params=isolcpus=1\n####\u{1e}title a\nversion 6.12.0\nlinux /vmlinuz\noptions $kernelopts $tuned_params\n",
            "\u{1e}\u{1e}\u{1e}\u{1e}\u{1e}title b\nlinux /ostree/v\noptions root=x ostree=/a\n\u{1e}default a\ntimeout 3\n\u{1e}root=ZFS=rpool quiet\n\u{1e}1234-ABCD\n",
            "\u{1e}\u{1e}\u{1e}\u{1e}title a\nlinux /v\noptions root=x\n\u{1e}\u{1e}default a.conf\n\u{1e}\u{1e}\u{1e}DEFAULT l0\nLABEL l0\n LINUX /v\n APPEND root=x\n\u{1e}U_BOOT_PARAMETERS=\"ro\"\n\u{1e}[pi4]\ncmdline=c.txt\ninclude x\n[all]\nos_prefix=a/\n\u{1e}console=tty1 root=x\n\u{1e}extraargs=a\n\u{1e}cmdline=b\n",
        ]);
        seeds.extend(DISPLAY_ONLY.iter().map(|files| with_files(files)));
        seeds
    },
    run: |bytes| {
        let sections: Vec<&[u8]> = sections(bytes).collect();
        let given = PATHS.iter().zip(&sections).filter(|(_, content)| !content.is_empty());
        let mut files: Vec<(&str, &[u8])> = given.map(|(path, content)| (*path, *content)).collect();
        files.extend(PROGRAMS.iter().map(|path| (*path, &b""[..])));
        let tree = MemoryFiles(&files);
        let _ = (find(&tree), choose(&tree, None, &[]), other_way(&tree));
        let _ = (tuned(&tree), reads(&tree));
        let words = ["isolcpus=2-3".to_owned(), "nohz_full=2-3".to_owned()];
        let limit = limit(Some("x86_64"));
        let turn = WordChange {
            removed: vec!["quiet".to_owned()],
            new: words.to_vec(),
        };
        let once = OneShotEntry {
            words: words.to_vec(),
            kernel: Some("6.12.0".to_owned()),
        };
        for loader in LOADERS.iter().copied() {
            let _ = (contradiction(&tree, loader), loader.refusal(&tree, &words));
            let _ = ((loader.lines)(&tree), (loader.entries)(&tree), (loader.fallback)(&tree));
            let _ = ((loader.commit)(&tree, &turn), loader.all_remarks(&tree, &[]));
            let _ = trial(&tree, loader, &once, &limit);
            let wanted = EveryBoot::new(&words, FallbackRequirement::Fallback);
            if let Ok(work) = set(&tree, loader, None, wanted, &limit) {
                assert!(work.own_changes.is_some() || work.edits.is_empty(), "{}", loader.name);
            }
        }
    },
};
