//! Writes lists of files into directories, with the modes and times of a release, and makes tarballs of them.

use super::contents::{PackagedContent, PackagedFile};
use super::{PackageVersion, work_dir};
use crate::error::{TaskResult, XtaskError, output};
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes the files below `tree`. Modes do not depend on the umask, and all times are those of the version.
pub(super) fn write(files: &[PackagedFile], version: &PackageVersion, tree: &Path) -> TaskResult {
    directory(tree, tree)?;
    for file in files {
        let path = tree.join(&file.path);
        directory(path.parent().unwrap_or(tree), tree)?;
        match &file.content {
            PackagedContent::Program(bytes) => regular(&path, bytes, 0o755)?,
            PackagedContent::Text(bytes) => regular(&path, bytes, 0o644)?,
            PackagedContent::Link(target) => symlink(target, &path).map_err(XtaskError::file(&path))?,
        }
    }
    let time = format!("@{}", version.epoch_s);
    let find = ["-depth", "-exec", "touch", "--no-dereference", "-d", &time, "{}", "+"];
    output(Command::new("find").arg(tree).args(find)).map(drop)
}

/// Writes a file with a mode.
pub(super) fn regular(path: &Path, bytes: &[u8], mode: u32) -> TaskResult {
    std::fs::write(path, bytes).map_err(XtaskError::file(path))?;
    std::fs::set_permissions(path, Permissions::from_mode(mode)).map_err(XtaskError::file(path))
}

/// Makes a directory, and those above it up to `top`, with mode 755.
pub(super) fn directory(path: &Path, top: &Path) -> TaskResult {
    std::fs::create_dir_all(path).map_err(XtaskError::file(path))?;
    for dir in path.ancestors().take_while(|dir| dir.starts_with(top)) {
        std::fs::set_permissions(dir, Permissions::from_mode(0o755)).map_err(XtaskError::file(dir))?;
    }
    Ok(())
}

/// Makes `NAME.tar.gz`, which unpacks to a directory of that name.
pub(super) fn tarball(name: &str, files: &[PackagedFile], version: &PackageVersion, out: &Path) -> TaskResult<PathBuf> {
    let work = work_dir()?;
    write(files, version, &work.path().join(name))?;
    let to = out.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args([
        "--sort=name",
        "--format=gnu",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
    ]);
    tar.arg(format!("--mtime=@{}", version.epoch_s));
    tar.args(["--use-compress-program", "gzip -9n", "-cf"]);
    output(tar.arg(&to).arg("-C").arg(work.path()).arg(name))?;
    Ok(to)
}
