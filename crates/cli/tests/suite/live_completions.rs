//! Completion in real shells: bash and zsh in a terminal where a key inserts every candidate; `complete -C` of fish.

use crate::support::captured::CaptureFixture;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A shell with the script of `quietcore completions`.
struct ShellFixture {
    name: &'static str,
    /// Holds the start files, a link to the program, and what the shell writes.
    dir: tempfile::TempDir,
}

/// The start file of bash and zsh. `record` writes the words of its line into a file; `KEY` inserts every candidate.
const BASH_START: &str = "PS1='$ '\n. ./script\nrecord() { printf '%s\\n' \"$@\" . >>words; }\n";
const ZSH_START: &str = "PS1='$ '\nautoload -Uz compinit && compinit -u -D\n. ./script\n\
    record() { printf '%s\\n' \"$@\" . >>words; }\n\
    insert_all() { compstate[insert]=all; compstate[list]=; }\n\
    complete_all() { comppostfuncs=(insert_all); zle complete-word; }\n\
    zle -N complete_all; bindkey '^I' complete_all\n";

impl ShellFixture {
    /// Prints a skip message if the shell is not installed.
    fn of(name: &'static str, test: &str) -> Option<ShellFixture> {
        let needed: &[&str] = if name == "fish" { &["fish"] } else { &[name, "script"] };
        for program in needed {
            if Command::new(program).arg("--version").output().is_err() {
                println!("SKIP: {test}: there is no {program}; `scripts/setup test` installs zsh and fish");
                return None;
            }
        }
        let shell = ShellFixture {
            name,
            dir: tempfile::tempdir().unwrap(),
        };
        let quietcore = env!("CARGO_BIN_EXE_quietcore");
        let script = Command::new(quietcore).args(["completions", name]).output().unwrap();
        assert!(script.status.success(), "{script:?}");
        shell.write("script", &String::from_utf8(script.stdout).unwrap());
        shell.write(".bashrc", BASH_START);
        shell.write(".zshrc", ZSH_START);
        fs::create_dir(shell.dir.path().join("bin")).unwrap();
        std::os::unix::fs::symlink(quietcore, shell.dir.path().join("bin/quietcore")).unwrap();
        Some(shell)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), text).unwrap();
    }

    fn command(&self, program: &str) -> Command {
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(program);
        command
            .current_dir(self.dir.path())
            .env("PATH", format!("{}:{path}", self.dir.path().join("bin").display()))
            .env("HOME", self.dir.path())
            .env("ZDOTDIR", self.dir.path());
        command
    }

    /// The candidates for the last word of each line. In bash, they lack what is typed up to its last `=` or `:`.
    fn candidates(&self, lines: &[String]) -> Vec<Vec<String>> {
        if self.name == "fish" {
            return lines.iter().map(|line| self.fish(line)).collect();
        }
        let key = if self.name == "bash" { "\x1b*" } else { "\t" };
        // The record ends up in front of the line.
        let typed: String = lines.iter().map(|line| format!("{line}{key}\x01record \r")).collect();
        self.write("keys", &format!("{typed}exit\r"));
        let start = match self.name {
            "bash" => "bash --noprofile --rcfile ./.bashrc -i",
            _ => "zsh -d -i",
        };
        let keys = fs::File::open(self.dir.path().join("keys")).unwrap();
        let mut terminal = self.command("script");
        let screen = terminal
            .args(["-qec", start, "/dev/null"])
            .stdin(keys)
            .output()
            .unwrap();
        let screen = String::from_utf8_lossy(&screen.stdout).into_owned();
        assert!(!screen.contains("rror") && !screen.contains("not found"), "{screen}");
        let words = fs::read_to_string(self.dir.path().join("words")).expect(&screen);
        let mut found = Vec::new();
        for (line, words) in lines.iter().zip(words.split_terminator(".\n")) {
            let before = line.replace("\\ ", "_").split(' ').count() - 1;
            found.push(words.lines().skip(before).map(str::to_owned).collect());
        }
        assert_eq!(found.len(), lines.len(), "{screen}");
        found
    }

    /// Without candidates, the word as it is: the other shells leave it too.
    fn fish(&self, line: &str) -> Vec<String> {
        let mut fish = self.command("fish");
        let script = ["--no-config", "-c", "source ./script; complete -C $argv[1]", line];
        let output = fish.args(script).stdin(Stdio::null()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let text = String::from_utf8(output.stdout).unwrap();
        let words = text.lines().map(|line| line.split('\t').next().unwrap_or_default());
        let words: Vec<String> = words.map(str::to_owned).collect();
        match words.is_empty() {
            true => line
                .split(' ')
                .skip(line.split(' ').count() - 1)
                .map(str::to_owned)
                .collect(),
            false => words,
        }
    }
}

