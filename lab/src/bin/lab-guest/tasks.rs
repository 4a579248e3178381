//! Reads tasks from the kernel in a single pass, independently of the code under test.

use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// `PF_NO_SETAFFINITY` of `include/linux/sched.h`: user space may not change the mask.
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;
/// `PF_EXITING` of `include/linux/sched.h`.
const PF_EXITING: u64 = 0x4;
/// `PF_KTHREAD` of `include/linux/sched.h`.
const PF_KTHREAD: u64 = 0x0020_0000;

/// One thread.
pub struct ProcTask {
    /// Thread ID.
    pub tid: u32,
    /// Process ID.
    pub pid: u32,
    /// Its name.
    pub comm: String,
    /// `PF_*` flags.
    pub flags: u64,
    /// Start time in clock ticks since boot. Together with the thread ID it identifies the thread.
    pub start: u64,
    /// Scheduling policy, real-time priority, nice value.
    pub policy: String,
    /// Its current or last CPU.
    pub cpu: u32,
    /// `Cpus_allowed_list`.
    pub allowed: String,
    /// The lines of its `cgroup` file.
    pub cgroup: String,
}

impl ProcTask {
    /// Whether user space may move it.
    pub fn movable(&self) -> bool {
        self.flags & PF_NO_SETAFFINITY == 0
    }

    /// Whether it is a kernel thread.
    pub fn kernel(&self) -> bool {
        self.flags & PF_KTHREAD != 0
    }
}

/// All threads. A thread that ends during the read is left out.
pub fn all() -> Vec<ProcTask> {
    let one = |(pid, tid)| one(Path::new(&format!("/proc/{pid}/task/{tid}")), pid, tid);
    let mut tasks: Vec<ProcTask> = numbers_of_all().into_iter().filter_map(one).collect();
    tasks.sort_by_key(|task| task.tid);
    tasks
}

/// Process ID and thread ID of every thread.
fn numbers_of_all() -> Vec<(u32, u32)> {
    let numbers = |dir: &Path| -> Vec<u32> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect()
    };
    let proc = Path::new("/proc");
    let of = |pid: u32| {
        let tids = numbers(&proc.join(format!("{pid}/task")));
        tids.into_iter().map(move |tid| (pid, tid))
    };
    numbers(proc).into_iter().flat_map(of).collect()
}

/// `lab-guest who CPU`.
pub fn print_tasks_on(cpu: u32) -> Result<(), String> {
    for task in all().iter().filter(|task| list_has(&task.allowed, cpu)) {
        println!("{}", task_json(task));
    }
    Ok(())
}

/// `lab-guest named NAME...`. Of other tasks only the name is read: reading all files takes too long on a loaded
/// emulator.
pub fn named(names: &[&str]) -> Result<(), String> {
    for (pid, tid) in numbers_of_all() {
        let dir = format!("/proc/{pid}/task/{tid}");
        let name = std::fs::read_to_string(format!("{dir}/comm")).unwrap_or_default();
        if names.contains(&name.trim_end())
            && let Some(task) = one(Path::new(&dir), pid, tid)
        {
            println!("{}", task_json(&task));
        }
    }
    Ok(())
}

fn task_json(task: &ProcTask) -> serde_json::Value {
    json!({
        "tid": task.tid, "pid": task.pid, "comm": task.comm, "cpu": task.cpu, "allowed": task.allowed,
        "movable": task.movable(), "kernel": task.kernel(), "policy": task.policy,
    })
}

