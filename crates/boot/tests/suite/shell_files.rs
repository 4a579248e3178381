//! Files that a shell reads: quietcore computes the same values as `dash`, `bash` and `busybox`, or none.

use crate::support::random_shell::{Dice, NAMES};
use boot::{Dialect, ExternalFiles, FileKind, FileTree as _, MachineTree, ShellFile, evaluate};
use root::{Live, Root};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The number of random files.
const FILES: u64 = 300;

/// The minimum percentage of the shell's values that must be computed. Where the shell is not bash, one `+=` refuses
/// the whole file.
fn floor(dialect: Dialect) -> usize {
    match dialect {
        Dialect::Bash => 60,
        Dialect::Posix => 45,
    }
}

/// A shell program and its dialect.
struct Oracle {
    name: &'static str,
    arguments: &'static [&'static str],
    dialect: Dialect,
}

const ORACLES: [Oracle; 4] = [
    Oracle {
        name: "dash",
        arguments: &[],
        dialect: Dialect::Posix,
    },
    Oracle {
        name: "bash",
        arguments: &["--norc"],
        dialect: Dialect::Bash,
    },
    // Like `sh` on systems where that is bash.
    Oracle {
        name: "bash",
        arguments: &["--posix"],
        dialect: Dialect::Bash,
    },
    Oracle {
        name: "busybox",
        arguments: &["sh"],
        dialect: Dialect::Posix,
    },
];

/// The values of the variables in a shell: `None` for an unset one. `None` as a whole if the shell stopped early.
type ShellAnswer = Option<Vec<Option<String>>>;

impl Oracle {
    fn is_here(&self, test: &str) -> bool {
        let there = Command::new(self.name).args(self.arguments).args(["-c", ":"]).output();
        let here = there.is_ok_and(|output| output.status.success());
        if !here {
            println!("SKIP: {test}: there is no {}", self.name);
        }
        here
    }

    fn output_of(&self, file: &Path) -> ShellAnswer {
        let mut script = ". \"$1\" >/dev/null 2>&1 </dev/null\nprintf 'END'\n".to_owned();
        for name in NAMES {
            writeln!(script, "printf '\\001%s' \"${{{name}-\u{2}}}\"").unwrap();
        }
        let output = Command::new(self.name)
            .args(self.arguments)
            .args(["-c", &script, "sh"])
            .arg(file)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir(file.parent().unwrap())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).ok()?;
        let values = text.strip_prefix("END\u{1}")?;
        let values = values
            .split('\u{1}')
            .map(|value| (value != "\u{2}").then(|| value.to_owned()));
        Some(values.collect())
    }
}

fn outside<'a>(
    text: &'a dyn Fn(&str) -> Option<String>,
    kind: &'a dyn Fn(&str) -> Option<FileKind>,
) -> ExternalFiles<'a> {
    ExternalFiles { text, kind }
}

/// Returns the kind of file that the shells find on this machine.
fn kind(path: &str) -> Option<FileKind> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Some(FileKind::Dir),
        Ok(found) if found.is_file() => Some(FileKind::File {
            is_empty: Some(found.len() == 0),
        }),
        Ok(_) => None,
        Err(_) => Some(FileKind::Missing),
    }
}

/// A file and the files that it may read.
struct ShellFixture {
    path: PathBuf,
    others: BTreeMap<String, String>,
}

impl ShellFixture {
    fn new(dir: &Path, text: &str, others: &BTreeMap<String, String>) -> ShellFixture {
        let path = dir.join("main");
        std::fs::write(&path, text).unwrap();
        for (path, text) in others {
            std::fs::write(path, text).unwrap();
        }
        ShellFixture {
            path,
            others: others.clone(),
        }
    }

