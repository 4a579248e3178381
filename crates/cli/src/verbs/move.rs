//! `move`: moves running tasks into a partition, or back to their original cgroups.

use crate::flags::PlacementArgs;
use machine::CpuSet;
use plan::Finding;
use root::{Failure, Status};
use serde::Serialize;
use session::Session;
use session::comm_pattern::Glob;
use session::task_move::{Direction, MoveOptions, MoveSummary, MovedTask, Selection, ThreadOutcome, move_tasks};
use std::collections::{BTreeMap, BTreeSet};
use terminal::Screen;

/// Arguments of `move`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Move only processes of this user, by name or number
    ///
    /// Any user may give a process any name: without --user, --name also moves processes of other users.
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Also move all descendants of the processes
    ///
    /// Processes that they start during the move are moved in any case.
    #[arg(long)]
    children: bool,
    /// Name of the partition to move them into
    #[arg(long, value_name = "NAME", default_value = "rt", conflicts_with = "out")]
    into: String,
    /// Leave them in their cgroup, which becomes the partition
    ///
    /// The cgroup keeps its limits, and everything in it gets the CPUs of the partition (cgroup v2, Linux 6.11 and later).
    #[arg(long, conflicts_with_all = ["out", "dry_run"])]
    in_place: bool,
    /// Move them back to their original cgroups
    #[arg(long = "back", alias = "out", conflicts_with_all = ["cpus", "pin"])]
    out: bool,
    /// With --back: name of the partition that they leave
    #[arg(long, value_name = "NAME", default_value = "rt", requires = "out")]
    from: String,
    #[command(flatten)]
    placement: PlacementArgs,
    /// cgroup v2: let a single thread take its process out of the limits of its slice
    ///
    /// These are the memory and CPU limits of the cgroup that the process leaves.
    #[arg(long)]
    out_of_limits: bool,
    /// Print what would be moved; move nothing
    #[arg(long)]
    dry_run: bool,
}

/// Options that name tasks; at least one.
#[derive(clap::Args, Clone, Debug)]
#[group(required = true, multiple = true)]
struct SelectionArgs {
    /// Move whole processes by number
    #[arg(long, value_name = "PID", num_args = 1.., value_delimiter = ',')]
    pid: Vec<u32>,
    /// Move single threads by number
    #[arg(long, value_name = "TID", num_args = 1.., value_delimiter = ',')]
    tid: Vec<u32>,
    /// Move whole processes by name, also with * ? [a-z]
    #[arg(long, value_name = "GLOB", value_parser = Glob::parse)]
    name: Vec<Glob>,
    /// Move single threads by name: 'fio/*'
    #[arg(long, value_name = "GLOB", value_parser = Glob::parse)]
    thread: Vec<Glob>,
}

/// Runs the command.
///
/// # Errors
/// No such partition, no matching task, or no permission.
pub fn run(args: &Args, session: &Session, screen: &mut Screen) -> Result<Status, Failure> {
    let summary = move_tasks(session, &args.options())?;
    show(&summary, screen);
    Ok(summary.status())
}

