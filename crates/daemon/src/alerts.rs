//! Runs commands for findings: a few at once, for a limited time, together with all processes that they start. Their outcome
//! is reported and changes nothing else.

use root::ProcessGroup;
use std::collections::VecDeque;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;
use watch::drift::Interval;

/// The maximum number of concurrent commands.
const AT_ONCE: usize = 4;

/// The maximum number of queued lines. Further lines are dropped and reported.
const WAITING: usize = 64;

/// The time limit of a command.
const LIMIT: Duration = Duration::from_secs(30);

/// The running commands, each with its start, and the queue.
pub struct Alerts {
    running: Vec<(ProcessGroup, Duration)>,
    waiting: VecDeque<(Vec<String>, Vec<u8>)>,
    left_out: u64,
    searches: Interval,
}

impl Default for Alerts {
    fn default() -> Alerts {
        Alerts {
            running: Vec::new(),
            waiting: VecDeque::new(),
            left_out: 0,
            searches: Interval::LEFT_BEHIND,
        }
    }
}

impl Alerts {
    /// Queues a command for a line; does nothing without a command.
    pub fn add(&mut self, command: &[String], line: &[u8]) {
        if command.is_empty() {
            return;
        }
        if self.waiting.len() >= WAITING {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        self.waiting.push_back((command.to_vec(), line.to_vec()));
    }

    /// Whether a command runs or waits.
    pub fn is_busy(&self) -> bool {
        !self.running.is_empty() || !self.waiting.is_empty()
    }

    /// Starts queued commands and kills those over the limit. Returns messages about them.
    pub fn tend(&mut self, now: Duration, cpu_time: impl Fn() -> Duration) -> Vec<String> {
        let mut lines = self.reap(now, cpu_time);
        while self.running.len() < AT_ONCE {
            let Some((command, line)) = self.waiting.pop_front() else {
                break;
            };
            match start(&command, &line) {
                Ok(group) => self.running.push((group, now)),
                Err(error) => {
                    let program = command.first().map_or("", String::as_str);
                    lines.push(format!("{}: {error}", report::safe(program)));
                }
            }
        }
        if self.waiting.is_empty() && self.left_out > 0 {
            lines.push(format!("{} alerts were dropped: too many were waiting", self.left_out));
            self.left_out = 0;
        }
        lines
    }

    /// Ends the commands that are over, and those over the limit. An ended command stays until a search finds none of its
    /// processes; searches have their own interval, because one reads every process of the machine.
    fn reap(&mut self, now: Duration, cpu_time: impl Fn() -> Duration) -> Vec<String> {
        let mut lines = Vec::new();
        let mut running = Vec::new();
        let (may_search, before) = (self.searches.next_run() <= now, cpu_time());
        let mut has_searched = false;
        let limit = LIMIT.as_secs();
        for (group, start) in std::mem::take(&mut self.running) {
            let is_late = now.saturating_sub(start) >= LIMIT;
            let (is_running, mut is_over) = (group.is_running(), false);
            if !is_running && (may_search || is_late) {
                has_searched = true;
                is_over = !group.has_others();
            }
            if !is_over && !is_late {
                running.push((group, start));
                continue;
            }
            match group.end() {
                Err(error) => lines.push(format!("the command cannot be waited for: {error}")),
                Ok(_) if is_running => {
                    lines.push(format!("the command took more than {limit} s and was killed"));
                }
                Ok(_) if !is_over => lines.push(format!(
                    "the command left processes behind, which were killed after {limit} s"
                )),
                Ok(status) if status.success() => {}
                Ok(status) => lines.push(format!("the command ended with {status}")),
            }
        }
        if has_searched {
            self.searches.record_run(now, cpu_time().saturating_sub(before));
        }
        self.running = running;
        lines
    }

    /// Kills all running commands.
    pub fn end(&mut self) {
        for (group, _) in self.running.drain(..) {
            // The daemon ends, and with it the log that could take an error.
            let _ = group.end();
        }
    }
}

fn start(command: &[String], line: &[u8]) -> std::io::Result<ProcessGroup> {
    let (program, words) = command.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut group = ProcessGroup::start(
        Command::new(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
    )?;
    // A line is smaller than a pipe's buffer, so this never blocks, even if the command does not read it.
    if let Some(mut input) = group.leader().stdin.take() {
        let short = line.get(..line.len().min(60_000)).unwrap_or_default();
        let _ = input.write_all(short);
    }
    Ok(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(alerts: &mut Alerts) -> (Vec<String>, usize) {
        let (mut lines, mut most) = (Vec::new(), 0);
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            lines.extend(alerts.tend(began.elapsed(), || Duration::ZERO));
            most = most.max(alerts.running.len());
            if !alerts.is_busy() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        (lines, most)
    }

    #[test]
    fn few_commands_run_at_once_and_excess_lines_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let script = format!("read line; sleep 0.01; echo \"$line\" >>{}", out.display());
        let command = ["/bin/sh", "-c", &script].map(str::to_owned);
        let mut alerts = Alerts::default();
        for number in 0..100 {
            alerts.add(&command, format!("line {number}\n").as_bytes());
        }
        let (lines, most) = settle(&mut alerts);
        assert_eq!(
            (lines, most),
            (
                vec!["36 alerts were dropped: too many were waiting".to_owned()],
                AT_ONCE
            )
        );
        let reported = std::fs::read_to_string(&out).unwrap();
        assert_eq!(reported.lines().count(), WAITING);
        assert!(reported.contains("line 0\n"));
    }

    /// The daemon blocks every signal to receive them one by one. A command must start with none blocked.
    #[test]
    fn a_command_starts_with_no_signal_blocked() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let script = format!("grep SigBlk /proc/self/status >{}", out.display());
        let mut alerts = Alerts::default();
        let former = root::process::block_signals();
        alerts.add(&["/bin/sh", "-c", &script].map(str::to_owned), b"x\n");
        let (lines, _) = settle(&mut alerts);
        root::process::release_signals(&former);
        assert!(lines.is_empty(), "{lines:?}");
        let blocked = std::fs::read_to_string(&out).unwrap();
        assert_eq!(blocked.split_whitespace().nth(1), Some("0000000000000000"));
    }

    #[test]
    fn the_outcome_of_a_command_is_only_reported() {
        let mut alerts = Alerts::default();
        alerts.add(&["/no/such/program".to_owned()], b"x\n");
        alerts.add(&["/bin/false".to_owned()], b"x\n");
        alerts.add(&["/bin/true".to_owned()], &vec![b'x'; 200_000]);
        alerts.add(&[], b"x\n");
        let (lines, _) = settle(&mut alerts);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines.iter().any(|line| line.starts_with("/no/such/program: ")),
            "{lines:?}"
        );
    }

