//! Detects a session over ssh: a mistake in `apply` may end it, so a time limit is worth a suggestion.

use machine::tasks::read_stat;
use root::Root;
use std::io::IsTerminal as _;

/// The suggestion for a person who applies over ssh without a time limit.
pub const SUGGESTION: &str =
    "this is an ssh session: with `--confirm-within 60s`, the change is undone unless you run `quietcore confirm`\n";

/// Maximum number of processes between this one and sshd: shells, `sudo`, terminal multiplexers.
const MAX_ANCESTORS: usize = 32;

/// Whether a person uses this program over ssh.
#[must_use]
pub fn is_interactive_ssh(root: &Root) -> bool {
    let is_ssh = std::env::var_os("SSH_CONNECTION").is_some();
    std::io::stderr().is_terminal() && (is_ssh || descends_from_sshd(root, std::os::unix::process::parent_id()))
}

/// `sudo` removes `SSH_CONNECTION` from the environment, so the parents are read too.
fn descends_from_sshd(root: &Root, parent: u32) -> bool {
    let ancestors = std::iter::successors(read_stat(root, parent), |task| read_stat(root, task.ppid));
    let mut ancestors = ancestors.take(MAX_ANCESTORS);
    ancestors.any(|task| task.comm == "sshd" || task.comm.starts_with("sshd-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_below_sudo_below_sshd_is_an_ssh_session() {
        let dir = tempfile::tempdir().unwrap();
        let rest = "S 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0";
        for (pid, comm, parent) in [
            (1, "systemd", 0),
            (20, "sshd-session", 1),
            (30, "sudo", 20),
            (40, "login", 1),
            (50, "sshdog", 1),
        ] {
            let folder = dir.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&folder).unwrap();
            let stat = format!("{pid} ({comm}) {}", rest.replacen("S 1", &format!("S {parent}"), 1));
            std::fs::write(folder.join("stat"), stat).unwrap();
        }
        let root = Root::open(dir.path()).unwrap();
        assert!(descends_from_sshd(&root, 30) && descends_from_sshd(&root, 20));
        for other in [1, 40, 50, 60] {
            assert!(!descends_from_sshd(&root, other), "{other}");
        }
    }
}
