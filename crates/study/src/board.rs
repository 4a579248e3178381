//! Runs a study on another machine over ssh: checks the host name, builds the shell commands, and checks the program's
//! architecture.

/// Triples of the static programs that `make dist` builds, with the processor name of `uname -m`, the ELF machine number
/// (`e_machine`, elf(5)), and our name for the processor.
const PROCESSORS: &[(&[&str], u16, &str)] = &[
    (&["x86_64"], 62, "x86_64-unknown-linux-musl"),
    (&["aarch64"], 183, "aarch64-unknown-linux-musl"),
    (&["armv7l", "armv8l"], 40, "armv7-unknown-linux-musleabihf"),
];

/// Marks our lines in the shell's output, because a login may print other text.
const MARK: &str = "quietcore-board";

/// The name of the program in the remote directory.
const PROGRAM: &str = "quietcore";

/// The arguments of the remote program: it follows a study and sends its results.
pub const FOLLOW: [&str; 3] = ["study", "on-board", "follow"];

/// The arguments of the remote program that runs the study.
pub const RUN_COMMAND: [&str; 3] = ["study", "on-board", "conduct"];

/// Checks that this is a valid host for ssh: `HOST`, `USER@HOST` or an alias of its configuration.
///
/// # Errors
/// Why the name is invalid. ssh would take a name that starts with `-` as an option.
pub fn check_host(host: &str) -> Result<(), &'static str> {
    match host {
        "" => Err("it is empty"),
        _ if host.starts_with('-') => Err("ssh would read it as an option"),
        _ if host.chars().any(|letter| letter.is_whitespace() || letter.is_control()) => {
            Err("it has a blank or a control character")
        }
        _ if host.contains("@-") || host.starts_with('@') || host.ends_with('@') => Err("it is not USER@HOST"),
        _ => Ok(()),
    }
}

/// Quotes one word for a POSIX shell.
#[must_use]
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A directory on the other machine, and the shell commands for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteDirectory {
    /// The parent directory; `None` is the directory in which a login starts.
    pub above: Option<String>,
    /// Its own name: a word of letters, digits, dots and dashes.
    pub name: String,
}

impl RemoteDirectory {
    /// The path for display.
    #[must_use]
    pub fn text(&self) -> String {
        let above = self.above.as_deref().unwrap_or("~");
        format!("{}/{}", above.trim_end_matches('/'), self.name)
    }

    /// Queries the processor, and whether the program exists; [`BoardFacts::of`] parses the output.
    #[must_use]
    pub fn query_command(&self) -> String {
        let program = quoted(&format!("{}/{PROGRAM}", self.name));
        self.line(&format!(
            "echo {MARK} \"$(uname -m)\" \"$([ -x {program} ] && echo there)\""
        ))
    }

    /// Copies a program of this many bytes from standard input. An incomplete copy never gets the program's name.
    #[must_use]
    pub fn copy(&self, bytes: usize) -> String {
        let (dir, part) = (quoted(&self.name), quoted(&format!("{}/{PROGRAM}.part", self.name)));
        let program = quoted(&format!("{}/{PROGRAM}", self.name));
        self.line(&format!(
            "umask 077; [ -d {dir} ] || mkdir -m 700 {dir} || exit 1; cat > {part} && [ \"$(wc -c < {part})\" -eq {bytes} ] \
             && chmod 700 {part} && mv {part} {program} || {{ rm -f {part}; rmdir {dir} 2>/dev/null; exit 1; }}"
        ))
    }

    /// Runs the program that follows the study. The shell stays: ssh reports nothing about a program that a signal ended.
    #[must_use]
    pub fn follow(&self) -> String {
        let program = quoted(&format!("./{}/{PROGRAM}", self.name));
        self.line(&format!("{program} {}; exit $?", FOLLOW.join(" ")))
    }

    /// Removes the directory and its content.
    #[must_use]
    pub fn remove(&self) -> String {
        self.line(&format!("rm -rf {}", quoted(&self.name)))
    }

    /// A command that works in any login shell: all of them read one single-quoted word in the same way.
    fn line(&self, script: &str) -> String {
        let script = match &self.above {
            Some(above) => format!("cd {} || exit 1; {script}", quoted(&rooted(above))),
            None => script.to_owned(),
        };
        format!("exec sh -c {}", quoted(&script))
    }
}

/// A path that `cd` does not read as an option.
fn rooted(path: &str) -> String {
    match path.starts_with('-') {
        true => format!("./{path}"),
        false => path.to_owned(),
    }
}

/// The state of the other machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardFacts {
    /// The processor name of `uname -m`.
    pub processor: String,
    /// Whether our program is installed there.
    pub has_program: bool,
}

