//! Makes packages for Debian with `dpkg-deb`.

use super::contents::{PackagedContent, PackagedFile, repository_text};
use super::{PackageInfo, PackageRole, maintainer, stage, work_dir};
use crate::error::{TaskResult, output};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes `NAME_VERSION_ARCH.deb`.
pub(super) fn make(info: &PackageInfo, files: &[PackagedFile], out: &Path) -> TaskResult<PathBuf> {
    let work = work_dir()?;
    let tree = work.path().join("tree");
    stage::write(files, info.version, &tree)?;
    let sums = output(Command::new("sh").args(["-c", SUMS, "sums"]).arg(&tree))?;
    let control = tree.join("DEBIAN");
    stage::directory(&control, &tree)?;
    stage::regular(&control.join("md5sums"), sums.as_bytes(), 0o644)?;
    stage::regular(&control.join("control"), statement(info, files).as_bytes(), 0o644)?;
    for (name, text) in scripts(info)? {
        stage::regular(&control.join(name), text.as_bytes(), 0o755)?;
    }
    let to = out.join(format!("{}_{}_{}.deb", info.name, info.version.full(), info.arch.deb));
    output(
        Command::new("dpkg-deb")
            // Other programs of Debian read xz too. The blocks of several threads would depend on the machine.
            .args(["--root-owner-group", "-Zxz", "--build"])
            .args([&tree, &to])
            .env("DPKG_DEB_THREADS_MAX", "1")
            .env("SOURCE_DATE_EPOCH", info.version.epoch_s.to_string()),
    )?;
    Ok(to)
}

/// The checksums of all files, as dpkg keeps them.
const SUMS: &str = "cd \"$1\" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum";

fn statement(info: &PackageInfo, files: &[PackagedFile]) -> String {
    let relations = match info.role {
        PackageRole::Program => "Suggests: quietcore-frontends\n".to_owned(),
        PackageRole::FrontEnds => {
            format!("Depends: quietcore (>= {})\nConflicts: cpuset\n", info.version.version)
        }
    };
    let lines: String = info.description.iter().map(|line| format!(" {line}\n")).collect();
    format!(
        "Package: {}\nVersion: {}\nArchitecture: {}\nMaintainer: {}\nInstalled-Size: {}\n{relations}\
         Section: admin\nPriority: optional\nDescription: {}\n{lines}",
        info.name,
        info.version.full(),
        info.arch.deb,
        maintainer(),
        files.iter().map(size_kib).sum::<usize>(),
        info.summary,
    )
}

/// Size on a disk, as Debian's policy counts it.
fn size_kib(file: &PackagedFile) -> usize {
    match &file.content {
        PackagedContent::Program(bytes) | PackagedContent::Text(bytes) => bytes.len().div_ceil(1024),
        PackagedContent::Link(_) => 1,
    }
}

/// The maintainer scripts: names and texts.
fn scripts(info: &PackageInfo) -> TaskResult<Vec<(&'static str, String)>> {
    if info.role == PackageRole::FrontEnds {
        return Ok(Vec::new());
    }
    let script = |cases: &[(&str, &str)]| -> TaskResult<String> {
        let mut text = "#!/bin/sh\nset -e\ncase $1 in\n".to_owned();
        for (case, file) in cases {
            let part = repository_text(&format!("packaging/scripts/{file}.sh"))?;
            text.push_str(&format!("{case})\n{part}    ;;\n"));
        }
        text.push_str("esac\n");
        Ok(text)
    };
    Ok(vec![
        ("postinst", script(&[("configure", "after-install")])?),
        ("prerm", script(&[("remove", "before-remove")])?),
        ("postrm", script(&[("remove", "after-remove"), ("purge", "purge")])?),
    ])
}
