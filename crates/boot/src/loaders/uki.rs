//! Supports unified kernel images: the line is inside a signed program. Only the file from which the next image is built
//! can be edited. The machine's own tools must rebuild the images; a remark says so.

use super::kernel_cmdline::{self, Extent, PATH as KERNEL_CMDLINE};
use super::systemd_boot::LATER;
use super::{EntrySource, Fallback, Loader, WordSupport, bls_grub};
use crate::BootError;
use crate::line::EntryLine;
use crate::loaders::bls;
use crate::tree::FileTree;
use crate::trial::Trial;

const PLACES: &[&str] = &["/efi", "/boot", "/boot/efi", "/esp"];

/// The firmware's report on whether it starts only signed programs.
const SECURE_BOOT: &str = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

/// The name of the stub in the image, from the Boot Loader Interface.
const STUB_INFO: &str = "/sys/firmware/efi/efivars/StubInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

/// systemd-stub accepts add-ons with words since this version (its manual page).
const ADDONS_SINCE: u32 = 254;

/// Unified kernel images.
pub static LOADER: Loader = Loader {
    name: "uki",
    about: "unified kernel images in EFI/Linux, built with /etc/kernel/cmdline",
    find,
    lines,
    fallback: |tree| {
        Ok(Fallback::Stays(format!(
            "the existing images ({})",
            images(tree).join(", ")
        )))
    },
    trial: Trial::Cannot {
        why: "the line is inside the image",
        next: "build a second image with the parameters, and choose it with `bootctl set-oneshot`",
    },
    words: WordSupport::Any,
    source: |tree| EntrySource::Settings {
        files: KERNEL_CMDLINE.to_owned(),
        place: KERNEL_CMDLINE.to_owned(),
        tool: tool(tree).to_owned(),
        generated: images(tree).join(", "),
        entries: Vec::new(),
        by_tool: Vec::new(),
    },
    remarks,
    ..Loader::PLAIN
};

fn images(tree: &dyn FileTree) -> Vec<String> {
    let dirs = PLACES.iter().map(|place| format!("{place}/EFI/Linux"));
    let all = dirs.flat_map(|dir| tree.names(&dir).into_iter().map(move |name| format!("{dir}/{name}")));
    all.filter(|path| path.ends_with(".efi")).collect()
}

fn find(tree: &dyn FileTree) -> Option<String> {
    let image = images(tree).into_iter().next()?;
    let entries = PLACES
        .iter()
        .any(|place| !bls::files(tree, &format!("{place}/loader/entries")).is_empty());
    (!entries && !bls_grub::is_used(tree)).then_some(image)
}

fn lines(tree: &dyn FileTree) -> Result<Vec<EntryLine>, BootError> {
    let line = kernel_cmdline::line(tree, LATER, Extent::AllLines)?.ok_or_else(|| {
        BootError::no_place(
            KERNEL_CMDLINE,
            "it does not exist, so the images are built with another file",
            "write the present line into it (without BOOT_IMAGE= and initrd=), then try again; or build the image with \
             the parameters of `quietcore plan`",
        )
    })?;
    Ok(vec![line])
}

/// The tool that builds the images with the line.
fn tool(tree: &dyn FileTree) -> &'static str {
    match tree.is_there("/usr/bin/mkinitcpio") {
        true => "mkinitcpio -P",
        false => "kernel-install add-all",
    }
}

fn remarks(tree: &dyn FileTree) -> Vec<String> {
    let tool = tool(tree);
    let secure = tree.bytes(SECURE_BOOT).is_some_and(|bytes| bytes.get(4) == Some(&1));
    let sign = match secure {
        true => {
            " and sign it with this machine's keys: secure boot is on, and the kernel ignores a boot line that is not \
             part of a signed image"
        }
        false => "",
    };
    let addon = match (stub_version(tree).map(|version| version >= ADDONS_SINCE), secure) {
        (Some(false), _) => "",
        (_, true) => {
            "; quietcore does not create an add-on (IMAGE.extra.d/*.addon.efi), which would need a signature \
             as well"
        }
        (Some(true), false) => {
            "; its systemd-stub also accepts an add-on, IMAGE.extra.d/NAME.addon.efi, which quietcore does not create: \
             `ukify build --cmdline='WORDS' --output=NAME.addon.efi`"
        }
        (None, false) => {
            "; if the image has systemd-stub 254 or later, an add-on in IMAGE.extra.d (`ukify build --cmdline='WORDS' \
             --output=NAME.addon.efi`) works too; quietcore does not create one"
        }
    };
    vec![format!(
        "the next boot has the old line until the image is built again, because the line is inside the image: run \
         `{tool}`{sign}{addon}"
    )]
}

/// The version of the stub that started this machine; `None` if another program did, or if a captured machine lacks the variable.
fn stub_version(tree: &dyn FileTree) -> Option<u32> {
    let bytes = tree.bytes(STUB_INFO)?;
    let text = super::utf16(bytes.get(4..)?);
    let version = text.strip_prefix("systemd-stub ")?;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
