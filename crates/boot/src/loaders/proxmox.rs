//! Supports Proxmox with `proxmox-boot-tool`: the line is `/etc/kernel/cmdline`, and the tool writes systemd-boot entries to
//! EFI system partitions that are not mounted (Proxmox VE Administration Guide, "Host Bootloader").

use super::kernel_cmdline::{self, Extent, PATH as KERNEL_CMDLINE};
use super::{EntrySource, Fallback, Loader, WordSupport, evidence};
use crate::BootError;
use crate::line::EntryLine;
use crate::tools::first_of;
use crate::tree::FileTree;
use crate::trial::Trial;

/// The partitions that the tool manages.
const PARTITIONS: &str = "/etc/kernel/proxmox-boot-uuids";

/// Proxmox with systemd-boot.
pub static LOADER: Loader = Loader {
    name: "proxmox",
    about: "Proxmox's systemd-boot with /etc/kernel/cmdline and proxmox-boot-tool",
    find,
    lines,
    commit: |tree, _| Ok(vec![first_of(tree, &[("proxmox-boot-tool", &["refresh"])])?]),
    fallback: |_| {
        Ok(Fallback::none(
            "proxmox-boot-tool gives all entries the same line",
            "add --force if you can use the console: `e` in the menu of systemd-boot edits the line for one boot",
        ))
    },
    trial: Trial::Cannot {
        why: "proxmox-boot-tool gives all entries the same line",
        next: "use `boot set --force` if you can use the console: `e` in the menu of systemd-boot edits the line for \
             one boot",
    },
    words: WordSupport::Any,
    efi_name: Some("systemd-boot"),
    source: |_tree| EntrySource::Settings {
        files: KERNEL_CMDLINE.to_owned(),
        place: KERNEL_CMDLINE.to_owned(),
        tool: "proxmox-boot-tool refresh".to_owned(),
        generated: "the EFI system partitions".to_owned(),
        entries: Vec::new(),
        by_tool: Vec::new(),
    },
    remarks: |tree| kernel_cmdline::lost(tree, "proxmox-boot-tool").into_iter().collect(),
    ..Loader::PLAIN
};

fn find(tree: &dyn FileTree) -> Option<String> {
    let there = tree.is_there(PARTITIONS) && tree.is_there(KERNEL_CMDLINE);
    (there && !evidence::is_grub(tree)).then(|| format!("{PARTITIONS} and {KERNEL_CMDLINE}"))
}

/// If the tool manages GRUB on those partitions, `/boot/grub/grub.cfg` starts nothing.
pub fn owns_grub(tree: &dyn FileTree, words: &[String]) -> Option<BootError> {
    tree.is_there(PARTITIONS).then(|| {
        BootError::unable(
            "an edit of /boot/grub/grub.cfg would not last",
            format!("proxmox-boot-tool keeps the GRUB that starts this machine on separate partitions ({PARTITIONS})"),
            match words.is_empty() {
                true => {
                    "add parameters to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run `proxmox-boot-tool \
                 refresh`"
                        .to_owned()
                }
                false => format!(
                    "add these parameters to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub by hand, then run \
                 `proxmox-boot-tool refresh`: {}",
                    words.join(" ")
                ),
            },
        )
    })
}

fn lines(tree: &dyn FileTree) -> Result<Vec<EntryLine>, BootError> {
    let line = kernel_cmdline::line(tree, "all entries", Extent::FirstLine)?;
    Ok(line.into_iter().collect())
}
