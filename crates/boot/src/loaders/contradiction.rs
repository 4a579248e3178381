//! Detects that the machine was started by a different loader than the one whose files exist. Files of an old loader may
//! remain after another one takes over.

use super::Loader;
use super::evidence::{efi_loader, running};
use crate::tree::FileTree;

/// Loaders whose name in `LoaderInfo` can contradict the files of another one.
const KNOWN: &[&str] = &["grub", "systemd-boot", "limine", "refind"];

/// The evidence that a different loader started the machine; `None` if there is none.
#[must_use]
pub fn contradiction(tree: &dyn FileTree, loader: &Loader) -> Option<String> {
    let name = loader.efi_name?;
    let running = running(tree);
    if let Some(reported) = efi_loader(tree)
        && KNOWN.iter().any(|known| reported.contains(known))
    {
        // rEFInd starts other loaders too, and older GRUBs keep its name in the variable.
        let started_by_refind = reported.contains("refind") && running.image && name == "grub";
        // A loader that started GRUB: GRUB's entries count.
        let made_its_line = name == "systemd-boot" && running.initrd.is_some();
        if matches!(name, "refind" | "systemd-boot") && reported.contains(name) && running.image && !made_its_line {
            return Some(made_by_grub(name));
        }
        return (!reported.contains(name) && !started_by_refind)
            .then(|| format!("the firmware's variable LoaderInfo names `{reported}`"));
    }
    match (name, running.image, running.initrd) {
        ("grub", false, Some(word)) => Some(format!(
            "the running line has `{word}` and no BOOT_IMAGE=, so an EFI loader started it and not GRUB"
        )),
        ("limine" | "refind", true, _) => Some(made_by_grub(name)),
        ("limine", false, Some(word)) => Some(format!(
            "the running line has `{word}`, which EFI loaders add and limine does not"
        )),
        ("grub", false, None) if running.known => installed(tree)
            .map(|other| format!("the running line has no BOOT_IMAGE=, which GRUB adds, and {other} exists")),
        ("systemd-boot", true, None) => {
            Some("the running line has BOOT_IMAGE=, which GRUB and syslinux add and systemd-boot does not".to_owned())
        }
        _ => None,
    }
}

/// Whether GRUB or syslinux created the running line, even if this loader started them.
fn made_by_grub(name: &str) -> String {
    format!("the running line has BOOT_IMAGE=, which GRUB and syslinux add and {name} does not")
}

/// A file of a loader that quietcore does not edit.
fn installed(tree: &dyn FileTree) -> Option<String> {
    super::limine::file(tree).or_else(|| super::refind::file(tree))
}

/// The right file on a machine whose loader is known but not edited; `None` if it is unknown.
#[must_use]
pub fn other_way(tree: &dyn FileTree) -> Option<String> {
    if tree.is_there(super::generated::NIXOS) {
        return Some(super::generated::nixos_next(&[]));
    }
    tree.is_there("/etc/fw_env.config").then(|| {
        "here U-Boot keeps the line in its environment, which quietcore does not write: `fw_printenv bootargs` shows \
         it, and `fw_setenv bootargs 'LINE WORDS'` sets it with the parameters that `quietcore plan` lists"
            .to_owned()
    })
}
