//! What the `boot` commands report where a tool, an image or the firmware owns the command line, or writes the same
//! files.

use crate::support::boot_files::{boot, captured, efi, error_text, json, trees, with};
use std::path::Path;

#[test]
fn for_unified_kernel_images_the_remaining_steps_are_reported() {
    const SECURE: &str = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    const STUB: &str = "StubInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
    let arch = trees().into_iter().find(|path| path.ends_with("arch-uki")).unwrap();
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    for (secure, stub, says, silent) in [
        (
            0,
            Some("systemd-stub 255.4-1\0"),
            &["mkinitcpio -P", "also accepts an add-on"][..],
            &["sign"][..],
        ),
        (0, Some("systemd-stub 252.1\0"), &["mkinitcpio -P"], &["sign", "add-on"]),
        (0, None, &["systemd-stub 254 or later"], &["sign"]),
        (
            1,
            Some("systemd-stub 255.4-1\0"),
            &["secure boot is on", "would need a signature as well"],
            &["ukify"],
        ),
    ] {
        let tree = with(&arch, "etc/hostname", "x\n");
        efi(tree.path(), SECURE, &[secure]);
        if let Some(stub) = stub {
            efi(tree.path(), STUB, &wide(stub));
        }
        let notes = json(&boot(tree.path(), &["set", "--params", "a=1", "--dry-run", "--json"]))["notes"].to_string();
        assert!(notes.contains("until the image is built again"), "{notes}");
        assert!(
            says.iter().all(|part| notes.contains(part)),
            "{secure} {stub:?}: {notes}"
        );
        assert!(
            !silent.iter().any(|part| notes.contains(part)),
            "{secure} {stub:?}: {notes}"
        );
    }
}

#[test]
fn tools_that_own_the_line_or_write_the_same_files_are_reported() {
    let tree = |name: &str| trees().into_iter().find(|path| path.ends_with(name)).unwrap();
    let rhel = with(&tree("rhel-9-bls"), "usr/sbin/grubby", "");
    let set = json(&boot(rhel.path(), &["set", "--params", "a=1", "--dry-run", "--json"]));
    assert!(set["notes"].to_string().contains("grubby --info=ALL"), "{set}");
    assert!(set["edits"].to_string().contains("/boot/loader/entries/"), "{set}");
    assert_eq!(
        set["runs"].as_array().unwrap().len(),
        0,
        "the files are the truth there"
    );

    let coreos = tree("fedora-coreos-ostree");
    let set = json(&boot(&coreos, &["set", "--params", "a=1", "--dry-run", "--json"]));
    assert_eq!(
        set["runs"].to_string(),
        "[\"rpm-ostree kargs --append-if-missing=a=1\"]"
    );
    assert_eq!(set["edits"].as_array().unwrap().len(), 0, "its files are never edited");

    let board = tempfile::tempdir().unwrap();
    captured(board.path());
    let said_of = |dir: &Path| error_text(&boot(dir, &["set", "--params", "a=1", "--dry-run"]));
    assert!(!said_of(board.path()).contains("fw_setenv"));
    std::fs::create_dir_all(board.path().join("etc")).unwrap();
    std::fs::write(board.path().join("etc/fw_env.config"), "/dev/mtd1 0 0x2000\n").unwrap();
    assert!(
        said_of(board.path()).contains("fw_setenv bootargs"),
        "{}",
        said_of(board.path())
    );
}
