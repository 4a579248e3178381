//! The baseline of the speed measurements: a loop that only writes the values of an isolation. It keeps no record, does
//! not read former values, does not read back, and makes no second pass.
//!
//! It repeats the writes in a journal of quietcore, so both do the same work. A second baseline also reads the mask of
//! every task before and after: without that, a tool cannot restore everything.

use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::time::Instant;

/// `lab-guest bare JOURNAL`: makes the changes. Prints the time, not counting the time for reading the journal.
pub fn apply(journal: &str) -> Result<(), String> {
    let steps = steps(journal)?;
    timed(|| steps.iter().try_for_each(BareStep::make))
}

/// `lab-guest careful JOURNAL`: like `bare`, but also reads the mask of every task before and after.
pub fn careful(journal: &str) -> Result<(), String> {
    let steps = steps(journal)?;
    timed(|| {
        let list = ["/sys/fs/cgroup/cpuset/tasks", "/sys/fs/cgroup/cgroup.threads"]
            .into_iter()
            .find_map(|list| std::fs::read_to_string(list).ok())
            .ok_or("no list of tasks")?;
        let tids: Vec<i32> = list.lines().filter_map(|line| line.parse().ok()).collect();
        let before: Vec<u128> = tids.iter().map(|tid| mask_of(*tid).unwrap_or(0)).collect();
        steps.iter().try_for_each(BareStep::make)?;
        let masks = tids.iter().map(|tid| mask_of(*tid).unwrap_or(0));
        let changed = masks.zip(&before).filter(|(after, before)| after != *before).count();
        (changed > 0)
            .then_some(())
            .ok_or_else(|| "no task has another mask".to_owned())
    })
}

/// `lab-guest bare-undo JOURNAL`: undoes the changes in reverse order.
pub fn undo(journal: &str) -> Result<(), String> {
    let steps = steps(journal)?;
    timed(|| steps.iter().rev().try_for_each(BareStep::undo))
}

fn timed(work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let started = Instant::now();
    work()?;
    println!("{}", serde_json::json!({ "us": started.elapsed().as_micros() as u64 }));
    Ok(())
}

/// One write, or one loop of writes.
enum BareStep {
    Value {
        path: String,
        value: String,
        former: String,
    },
    Set {
        path: String,
    },
    Partition {
        path: String,
        word: String,
    },
    Tasks {
        from: String,
        to: String,
    },
    KernelThreads {
        isolated: u128,
    },
}

impl BareStep {
    fn make(&self) -> Result<(), String> {
        match self {
            BareStep::Value { path, value, .. } => write_file(path, value),
            BareStep::Set { path } => std::fs::create_dir(path).map_err(|error| format!("{path}: {error}")),
            BareStep::Partition { path, word } => write_file(path, word),
            BareStep::Tasks { from, to } => move_all(from, to),
            BareStep::KernelThreads { isolated } => narrow(*isolated),
        }
    }

    fn undo(&self) -> Result<(), String> {
        match self {
            BareStep::Value { path, value, former } => match value.strip_prefix('+') {
                Some(word) => write_file(path, &format!("-{word}")),
                // Files that were removed with their set no longer exist.
                None if former.is_empty() => Ok(()),
                None => write_file(path, former),
            },
            BareStep::Set { path } => std::fs::remove_dir(path).map_err(|error| format!("{path}: {error}")),
            BareStep::Partition { path, .. } => write_file(path, "member"),
            BareStep::Tasks { from, to } => move_all(to, from),
            BareStep::KernelThreads { .. } => Ok(()),
        }
    }
}

fn write_file(path: &str, value: &str) -> Result<(), String> {
    let mut file = File::options()
        .write(true)
        .open(path)
        .map_err(|error| format!("{path}: {error}"))?;
    // Refusals are expected: the kernel refused the same writes of quietcore.
    let _ = file.write(value.as_bytes());
    Ok(())
}