    /// Compares the computed values with those of the shell. Returns how many values the shell has, and how many are
    /// computed.
    fn compare(&self, oracle: &Oracle, text: &str, seed: &str) -> (usize, usize) {
        let file = ShellFile {
            path: self.path.to_str().unwrap().to_owned(),
            text: text.to_owned(),
        };
        let source = |path: &str| self.others.get(path).cloned();
        let computed = evaluate(&[file], &NAMES, oracle.dialect, &outside(&source, &kind));
        let printed = oracle.output_of(&self.path);
        let mut count = 0;
        for (at, name) in NAMES.iter().enumerate() {
            let Some(value) = computed.as_ref().ok().and_then(|all| all.value(name).ok()) else {
                continue;
            };
            let Some(printed) = &printed else {
                panic!("{seed}: {} stops, and {name} is {value:?} here:\n{text}", oracle.name);
            };
            assert_eq!(
                value,
                printed[at].as_deref(),
                "{seed}: {name}, {} {:?}:\n{text}\n{:?}",
                oracle.name,
                oracle.arguments,
                self.others
            );
            count += 1;
        }
        (printed.map_or(0, |printed| printed.len()), count)
    }
}

#[test]
fn computed_values_of_random_files_equal_those_of_real_shells() {
    let dir = tempfile::tempdir().unwrap();
    let here: Vec<&Oracle> = ORACLES
        .iter()
        .filter(|oracle| oracle.is_here("computed_values_of_random_files_equal_those_of_real_shells"))
        .collect();
    let mut counts = [(Dialect::Bash, 0, 0), (Dialect::Posix, 0, 0)];
    for number in 0..FILES {
        let mut dice = Dice(number * 7919 + 1);
        let paths: Vec<String> = (0..2)
            .map(|at| dir.path().join(format!("other{at}")).to_str().unwrap().to_owned())
            .collect();
        let mut others = BTreeMap::new();
        others.insert(paths[0].clone(), dice.file(&paths[1..]));
        others.insert(paths[1].clone(), dice.assignment() + "\n");
        let text = dice.file(&paths);
        let written = ShellFixture::new(dir.path(), &text, &others);
        for oracle in &here {
            let (printed, computed) = written.compare(oracle, &text, &format!("seed {number}"));
            for count in counts.iter_mut().filter(|count| count.0 == oracle.dialect) {
                *count = (count.0, count.1 + printed, count.2 + computed);
            }
        }
    }
    for (dialect, printed, computed) in counts {
        println!("{dialect:?}: {computed} of {printed} values are computed");
        assert!(
            computed * 100 >= printed * floor(dialect),
            "{dialect:?}: {computed} of {printed}"
        );
    }
}