impl Args {
    fn options(&self) -> MoveOptions {
        let SelectionArgs { pid, tid, name, thread } = self.selection.clone();
        MoveOptions {
            selection: Selection { pid, tid, name, thread },
            user: self.user.clone(),
            children: self.children,
            direction: match self.out {
                true => Direction::OutOf(self.from.clone()),
                false => Direction::Into(self.into.clone()),
            },
            cpus: self.placement.cpus.clone(),
            pins: self.placement.pin.clone(),
            policy: self.placement.policy,
            nice: self.placement.nice,
            in_place: self.in_place,
            out_of_limits: self.out_of_limits,
            dry_run: self.dry_run,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct MoveJson<'a> {
    schema: &'static str,
    /// Name of the partition.
    partition: &'a str,
    /// CPUs of the partition.
    cpus: &'a CpuSet,
    /// Whether tasks move into the partition or out of it.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["into", "out"])))]
    direction: &'static str,
    /// Whether it is only a preview.
    dry_run: bool,
    /// Number of threads that were moved.
    moved: usize,
    /// Number of threads that were there already.
    already: usize,
    /// Number of threads that were not moved, or not as requested.
    left: usize,
    /// Number of threads that ended.
    gone: usize,
    /// `false` if tasks kept appearing until the last pass.
    complete: bool,
    /// The threads.
    tasks: &'a [MovedTask],
    /// What the user should know.
    findings: &'a [Finding],
}

fn show(summary: &MoveSummary, screen: &mut Screen) {
    screen.json(&MoveJson {
        schema: "quietcore.move/1",
        partition: &summary.partition,
        cpus: &summary.cpus,
        direction: if summary.out { "out" } else { "into" },
        dry_run: summary.dry_run,
        moved: summary.count(ThreadOutcome::Moved),
        already: summary.count(ThreadOutcome::Already),
        left: summary.count(ThreadOutcome::Left),
        gone: summary.count(ThreadOutcome::Gone),
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

/// How many lines, and names in a line, are printed.
const MOST: usize = 20;

fn is_moved(line: &&MovedTask) -> bool {
    matches!(line.fate, ThreadOutcome::Moved | ThreadOutcome::Would)
}

fn text(summary: &MoveSummary) -> String {
    let mut text = moved_text(summary) + &left_text(summary) + &total_text(summary);
    let moved = summary.lines.iter().filter(is_moved);
    let users: BTreeSet<&str> = moved.filter_map(|line| line.user.as_deref()).collect();
    if summary.is_by_name && users.len() > 1 {
        let users: Vec<&str> = users.into_iter().collect();
        text.push_str(&format!(
            "they belong to several users ({}); --user selects those of one\n",
            report::safe(&users.join(", "))
        ));
    }
    if summary.storm {
        text.push_str("new tasks appeared until the last pass; run it again\n");
    }
    text
}

fn moved_text(summary: &MoveSummary) -> String {
    let mut text = String::new();
    for line in summary.lines.iter().filter(is_moved).take(MOST) {
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
    let count = summary.lines.iter().filter(is_moved).count();
    if count > MOST {
        text.push_str(&format!("        and {} more\n", count - MOST));
    }
    text
}

/// The tasks that were left, by reason.
fn left_text(summary: &MoveSummary) -> String {
    let mut reasons: BTreeMap<&str, Vec<&MovedTask>> = BTreeMap::new();
    for line in &summary.lines {
        if let (ThreadOutcome::Left, Some(reason)) = (line.fate, &line.reason) {
            reasons.entry(reason).or_default().push(line);
        }
    }
    let mut text = String::new();
    for (reason, lines) in reasons {
        let first = lines.iter().take(MOST);
        let first: Vec<String> = first
            .map(|line| format!("{} ({})", line.tid, report::safe(&line.comm)))
            .collect();
        let more = match lines.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text.push_str(&format!("left: {}{more}: {reason}\n", first.join(", ")));
    }
    text
}

fn total_text(summary: &MoveSummary) -> String {
    let moved = || summary.lines.iter().filter(is_moved);
    let processes: BTreeSet<u32> = moved().map(|line| line.pid).collect();
    let verb = if summary.dry_run { "would move" } else { "moved" };
    let place = match summary.out {
        false => format!("into {} (CPU {})", summary.partition, summary.cpus),
        true => format!("out of {}", summary.partition),
    };
    let (threads, processes) = (counted(moved().count(), "thread"), counted(processes.len(), "process"));
    let mut text = format!("{verb} {threads} of {processes} {place}");
    for (fate, word) in [
        (ThreadOutcome::Already, "already there"),
        (ThreadOutcome::Left, "left"),
        (ThreadOutcome::Gone, "ended"),
    ] {
        let number = summary.count(fate);
        if number > 0 {
            text.push_str(&format!(", {number} {word}"));
        }
    }
    text.push('\n');
    text
}

/// A number with its noun: `1 thread`, `2 processes`.
fn counted(number: usize, noun: &str) -> String {
    let ending = match (number, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {noun}{ending}")
}

/// An empty mask carries no information.
fn list(cpus: Option<&CpuSet>) -> String {
    cpus.map_or_else(|| "?".to_owned(), CpuSet::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Policy, Task, TaskKey};

    fn line(tid: u32, user: Option<&str>) -> MovedTask {
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
        MovedTask {
            user: user.map(str::to_owned),
            to: Some("/rt".to_owned()),
            cpus_after: Some(CpuSet::range(3, 3)),
            ..MovedTask::of(
                &task,
                ThreadOutcome::Would,
                Some("/".to_owned()),
                Some(CpuSet::range(0, 3)),
            )
        }
    }

    fn dry_run(lines: Vec<MovedTask>) -> MoveSummary {
        MoveSummary {
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
    fn a_dry_run_shows_the_owner_of_each_process() {
        let lines = || vec![line(10, Some("root")), line(20, Some("ana")), line(30, None)];
        let mut summary = dry_run(lines());
        let expected = "     10 app              root     / -> /rt  CPU 0-3 -> 3\n     \
             20 app              ana      / -> /rt  CPU 0-3 -> 3\n     \
             30 app              ?        / -> /rt  CPU 0-3 -> 3\n\
             would move 3 threads of 3 processes into rt (CPU 3)\n\
             they belong to several users (ana, root); --user selects those of one\n";
        assert_eq!(text(&summary), expected);
        summary.is_by_name = false;
        assert!(
            !text(&summary).contains("--user"),
            "numbers and --user mean what they say"
        );
        let of_one = dry_run(lines().into_iter().skip(1).collect());
        assert!(!text(&of_one).contains("several users"), "{}", text(&of_one));
        let single = dry_run(lines().into_iter().skip(2).collect());
        assert!(
            text(&single).ends_with("would move 1 thread of 1 process into rt (CPU 3)\n"),
            "{}",
            text(&single)
        );
    }
}