/// A captured machine of eight CPUs in four cores, with an active and a declared partition.
fn machine() -> CaptureFixture {
    let machine = CaptureFixture::of("8x86-2p2c2t-v2-7");
    machine.write_file("sys/fs/cgroup/quietcore-audio/cpuset.cpus", "2-3\n");
    machine.write_file("etc/quietcore.toml", "[[partition]]\nname = \"lab\"\ncpus = \"4\"\n");
    machine
}

/// Lines, and all candidates for their last word in any order.
fn expected(root: &Path) -> Vec<(String, Vec<&'static str>)> {
    let plan = format!("quietcore plan --root {}", root.display());
    let of = |line: &str, words: &[&'static str]| (line.replace("PLAN", &plan), words.to_vec());
    vec![
        of("quietcore ap", &["apply"]),
        of("quietcore boot s", &["set", "show"]),
        of("quietcore apply --conf", &["--config", "--confirm-within"]),
        of("quietcore apply --config x --conf", &["--confirm-within"]),
        of("quietcore --color a", &["auto", "always"]),
        of("quietcore measure latency --clock=re", &["--clock=realtime"]),
        of("quietcore completions ", &["bash", "zsh", "fish"]),
        of("quietcore gua", &["gua"]),
        of("quietcore nonsense --of no", &["no"]),
        of("quietcore apply --with irq_", &["irq_affinity"]),
        of(
            "quietcore study which-knob --knobs watchdog,rcu_",
            &["watchdog,rcu_expedited", "watchdog,rcu_normal"],
        ),
        of("quietcore explain mce-o", &["mce-off"]),
        of("quietcore explain housekeeping\\ ", &["housekeeping CPU"]),
        of("quietcore check --ignore task-h", &["task-here"]),
        of("PLAN --partition ", &["audio", "lab"]),
        of("PLAN --partition=l", &["--partition=lab"]),
        of("PLAN --cpus 3", &["3"]),
        of(
            "PLAN --cpus ",
            &[
                "0",
                "1",
                "2",
                "3",
                "4",
                "5",
                "6",
                "7",
                "core-of:0",
                "core-of:2",
                "core-of:4",
                "core-of:6",
            ],
        ),
        of(
            "PLAN --cpus core-of:",
            &["core-of:0", "core-of:2", "core-of:4", "core-of:6"],
        ),
        of("PLAN --cpus 0,5-", &["0,5-6", "0,5-7"]),
        of("PLAN --cpus=2,core-of:6,3", &["--cpus=2,core-of:6,3"]),
        of("quietcore report al", &["alpha beta.json", "alpha.json", "alphabet"]),
        of("quietcore report --out=alpha.", &["--out=alpha.json"]),
        of("quietcore man --out alp", &["alphabet"]),
        of("quietcore run -- quietc", &["quietcore"]),
        of("quietcore run -- true alpha.", &["alpha.json"]),
    ]
}

fn completes(name: &'static str, test: &str) {
    let Some(shell) = ShellFixture::of(name, test) else {
        return;
    };
    let machine = machine();
    shell.write("alpha.json", "");
    shell.write("alpha beta.json", "");
    fs::create_dir(shell.dir.path().join("alphabet")).unwrap();
    let expected = expected(&machine.root);
    let lines: Vec<String> = expected.iter().map(|(line, _)| line.clone()).collect();
    let mut wrong = String::new();
    for ((line, words), found) in expected.iter().zip(shell.candidates(&lines)) {
        let (_, typed) = line.rsplit_once(' ').unwrap();
        let start = typed.rfind(['=', ':']).map_or("", |end| &typed[..=end]);
        // The slash after a directory depends on the shell.
        let whole = |word: &String| match word.trim_end_matches('/') {
            word if word.starts_with(start) => word.to_owned(),
            word => format!("{start}{word}"),
        };
        let mut found: Vec<String> = found.iter().map(whole).collect();
        found.sort();
        let mut words = words.clone();
        words.sort_unstable();
        if found != words {
            wrong.push_str(&format!("{line}\n  found {found:?}\n  not   {words:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{name}:\n{wrong}");
}

#[test]
fn bash_completes_fixed_and_dynamic_words() {
    completes("bash", "bash_completes_fixed_and_dynamic_words");
}

#[test]
fn zsh_completes_fixed_and_dynamic_words() {
    completes("zsh", "zsh_completes_fixed_and_dynamic_words");
}

#[test]
fn fish_completes_fixed_and_dynamic_words() {
    completes("fish", "fish_completes_fixed_and_dynamic_words");
}