#[test]
fn files_of_distributions_are_computed_completely() {
    const DEBIAN: &str = "GRUB_DEFAULT=0\nGRUB_TIMEOUT=5\nGRUB_DISTRIBUTOR=`lsb_release -i -s 2> /dev/null || echo Debian`\n\
        LINE_DEFAULT=\"quiet\"\nLINE=\"\"\n#GRUB_TERMINAL=console\n";
    const UBUNTU: &str = "GRUB_DISTRIBUTOR=`( . /etc/os-release; echo ${NAME:-Ubuntu} ) 2>/dev/null || echo Ubuntu`\n\
        LINE_DEFAULT=\"quiet splash\"\nLINE=\"\"\nLINE_DEFAULT=\"$LINE_DEFAULT crashkernel=2G-4G:320M\"\n";
    const RED_HAT: &str =
        "GRUB_DISTRIBUTOR=\"$(sed 's, release .*$,,g' /etc/system-release)\"\nLINE=\"crashkernel=auto rhgb\"\n";
    const SUSE: &str = "LINE_DEFAULT=\"splash=silent mitigations=auto \\\nquiet security=apparmor\"\nLINE=\"\"\n";
    const XEN: &str = "echo \"Including Xen overrides\"\nif [ \"$XEN_OVERRIDE_GRUB_DEFAULT\" = \"\" ]; then\n  echo \"WARNING\"\n  \
        XEN_OVERRIDE_GRUB_DEFAULT=1\nfi\nLINE=a\nif [ \"$XEN_OVERRIDE_GRUB_DEFAULT\" = \"1\" ]; then\n  GRUB_DEFAULT=$( \\\n    \
        printf \"$(gettext \"%s, with Xen hypervisor\")\" \\\n    \"$(gettext \"%s GNU/Linux\")\")\nfi\n";
    const OWN_SNIPPET: &str = "# Written by quietcore.\nLINE_DEFAULT=\"$LINE_DEFAULT isolcpus=2-3\"\n";
    const PLUS: &str = "LINE_DEFAULT=\"quiet splash\"\nLINE_DEFAULT+=\"isolcpus=2-3\"\n";
    let dir = tempfile::tempdir().unwrap();
    for oracle in &ORACLES {
        if !oracle.is_here("files_of_distributions_are_computed_completely") {
            continue;
        }
        for text in [DEBIAN, UBUNTU, RED_HAT, SUSE, XEN, OWN_SNIPPET] {
            let written = ShellFixture::new(dir.path(), text, &BTreeMap::new());
            let (printed, computed) = written.compare(oracle, text, "distribution");
            assert_eq!(
                (printed, computed),
                (NAMES.len(), NAMES.len()),
                "{}: {text}",
                oracle.name
            );
        }
        let written = ShellFixture::new(dir.path(), PLUS, &BTreeMap::new());
        let (_, computed) = written.compare(oracle, PLUS, "+=");
        assert_eq!(computed > 0, oracle.dialect == Dialect::Bash);
    }
}

#[test]
fn a_value_that_cannot_be_computed_has_line_and_reason() {
    for (text, line, part) in [
        ("A=1\nA+=x\n", 2, "not an assignment in POSIX"),
        ("A=1\n\nA=$(cat /etc/words)\n", 3, "output of a command"),
        ("A=\"quiet $ISO\"\n", 1, "no file sets `$ISO`"),
        (
            "A=1\nif [ -d /sys/firmware/efi ]; then A=2; fi\n",
            2,
            "unknown whether that command runs",
        ),
        (
            "A=1\n. /etc/default/grub.site\n",
            2,
            "/etc/default/grub.site is read at that line",
        ),
        ("A=quiet splash\n", 1, "quotes are missing"),
        ("A=1\nfor i in a; do A=$i; done\n", 2, "`for` is not evaluated"),
        ("B=1\n\nA='open\nmore\n", 3, "single quote that is not closed"),
    ] {
        let file = ShellFile {
            path: "/f".to_owned(),
            text: text.to_owned(),
        };
        let refusal = match evaluate(&[file], &["A", "B"], Dialect::Posix, &outside(&|_| None, &|_| None)) {
            Ok(all) => all.value("A").unwrap_err().clone(),
            Err(refusal) => refusal,
        };
        assert_eq!((refusal.path.as_str(), refusal.line), ("/f", line), "{text}: {refusal}");
        assert!(refusal.why.contains(part), "{text}: {refusal}");
    }
}

#[test]
fn excessive_files_are_refused_quickly() {
    let doubled = "A=\"$A$A x\"\n".repeat(60);
    let appended = "A+=\"$A x\"\n".repeat(60);
    let nested = "if true; then ".repeat(5000);
    let deep = format!("A=\"{}", "$(".repeat(50_000));
    let braces = format!("A={}", "${A:-".repeat(50_000));
    let many = ". /other\n".repeat(40);
    let long = "A=1\n".repeat(300_000);
    for (text, part) in [
        (doubled, "longer than 8192 bytes"),
        (appended, "longer than 8192 bytes"),
        (nested, "nested too deep"),
        (deep, "nested too deep"),
        (braces, "nested too deep"),
        (many, "more than 20000 commands"),
        (long, "larger than 1048576 bytes"),
    ] {
        let file = ShellFile {
            path: "/f".to_owned(),
            text,
        };
        let other = |path: &str| {
            let more = format!(". {path}x\n").repeat(20);
            Some(if path.len() > 10 { "A=1\n".to_owned() } else { more })
        };
        let refusal = match evaluate(&[file], &["A"], Dialect::Bash, &outside(&other, &|_| None)) {
            Ok(all) => all.value("A").unwrap_err().clone(),
            Err(refusal) => refusal,
        };
        assert!(refusal.why.contains(part), "{refusal}");
    }
}

