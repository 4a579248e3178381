//! Reads every thread of a machine. With a hundred thousand of them most of the time of `inspect` is spent here, so two
//! threads share the processes, and only `stat` and `status` are read.

use super::parse::{Stat, allowed_of, parse_cgroup_file, stat_of};
use super::{Task, TaskKey};
use crate::OrderBy;
use crate::reading::RootReader;
use crate::{UnreadableFile, Version};
use root::{DirectoryEntryType, Root, RootError};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Processes that a thread takes at a time.
const BATCH: usize = 64;

/// Every thread, by number. `None` if there is no `/proc` with processes in it.
#[must_use]
pub fn read(root: &Root) -> Option<Vec<Task>> {
    read_all(root).0
}

/// One thread; `None` if it has ended (or cannot be read).
#[must_use]
pub fn read_one(root: &Root, tid: u32) -> Option<Task> {
    read_stat(root, tid).map(|task| with_status(root, task))
}

/// Whether a process has ended, also if its parent has not reaped it. A process whose first thread has exited has not ended
/// while it has other threads.
///
/// # Errors
/// The error of reading `/proc`: it is then unknown.
pub fn has_ended(root: &Root, key: TaskKey) -> Result<bool, RootError> {
    let threads = || root.entries(&format!("/proc/{}/task", key.tid));
    match read_stat(root, key.tid) {
        None => Ok(threads()?.is_none()),
        Some(task) if task.key != key => Ok(true),
        Some(task) if matches!(task.state, 'Z' | 'X') => Ok(threads()?.is_none_or(|threads| threads.len() <= 1)),
        Some(_) => Ok(false),
    }
}

/// As [`read_one`] from a single file, without mask; its process is assumed to be its own. For callers that read very many.
#[must_use]
pub fn read_stat(root: &Root, tid: u32) -> Option<Task> {
    let reader = RootReader::new(root);
    let read = |name: &str, content: &mut Vec<u8>| reader.record_into(&format!("/proc/{name}"), content);
    let stat = Buffers::default().line_by(&reader, "/proc", tid, read)?;
    Some(stat.task)
}

/// Adds what [`read_stat`] left out.
#[must_use]
pub fn with_status(root: &Root, mut task: Task) -> Task {
    let mut status = Vec::new();
    if RootReader::new(root).record_into(&format!("/proc/{}/status", task.key.tid), &mut status) {
        task.allowed = allowed_of(&status);
        // `/proc/TID` exists for every thread but is not listed; its `status` names the process.
        task.pid = thread_group(&status).unwrap_or(task.pid);
    }
    task
}

/// The scheduler's statistics of a thread (`proc_pid_schedstat` in `fs/proc/base.c`). All are 0 where the kernel keeps none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedStat {
    /// Time on a CPU.
    pub run_ns: u64,
    /// Time on a run queue without running.
    pub waited_ns: u64,
    /// The number of time slices.
    pub time_slices: u64,
}

/// The statistics of the thread with this directory (`/proc/TID`); `None` if it has ended, or without `CONFIG_SCHED_INFO`.
#[must_use]
pub fn read_sched_stat(root: &Root, dir: &str) -> Option<SchedStat> {
    let text = root.text(&format!("{dir}/schedstat")).ok().flatten()?;
    let mut words = text.split_ascii_whitespace().map(str::parse);
    let mut next = || words.next()?.ok();
    Some(SchedStat {
        run_ns: next()?,
        waited_ns: next()?,
        time_slices: next()?,
    })
}

/// The cgroup of one thread in the hierarchy of a version; `None` if it has ended, or is not in one.
#[must_use]
pub fn cgroup_of(root: &Root, tid: u32, version: Version) -> Option<String> {
    let text = root.readable_text(&format!("/proc/{tid}/cgroup"))?;
    parse_cgroup_file(&text, version)
}

/// The real and the effective user of one thread (`Uid` of its `status`, `proc_pid_status(5)`); `None` if it has ended.
#[must_use]
pub fn users_of(root: &Root, tid: u32) -> Option<[u32; 2]> {
    let text = root.readable_text(&format!("/proc/{tid}/status"))?;
    let mut numbers = text
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))?
        .split_ascii_whitespace()
        .map(str::parse);
    Some([numbers.next()?.ok()?, numbers.next()?.ok()?])
}

/// The threads of one process, by number; empty if it has ended.
#[must_use]
pub fn read_process(root: &Root, pid: u32) -> Vec<Task> {
    let mut tasks = Vec::new();
    Buffers::default().process(&RootReader::new(root), pid, &mut tasks);
    tasks.order_by_key(|task| task.key);
    tasks
}

