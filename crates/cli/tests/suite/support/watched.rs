//! What tests of `watch --daemon` share: a daemon with an `/etc` and a `/run` of its own, what it logs and what it keeps.

use crate::support::alone;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Whether a daemon can have a place of its own here; says so where not.
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

/// A place with its own `/etc` and `/run`.
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

    /// `quietcore` with these words in this place.
    pub fn command(&self, words: &str) -> Command {
        self.line(&format!("exec {} {words}", env!("CARGO_BIN_EXE_quietcore")))
    }

    /// A line of shell in this place.
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

    /// A line of shell that becomes the daemon.
    pub fn start_line(&self, line: &str, environment: &[(&str, &str)]) -> TestDaemon {
        let mut command = self.line(line);
        command
            .envs(environment.iter().copied())
            .stderr(std::fs::File::create(self.path("said")).unwrap());
        TestDaemon {
            child: command.spawn().unwrap(),
        }
    }

    pub fn log(&self) -> PathBuf {
        self.path("log")
    }

    pub fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        // A line that is being written has no end yet.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn state(&self) -> Value {
        let text = std::fs::read(self.path("run/quietcore/watch/state")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// What is counted of questions, once it is such.
    pub fn state_with(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            let state = self.state();
            if wanted(&state) {
                return state["asked"].clone();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the state stays as it is: {}", self.state())
    }

    /// Waits until a line is such.
    pub fn until(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            if let Some(line) = self.lines().into_iter().find(&wanted) {
                return line;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let said = std::fs::read_to_string(self.path("said")).unwrap_or_default();
        panic!("{what} was never told: {:?}; {said}", self.lines())
    }

    /// Waits until the first look is done.
    pub fn until_it_watches(&self) {
        let begun = Instant::now();
        while !std::fs::read_to_string(self.path("said"))
            .unwrap_or_default()
            .contains("watching;")
        {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{:?}",
                std::fs::read_to_string(self.path("said"))
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A daemon that runs.
pub struct TestDaemon {
    pub child: Child,
}

impl TestDaemon {
    pub fn signal(&self, signal: i32) {
        // SAFETY: plain numbers; the child is ours and was not waited for.
        unsafe { libc::kill(i32::try_from(self.child.id()).unwrap(), signal) };
    }

    pub fn end(mut self) -> Option<i32> {
        self.signal(libc::SIGTERM);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
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
