//! What `move` says: one line per process, every thread in the JSON, reasons for what was left.

use super::list;
use crate::{Screen, Status};
use apply::TaskState;
use machine::{CpuSet, Task};
use plan::Finding;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How a thread fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fate {
    /// It is there.
    Moved,
    /// It was there before.
    Already,
    /// It is not there, or not as asked for.
    Left,
    /// It ended.
    Gone,
    /// A dry run.
    Would,
}

/// One thread.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    pub pid: u32,
    pub tid: u32,
    pub comm: String,
    /// The real user; `None` when it is gone.
    pub user: Option<String>,
    #[serde(rename = "outcome")]
    pub fate: Fate,
    /// Cgroup before and after.
    pub from: Option<String>,
    pub to: Option<String>,
    pub cpus_before: Option<CpuSet>,
    pub cpus_after: Option<CpuSet>,
    pub policy: Option<machine::Policy>,
    pub priority: u32,
    pub nice: i32,
    pub reason: Option<String>,
    #[serde(skip)]
    pub errno: Option<i32>,
}

impl Line {
    pub fn of(task: &Task, fate: Fate, from: Option<String>, cpus_before: Option<CpuSet>) -> Line {
        Line {
            pid: task.pid,
            tid: task.key.tid,
            comm: task.comm.clone(),
            user: None,
            fate,
            from,
            to: None,
            cpus_before,
            cpus_after: None,
            policy: Some(task.policy),
            priority: task.rt_priority,
            nice: task.nice,
            reason: None,
            errno: None,
        }
    }

    pub fn gone(state: &TaskState) -> Line {
        Line {
            pid: state.key.tid,
            tid: state.key.tid,
            comm: state.comm.clone(),
            user: None,
            fate: Fate::Gone,
            from: state.cgroup.clone(),
            to: None,
            cpus_before: Some(state.mask.clone()),
            cpus_after: None,
            policy: None,
            priority: 0,
            nice: 0,
            reason: None,
            errno: None,
        }
    }

    pub fn set_policy(&mut self, task: &Task) {
        (self.policy, self.priority, self.nice) = (Some(task.policy), task.rt_priority, task.nice);
    }
}

/// Everything that was done.
pub(crate) struct Summary {
    pub partition: String,
    pub cpus: CpuSet,
    pub out: bool,
    pub dry_run: bool,
    pub storm: bool,
    /// They were chosen by name, of any user.
    pub is_by_name: bool,
    pub lines: Vec<Line>,
    pub findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    partition: &'a str,
    cpus: &'a CpuSet,
    direction: &'static str,
    dry_run: bool,
    moved: usize,
    already: usize,
    left: usize,
    gone: usize,
    complete: bool,
    tasks: &'a [Line],
    findings: &'a [Finding],
}

impl Summary {
    fn count(&self, fate: Fate) -> usize {
        self.lines.iter().filter(|line| line.fate == fate).count()
    }

    /// 0 when all are where they should be, 3 when only permission was lacking, 5 when some were left.
    pub fn status(&self) -> Status {
        let left: Vec<&Line> = self.lines.iter().filter(|line| line.fate == Fate::Left).collect();
        let denied = |line: &&Line| matches!(line.errno, Some(libc::EPERM | libc::EACCES));
        match (left.is_empty(), left.iter().all(denied), self.storm) {
            (true, _, false) => Status::Done,
            (false, true, false) if self.count(Fate::Moved) == 0 => Status::Denied,
            _ => Status::Conflict,
        }
    }
}

pub(super) fn show(summary: &Summary, screen: &mut Screen) {
    screen.json(&Report {
        schema: "quietcore.move/1",
        partition: &summary.partition,
        cpus: &summary.cpus,
        direction: if summary.out { "out" } else { "into" },
        dry_run: summary.dry_run,
        moved: summary.count(Fate::Moved),
        already: summary.count(Fate::Already),
        left: summary.count(Fate::Left),
        gone: summary.count(Fate::Gone),
        complete: !summary.storm,
        tasks: &summary.lines,
        findings: &summary.findings,
    });
    screen.text(&text(summary));
    for finding in &summary.findings {
        screen.text(&format!(
            "{}: {}\n  {}\n",
            finding.subject, finding.message, finding.fix
        ));
    }
}

