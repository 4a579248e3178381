//! Two machines in one process: each session has its own files, state, lock and machine.

use root::{Failure, Live, Root, Status};
use session::{Reporter, Session};
use std::path::Path;

struct SilentReporter;

impl Reporter for SilentReporter {
    fn note(&self, _text: &str) {}

    fn warn(&self, failure: &Failure) {
        panic!("no warning was expected: {failure:?}");
    }

    fn error(&self, failure: &Failure) {
        panic!("no error was expected: {failure:?}");
    }
}

fn machine_with(dir: &Path, cpus: &str) -> Session {
    let write = |path: &str, text: &str| {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("sys/devices/system/cpu/possible", cpus);
    write("sys/devices/system/cpu/online", cpus);
    write("proc/sys/kernel/random/boot_id", &format!("boot-of-{cpus}"));
    Session::on(Live::rehearsal(dir), &SilentReporter)
}

#[test]
fn two_sessions_work_on_separate_roots() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, other) = (machine_with(first.path(), "0-3"), machine_with(second.path(), "0-7"));
    let online = |session: &Session| session.machine().topology.online.to_string();
    assert_eq!((online(&one), online(&other)), ("0-3".to_owned(), "0-7".to_owned()));
    assert_eq!(one.boot_id().as_deref(), Some("boot-of-0-3"));
    assert_eq!(other.boot_id().as_deref(), Some("boot-of-0-7"));
    // Both are locked at the same time, each in its own directory.
    let (lock, other_lock) = (one.lock().unwrap(), other.lock().unwrap());
    assert_eq!(lock.state().path(), first.path().join("run/quietcore"));
    assert_eq!(other_lock.state().path(), second.path().join("run/quietcore"));
    lock.state().replace("journal", b"").unwrap();
    assert_eq!(other_lock.state().read("journal").unwrap(), None);
    assert!(one.lasting_state().unwrap().is_none());
    one.made_lasting_state().unwrap();
    assert!(first.path().join("var/lib/quietcore").is_dir());
    assert!(other.lasting_state().unwrap().is_none());
}

#[test]
fn the_machine_is_read_once_and_again_after_a_refresh() {
    let dir = tempfile::tempdir().unwrap();
    let session = machine_with(dir.path(), "0-3");
    let online = || session.machine().topology.online.to_string();
    assert_eq!(online(), "0-3");
    std::fs::write(dir.path().join("sys/devices/system/cpu/online"), "0-2").unwrap();
    assert_eq!(online(), "0-3", "what was read stays");
    session.refresh();
    assert_eq!(online(), "0-2");
}

#[test]
fn a_captured_machine_is_never_changed() {
    let dir = tempfile::tempdir().unwrap();
    let live = machine_with(dir.path(), "0-3");
    let captured = live.captured(Root::open(dir.path()).unwrap());
    let refused = captured.lock().map(drop).unwrap_err();
    assert_eq!(refused.status, Status::Usage);
    assert!(captured.lock_boot_files().is_err() && captured.made_lasting_state().is_err());
    assert!(captured.lock_existing().unwrap().is_none() && captured.in_force().is_empty());
    assert!(!dir.path().join("run").exists(), "nothing was made");
}
