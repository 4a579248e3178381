//! Lists tasks that may run on the isolated CPUs, and tasks that are there: as `ps -eLo psr,pid,tid,policy,rtprio,comm`,
//! sorted by possible remedy.

use super::{InspectView, subject_cpus};
use crate::kernel_threads::{KernelThread, MOVE_TO_HOUSEKEEPING, Movability, kernel_thread};
use crate::report_text::ReportText;
use crate::style::{COLUMNS, TextRole, counted, cut, safe_cut, wrap};
use machine::{CpuSet, Machine, MapEntries, OrderBy, Policy, Task};
use std::collections::BTreeMap;

pub(super) fn write(text: &mut ReportText, machine: &Machine, view: &InspectView) {
    let (cpus, why) = subject_cpus(machine, view);
    let title = format!("Tasks that may run on CPU {} ({why})", cut(&cpus.to_string(), 40));
    text.painted(TextRole::Head, &title);
    writeln!(text);
    let Some(tasks) = &machine.tasks else {
        writeln!(
            text,
            "  Unknown: /proc lists no tasks (a capture without them, or hidepid)."
        );
        return;
    };
    let may = |task: &&Task| {
        Some(task.pid) != view.own_pid
            && match &task.allowed {
                Some(allowed) => allowed.intersects(&cpus),
                None => is_there(task, &cpus),
            }
    };
    let (mut users, mut kernel, mut bound) = (Vec::new(), Vec::new(), Vec::new());
    for task in tasks.iter().filter(may) {
        match (task.is_movable(), task.is_kernel()) {
            (true, false) => users.push(task),
            (true, true) => kernel.push(task),
            (false, _) => bound.push(task),
        }
    }
    per_cpu(text, &cpus, [&users, &kernel, &bound]);
    let table = TaskTable { cpus: &cpus, view };
    table.write(text, &users, "User tasks, which can be moved");
    table.write(text, &kernel, "Kernel threads, which can be moved");
    explain(text, &kernel);
    per_cpu_threads(text, &bound, &cpus);
}

fn is_there(task: &Task, cpus: &CpuSet) -> bool {
    task.cpu.is_some_and(|cpu| cpus.contains(cpu))
}

/// One line per CPU while they fit a screen: the current number of tasks, by kind.
fn per_cpu(text: &mut ReportText, cpus: &CpuSet, kinds: [&Vec<&Task>; 3]) {
    const LINES: usize = 32;
    let mut here: BTreeMap<u32, [usize; 3]> = cpus.iter().map(|cpu| (cpu.0, [0; 3])).into_map();
    for (kind, tasks) in kinds.iter().enumerate() {
        for task in tasks.iter() {
            let row = task.cpu.and_then(|cpu| here.get_mut(&cpu.0));
            if let Some(count) = row.and_then(|row| row.get_mut(kind)) {
                *count += 1;
            }
        }
    }
    writeln!(
        text,
        "  CPU       last ran here: user tasks   kernel threads   per-CPU threads"
    );
    for (cpu, [users, kernel, bound]) in here.iter().take(LINES) {
        writeln!(text, "  {cpu:<9} {users:>25}   {kernel:>14}   {bound:>15}");
    }
    if here.len() > LINES {
        writeln!(text, "  and {} more CPUs", here.len() - LINES);
    }
    let [users, kernel, bound] = kinds.map(Vec::len);
    writeln!(text, "  {:<9} {users:>25}   {kernel:>14}   {bound:>15}", "may run");
}

/// How a list of tasks is shown.
struct TaskTable<'a> {
    cpus: &'a CpuSet,
    view: &'a InspectView,
}

impl TaskTable<'_> {
    fn write(&self, text: &mut ReportText, tasks: &[&Task], title: &str) {
        write_title(text, title, tasks.len());
        if tasks.is_empty() {
            return;
        }
        let mut tasks: Vec<&Task> = tasks.to_vec();
        tasks.order_by_key(|task| (!is_there(task, self.cpus), task.cpu, task.pid, task.key.tid));
        let head = columns(["PSR", "PID", "TID", "POL", "RTPRIO", "ALLOWED", "NAME"]);
        text.painted(TextRole::Quiet, &head);
        self.view
            .tasks
            .write_rows(text, &tasks, |text, task| self.write_row(text, task));
    }

    fn write_row(&self, text: &mut ReportText, task: &Task) {
        let psr = task.cpu.map_or_else(|| "?".to_owned(), |cpu| cpu.to_string());
        let prio = match task.rt_priority {
            0 => "-".to_owned(),
            priority => priority.to_string(),
        };
        let allowed = task
            .allowed
            .as_ref()
            .map_or_else(|| "?".to_owned(), |set| cut(&set.to_string(), 14));
        let line = columns([
            &psr,
            &task.pid.to_string(),
            &task.key.tid.to_string(),
            policy(task.policy),
            &prio,
            &allowed,
            &safe_cut(&task.comm, 26),
        ]);
        match (self.view.cpus.is_some(), is_there(task, self.cpus)) {
            (false, _) => writeln!(text, "{line}"),
            (true, true) => text.painted(TextRole::Warning, &line),
            (true, false) => text.painted(TextRole::Quiet, &line),
        }
    }
}

