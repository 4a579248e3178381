//! A simulated remote board: a private SSH server on this machine's loopback, with its own keys and configuration.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that runs until it is dropped.
pub struct SshServer {
    server: Child,
    /// Keys and configuration.
    dir: PathBuf,
    /// The port of the server.
    pub port: u16,
    /// The directory in which studies create theirs.
    pub there: PathBuf,
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Returns the server program and the directories of the libraries unpacked with it.
fn program() -> Option<(PathBuf, OsString)> {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../sshd");
    let installed = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"];
    let mut programs = installed.map(PathBuf::from).to_vec();
    programs.push(own.join("usr/sbin/sshd"));
    // The server executes itself by its absolute path for each login.
    let program = programs.into_iter().find(|path| path.is_file())?.canonicalize().ok()?;
    let folders = fs::read_dir(own.join("usr/lib")).into_iter().flatten();
    let folders = folders.map(|entry| entry.unwrap().path());
    let libraries = std::env::join_paths(folders).unwrap();
    Some((program, libraries))
}

fn succeeds(command: &mut Command) -> bool {
    let output = command.stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

impl SshServer {
    /// Starts a server in this directory whose logins have these environment variables. Prints a skip message if that
    /// is not possible.
    pub fn start(test: &str, dir: &Path, variables: &str) -> Option<SshServer> {
        let skip = |why: &str| {
            println!("SKIP: {test}: {why}");
            None
        };
        let Some((program, libraries)) = program() else {
            return skip("no sshd; scripts/setup test unpacks one");
        };
        let own = dir.join("sshd");
        fs::create_dir_all(&own).unwrap();
        for name in ["host", "own", "other"] {
            let file = own.join(name);
            let mut command = Command::new("ssh-keygen");
            command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&file);
            if !succeeds(&mut command) {
                return skip("no ssh-keygen; scripts/setup test installs it with ssh");
            }
        }
        let at = |name: &str| own.join(name).display().to_string();
        fs::copy(at("own.pub"), at("authorized")).unwrap();
        let port = TcpListener::bind(("127.0.0.1", 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let known = |key: &str| {
            let key = fs::read_to_string(at(key)).unwrap();
            format!("[127.0.0.1]:{port} {key}")
        };
        fs::write(at("known"), known("host.pub")).unwrap();
        fs::write(at("wrong"), known("other.pub")).unwrap();
        let text = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nPidFile none\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nLogLevel INFO\n{variables}\n",
            at("host"),
            at("authorized")
        );
        fs::write(at("config"), text).unwrap();
        // The server needs its own user and an empty directory. Only the server sees them.
        fs::copy("/etc/passwd", at("passwd")).unwrap();
        let script = "mount --make-rprivate / && \
                      { grep -q '^sshd:' \"$1\" || echo 'sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin' >> \"$1\"; } && \
                      mount --bind \"$1\" /etc/passwd && mkdir -p /run/sshd && chmod 755 /run/sshd && exec \"$2\" -D -e -f \"$3\"";
        let mut command = Command::new("unshare");
        command
            .args(["-m", "sh", "-c", script, "sh", &at("passwd")])
            .arg(&program)
            .arg(at("config"))
            .env("LD_LIBRARY_PATH", libraries)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let Ok(mut server) = command.spawn() else {
            return skip("no unshare (util-linux)");
        };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if !matches!(server.try_wait(), Ok(None)) {
                let mut message = String::new();
                let _ = std::io::Read::read_to_string(&mut server.stderr.take().unwrap(), &mut message);
                return skip(&format!("no server may run here (it needs root): {message}"));
            }
            assert!(began.elapsed() < Duration::from_secs(60), "the server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        // Drain standard error so that the pipe never fills up.
        let message = server.stderr.take().unwrap();
        std::thread::spawn(move || BufReader::new(message).lines().for_each(drop));
        let there = dir.join("it's \"there\"");
        fs::create_dir_all(&there).unwrap();
        Some(SshServer {
            server,
            dir: own.clone(),
            port,
            there,
        })
    }

    /// Returns the command line of `ssh` with this key and this file of host keys.
    pub fn ssh(&self, key: &str, known: &str) -> String {
        let at = |name: &str| self.dir.join(name).display().to_string();
        format!(
            "ssh -F none -p {} -i '{}' -o IdentitiesOnly=yes -o IdentityAgent=none -o StrictHostKeyChecking=yes -o \
             UserKnownHostsFile='{}' -o GlobalKnownHostsFile=/dev/null",
            self.port,
            at(key),
            at(known)
        )
    }

    /// Returns the command that runs a study on the board, with its results in `out`.
    pub fn study(&self, file: &str, out: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
        command
            .args(["study", "run", file, "--json", "--on", "root@127.0.0.1", "--out"])
            .arg(out)
            .arg("--remote-dir")
            .arg(&self.there)
            .args(["--ssh", &self.ssh("own", "known")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Cuts every connection by killing the children of the server, each of which serves one.
    pub fn cut(&self) -> usize {
        let children = children_of(self.server.id());
        for pid in &children {
            // SAFETY: `kill` only takes integers; the process is a child of our own server.
            unsafe { libc::kill(i32::try_from(*pid).unwrap(), libc::SIGKILL) };
        }
        children.len()
    }

    /// Returns the files that studies left on the board.
    pub fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.there).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

fn children_of(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let of = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        of.and_then(|of| of.trim().parse().ok()) == Some(parent)
    };
    pids.filter(is_child).collect()
}
