//! Files of another user in a directory do not affect where root writes. Needs root, because the links change their
//! owner.

use root::RootError;
use root::output::{Appender, Draft, NewFile, ReadAccess, check, make_folder, write, write_new};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::Path;

const OTHER: u32 = 4242;

type WriteFunction = fn(&Path) -> Result<(), RootError>;

/// Every way to write a file or create a directory at a path that another user controls.
const WRITERS: [(&str, WriteFunction); 9] = [
    ("folder", make_folder),
    ("new file in a new folder", |path| {
        write_new(&[NewFile {
            path: &path.join("new/file"),
            mode: 0o600,
            content: b"new",
        }])
    }),
    ("write", |path| write(path, b"new")),
    ("check", |path| check(path).map(drop)),
    ("draft", |path| Draft::create(path, ReadAccess::Owner)?.finish()),
    ("appender", |path| Appender::create(path)?.append(b"new")),
    ("child", |path| root::output::for_child(path).map(drop)),
    ("log", |path| root::log::append(path, b"new")),
    ("new file", |path| {
        write_new(&[NewFile {
            path,
            mode: 0o600,
            content: b"new",
        }])
    }),
];

fn is_able(test: &str) -> bool {
    let is_able = rustix::process::geteuid().is_root();
    if !is_able {
        println!("SKIP: {test}: files can be given to another user only by root");
    }
    is_able
}

#[test]
fn a_link_of_another_user_is_not_followed() {
    if !is_able("a_link_of_another_user_is_not_followed") {
        return;
    }
    for mode in [0o1777, 0o755] {
        let temp = tempfile::tempdir().unwrap();
        let [safe, open] = ["safe", "open"].map(|name| temp.path().join(name));
        std::fs::create_dir(&safe).unwrap();
        std::fs::create_dir(&open).unwrap();
        lchown(&open, Some(OTHER), None).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(mode)).unwrap();
        std::fs::write(safe.join("file"), "old").unwrap();
        std::fs::set_permissions(safe.join("file"), std::fs::Permissions::from_mode(0o600)).unwrap();
        symlink(safe.join("file"), open.join("last")).unwrap();
        symlink(&safe, open.join("middle")).unwrap();
        for link in ["last", "middle"] {
            lchown(open.join(link), Some(OTHER), None).unwrap();
        }
        for path in ["last", "middle/file", "middle/absent"] {
            for (name, writer) in WRITERS {
                let outcome = writer(&open.join(path));
                // Some follow no link at all as the last component, and a new file must not exist yet.
                let refusals = [("new file", libc::EEXIST), ("child", libc::ELOOP), ("log", libc::ELOOP)];
                let is_refused = match outcome {
                    Err(RootError::ForeignLink { uid, .. }) => uid == OTHER,
                    Err(error) => refusals.iter().any(|one| (one.0, Some(one.1)) == (name, error.errno())),
                    Ok(()) => false,
                };
                assert!(is_refused, "{name} {path} in a directory of mode {mode:o}");
            }
        }
        let names: Vec<_> = std::fs::read_dir(&safe)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["file"], "nothing is written there");
        assert_eq!(std::fs::read(safe.join("file")).unwrap(), b"old");
        // An own link in the same place is followed.
        symlink(safe.join("file"), open.join("own")).unwrap();
        write(&open.join("own"), b"new").unwrap();
        assert_eq!(std::fs::read(safe.join("file")).unwrap(), b"new");
        assert_eq!(
            safe.join("file").metadata().unwrap().permissions().mode() & 0o7777,
            0o600
        );
    }
}

#[test]
fn a_pipe_of_another_user_in_a_shared_directory_gets_no_data() {
    if !is_able("a_pipe_of_another_user_in_a_shared_directory_gets_no_data") {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let pipe = temp.path().join("pipe");
    let owner = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, owner, 0).unwrap();
    lchown(&pipe, Some(OTHER), None).unwrap();
    std::fs::set_permissions(temp.path(), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let error = Draft::create(&pipe, ReadAccess::Owner).unwrap_err();
    assert!(matches!(error, RootError::ForeignPipe { uid: OTHER, .. }), "{error}");
}
