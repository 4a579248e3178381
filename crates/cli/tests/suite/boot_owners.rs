//! What the verbs of `boot` say where a tool, an image or a firmware owns the line, or writes the same files.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn trees() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/boot");
    let mut trees: Vec<PathBuf> = std::fs::read_dir(top)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    trees.sort();
    assert!(trees.len() >= 20, "{trees:?}");
    trees
}

fn boot(tree: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .arg("boot")
        .args(arguments)
        .arg("--root")
        .arg(tree)
        .output()
        .unwrap()
}

/// What makes a directory a captured machine.
fn captured(dir: &Path) {
    for name in ["proc", "sys"] {
        std::fs::create_dir(dir.join(name)).unwrap();
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A tree with one file more, or with another text in one.
fn with(tree: &Path, path: &str, text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let copied = Command::new("cp")
        .arg("-a")
        .arg(tree.join("."))
        .arg(dir.path())
        .status()
        .unwrap();
    assert!(copied.success());
    let path = dir.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    dir
}

/// An EFI variable: four bytes of attributes, then the text.
fn efi(dir: &Path, name: &str, value: &[u8]) {
    let dir = dir.join("sys/firmware/efi/efivars");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join(name), [&[6, 0, 0, 0], value].concat()).unwrap();
}

#[test]
fn of_unified_images_it_is_said_what_else_has_to_be_done() {
    const SECURE: &str = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    const STUB: &str = "StubInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
    let arch = trees()
        .into_iter()
        .find(|path| path.ends_with("arch-uki"))
        .unwrap();
    let wide = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    for (secure, stub, says, silent) in [
        (
            0,
            Some("systemd-stub 255.4-1\0"),
            &["mkinitcpio -P", "would also take an add-on"][..],
            &["sign"][..],
        ),
        (
            0,
            Some("systemd-stub 252.1\0"),
            &["mkinitcpio -P"],
            &["sign", "add-on"],
        ),
        (0, None, &["version 254 or later"], &["sign"]),
        (
            1,
            Some("systemd-stub 255.4-1\0"),
            &["secure boot is on", "signed as well"],
            &["ukify"],
        ),
    ] {
        let tree = with(&arch, "etc/hostname", "x\n");
        efi(tree.path(), SECURE, &[secure]);
        if let Some(stub) = stub {
            efi(tree.path(), STUB, &wide(stub));
        }
        let notes = json(&boot(
            tree.path(),
            &["set", "--params", "a=1", "--dry-run", "--json"],
        ))["notes"]
            .to_string();
        assert!(notes.contains("build the image anew"), "{notes}");
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
fn where_a_tool_owns_the_line_or_writes_the_same_files_that_is_said() {
    let tree = |name: &str| trees().into_iter().find(|path| path.ends_with(name)).unwrap();
    let rhel = with(&tree("rhel-9-bls"), "usr/sbin/grubby", "");
    let set = json(&boot(
        rhel.path(),
        &["set", "--params", "a=1", "--dry-run", "--json"],
    ));
    assert!(set["notes"].to_string().contains("grubby --info=ALL"), "{set}");
    assert!(
        set["edits"].to_string().contains("/boot/loader/entries/"),
        "{set}"
    );
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
    assert_eq!(
        set["edits"].as_array().unwrap().len(),
        0,
        "its files are never edited"
    );

    let board = tempfile::tempdir().unwrap();
    captured(board.path());
    let said_of = |dir: &Path| said(&boot(dir, &["set", "--params", "a=1", "--dry-run"]));
    assert!(!said_of(board.path()).contains("fw_setenv"));
    std::fs::create_dir_all(board.path().join("etc")).unwrap();
    std::fs::write(board.path().join("etc/fw_env.config"), "/dev/mtd1 0 0x2000\n").unwrap();
    assert!(
        said_of(board.path()).contains("fw_setenv bootargs"),
        "{}",
        said_of(board.path())
    );
}