fn text(summary: &Summary) -> String {
    const SHOWN: usize = 20;
    let mut text = String::new();
    let mut reasons: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    let moved = |line: &&Line| matches!(line.fate, Fate::Moved | Fate::Would);
    let count = summary.lines.iter().filter(moved).count();
    for line in summary.lines.iter().filter(moved).take(SHOWN) {
        text.push_str(&format!(
            "{:>7} {:<16} {:<8} {} -> {}  CPU {} -> {}\n",
            line.tid,
            report::safe(&line.comm),
            report::safe(line.user.as_deref().unwrap_or("?")),
            report::safe(line.from.as_deref().unwrap_or("?")),
            report::safe(line.to.as_deref().unwrap_or("?")),
            list(line.cpus_before.as_ref()),
            list(line.cpus_after.as_ref()),
        ));
    }
    if count > SHOWN {
        text.push_str(&format!("        and {} more\n", count - SHOWN));
    }
    for line in &summary.lines {
        if let (Fate::Left, Some(reason)) = (line.fate, &line.reason) {
            reasons.entry(reason).or_default().push(line);
        }
    }
    for (reason, lines) in reasons {
        let shown: Vec<String> = lines
            .iter()
            .take(SHOWN)
            .map(|line| format!("{} ({})", line.tid, report::safe(&line.comm)))
            .collect();
        let more = lines.len().saturating_sub(SHOWN);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        text.push_str(&format!("left: {}{more}: {reason}\n", shown.join(", ")));
    }
    let processes: BTreeSet<u32> = summary.lines.iter().filter(moved).map(|line| line.pid).collect();
    let verb = if summary.dry_run { "would move" } else { "moved" };
    let place = match summary.out {
        false => format!("into {} (CPU {})", summary.partition, summary.cpus),
        true => format!("out of {}", summary.partition),
    };
    text.push_str(&format!(
        "{verb} {count} threads of {} processes {place}",
        processes.len()
    ));
    for (fate, word) in [
        (Fate::Already, "already there"),
        (Fate::Left, "left"),
        (Fate::Gone, "ended"),
    ] {
        let number = summary.count(fate);
        if number > 0 {
            text.push_str(&format!(", {number} {word}"));
        }
    }
    text.push('\n');
    let users: BTreeSet<&str> = summary
        .lines
        .iter()
        .filter(moved)
        .filter_map(|line| line.user.as_deref())
        .collect();
    if summary.is_by_name && users.len() > 1 {
        let users: Vec<&str> = users.into_iter().collect();
        text.push_str(&format!(
            "they belong to several users ({}); --user takes those of one\n",
            report::safe(&users.join(", "))
        ));
    }
    if summary.storm {
        text.push_str("tasks kept appearing until the last pass; run it again\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Policy, TaskKey};

    fn line(tid: u32, user: Option<&str>) -> Line {
        let task = Task {
            pid: tid,
            key: TaskKey { tid, start_time: 1 },
            ppid: 1,
            comm: "app".to_owned(),
            state: 'S',
            flags: 0,
            cpu: None,
            allowed: None,
            policy: Policy::Other,
            rt_priority: 0,
            nice: 0,
            cgroup: None,
        };
        Line {
            user: user.map(str::to_owned),
            to: Some("/rt".to_owned()),
            cpus_after: Some(CpuSet::range(3, 3)),
            ..Line::of(
                &task,
                Fate::Would,
                Some("/".to_owned()),
                Some(CpuSet::range(0, 3)),
            )
        }
    }

    fn dry_run(lines: Vec<Line>) -> Summary {
        Summary {
            partition: "rt".to_owned(),
            cpus: CpuSet::range(3, 3),
            out: false,
            dry_run: true,
            storm: false,
            is_by_name: true,
            lines,
            findings: Vec::new(),
        }
    }

    #[test]
    fn a_dry_run_shows_whose_each_process_is() {
        let lines = || vec![line(10, Some("root")), line(20, Some("ana")), line(30, None)];
        let mut summary = dry_run(lines());
        let expected = "     10 app              root     / -> /rt  CPU 0-3 -> 3\n     \
             20 app              ana      / -> /rt  CPU 0-3 -> 3\n     \
             30 app              ?        / -> /rt  CPU 0-3 -> 3\n\
             would move 3 threads of 3 processes into rt (CPU 3)\n\
             they belong to several users (ana, root); --user takes those of one\n";
        assert_eq!(text(&summary), expected);
        summary.is_by_name = false;
        assert!(
            !text(&summary).contains("--user"),
            "numbers and --user mean what they say"
        );
        let of_one = dry_run(lines().into_iter().skip(1).collect());
        assert!(!text(&of_one).contains("several users"), "{}", text(&of_one));
    }
}
