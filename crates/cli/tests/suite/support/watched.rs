//! Support for tests of `watch --daemon`: a daemon with its own `/etc` and `/run`, its log and its state.

use super::schemas::document;
use crate::support::alone;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Returns whether a daemon can have a private mount namespace here. Prints a skip message if not.
pub fn is_able(test: &str) -> bool {
    let done = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", "/run"])
        .output();
    let is_able = done.is_ok_and(|output| output.status.success());
    if !is_able {
        println!("SKIP: {test}: no mount namespace can be made here (it needs root and `unshare`)");
    }
    is_able
}

/// A directory with the `/etc` and `/run` of a daemon.
pub struct DaemonDirectory {
    dir: tempfile::TempDir,
}

impl DaemonDirectory {
    pub fn new() -> DaemonDirectory {
        let place = DaemonDirectory {
            dir: tempfile::tempdir().unwrap(),
        };
        for name in ["etc", "run", "lib"] {
            std::fs::create_dir(place.path(name)).unwrap();
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn configure(&self, text: &str) {
        std::fs::write(self.path("etc/quietcore.toml"), text).unwrap();
    }

    /// Returns the command that runs `quietcore` with these arguments in this directory.
    pub fn command(&self, words: &str) -> Command {
        self.line(&format!("exec {} {words}", env!("CARGO_BIN_EXE_quietcore")))
    }

    /// Returns the command that runs a shell line in this directory.
    pub fn line(&self, line: &str) -> Command {
        let script = format!(
            "mount --bind {0}/run /run && mount --bind {0}/etc /etc && mount --bind {0}/lib /var/lib && {line}",
            self.dir.path().display()
        );
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &script]).stdin(Stdio::null());
        command
    }

    pub fn daemon(&self, more: &str) -> TestDaemon {
        self.start(
            &format!(
                "watch --daemon --cpus {} --log {} {more}",
                alone::cpu(),
                self.log().display()
            ),
            &[],
        )
    }

    pub fn start(&self, words: &str, environment: &[(&str, &str)]) -> TestDaemon {
        self.start_line(
            &format!("exec {} {words}", env!("CARGO_BIN_EXE_quietcore")),
            environment,
        )
    }

    /// Starts a shell line that executes the daemon.
    pub fn start_line(&self, line: &str, environment: &[(&str, &str)]) -> TestDaemon {
        let mut command = self.line(line);
        command
            .envs(environment.iter().copied())
            .stderr(std::fs::File::create(self.path("messages")).unwrap());
        TestDaemon {
            child: command.spawn().unwrap(),
        }
    }

    pub fn log(&self) -> PathBuf {
        self.path("log")
    }

    pub fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        // A line that is still being written has no newline yet.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn state(&self) -> Value {
        let text = std::fs::read(self.path("run/quietcore/watch/state")).unwrap_or_default();
        document(&text).unwrap_or_default()
    }

    /// Waits for a state that satisfies the condition and returns it.
    pub fn state_with(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            let state = self.state();
            if wanted(&state) {
                return state["asked"].clone();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the state stays as it is: {}", self.state())
    }

    /// Waits for a log line that satisfies the condition and returns it.
    pub fn until(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if let Some(line) = self.lines().into_iter().find(&wanted) {
                return line;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let message = std::fs::read_to_string(self.path("messages")).unwrap_or_default();
        panic!("{what} was never reported: {:?}; {message}", self.lines())
    }

    /// Waits until the first check is done.
    pub fn until_it_watches(&self) {
        let began = Instant::now();
        while !std::fs::read_to_string(self.path("messages"))
            .unwrap_or_default()
            .contains("watching;")
        {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{:?}",
                std::fs::read_to_string(self.path("messages"))
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A running daemon.
pub struct TestDaemon {
    pub child: Child,
}

impl TestDaemon {
    pub fn signal(&self, signal: i32) {
        // SAFETY: `kill` only takes integers; the child is ours and has not been waited for.
        unsafe { libc::kill(i32::try_from(self.child.id()).unwrap(), signal) };
    }

    pub fn end(mut self) -> Option<i32> {
        self.signal(libc::SIGTERM);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it does not end at SIGTERM")
    }
}

impl Drop for TestDaemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
