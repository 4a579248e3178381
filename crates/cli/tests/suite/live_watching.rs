//! `watch` in a real terminal, driven by keys and signals: the screens of a recording, the restored terminal, and files
//! that cannot be played.

use crate::support::program::quietcore;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/watch")
}

fn screen(name: &str) -> String {
    std::fs::read_to_string(fixtures().join("screens").join(name)).unwrap()
}

/// A private terminal with a shell that starts one program, prints its exit status, and waits.
struct Terminal {
    socket: String,
    _dir: tempfile::TempDir,
}

impl Terminal {
    fn start(name: &str, environment: &str, words: &str) -> Option<Terminal> {
        let dir = tempfile::tempdir().unwrap();
        let settings = dir.path().join("tmux.conf");
        std::fs::write(&settings, "set -g status off\nset -g default-terminal screen\n").unwrap();
        let script = format!(
            "echo began; {environment} {} watch {words}; echo \"ended $?\"; stty -a; sleep 600",
            env!("CARGO_BIN_EXE_quietcore")
        );
        let terminal = Terminal {
            socket: format!("quietcore-{name}-{}", std::process::id()),
            _dir: dir,
        };
        let settings = settings.to_str().unwrap();
        let started = Command::new("tmux")
            .args(["-u", "-L", &terminal.socket, "-f", settings])
            .args(["new-session", "-d", "-x", "80", "-y", "24", "sh", "-c", &script])
            .status();
        match started {
            Ok(status) => {
                assert!(status.success());
                Some(terminal)
            }
            Err(why) => {
                println!("SKIP: {name}: tmux: {why}");
                None
            }
        }
    }

    fn tmux(&self, words: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-u", "-L", &self.socket])
            .args(words)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Waits until the screen satisfies the condition, for at most one minute.
    fn shows(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let seen = self.tmux(&["capture-pane", "-p"]);
            if is_so(&seen) {
                return seen;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "never {what}:\n{seen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn shows_golden(&self, name: &str) {
        let wanted = screen(name);
        self.shows(&format!("{name}:\n{wanted}\nbut"), |seen| seen == wanted);
    }

    /// Returns the pid of the program that the shell started.
    fn program(&self) -> u32 {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let shell = shell.trim();
        let began = Instant::now();
        loop {
            let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
            if let Some(pid) = children.split_whitespace().next() {
                return pid.parse().unwrap();
            }
            assert!(began.elapsed() < Duration::from_secs(60));
        }
    }

    fn check_restored(&self, status: &str) {
        let seen = self.shows("given back", |seen| seen.contains(" icanon"));
        let lines: Vec<&str> = seen.lines().collect();
        assert!(lines.windows(2).any(|pair| pair == ["began", status]), "{seen}");
        let words: Vec<&str> = seen.split_whitespace().collect();
        assert!(words.contains(&"echo") && words.contains(&"isig"), "{seen}");
        let cursor = self.tmux(&["display-message", "-p", "#{cursor_flag} #{alternate_on}"]);
        assert_eq!(cursor.trim(), "1 0");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.socket, "kill-server"]).output();
    }
}

fn send(pid: u32, signal: &str) {
    let sent = Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}

fn play() -> String {
    format!("--play {}", fixtures().join("partition.jsonl").display())
}

#[test]
fn playing_a_recording_by_keys_matches_the_golden_screens() {
    let Some(terminal) = Terminal::start("keys", "LC_ALL=C.UTF-8 NO_COLOR=1", &play()) else {
        return;
    };
    terminal.shows("started to play", |seen| seen.contains("PLAY"));
    terminal.keys(&["End"]);
    terminal.shows_golden("80x24-CPUs.txt");
    for (key, name) in [
        ("2", "culprits"),
        ("3", "threads"),
        ("4", "interrupts"),
        ("5", "findings"),
    ] {
        terminal.keys(&[key]);
        terminal.shows_golden(&format!("80x24-{name}.txt"));
    }
    terminal.keys(&["f"]);
    terminal.shows_golden("80x24-fix.txt");
    terminal.keys(&["Escape"]);
    terminal.shows_golden("80x24-findings.txt");
    terminal.keys(&["1", "b"]);
    terminal.shows("a word on blame", |seen| seen.contains("this is a recording"));
    terminal.keys(&["?"]);
    terminal.shows_golden("80x24-help.txt");
    terminal.keys(&["x", "Left"]);
    terminal.shows("one sample back", |seen| seen.contains("PAUSED 23/24"));
    terminal.keys(&["Right"]);
    terminal.tmux(&["resize-window", "-x", "120", "-y", "40"]);
    terminal.shows_golden("120x40.txt");
    terminal.keys(&["q"]);
    terminal.check_restored("ended 0");
}