pub(crate) fn read_all(root: &Root) -> (Option<Vec<Task>>, Vec<UnreadableFile>) {
    let reader = RootReader::new(root);
    let number = |entry: root::DirectoryEntry| match entry.kind {
        DirectoryEntryType::Dir => entry.name.parse::<u32>().ok(),
        _ => None,
    };
    let pids: Option<Vec<u32>> = reader
        .entries("/proc")
        .map(|entries| entries.into_iter().filter_map(number).collect());
    let mut unreadable = reader.into_unreadable();
    let Some(pids) = pids.filter(|pids| !pids.is_empty()) else {
        return (None, unreadable);
    };
    let next = AtomicUsize::new(0);
    let share = || {
        let reader = RootReader::new(root);
        let mut buffers = Buffers::default();
        let mut tasks = Vec::new();
        loop {
            let begin = next.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) = pids.get(begin..pids.len().min(begin + BATCH)) else {
                break;
            };
            if batch.is_empty() {
                break;
            }
            batch.iter().for_each(|&pid| buffers.process(&reader, pid, &mut tasks));
        }
        (tasks, reader.into_unreadable())
    };
    let (mut tasks, trouble) = if pids.len() <= BATCH {
        share()
    } else {
        std::thread::scope(|scope| {
            let other = scope.spawn(share);
            let (mut tasks, mut trouble) = share();
            // A panic in the other thread would be a bug of ours and is propagated.
            let (more, more_trouble) = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            tasks.extend(more);
            trouble.extend(more_trouble);
            (tasks, trouble)
        })
    };
    tasks.order_by_key(|task| task.key);
    unreadable.extend(trouble);
    (Some(tasks), unreadable)
}

/// Adds the cgroup of each task. Each costs one more file, so this is done only on request.
pub(crate) fn read_cgroups(reader: &RootReader, tasks: &mut [Task], version: Version) {
    for task in tasks {
        let path = format!("/proc/{}/task/{}/cgroup", task.pid, task.key.tid);
        task.cgroup = reader.text(&path).and_then(|text| parse_cgroup_file(&text, version));
    }
}

/// Buffers that are reused for each file.
#[derive(Default)]
struct Buffers {
    name: String,
    stat: Vec<u8>,
    status: Vec<u8>,
}

impl Buffers {
    /// Most processes have one thread, as their `stat` shows: then no list has to be read.
    fn process(&mut self, reader: &RootReader, pid: u32, tasks: &mut Vec<Task>) {
        let dir = format!("/proc/{pid}/task");
        let first = self.stat(reader, &dir, pid);
        let is_alone = first.as_ref().is_some_and(|stat| stat.threads == 1);
        tasks.extend(first.map(|stat| stat.task));
        if is_alone {
            return;
        }
        let Some((place, listed)) = reader.numbered_place(&dir) else {
            return;
        };
        for tid in listed.into_iter().filter(|tid| *tid != pid) {
            let read = |name: &str, content: &mut Vec<u8>| reader.record_at(&place, name, content);
            // None: it has ended since the directory was listed.
            if let Some(Stat { mut task, .. }) = self.stat_by(reader, &dir, tid, read) {
                task.pid = pid;
                tasks.push(task);
            }
        }
    }

    fn stat(&mut self, reader: &RootReader, dir: &str, tid: u32) -> Option<Stat> {
        self.stat_by(reader, dir, tid, |name, content| {
            reader.record_into(&format!("{dir}/{name}"), content)
        })
    }

    fn stat_by(
        &mut self,
        reader: &RootReader,
        dir: &str,
        tid: u32,
        read: impl Fn(&str, &mut Vec<u8>) -> bool,
    ) -> Option<Stat> {
        let mut stat = self.line_by(reader, dir, tid, &read)?;
        self.name.push_str("us");
        if read(&self.name, &mut self.status) {
            stat.task.allowed = allowed_of(&self.status);
        }
        Some(stat)
    }

    /// The content of `stat` alone.
    fn line_by(
        &mut self,
        reader: &RootReader,
        dir: &str,
        tid: u32,
        read: impl Fn(&str, &mut Vec<u8>) -> bool,
    ) -> Option<Stat> {
        self.name.clear();
        // Writing to a string cannot fail.
        let _ = write!(self.name, "{tid}/stat");
        if !read(&self.name, &mut self.stat) {
            return None;
        }
        let stat = stat_of(&self.stat);
        if stat.is_none() {
            reader.note(
                &format!("{dir}/{}", self.name),
                &"it does not have the format that the kernel writes",
            );
        }
        stat
    }
}

fn thread_group(status: &[u8]) -> Option<u32> {
    let line = status
        .split(|&byte| byte == b'\n')
        .find_map(|line| line.strip_prefix(b"Tgid:"))?;
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}
