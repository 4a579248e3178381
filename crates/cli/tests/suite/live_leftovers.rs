//! Leftovers of a killed command that cannot be removed now are reported, and block no other command.

use crate::support::alone::own_mount;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Command;

/// Returns the exit status and standard error.
fn quietcore(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(arguments)
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn an_unprocessable_ledger_is_reported_and_blocks_no_command() {
    // A mount namespace belongs to a thread, and each test runs in its own thread.
    if let Err(why) = own_mount(Path::new("/run")) {
        return println!("SKIP: a_ledger_that_cannot_be_worked_off: {why}");
    }
    for ledger in ["latency", "tracing", "kprobes"] {
        let _ = fs::remove_dir_all("/run/quietcore");
        fs::DirBuilder::new().mode(0o700).create("/run/quietcore").unwrap();
        // The ledger is a directory, which no program can read as a file, not even as root.
        fs::create_dir(Path::new("/run/quietcore").join(ledger)).unwrap();
        for (arguments, status) in [(&["undo"][..], 0), (&["undo", "--force"], 0), (&["undo", "-q"], 0)] {
            let (ended, message) = quietcore(arguments);
            assert_eq!(ended, Some(status), "{ledger} {arguments:?}: {message}");
            assert!(
                message.starts_with("warning: limits or traces of"),
                "{ledger} {arguments:?}: {message}"
            );
            assert!(
                message.contains(&format!("/run/quietcore/{ledger}")),
                "it is named: {message}"
            );
        }
        let (ended, message) = quietcore(&["confirm"]);
        assert_eq!(ended, Some(5), "{message}");
        assert!(
            message.contains("error: nothing"),
            "the job itself is what is refused: {message}"
        );
    }
}
