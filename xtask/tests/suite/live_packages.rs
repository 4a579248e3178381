//! The packages of a release, made by `dpkg-deb` and `rpmbuild` from the static program that `QUIETCORE_BIN` names: the same
//! bytes each time, no errors of `lintian` and `rpmlint`, the same files in both formats.

use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::packages::{self, AARCH64, ARMV7, PackageInputs, PackageVersion, X86_64};

/// The program, if it and the tools are here.
fn ready(test: &str, tools: &[&str]) -> Option<PathBuf> {
    let Some(program) = std::env::var_os("QUIETCORE_BIN") else {
        println!("SKIP: {test}: QUIETCORE_BIN names no static quietcore");
        return None;
    };
    for tool in tools {
        if Command::new(tool).arg("--version").output().is_err() {
            println!("SKIP: {test}: there is no {tool}");
            return None;
        }
    }
    Some(program.into())
}

/// Makes all packages in a directory and returns their paths. `native` writes man pages and completions.
fn made(program: &Path, native: &Path, out: &Path) -> Vec<PathBuf> {
    let version = PackageVersion::of_this_source(1).unwrap();
    let inputs = PackageInputs::read(X86_64, program, native).unwrap();
    let mut made = packages::of_program(X86_64, &inputs, &version, out).unwrap();
    made.extend(packages::of_front_ends(native, &version, out).unwrap());
    made.push(packages::write_inventory(X86_64, &version, out).unwrap());
    made
}

fn printed(program: &str, arguments: &[&str], file: &Path) -> String {
    let output = Command::new(program).args(arguments).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn packages_made_twice_have_the_same_bytes() {
    let Some(program) = ready("packages_made_twice_have_the_same_bytes", &["dpkg-deb", "rpmbuild"]) else {
        return;
    };
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [one, other] = dirs.each_ref().map(|dir| made(&program, &program, dir.path()));
    assert_eq!(one.len(), 6);
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(one.file_name(), other.file_name());
        let is_same = std::fs::read(one).unwrap() == std::fs::read(other).unwrap();
        assert!(is_same, "{} and {} differ", one.display(), other.display());
    }
}

#[test]
fn lintian_and_rpmlint_find_no_errors() {
    let tools = ["dpkg-deb", "rpmbuild", "lintian", "rpmlint"];
    let Some(program) = ready("lintian_and_rpmlint_find_no_errors", &tools) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(packages::lint(&made(&program, &program, dir.path())).unwrap(), None);
}

/// Files that both formats have.
const FILES: [&str; 10] = [
    "usr/bin/quietcore",
    "usr/lib/systemd/system/quietcore.service",
    "usr/lib/systemd/system/quietcore-watch.service",
    "usr/share/bash-completion/completions/quietcore",
    "usr/share/doc/quietcore/THIRD-PARTY-LICENSES.gz",
    "usr/share/fish/vendor_completions.d/quietcore.fish",
    "usr/share/man/man1/quietcore.1.gz",
    "usr/share/man/man1/quietcore-boot-set.1.gz",
    "usr/share/quietcore/grafana/quietcore.json",
    "usr/share/quietcore/prometheus/quietcore.rules.yml",
];

#[test]
fn both_formats_have_the_same_program_and_enable_nothing() {
    let test = "both_formats_have_the_same_program_and_enable_nothing";
    let Some(program) = ready(test, &["dpkg-deb", "rpmbuild"]) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    // Any program will do, and a small one takes less time.
    made(Path::new("/bin/true"), &program, dir.path());
    let of_name = |start: &str, end: &str| {
        let entries = std::fs::read_dir(dir.path()).unwrap();
        let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        dir.path().join(
            names
                .find(|name| name.starts_with(start) && name.ends_with(end))
                .unwrap(),
        )
    };
    let (deb, rpm) = (of_name("quietcore_", ".deb"), of_name("quietcore-0", ".rpm"));
    // MODE OWNER SIZE DATE TIME ./PATH
    let deb_list = printed("dpkg-deb", &["--contents"], &deb);
    let deb_files: Vec<&str> = deb_list
        .lines()
        .filter(|line| !line.starts_with('d'))
        .filter_map(|line| Some(line.split_once(" ./")?.1))
        .collect();
    let rpm_list = printed("rpm", &["--query", "--list", "--package"], &rpm);
    let rpm_files: Vec<&str> = rpm_list.lines().map(|line| line.trim_start_matches('/')).collect();
    for files in [&deb_files, &rpm_files] {
        for file in FILES {
            assert!(files.contains(&file), "{file} is not in {files:?}");
        }
        let is_enabled = |file: &&&str| file.starts_with("etc/") || file.contains(".wants/");
        assert_eq!(files.iter().find(is_enabled), None);
    }
    let scripts = printed("rpm", &["--query", "--scripts", "--package"], &rpm);
    let only_at_removal = "preuninstall scriptlet (using /bin/sh):\nif [ \"$1\" -eq 0 ]; then\n";
    assert!(scripts.contains(only_at_removal), "{scripts}");
    let unpack = "dpkg-deb --fsys-tarfile \"$1\" | tar -xO ./usr/lib/systemd/system/quietcore.service";
    let unit = printed("sh", &["-c", unpack, "unpack"], &deb);
    assert!(unit.contains("ExecStart=/usr/bin/quietcore apply --at-boot"), "{unit}");
    let list = printed("dpkg-deb", &["--contents"], &of_name("quietcore-frontends_", ".deb"));
    for front_end in ["cset", "partrt", "bitcalc", "count_ticks", "systress"] {
        assert!(list.contains(&format!(" ./usr/bin/{front_end} -> ")), "{list}");
        assert!(
            list.contains(&format!(" ./usr/share/man/man1/{front_end}.1.gz\n")),
            "{list}"
        );
    }
    let front_ends = printed("dpkg-deb", &["--field"], &of_name("quietcore-frontends_", ".deb"));
    assert!(front_ends.contains("\nConflicts: cpuset\n"), "{front_ends}");
}

#[test]
fn packages_of_other_processors_are_made_here_too() {
    let test = "packages_of_other_processors_are_made_here_too";
    let Some(native) = ready(test, &["dpkg-deb", "rpmbuild"]) else {
        return;
    };
    let version = PackageVersion::of_this_source(1).unwrap();
    for (arch, deb, rpm) in [(AARCH64, "arm64", "aarch64"), (ARMV7, "armhf", "armv7hl")] {
        let dir = tempfile::tempdir().unwrap();
        let inputs = PackageInputs::read(arch, Path::new("/bin/true"), &native).unwrap();
        let made = packages::of_program(arch, &inputs, &version, dir.path()).unwrap();
        let [deb_file, rpm_file, _] = made.as_slice() else {
            panic!("{made:?}");
        };
        assert_eq!(
            printed("dpkg-deb", &["--show", "--showformat=${Architecture}"], deb_file),
            deb
        );
        let query = ["--query", "--queryformat=%{ARCH}", "--package"];
        assert_eq!(printed("rpm", &query, rpm_file), rpm);
    }
}