#[test]
fn invalid_command_substitutions_are_refused() {
    let computed = |text: &str| {
        let file = ShellFile {
            path: "/f".to_owned(),
            text: text.to_owned(),
        };
        evaluate(&[file], &["A"], Dialect::Bash, &outside(&|_| None, &|_| None)).is_ok()
    };
    for text in [
        "A=$( ;;)",
        "A=$(;)",
        "A=$(a | )",
        "A=$(a && )",
        "A=$(a ( b ))",
        "A=$((b) c)",
        "A=$(fi)",
        "A=`a |`",
        "A=$(a > )",
        "A=$(case a in a) b;; esac)",
        "A=$(a # )\n)",
        "A=`a \\` b`",
    ] {
        assert!(!computed(text), "{text}");
    }
    for text in [
        "A=$(a | b 2>&1 || (c; d\n) >/dev/null)",
        "A=`a 'b' && c`",
        "A=$(a \")\" ')' $(b))",
    ] {
        assert!(computed(text), "{text}");
    }
}

#[test]
fn file_conditions_are_evaluated_if_the_file_can_be_examined() {
    let dir = tempfile::tempdir().unwrap();
    for (condition, expected) in [
        ("[ -f /etc/passwd ]", "yes"),
        ("test -e /nowhere", "no"),
        ("[ ! -d /etc ]", "no"),
        ("[ -s /etc/passwd ] && [ -r /etc/passwd ]", "yes"),
        ("[ -x /etc ]", "yes"),
    ] {
        let text = format!("A=no\nif {condition}; then A=yes; fi\n");
        let written = ShellFixture::new(dir.path(), &text, &BTreeMap::new());
        let file = ShellFile {
            path: "/f".to_owned(),
            text: text.clone(),
        };
        let all = evaluate(&[file], &["A"], Dialect::Posix, &outside(&|_| None, &kind)).unwrap();
        assert_eq!(all.value("A"), Ok(Some(expected)), "{condition}");
        for oracle in ORACLES.iter().filter(|oracle| oracle.is_here("tests_of_files")) {
            assert_eq!(written.compare(oracle, &text, condition).1, NAMES.len(), "{condition}");
        }
    }
}

#[test]
fn a_missing_file_is_certain_only_on_a_running_machine() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["etc/default", "proc", "sys"] {
        std::fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    std::fs::write(dir.path().join("etc/default/grub"), "A=1\n").unwrap();
    std::fs::write(dir.path().join("etc/empty"), "").unwrap();
    std::os::unix::fs::symlink("/gone", dir.path().join("etc/broken")).unwrap();
    let live = Root::of(&Live::rehearsal(dir.path()));
    let captured = Root::open(dir.path()).unwrap();
    let file = |is_empty| Some(FileKind::File { is_empty });
    for (path, running, archive) in [
        ("/etc/default", Some(FileKind::Dir), Some(FileKind::Dir)),
        ("/etc/default/grub", file(Some(false)), file(None)),
        ("/etc/empty", file(Some(true)), file(None)),
        ("/etc/gone", Some(FileKind::Missing), None),
        // The target of this link does not exist here, and may be a device elsewhere.
        ("/etc/broken", None, None),
        ("/proc/gone", None, None),
    ] {
        assert_eq!(MachineTree::of(&live).kind(path), running, "{path}");
        assert_eq!(MachineTree::of(&captured).kind(path), archive, "{path}");
    }
}