impl BoardFacts {
    /// Parses the output of [`RemoteDirectory::query_command`]; `None` where it is missing.
    #[must_use]
    pub fn of(output: &str) -> Option<BoardFacts> {
        let line = output
            .lines()
            .find_map(|line| line.trim_end().strip_prefix(MARK)?.strip_prefix(' '))?;
        let mut words = line.split_whitespace();
        Some(BoardFacts {
            processor: words.next()?.to_owned(),
            has_program: words.next() == Some("there"),
        })
    }
}

/// Why a program cannot run on a processor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramMismatch {
    /// No build exists for the processor.
    #[error("quietcore is not built for {0}")]
    NoTarget(String),
    /// The program is for another processor.
    #[error("it is not a program for {processor}; the build target for that is {target}")]
    Other {
        /// The output of `uname -m`.
        processor: String,
        /// The triple that the processor needs.
        target: &'static str,
    },
}

/// Checks that an ELF program runs on a processor, given as `uname -m` prints it.
///
/// # Errors
/// Why it cannot run, and which build is needed.
pub fn check_program(program: &[u8], processor: &str) -> Result<(), ProgramMismatch> {
    let known = PROCESSORS.iter().find(|(names, ..)| names.contains(&processor));
    let Some((_, number, target)) = known else {
        return Err(ProgramMismatch::NoTarget(processor.to_owned()));
    };
    match machine_of(program) == Some(*number) {
        true => Ok(()),
        false => Err(ProgramMismatch::Other {
            processor: processor.to_owned(),
            target,
        }),
    }
}

/// The supported triples, for display.
#[must_use]
pub fn targets() -> String {
    let names: Vec<&str> = PROCESSORS.iter().map(|(.., target)| *target).collect();
    names.join(", ")
}

/// `e_machine` of a little-endian ELF file.
fn machine_of(program: &[u8]) -> Option<u16> {
    let is_little = program.starts_with(b"\x7fELF") && program.get(5) == Some(&1);
    let number: [u8; 2] = program.get(18..20)?.try_into().ok()?;
    is_little.then(|| u16::from_le_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_that_ssh_could_misinterpret_are_refused() {
        for host in ["board", "root@10.0.0.2", "me@[fe80::1%eth0]", "a-b"] {
            assert_eq!(check_host(host), Ok(()), "{host}");
        }
        for host in ["", "-oProxyCommand=x", "root@-x", "a b", "a\nb", "@a", "a@"] {
            assert!(check_host(host).is_err(), "{host}");
        }
    }

    #[test]
    fn paths_stay_one_word_through_two_shells() {
        let there = RemoteDirectory {
            above: Some("-it's $(a) \"dir\"".to_owned()),
            name: ".quietcore-1".to_owned(),
        };
        let dir = std::env::temp_dir().join(format!("board-{}", std::process::id()));
        let made = dir.join("-it's $(a) \"dir\"");
        std::fs::create_dir_all(&made).unwrap();
        let run = |line: &str, input: &[u8]| {
            use std::io::Write as _;
            let mut child = std::process::Command::new("sh")
                .args(["-c", line])
                .current_dir(&dir)
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(input).unwrap();
            let output = child.wait_with_output().unwrap();
            (
                output.status.success(),
                String::from_utf8_lossy(&output.stdout).into_owned(),
            )
        };
        let seen = |has_program| {
            let (good, message) = run(&there.query_command(), b"");
            assert!(good, "{message}");
            assert_eq!(BoardFacts::of(&message).unwrap().has_program, has_program);
        };
        seen(false);
        // A truncated copy leaves nothing behind.
        assert!(!run(&there.copy(4), b"abc").0 && !made.join(".quietcore-1").exists());
        assert!(run(&there.copy(17), b"#!/bin/sh\necho $*").0);
        seen(true);
        assert_eq!(run(&there.follow(), b""), (true, "study on-board follow\n".to_owned()));
        assert!(run(&there.remove(), b"").0 && !made.join(".quietcore-1").exists());
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn other_output_of_a_login_is_ignored() {
        let seen = BoardFacts::of("Welcome to quietcore-board\nquietcore-board aarch64 there\n").unwrap();
        assert_eq!((seen.processor.as_str(), seen.has_program), ("aarch64", true));
        assert_eq!(BoardFacts::of("Welcome\n"), None);
        assert!(!BoardFacts::of("quietcore-board x86_64 \n").unwrap().has_program);
    }

    #[test]
    fn a_program_for_another_architecture_is_refused() {
        let mut program = b"\x7fELF\x02\x01\x01".to_vec();
        program.resize(64, 0);
        program[18] = 62;
        assert_eq!(check_program(&program, "x86_64"), Ok(()));
        let text = check_program(&program, "armv7l").unwrap_err().to_string();
        assert!(text.contains("armv7-unknown-linux-musleabihf"), "{text}");
        assert!(matches!(
            check_program(&program, "riscv64"),
            Err(ProgramMismatch::NoTarget(_))
        ));
        for cut in [0, 4, 18, 19] {
            assert!(check_program(&program[..cut], "x86_64").is_err(), "{cut}");
        }
    }
}
