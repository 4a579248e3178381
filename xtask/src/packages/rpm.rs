//! Makes RPM packages with `rpmbuild`, from a spec file that lists the staged files.

use super::contents::{PackagedContent, PackagedFile, repository_text};
use super::{PackageInfo, PackageRole, maintainer, stage, work_dir};
use crate::error::{TaskResult, XtaskError, output};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Macros that keep the machine out of the package: its name, its clock, its file times, and what its distribution does
/// to programs (`strip`, debug packages, links by build ID, dependencies that depend on its tools).
const MACROS: [&str; 9] = [
    "_buildhost localhost",
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    "source_date_epoch_from_changelog 0",
    "__os_install_post %{nil}",
    "debug_package %{nil}",
    "_build_id_links none",
    "_binary_payload w6.xzdio",
    "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
];

/// Makes `NAME-VERSION-REVISION.ARCH.rpm`.
pub(super) fn make(info: &PackageInfo, files: &[PackagedFile], out: &Path) -> TaskResult<PathBuf> {
    let work = work_dir()?;
    let work = work.path();
    let tree = work.join("tree");
    stage::write(files, info.version, &tree)?;
    let spec = work.join(format!("{}.spec", info.name));
    std::fs::write(&spec, spec_text(info, files)?).map_err(XtaskError::file(&spec))?;
    let mut rpmbuild = Command::new("rpmbuild");
    rpmbuild.args(["-bb", "--quiet", "--nodeps", "--target", info.arch.rpm]);
    let folders = [
        format!("_topdir {}", work.display()),
        format!("_rpmdir {}", out.display()),
        format!("staged {}", tree.display()),
    ];
    for defined in folders.iter().map(String::as_str).chain(MACROS) {
        rpmbuild.args(["--define", defined]);
    }
    output(
        rpmbuild
            .arg(&spec)
            // Macros of the user would change the package.
            .env("HOME", work)
            .env("LC_ALL", "C")
            .env("SOURCE_DATE_EPOCH", info.version.epoch_s.to_string()),
    )?;
    Ok(out.join(format!("{}-{}.{}.rpm", info.name, info.version.full(), info.arch.rpm)))
}

fn spec_text(info: &PackageInfo, files: &[PackagedFile]) -> TaskResult<String> {
    let version = info.version;
    let relations = match info.role {
        PackageRole::Program => String::new(),
        PackageRole::FrontEnds => format!("Requires: quietcore >= {}\nConflicts: cpuset\n", version.version),
    };
    let day = version.date("+%a %b %d %Y")?;
    let (name, full, maintainer) = (info.name, version.full(), maintainer());
    Ok(format!(
        "Name: {name}\nVersion: {}\nRelease: {}\nSummary: {}\nLicense: MIT OR Apache-2.0\nGroup: System/Base\n\
         Packager: {maintainer}\n\
         AutoReqProv: no\n{relations}\n%description\n{}\n\n%install\ncp -a %{{staged}}/. %{{buildroot}}\n\n{}\
         %files\n{}\n%changelog\n* {day} {maintainer} - {full}\n- Release {}\n",
        version.version,
        version.revision,
        capitalised(info.summary),
        info.description.join("\n"),
        scripts(info)?,
        listed(files),
        version.version,
    ))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// The scripts. RPM passes how many versions remain: 0 is the removal, and anything else an update.
fn scripts(info: &PackageInfo) -> TaskResult<String> {
    if info.role == PackageRole::FrontEnds {
        return Ok(String::new());
    }
    let part = |name| repository_text(&format!("packaging/scripts/{name}.sh"));
    let when_removed = |name| Ok::<_, XtaskError>(format!("if [ \"$1\" -eq 0 ]; then\n{}fi\n", part(name)?));
    Ok(format!(
        "%post\n{}\n%preun\n{}\n%postun\n{}\n",
        part("after-install")?,
        when_removed("before-remove")?,
        when_removed("after-remove")?,
    ))
}

/// The list of files, and of the directories that no other package has.
fn listed(files: &[PackagedFile]) -> String {
    let mut directories = BTreeSet::new();
    let mut lines = String::new();
    for file in files {
        let above = Path::new(&file.path).ancestors().skip(1);
        let own = above.filter(|dir| {
            dir.components()
                .any(|part| part.as_os_str().to_string_lossy().starts_with("quietcore"))
        });
        directories.extend(own.map(|dir| dir.display().to_string()));
        let path = &file.path;
        let kind = match path {
            path if path.starts_with("usr/share/licenses/") => "%license ",
            path if path.starts_with("usr/share/doc/") || path.starts_with("usr/share/man/") => "%doc ",
            _ => "",
        };
        lines.push_str(&match file.content {
            PackagedContent::Program(_) => format!("%attr(0755,root,root) /{path}\n"),
            PackagedContent::Text(_) => format!("{kind}%attr(0644,root,root) /{path}\n"),
            PackagedContent::Link(_) => format!("/{path}\n"),
        });
    }
    let directories = directories
        .iter()
        .map(|dir| format!("%dir %attr(0755,root,root) /{dir}\n"));
    directories.chain([lines]).collect()
}
