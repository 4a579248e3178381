//! Collects evidence of the loader that started this machine, from the firmware's report and the running line.

use crate::tree::FileTree;
use machine::cmdline::words;

/// The loader's name for itself, in lower case: the EFI variable `LoaderInfo` of the Boot Loader Interface, which
/// systemd-boot and newer GRUBs set. Four bytes of attributes, then UTF-16.
pub fn efi_loader(tree: &dyn FileTree) -> Option<String> {
    const PATH: &str = "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
    let bytes = tree.bytes(PATH)?;
    Some(super::utf16(bytes.get(4..)?))
}

/// The running line, and the evidence of the loader in it.
pub(super) struct RunningLine {
    /// GRUB and syslinux add the path of the kernel (`BOOT_IMAGE=`).
    pub image: bool,
    /// A loader that starts the kernel as an EFI program names the initial RAM disk with backslashes.
    pub initrd: Option<String>,
    /// Whether the line is known.
    pub known: bool,
}

/// The evidence in the running line.
pub(super) fn running(tree: &dyn FileTree) -> RunningLine {
    let line = tree.read_text("/proc/cmdline").unwrap_or_default();
    RunningLine {
        image: words(&line).any(|word| word.starts_with("BOOT_IMAGE=")),
        initrd: words(&line)
            .find(|word| word.starts_with("initrd=\\"))
            .map(str::to_owned),
        known: words(&line).next().is_some(),
    }
}

/// Whether GRUB started the running kernel, if there is evidence.
pub fn is_grub(tree: &dyn FileTree) -> bool {
    running(tree).image || efi_loader(tree).is_some_and(|name| name.contains("grub"))
}

/// Evidence of a loader whose files are not edited: its name in the firmware, else its file and a running line that
/// GRUB did not create.
pub(super) fn of_display_only(tree: &dyn FileTree, name: &str, file: Option<String>) -> Option<String> {
    if let Some(reported) = efi_loader(tree).filter(|reported| reported.contains(name)) {
        return Some(format!("the firmware's variable LoaderInfo names `{reported}`"));
    }
    let path = file?;
    let running = running(tree);
    Some(match running.known && !running.image {
        true => format!("the running line has no BOOT_IMAGE=, which GRUB adds, and {path} exists"),
        false => format!("{path} exists"),
    })
}