#[test]
fn without_unicode_the_screen_is_ascii_and_signals_restore_the_terminal() {
    let Some(terminal) = Terminal::start("signals", "LC_ALL=C NO_COLOR=1", &play()) else {
        return;
    };
    terminal.shows("started to play", |seen| seen.contains("PLAY"));
    terminal.keys(&["End"]);
    terminal.shows_golden("80x24-ascii.txt");
    let program = terminal.program();
    send(program, "-TSTP");
    let seen = terminal.shows("stopped", |seen| !seen.contains("quietcore watch"));
    assert_eq!(seen.trim(), "began");
    let stat = std::fs::read_to_string(format!("/proc/{program}/stat")).unwrap();
    assert!(stat.contains(") T "), "{stat}");
    send(program, "-CONT");
    terminal.shows_golden("80x24-ascii.txt");
    send(program, "-TERM");
    terminal.check_restored("ended 0");
}

/// A program that keeps reading from a closed terminal would use a whole CPU forever.
#[test]
fn the_view_ends_when_its_terminal_is_gone_even_without_sighup() {
    for (name, environment) in [("hangup", "LC_ALL=C"), ("unheard", "trap '' HUP; LC_ALL=C")] {
        let Some(terminal) = Terminal::start(name, environment, &play()) else {
            return;
        };
        terminal.shows("started to play", |seen| seen.contains("PLAY"));
        let program = terminal.program();
        terminal.tmux(&["kill-server"]);
        let began = Instant::now();
        // The program's new parent may not have reaped it yet.
        let runs = || {
            let stat = std::fs::read_to_string(format!("/proc/{program}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        while runs() {
            if began.elapsed() > Duration::from_secs(60) {
                send(program, "-KILL");
                panic!("{name}: it goes on without a terminal");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn without_a_terminal_check_is_suggested() {
    let output = quietcore(&["watch"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("standard output is not a terminal") && message.contains("quietcore check"),
        "{message}"
    );
    let Some(terminal) = Terminal::start("dumb", "TERM=dumb", &play()) else {
        return;
    };
    let seen = terminal.shows("refused", |seen| seen.contains(" icanon"));
    assert!(seen.contains("TERM=dumb") && seen.contains("ended 2"), "{seen}");
}

#[test]
fn unplayable_files_are_reported_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let whole = std::fs::read(fixtures().join("partition.jsonl")).unwrap();
    let refusal = |name: &str, content: &[u8]| -> String {
        let file = dir.path().join(name);
        std::fs::write(&file, content).unwrap();
        let output = quietcore(&["watch", "--play", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refusal("foreign", b"\x7fELF\0\0\n").contains("is not that of a recording"));
    let later = refusal("later", b"{\"schema\":\"quietcore.watch/9\"}\n");
    assert!(
        later.contains("quietcore.watch/9") && later.contains("plays `quietcore.watch/1`"),
        "{later}"
    );
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    assert!(refusal("cut", &whole[..first + 900]).contains("contains no sample"));
    let broken = [&whole[..], b"{\"number\":-1}\n"].concat();
    assert!(refusal("broken", &broken).contains("line 26: "));
    let gone = quietcore(&["watch", "--play", "/nonexistent/file"]);
    assert_eq!(gone.status.code(), Some(4));
    // A valid file only fails because there is no terminal.
    assert!(refusal("good", &whole).contains("standard output is not a terminal"));
}

#[test]
fn a_recording_of_this_machine_can_be_played() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("live.jsonl");
    let words = [
        "watch",
        "--interval",
        "200ms",
        "--for",
        "3s",
        "--record",
        file.to_str().unwrap(),
    ];
    let output = quietcore(&words);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = std::fs::read_to_string(&file).unwrap();
    let moments = text.lines().count() - 1;
    assert!(moments >= 2, "{moments}");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with(&format!("{moments} samples")));
    let Some(terminal) = Terminal::start("live", "LC_ALL=C", &format!("--play {}", file.display())) else {
        return;
    };
    terminal.shows("started to play", |seen| seen.contains("PLAY"));
    terminal.keys(&["End"]);
    terminal.shows("at its end", |seen| {
        seen.contains(&format!("PAUSED {moments}/{moments}"))
    });
    terminal.keys(&["C-c"]);
    terminal.check_restored("ended 0");
}
