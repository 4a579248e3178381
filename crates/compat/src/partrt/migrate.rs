//! Implements `partrt move`: moves a running process with its threads, or on v1 a single thread, into or out of a partition.
//!
//! The original ignores a task that the kernel refuses to move, and exits with status 0. The status is kept,
//! because loops over all tasks rely on it; the task is reported on standard error.

use super::names::{self, PartrtTarget};
use super::{ParsedOption, PartrtError, detail, getopts, mask, outside, wrong};
use apply::{Journal, MovePurpose, MoveUnit, PlannedMove, ThreadMove};
use machine::{CpuSet, Machine, Task};
use root::{Failure, Status};
use session::Session;
use session::task_move::{Direction, MoveOptions, MoveSummary, Selection, ThreadOutcome, move_tasks};
use terminal::Screen;

/// The parsed command line.
#[derive(Debug, PartialEq, Eq)]
struct MigrateOptions {
    cpus: Option<CpuSet>,
    task: String,
    partition: Option<String>,
}

/// Runs it.
///
/// # Errors
/// Wrong options, and tasks or partitions that do not exist.
pub fn migrate(session: &Session, words: &[String], screen: &mut Screen) -> Result<(), PartrtError> {
    let request = MigrateOptions::parse(words)?;
    let root = session.root();
    let missing_task = || PartrtError::Message(format!("Task ID {} does not exist", report::safe(&request.task)));
    let number = request.task.parse::<u32>().map_err(|_| missing_task())?;
    let task = machine::tasks::read_one(root, number).ok_or_else(missing_task)?;
    let name = request.partition.as_deref().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| PartrtError::Message("Missing mandatory partition name".to_owned()))?;
    let nowhere = || PartrtError::Message(format!("Partition {} does not exist", report::safe(name)));
    let changing = session.lock_existing()?.ok_or_else(nowhere)?;
    let machine = session.machine();
    let place = names::find(session, &changing, &machine, name)?.ok_or_else(nowhere)?;
    let leaves = names::around(&changing, &machine, number)?;
    drop(changing);
    if let Some(cpus) = request.cpus.as_ref().filter(|cpus| !cpus.is_subset(place.cpus())) {
        return Err(outside(cpus, name));
    }
    let direction = match (&place, &leaves) {
        (PartrtTarget::Partition(_), _) => Some(Direction::Into(name.to_owned())),
        (PartrtTarget::Rest(_), Some((from, _))) => Some(Direction::OutOf(from.clone())),
        (PartrtTarget::Rest(_), None) => None,
    };
    if let Some(direction) = direction {
        let options = move_options(&task, direction, request.cpus.as_ref());
        report_summary(&move_tasks(session, &options)?, name, screen);
    }
    match (&place, request.cpus) {
        (PartrtTarget::Rest(_), Some(cpus)) => pin_outside(session, &machine, number, &cpus),
        _ => Ok(()),
    }
}

fn move_options(task: &Task, direction: Direction, cpus: Option<&CpuSet>) -> MoveOptions {
    let tid = task.key.tid;
    let is_process = task.pid == tid;
    let pins_cpus = matches!(direction, Direction::Into(_));
    MoveOptions {
        selection: Selection {
            pid: is_process.then_some(tid).into_iter().collect(),
            tid: (!is_process).then_some(tid).into_iter().collect(),
            ..Selection::default()
        },
        user: None,
        children: false,
        cpus: cpus.filter(|_| pins_cpus).map(ToString::to_string),
        direction,
        pins: Vec::new(),
        policy: None,
        nice: None,
        in_place: false,
        out_of_limits: false,
        dry_run: false,
    }
}

impl MigrateOptions {
    fn parse(words: &[String]) -> Result<MigrateOptions, PartrtError> {
        let (found, rest) = getopts(":c:h", words);
        let mut cpus = None;
        for one in found {
            match one {
                ParsedOption::Option('h', _) => return Err(PartrtError::Usage),
                ParsedOption::Option('c', Some(text)) => cpus = mask(&text)?,
                other => return Err(wrong(&other, "")),
            }
        }
        let task = rest.first().filter(|task| !task.is_empty());
        Ok(MigrateOptions {
            cpus,
            task: task
                .cloned()
                .ok_or_else(|| PartrtError::Message("Missing mandatory task ID".to_owned()))?,
            partition: rest.get(1).cloned(),
        })
    }
}