/// Moves every task of a set to another set: reads one list, then makes one `write(2)` per task.
fn move_all(from: &str, to: &str) -> Result<(), String> {
    let list = format!("{from}/tasks");
    let tids = std::fs::read_to_string(&list).map_err(|error| format!("{list}: {error}"))?;
    let target = format!("{to}/tasks");
    let mut file = File::options()
        .write(true)
        .open(&target)
        .map_err(|error| format!("{target}: {error}"))?;
    for tid in tids.lines() {
        // The kernel refuses to move bound kernel threads.
        let _ = file.write(tid.as_bytes());
    }
    Ok(())
}

/// Removes CPUs from every kernel thread that has them: one `sched_getaffinity` for each thread, and a
/// `sched_setaffinity` if needed.
fn narrow(isolated: u128) -> Result<(), String> {
    let list = "/sys/fs/cgroup/cgroup.threads";
    let tids = std::fs::read_to_string(list).map_err(|error| format!("{list}: {error}"))?;
    for tid in tids.lines().filter_map(|line| line.parse::<i32>().ok()) {
        let Some(mask) = mask_of(tid).filter(|mask| mask & isolated != 0) else {
            continue;
        };
        let rest = mask & !isolated;
        // SAFETY: the kernel reads at most the size of a number that outlives the call.
        unsafe {
            libc::syscall(libc::SYS_sched_setaffinity, tid, size_of_val(&rest), &raw const rest);
        }
    }
    Ok(())
}

/// One `sched_getaffinity`; `None` when the task is gone.
fn mask_of(tid: i32) -> Option<u128> {
    let mut mask = 0_u128;
    // SAFETY: the kernel writes at most the size of a number that outlives the call.
    let got = unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid, size_of_val(&mask), &raw mut mask) };
    (got > 0).then_some(mask)
}

/// The writes of the journal's first layer, in order.
fn steps(journal: &str) -> Result<Vec<BareStep>, String> {
    let text = std::fs::read_to_string(journal).map_err(|error| format!("{journal}: {error}"))?;
    let records: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line.splitn(4, ' ').nth(3)?).ok())
        .collect();
    let begin = records.iter().find(|record| record["event"] == "begin");
    let changes = begin.and_then(|begin| begin["changes"].as_array()).ok_or("no begin")?;
    let mut steps = Vec::new();
    let mut done = std::collections::BTreeSet::new();
    for record in records.iter().filter(|record| record["event"] == "will") {
        let id = record["change"].as_str().unwrap_or_default();
        // A loop over tasks has a record for each batch.
        if !done.insert(id) {
            continue;
        }
        let change = changes.iter().find(|change| change["id"] == id).ok_or("no change")?;
        let former = record["before"]["value"]["value"].as_str().unwrap_or_default();
        steps.push(step(&change["action"], former).ok_or_else(|| format!("no step of {}", change["action"]))?);
    }
    Ok(steps)
}

fn step(action: &Value, former: &str) -> Option<BareStep> {
    let of = action;
    let kind = of["do"].as_str()?;
    let text = |name: &str| of[name].as_str().map(str::to_owned);
    Some(match kind {
        "write" => BareStep::Value {
            path: text("path")?,
            value: text("value")?,
            former: if of["undo"] == "with_set" {
                String::new()
            } else {
                former.to_owned()
            },
        },
        "make_set" => BareStep::Set { path: text("path")? },
        "make_partition" => BareStep::Partition {
            path: text("path")?,
            word: of["words"][0].as_str()?.to_owned(),
        },
        "move_tasks" => BareStep::Tasks {
            from: text("from")?,
            to: text("to")?,
        },
        "narrow_tasks" => BareStep::KernelThreads {
            isolated: (0..128)
                .filter(|cpu| crate::tasks::list_has(of["isolated"].as_str().unwrap_or_default(), *cpu))
                .fold(0, |mask, cpu| mask | 1 << cpu),
        },
        _ => return None,
    })
}
