//! Runs a program in its own process group: it starts with no signal blocked, and its children end with it.

use crate::process;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};

/// The group, whose leader is the program. The leader is reaped last: until then no other group can have its number.
#[derive(Debug)]
pub struct ProcessGroup {
    leader: Child,
}

impl ProcessGroup {
    /// Starts the program. `Command` passes on the signals that this process blocks.
    ///
    /// # Errors
    /// Those of [`Command::spawn`].
    pub fn start(command: &mut Command) -> io::Result<ProcessGroup> {
        command.process_group(0);
        // SAFETY: between fork and exec it makes one system call, with its own set.
        unsafe { command.pre_exec(|| process::unblock_signals().map_err(io::Error::from_raw_os_error)) };
        Ok(ProcessGroup {
            leader: command.spawn()?,
        })
    }

    /// The program.
    pub fn leader(&mut self) -> &mut Child {
        &mut self.leader
    }

    /// Whether the program still runs. One system call that never blocks.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let ask = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.id()
            .is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), ask), Ok(None)))
    }

    /// Whether other processes of the group run. Reads every process of the machine, because the kernel counts the ended
    /// leader as a member until it is reaped.
    #[must_use]
    pub fn has_others(&self) -> bool {
        let own = self.leader.id();
        let is_in_group = |pid: u32| {
            let stat = std::fs::read(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| group_of(&stat) == Some(own))
        };
        process::numbers("/proc")
            .into_iter()
            .any(|pid| pid != own && is_in_group(pid))
    }

    /// Kills the remaining processes, and returns how the program ended.
    ///
    /// # Errors
    /// Those of [`Child::wait`].
    pub fn end(mut self) -> io::Result<ExitStatus> {
        if let Some(pid) = self.id() {
            // If the group is empty there is nothing to kill.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        self.leader.wait()
    }

    fn id(&self) -> Option<Pid> {
        i32::try_from(self.leader.id()).ok().and_then(Pid::from_raw)
    }
}

/// The process group in a `stat` of `/proc` (`proc_pid_stat(5)`: state, parent and group follow the name); `None` for a
/// process that has ended.
fn group_of(stat: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(stat.rsplit(|byte| *byte == b')').next()?).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    (!matches!(state, "Z" | "X" | "x")).then_some(group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn start(line: &str) -> ProcessGroup {
        ProcessGroup::start(Command::new("sh").args(["-c", line])).unwrap()
    }

    /// Waits until the program has ended.
    fn wait_for_end(group: &ProcessGroup) {
        let start = Instant::now();
        while group.is_running() {
            assert!(start.elapsed() < Duration::from_secs(60), "it still runs");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn background_children_end_with_their_program() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let group = start(&format!("sleep 600 & echo $! >{}; exit 3", file.display()));
        wait_for_end(&group);
        assert!(group.has_others());
        let pid: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        assert_eq!(group.end().unwrap().code(), Some(3), "the program's own end");
        let stat = format!("/proc/{pid}/stat");
        let start = Instant::now();
        // This process does not decide which process reaps it in the end.
        while std::fs::read(&stat).is_ok_and(|stat| group_of(&stat).is_some()) {
            assert!(start.elapsed() < Duration::from_secs(60), "{pid} still runs");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_program_without_children_has_ended() {
        let group = start("exit 0");
        wait_for_end(&group);
        assert!(!group.is_running(), "reading the state reaps nothing");
        assert!(!group.has_others());
        assert!(group.end().unwrap().success());
        let group = start("exec sleep 600");
        assert!(group.is_running());
        assert!(!group.end().unwrap().success());
    }

    #[test]
    fn the_process_group_is_parsed_whatever_the_name_contains() {
        for (stat, group) in [
            ("7 (a) b) S 1 42 3", Some(42)),
            ("7 (sh) Z 1 42 3", None),
            ("7 (sh) R 1", None),
            ("", None),
        ] {
            assert_eq!(group_of(stat.as_bytes()), group, "{stat}");
        }
    }
}