/// `lab-guest left CPU`: number of movable tasks that may run on the CPU. One system call per task checks the mask, and
/// only matching tasks are read: on an emulated machine the files of 100,000 tasks take minutes.
pub fn left(cpu: u32) -> Result<(), String> {
    let (mut user, mut kernel, mut kthreadd, mut all) = (0, 0, false, 0);
    for (pid, tid) in numbers_of_all() {
        all += 1;
        if !may_run_on(tid, cpu) {
            continue;
        }
        let dir = format!("/proc/{pid}/task/{tid}");
        // A zombie keeps its mask, but runs nowhere.
        let lives = |task: &ProcTask| task.movable() && task.flags & PF_EXITING == 0;
        if let Some(task) = one(Path::new(&dir), pid, tid).filter(lives) {
            *if task.kernel() { &mut kernel } else { &mut user } += 1;
            kthreadd |= tid == 2;
        }
    }
    println!(
        "{}",
        json!({ "user": user, "kernel": kernel, "kthreadd": kthreadd, "tasks": all })
    );
    Ok(())
}

fn may_run_on(tid: u32, cpu: u32) -> bool {
    let mut mask = 0_u128;
    // SAFETY: the kernel writes at most this many bytes into a number that outlives the call.
    let got = unsafe {
        libc::syscall(
            libc::SYS_sched_getaffinity,
            tid,
            std::mem::size_of::<u128>(),
            &raw mut mask,
        )
    };
    got > 0 && mask >> cpu & 1 == 1
}

/// Counts the children of a process per cgroup. The youngest are read first: on an emulated machine they would have
/// ended before a walk through all of `/proc` reaches them.
pub fn brood(pid: u32) -> Result<(), String> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let children = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let read = |pid: &str, name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let unnamed = read(&pid.to_string(), "comm");
    let mut places: BTreeMap<String, u32> = BTreeMap::new();
    for child in children.split_whitespace().rev() {
        // A child that has not run yet is still in the root cgroup: `copy_process` makes a child visible before
        // `cgroup_post_fork`. A child that has its own name has run.
        if read(child, "comm") == unnamed {
            continue;
        }
        let (text, stat) = (read(child, "cgroup"), read(child, "stat"));
        // On v1 an exiting task is in the root cgroup again (`cgroup_exit`).
        let flags = stat
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split_whitespace().nth(9 - 3));
        let ends = flags
            .and_then(|flags| flags.parse::<u64>().ok())
            .is_none_or(|flags| flags & PF_EXITING != 0);
        if ends {
            continue;
        }
        let line = |key: &str| text.lines().find_map(|line| line.split_once(key));
        if let Some((_, place)) = line(":cpuset:").or_else(|| line("0::")) {
            *places.entry(place.to_owned()).or_default() += 1;
        }
    }
    println!("{}", json!(places));
    Ok(())
}

/// Whether a kernel list (`0-2,5`) contains a number.
pub fn list_has(list: &str, number: u32) -> bool {
    list.split(',').any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        matches!((first.trim().parse::<u32>(), last.trim().parse::<u32>()), (Ok(first), Ok(last)) if (first..=last).contains(&number))
    })
}

fn one(dir: &Path, pid: u32, tid: u32) -> Option<ProcTask> {
    let text = |name: &str| {
        std::fs::read(dir.join(name))
            .ok()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let stat = text("stat")?;
    // The name may contain anything, including brackets. The last bracket ends it (proc_pid_stat(5)).
    let (head, tail) = stat.rsplit_once(')')?;
    let comm = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied().unwrap_or_default();
    let status = text("status")?;
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?
        .trim()
        .to_owned();
    Some(ProcTask {
        tid,
        pid,
        comm,
        flags: field(9).parse().ok()?,
        start: field(22).parse().ok()?,
        policy: format!("policy {} rtprio {} nice {}", field(41), field(40), field(19)),
        cpu: field(39).parse().ok()?,
        allowed,
        cgroup: text("cgroup")?.lines().collect::<Vec<_>>().join(" "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_and_the_current_thread_are_read() {
        assert!(list_has("0-2,5", 2) && list_has("0-2,5", 5) && !list_has("0-2,5", 4) && !list_has("", 0));
        let me = std::process::id();
        let found = all().into_iter().find(|task| task.tid == me).unwrap();
        assert!(found.pid == me && !found.kernel() && !found.allowed.is_empty());
    }
}
