//! Creates folders for results without following a symbolic link that another user has placed.
//!
//! Links decide where root creates a folder, just as they decide where it writes ([`Destination`]).

use super::{failed, open};
use crate::RootError;
use crate::destination::Destination;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::path::{Component, Path, PathBuf};

/// Creates a folder for results, and its parents, if they are missing. A symbolic link of another user is never followed.
///
/// # Errors
/// [`RootError::ForeignLink`]; the errno of the lookup or of `mkdir(2)`: `EEXIST` if something else has the name.
pub fn make_folder(path: &Path) -> Result<(), RootError> {
    let mut prefix = PathBuf::new();
    for component in path.components() {
        prefix.push(component);
        if matches!(component, Component::Normal(_)) {
            make_one_folder(path, &prefix)?;
        }
    }
    Ok(())
}

/// Creates the folder `prefix` of `path`, whose parents exist.
fn make_one_folder(path: &Path, prefix: &Path) -> Result<(), RootError> {
    loop {
        let Destination { dir, name, stat } = match Destination::of(prefix) {
            // It is a link to `/` or to `..`.
            Err(error) if error.errno() == Some(libc::EISDIR) => return Ok(()),
            found => found?,
        };
        let folder = OFlags::PATH | OFlags::DIRECTORY;
        match stat.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Some(FileType::Directory) => return Ok(()),
            // A link of /proc is a descriptor of the process.
            Some(FileType::Symlink) => return open(&dir, &name, path, folder, Mode::empty()).map(drop),
            Some(_) => return Err(failed(path, "create", Errno::EXIST)),
            None => {}
        }
        match rustix::fs::mkdirat(&dir, &name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
            Ok(()) => return Ok(()),
            // Another process has created something there since: look again.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(path, "create", errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_folders_are_created() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        std::fs::create_dir(top.join("real")).unwrap();
        std::fs::write(top.join("file"), "").unwrap();
        symlink("real", top.join("own")).unwrap();
        symlink("..", top.join("real/up")).unwrap();
        symlink("/", top.join("slash")).unwrap();
        for (path, made) in [
            ("a/b/c", "a/b/c"),
            ("a/b/c", "a/b/c"),
            ("own/new", "real/new"),
            ("a/../d/./e", "d/e"),
            ("real/up/f", "f"),
            ("slash", "."),
            ("", "."),
        ] {
            make_folder(&top.join(path)).unwrap();
            assert!(top.join(made).is_dir(), "{path}");
        }
        for (path, errno) in [("file", libc::EEXIST), ("file/x", libc::EEXIST)] {
            assert_eq!(make_folder(&top.join(path)).unwrap_err().errno(), Some(errno), "{path}");
        }
        let open = std::fs::File::open(top).unwrap();
        let number = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open));
        make_folder(Path::new(&number)).unwrap();
        make_folder(&Path::new(&number).join("g/h")).unwrap();
        assert!(top.join("g/h").is_dir());
    }
}
