//! Tests the state directories: what is refused, what survives, which process holds the lock.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

type TestOutcome = Result<(), Box<dyn std::error::Error>>;

fn made() -> Result<(tempfile::TempDir, StateDir), Box<dyn std::error::Error>> {
    let temp = tempfile::tempdir()?;
    let state = StateDir::create(&temp.path().join("var/lib/state"))?;
    Ok((temp, state))
}

#[test]
fn private_directories_are_created_and_found_again() -> TestOutcome {
    let temp = tempfile::tempdir()?;
    let path = temp.path().join("a/b");
    assert!(StateDir::open(&path)?.is_none());
    StateDir::create(&path)?;
    assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o7777, 0o700);
    assert!(StateDir::open(&path)?.is_some());
    StateDir::create(&path)?;
    Ok(())
}

#[test]
fn links_and_world_writable_directories_are_refused() -> TestOutcome {
    let temp = tempfile::tempdir()?;
    let (real, link) = (temp.path().join("real"), temp.path().join("link"));
    StateDir::create(&real)?;
    symlink(&real, &link)?;
    for outcome in [StateDir::open(&link).map(|_| ()), StateDir::create(&link).map(|_| ())] {
        assert!(matches!(outcome, Err(RootError::State { what, .. }) if what.contains("symbolic link")));
    }
    std::fs::set_permissions(&real, PermissionsExt::from_mode(0o755))?;
    assert!(matches!(StateDir::open(&real), Err(RootError::State { what, .. }) if what.contains("755")));
    std::fs::write(temp.path().join("plain"), "")?;
    assert!(matches!(
        StateDir::open(&temp.path().join("plain")),
        Err(RootError::State { .. })
    ));
    Ok(())
}

#[test]
fn records_are_appended_whole() -> TestOutcome {
    let (_temp, state) = made()?;
    assert_eq!(state.read("journal")?, None);
    state.append("journal", b"one\n", AppendDurability::Kernel)?;
    state.append("journal", b"two\n", AppendDurability::Disk)?;
    assert_eq!(state.read("journal")?.as_deref(), Some(&b"one\ntwo\n"[..]));
    assert_eq!(state.names("")?, ["journal"]);
    Ok(())
}

/// The file stays open from one record to the next, and the name still decides.
#[test]
fn records_are_appended_to_the_file_that_has_the_name_now() -> TestOutcome {
    let (temp, state) = made()?;
    let append = |record: &[u8]| state.append("journal", record, AppendDurability::Kernel);
    append(b"one\n")?;
    state.rename("journal", "history/1")?;
    append(b"two\n")?;
    state.replace("journal", b"three\n")?;
    append(b"four\n")?;
    assert_eq!(state.read("history/1")?.as_deref(), Some(&b"one\n"[..]));
    assert_eq!(state.read("journal")?.as_deref(), Some(&b"three\nfour\n"[..]));
    state.remove("journal")?;
    append(b"five\n")?;
    state.append("other", b"six\n", AppendDurability::Kernel)?;
    append(b"seven\n")?;
    assert_eq!(state.read("journal")?.as_deref(), Some(&b"five\nseven\n"[..]));
    assert_eq!(state.read("other")?.as_deref(), Some(&b"six\n"[..]));
    let victim = temp.path().join("victim");
    std::fs::rename(state.path().join("journal"), &victim)?;
    symlink(&victim, state.path().join("journal"))?;
    assert!(append(b"x").is_err(), "it was given to another user's link");
    assert_eq!(std::fs::read(&victim)?, b"five\nseven\n");
    Ok(())
}

#[test]
fn a_record_that_did_not_fit_is_cut_off() -> TestOutcome {
    // The limit on file sizes makes the kernel write only a part, as a full disk does. It applies to the whole process,
    // so the test runs in its own child.
    let (_temp, state) = made()?;
    state.append("journal", &[b'a'; 100], AppendDurability::Kernel)?;
    #[allow(unsafe_code)]
    // SAFETY: the child only makes system calls on memory that it has, then leaves with `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let limit = libc::rlimit {
            rlim_cur: 150,
            rlim_max: 150,
        };
        // SAFETY: both calls get valid arguments; they concern this child only.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
        }
        let failed = matches!(
            state.append("journal", &[b'b'; 100], AppendDurability::Kernel),
            Err(RootError::Io {
                errno: libc::ENOSPC,
                ..
            })
        );
        // SAFETY: leaves at once.
        unsafe { libc::_exit(i32::from(!failed)) }
    }
    let mut status = 0;
    // SAFETY: waits for the child created above.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0, "the append must fail with ENOSPC");
    assert_eq!(state.read("journal")?, Some(vec![b'a'; 100]));
    Ok(())
}

#[test]
fn files_are_replaced_and_renamed_into_the_history() -> TestOutcome {
    let (_temp, state) = made()?;
    state.replace("journal", b"first")?;
    state.replace("journal", b"second")?;
    state.rename("journal", "history/1")?;
    assert_eq!(state.read("history/1")?.as_deref(), Some(&b"second"[..]));
    assert_eq!(state.names("")?, ["history"]);
    assert_eq!(state.names("history")?, ["1"]);
    assert_eq!(state.names("absent")?, Vec::<String>::new());
    state.replace("journal", b"third")?;
    let taken = state.rename("journal", "history/1");
    assert_eq!(taken.err().and_then(|error| error.errno()), Some(libc::EEXIST));
    assert_eq!(
        state.rename("absent", "x").err().and_then(|error| error.errno()),
        Some(libc::ENOENT)
    );
    state.remove("journal")?;
    state.remove("journal")?;
    assert_eq!(state.read("journal")?, None);
    Ok(())
}

#[test]
fn planted_files_and_names_outside_the_directory_are_refused() -> TestOutcome {
    let (temp, state) = made()?;
    let victim = temp.path().join("victim");
    std::fs::write(&victim, "precious")?;
    symlink(&victim, state.path().join("journal"))?;
    symlink(temp.path(), state.path().join("history"))?;
    for name in ["journal", "history/victim", "../victim", "..", "", "a/b/c", "a/.."] {
        assert!(
            state.append(name, b"x", AppendDurability::Kernel).is_err(),
            "append to {name}"
        );
        assert!(state.read(name).is_err(), "read of {name}");
    }
    assert_eq!(std::fs::read_to_string(&victim)?, "precious");
    Ok(())
}

#[test]
fn a_second_lock_request_waits_and_names_the_holder() -> TestOutcome {
    let (_temp, state) = made()?;
    let held = state.lock(Duration::ZERO)?;
    let again = StateDir::open(state.path())?.ok_or("the directory is there")?;
    let begin = Instant::now();
    let refused = again.lock(Duration::from_millis(60));
    assert!(begin.elapsed() >= Duration::from_millis(60));
    let message = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(
        message.contains(&format!("process {} ", std::process::id())),
        "{message}"
    );
    drop(held);
    again.lock(Duration::ZERO)?;
    Ok(())
}