fn report_summary(summary: &MoveSummary, partition: &str, screen: &mut Screen) {
    for line in &summary.lines {
        let task = format!("{} ({})", line.tid, report::safe(&line.comm));
        match line.fate {
            ThreadOutcome::Left => screen.note(&format!(
                "{task}: Could not be moved to {partition}: {}\n",
                line.reason.as_deref().unwrap_or("the kernel refused")
            )),
            ThreadOutcome::Moved | ThreadOutcome::Already => detail(screen, &format!("{task}: Moved to {partition}\n")),
            ThreadOutcome::Gone | ThreadOutcome::Would => {}
        }
    }
}

/// Pins a task, a process with all its threads, in its current place. The journal stores its former mask.
fn pin_outside(session: &Session, machine: &Machine, number: u32, cpus: &CpuSet) -> Result<(), PartrtError> {
    let root = session.root();
    let nothing = || PartrtError::Message("no partition is active any more".to_owned());
    let changing = session.lock_existing()?.ok_or_else(nothing)?;
    let mut journal = Journal::open(changing.state())
        .map_err(Failure::from)?
        .ok_or_else(nothing)?;
    let hierarchy = machine.cgroups.cpuset.as_ref().ok_or_else(nothing)?;
    let layers = journal.layers();
    let live: Vec<_> = layers.iter().filter(|layer| layer.is_live()).collect();
    let isolated = apply::isolated(&live);
    let ground = changing.move_context(hierarchy, &isolated);
    let leads = machine::tasks::read_one(root, number).is_some_and(|task| task.pid == number);
    let threads = match leads {
        true => root.readable_names(&format!("/proc/{number}/task")).unwrap_or_default(),
        false => vec![number.to_string()],
    };
    let cgroup = machine::tasks::cgroup_of(root, number, hierarchy.version).unwrap_or_default();
    let parcel = PlannedMove {
        tid: number,
        unit: if leads { MoveUnit::Process } else { MoveUnit::Thread },
        to: format!("{}{}", hierarchy.mount, cgroup.trim_end_matches('/')),
        tasks: threads
            .iter()
            .filter_map(|tid| tid.parse().ok())
            .map(|tid| ThreadMove {
                tid,
                pin: Some(cpus.clone()),
                policy: None,
            })
            .collect(),
        later: Vec::new(),
        stay: MovePurpose::Belongs,
    };
    let arrivals = apply::relocate(&ground, &mut journal, &[parcel]).map_err(Failure::from)?;
    let refused = arrivals.iter().find_map(|arrival| arrival.pin_refused);
    refused.map_or(Ok(()), |errno| {
        let why = std::io::Error::from_raw_os_error(errno).to_string();
        let error = Failure::new(Status::Unable, "the task cannot be pinned", why, "leave out -c");
        Err(error.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_of_move_are_parsed() {
        let parse = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            match MigrateOptions::parse(&words) {
                Ok(wanted) => {
                    let cpus = wanted.cpus.map_or_else(|| "-".to_owned(), |cpus| cpus.to_string());
                    format!("{} {} {cpus}", wanted.task, wanted.partition.unwrap_or_default())
                }
                Err(PartrtError::Message(message)) => message,
                Err(_) => "usage".to_owned(),
            }
        };
        for (line, wanted) in [
            ("1234 nrt", "1234 nrt -"),
            ("-c 0x4 1234 rt", "1234 rt 2"),
            ("1234", "1234  -"),
            ("", "Missing mandatory task ID"),
            ("-c", "Invalid option: -c missing mandatory argument"),
            ("-x 1 rt", "Invalid option: x "),
            ("-h", "usage"),
        ] {
            assert_eq!(parse(line), wanted, "{line}");
        }
    }
}