    /// A search reads every process of the machine, so while a command's processes remain, searches keep their interval.
    #[test]
    fn searches_for_remaining_processes_keep_their_interval() {
        let mut alerts = Alerts::default();
        alerts.add(&["/bin/sh", "-c", "sleep 600 & exit 0"].map(str::to_owned), b"x\n");
        let clock = std::cell::Cell::new(Duration::ZERO);
        let cpu_time = || clock.replace(clock.get() + Duration::from_millis(10));
        let second = Duration::from_secs(1);
        assert!(alerts.tend(second, cpu_time).is_empty());
        let began = std::time::Instant::now();
        while alerts.running.iter().any(|(group, _)| group.is_running()) {
            assert!(began.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(alerts.tend(2 * second, cpu_time).is_empty());
        let due = alerts.searches.next_run();
        assert_eq!(
            due,
            4 * second,
            "10 ms of CPU time: the next search is two seconds later"
        );
        assert!(alerts.tend(3 * second, cpu_time).is_empty());
        assert_eq!(alerts.searches.next_run(), due, "no search");
        assert!(alerts.tend(4 * second, cpu_time).is_empty());
        assert_eq!(alerts.searches.next_run(), 6 * second, "one search");
        let lines = alerts.tend(31 * second, cpu_time);
        assert_eq!(
            lines,
            ["the command left processes behind, which were killed after 30 s"]
        );
        assert!(!alerts.is_busy());
    }
}
