//! `check` by a user who may not read the journal: the applied changes are unknown, so nothing is reported as quiet.

use crate::support::alone::small_disk;
use crate::support::schemas::document;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The uid of a user that owns no file.
const NOBODY_UID: u32 = 65534;

#[test]
fn without_access_to_the_journal_the_state_is_reported_as_unknown() {
    // A mount namespace belongs to a thread, and each test runs in its own thread.
    if let Err(why) = small_disk(Path::new("/run")) {
        return println!("SKIP: who_may_not_read_the_journal: {why}");
    }
    fs::DirBuilder::new().mode(0o700).create("/run/quietcore").unwrap();
    // Other users may not have access to the build directory.
    let tool = Path::new("/run/quietcore-tool");
    fs::write(tool, []).unwrap();
    fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_quietcore"));
    let mounted = Command::new("mount")
        .arg("--bind")
        .arg(binary)
        .arg(tool)
        .status()
        .unwrap();
    assert!(mounted.success());
    let check = |form: &str| {
        let mut command = Command::new(tool);
        command
            .args(["check", "--for", "0s", form])
            .uid(NOBODY_UID)
            .gid(NOBODY_UID);
        command.current_dir("/").output().unwrap()
    };
    let verdict = String::from_utf8(check("--quiet").stdout).unwrap();
    assert!(!verdict.contains("No CPU is isolated"), "{verdict}");
    let output = check("--json");
    let message = String::from_utf8_lossy(&output.stderr);
    let json: Value = document(&output.stdout).unwrap_or_else(|error| panic!("{error}: {message}"));
    let unseen = json["unseen"].to_string();
    assert!(
        unseen.contains("the journal in /run/quietcore could not be read"),
        "{unseen}"
    );
    assert_eq!(json["verdict"], "unknown");
    // Errors that can be seen without privileges are still reported.
    let errors = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["level"] == "error");
    let wanted = if errors.count() == 0 { 4 } else { 1 };
    assert_eq!(output.status.code(), Some(wanted), "{json:#}");
}