fn columns([psr, pid, tid, policy, prio, allowed, comm]: [&str; 7]) -> String {
    format!("  {psr:>5} {pid:>7} {tid:>7} {policy:<4} {prio:>6}  {allowed:<14} {comm}")
}

/// The two-letter policy name of `ps`.
fn policy(policy: Policy) -> &'static str {
    match policy {
        Policy::Other => "TS",
        Policy::Fifo => "FF",
        Policy::Rr => "RR",
        Policy::Batch => "B",
        Policy::Idle => "IDL",
        Policy::Deadline => "DLN",
        Policy::Ext => "EXT",
        Policy::Unknown => "?",
    }
}

/// Threads by kind: the threads that match one row of the table, by its pattern.
type Kinds<'a> = BTreeMap<&'static str, (&'static KernelThread, Vec<&'a Task>)>;

/// Splits threads into known kinds and unknown ones.
fn kinds<'a>(tasks: &[&'a Task]) -> (Kinds<'a>, Vec<&'a Task>) {
    let mut known: Kinds<'a> = BTreeMap::new();
    let mut unknown = Vec::new();
    for &task in tasks {
        match kernel_thread(&task.comm) {
            Some(row) => known
                .entry(row.pattern)
                .or_insert_with(|| (row, Vec::new()))
                .1
                .push(task),
            None => unknown.push(task),
        }
    }
    (known, unknown)
}

fn explain(text: &mut ReportText, tasks: &[&Task]) {
    let (known, _) = kinds(tasks);
    if known.is_empty() {
        return;
    }
    writeln!(text);
    text.painted(TextRole::Quiet, "  What they do, and how to reduce their work:");
    for (pattern, (row, tasks)) in known {
        entry(text, pattern, tasks.len(), row);
    }
}

fn per_cpu_threads(text: &mut ReportText, tasks: &[&Task], cpus: &CpuSet) {
    write_title(
        text,
        "Threads whose affinity the kernel lets no user change",
        tasks.len(),
    );
    let (known, unknown) = kinds(tasks);
    for (pattern, (row, tasks)) in known {
        entry(text, pattern, tasks.len(), row);
    }
    if !unknown.is_empty() {
        let mut names: Vec<String> = unknown.iter().map(|task| safe_cut(&task.comm, 24)).collect();
        names.sort_unstable();
        names.dedup();
        let shown = names.iter().take(12).cloned().collect::<Vec<_>>().join(", ");
        let more = match names.len().saturating_sub(12) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let others = format!("others, which are not in quietcore's table: {shown}{more}");
        text.wrapped(2, 4, &others);
    }
    if !tasks.is_empty() {
        let whose = if cpus.len() == 1 { "this" } else { "their" };
        let note = format!("They run only when {whose} CPU has work for them.");
        text.wrapped_as(TextRole::Quiet, 2, 2, &note);
    }
}

fn entry(text: &mut ReportText, pattern: &str, count: usize, row: &KernelThread) {
    let cure = match row.moving {
        Movability::Follows => format!(" -> follows {}", row.cure),
        Movability::Free if row.cure == MOVE_TO_HOUSEKEEPING => String::new(),
        Movability::Free | Movability::Bound => format!(" -> {}", row.cure),
    };
    let mut name = pattern.replace('#', "N");
    if name.chars().count() > 18 {
        writeln!(text, "  {name}");
        name.clear();
    }
    let words = format!("{}{cure}", row.what);
    writeln!(text, "  {name:<18} {count:>4}  {}", wrap(&words, 27, COLUMNS));
}

/// Writes a heading and a number of threads.
fn write_title(text: &mut ReportText, title: &str, threads: usize) {
    let title = text.paint(TextRole::Head, title);
    writeln!(text, "\n{title}: {}", counted(threads, "thread"));
}
