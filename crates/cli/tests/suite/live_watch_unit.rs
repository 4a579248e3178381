//! `watch --daemon --install-unit` and `--remove-unit`, each in a mount namespace with its own `/etc`, `/run` and
//! `/var/lib`.
//!
//! `lab/src/scenarios/daemon_unit.rs` tests on real kernels that systemd starts the installed unit.

use crate::support::watched::{DaemonDirectory, is_able};
use std::path::Path;
use std::process::Output;

const UNIT: &str = "etc/systemd/system/quietcore-watch.service";
const LINK: &str = "etc/systemd/system/multi-user.target.wants/quietcore-watch.service";

/// Runs a copy of the program in `/mnt`. A program in a build directory, below `/tmp` or with other owners must not be
/// started at boot.
fn run(place: &DaemonDirectory, words: &str) -> (Option<i32>, String) {
    run_after(place, "true", words)
}

/// Like [`run`], after a shell command that changes the copy.
fn run_after(place: &DaemonDirectory, line: &str, words: &str) -> (Option<i32>, String) {
    let line = format!(
        "mount -t tmpfs -o mode=0755 none /mnt && install -m 0755 {} /mnt/quietcore && {line} && \
         exec /mnt/quietcore watch --daemon {words}",
        env!("CARGO_BIN_EXE_quietcore")
    );
    let Output { status, stdout, stderr } = place.line(&line).output().unwrap();
    let message = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (status.code(), message.concat())
}

fn with_systemd() -> DaemonDirectory {
    let place = DaemonDirectory::new();
    std::fs::create_dir_all(place.path("run/systemd/system")).unwrap();
    std::fs::create_dir_all(place.path("etc/systemd/system/multi-user.target.wants")).unwrap();
    place
}

fn is_there(place: &DaemonDirectory, path: &str) -> bool {
    place.path(path).symlink_metadata().is_ok()
}

#[test]
fn the_unit_is_installed_and_removed() {
    if !is_able("the_unit_is_installed_and_removed") {
        return;
    }
    let place = with_systemd();
    for _ in 0..2 {
        let (status, message) = run(&place, "--install-unit");
        assert_eq!(status, Some(0), "{message}");
        let unit = std::fs::read_to_string(place.path(UNIT)).unwrap();
        let start = unit.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
        assert_eq!(start, "ExecStart=/mnt/quietcore watch --daemon");
        let link = std::fs::read_link(place.path(LINK)).unwrap();
        assert_eq!(link, Path::new("../quietcore-watch.service"));
    }
    let (status, message) = run(&place, "--remove-unit");
    assert_eq!(status, Some(0), "{message}");
    assert!(!is_there(&place, UNIT) && !is_there(&place, LINK), "{message}");
    let (status, message) = run(&place, "--remove-unit");
    assert_eq!(status, Some(0), "{message}");
    assert!(message.contains("no unit of `watch` is installed"), "{message}");
}

/// Root would run a program at each boot that another user can replace.
#[test]
fn a_program_that_other_users_can_change_is_not_installed() {
    if !is_able("a_program_that_other_users_can_change_is_not_installed") {
        return;
    }
    let place = with_systemd();
    for (line, named) in [
        ("chown 4242 /mnt/quietcore", "/mnt/quietcore is 4242:0 0755"),
        ("chmod 0775 /mnt/quietcore", "/mnt/quietcore is 0:0 0775"),
        ("chown 4242 /mnt", "/mnt is 4242:0 0755"),
        ("chmod 1777 /mnt", "/mnt is 0:0 1777"),
    ] {
        let (status, message) = run_after(&place, line, "--install-unit");
        assert_eq!(status, Some(2), "{line}: {message}");
        assert!(message.contains(named), "{line}: {message}");
        assert!(!is_there(&place, UNIT) && !is_there(&place, LINK), "{line}: {message}");
    }
}

/// An edited unit belongs to the user who edited it.
#[test]
fn an_edited_unit_is_left_alone() {
    if !is_able("an_edited_unit_is_left_alone") {
        return;
    }
    let place = with_systemd();
    let (status, message) = run(&place, "--install-unit");
    assert_eq!(status, Some(0), "{message}");
    let theirs = "[Service]\nExecStart=/bin/true\n";
    std::fs::write(place.path(UNIT), theirs).unwrap();
    let (status, message) = run(&place, "--remove-unit");
    assert_eq!(status, Some(5), "{message}");
    assert!(message.contains("left alone"), "{message}");
    assert_eq!(std::fs::read_to_string(place.path(UNIT)).unwrap(), theirs);
}

#[test]
fn without_systemd_nothing_is_installed() {
    if !is_able("without_systemd_nothing_is_installed") {
        return;
    }
    let place = DaemonDirectory::new();
    let (status, message) = run(&place, "--install-unit");
    assert_eq!(status, Some(4), "{message}");
    assert!(
        message.contains("systemd is not running") && message.contains("next:"),
        "{message}"
    );
    assert!(!is_there(&place, "etc/systemd"));
}
