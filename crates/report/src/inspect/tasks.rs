//! Lists tasks that may run on the isolated CPUs, and tasks that are there: as `ps -eLo psr,pid,tid,policy,rtprio,comm`,
//! sorted by possible remedy.

use super::{InspectView, subject_cpus};
use crate::kernel_threads::{KernelThread, MOVE_TO_HOUSEKEEPING, Movability, kernel_thread};
use crate::style::{COLUMNS, Style, TextRole, counted, cut, safe_cut, wrap};
use machine::{CpuSet, Machine, Policy, Task};
use std::collections::BTreeMap;
use std::io::{self, Write};

pub(super) fn write(machine: &Machine, view: &InspectView, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (cpus, why) = subject_cpus(machine, view);
    let title = format!("Tasks that may run on CPU {} ({why})", cut(&cpus.to_string(), 40));
    writeln!(out, "{}\n", style.paint(TextRole::Head, &title))?;
    let Some(tasks) = &machine.tasks else {
        return writeln!(
            out,
            "  Unknown: /proc shows no tasks here (a capture without them, or hidepid)."
        );
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
    per_cpu(&cpus, [&users, &kernel, &bound], out)?;
    let table = TaskTable {
        cpus: &cpus,
        view,
        style,
    };
    table.write(&users, "User tasks, which can be moved", out)?;
    table.write(&kernel, "Kernel threads, which can be moved", out)?;
    explain(&kernel, style, out)?;
    per_cpu_threads(&bound, &cpus, style, out)
}

fn is_there(task: &Task, cpus: &CpuSet) -> bool {
    task.cpu.is_some_and(|cpu| cpus.contains(cpu))
}

/// One line per CPU while they fit a screen: the current number of tasks, by kind.
fn per_cpu(cpus: &CpuSet, kinds: [&Vec<&Task>; 3], out: &mut dyn Write) -> io::Result<()> {
    const LINES: usize = 32;
    let mut here: BTreeMap<u32, [usize; 3]> = cpus.iter().map(|cpu| (cpu.0, [0; 3])).collect();
    for (kind, tasks) in kinds.iter().enumerate() {
        for task in tasks.iter() {
            let row = task.cpu.and_then(|cpu| here.get_mut(&cpu.0));
            if let Some(count) = row.and_then(|row| row.get_mut(kind)) {
                *count += 1;
            }
        }
    }
    writeln!(
        out,
        "  CPU       last ran here: user tasks   kernel threads   per-CPU threads"
    )?;
    for (cpu, [users, kernel, bound]) in here.iter().take(LINES) {
        writeln!(out, "  {cpu:<9} {users:>25}   {kernel:>14}   {bound:>15}")?;
    }
    if here.len() > LINES {
        writeln!(out, "  and {} more CPUs", here.len() - LINES)?;
    }
    let [users, kernel, bound] = kinds.map(Vec::len);
    writeln!(out, "  {:<9} {users:>25}   {kernel:>14}   {bound:>15}", "may run")
}

/// How a list of tasks is shown.
struct TaskTable<'a> {
    cpus: &'a CpuSet,
    view: &'a InspectView,
    style: Style,
}

impl TaskTable<'_> {
    fn write(&self, tasks: &[&Task], title: &str, out: &mut dyn Write) -> io::Result<()> {
        let title = self.style.paint(TextRole::Head, title);
        writeln!(out, "\n{title}: {}", counted(tasks.len(), "thread"))?;
        if tasks.is_empty() {
            return Ok(());
        }
        let mut tasks: Vec<&Task> = tasks.to_vec();
        tasks.sort_by_key(|task| (!is_there(task, self.cpus), task.cpu, task.pid, task.key.tid));
        let head = columns(["PSR", "PID", "TID", "POL", "RTPRIO", "ALLOWED", "NAME"]);
        writeln!(out, "{}", self.style.paint(TextRole::Quiet, &head))?;
        let rows = self.view.tasks.rows();
        for task in tasks.iter().take(rows) {
            writeln!(out, "{}", self.row(task))?;
        }
        if tasks.len() > rows {
            writeln!(
                out,
                "  and {} more (-v shows all of them, --json too)",
                tasks.len() - rows
            )?;
        }
        Ok(())
    }

    fn row(&self, task: &Task) -> String {
        let psr = task.cpu.map_or_else(|| "?".to_owned(), |cpu| cpu.to_string());
        let prio = if task.rt_priority == 0 {
            "-".to_owned()
        } else {
            task.rt_priority.to_string()
        };
        let allowed = task
            .allowed
            .as_ref()
            .map_or_else(|| "?".to_owned(), |set| cut(&set.to_string(), 14));
        let text = columns([
            &psr,
            &task.pid.to_string(),
            &task.key.tid.to_string(),
            policy(task.policy),
            &prio,
            &allowed,
            &safe_cut(&task.comm, 26),
        ]);
        match (self.view.cpus.is_some(), is_there(task, self.cpus)) {
            (false, _) => text,
            (true, true) => self.style.paint(TextRole::Warning, &text),
            (true, false) => self.style.paint(TextRole::Quiet, &text),
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

fn explain(tasks: &[&Task], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (known, _) = kinds(tasks);
    if known.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{}",
        style.paint(TextRole::Quiet, "  What they do, and how they are kept quiet:")
    )?;
    for (pattern, (row, tasks)) in known {
        entry(out, pattern, tasks.len(), row)?;
    }
    Ok(())
}

fn per_cpu_threads(tasks: &[&Task], cpus: &CpuSet, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let title = "Threads whose CPUs the kernel lets no user set";
    writeln!(
        out,
        "\n{}: {}",
        style.paint(TextRole::Head, title),
        counted(tasks.len(), "thread")
    )?;
    let (known, unknown) = kinds(tasks);
    for (pattern, (row, tasks)) in known {
        entry(out, pattern, tasks.len(), row)?;
    }
    if !unknown.is_empty() {
        let mut names: Vec<String> = unknown.iter().map(|task| safe_cut(&task.comm, 24)).collect();
        names.sort();
        names.dedup();
        let shown = names.iter().take(12).cloned().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(12);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        writeln!(
            out,
            "  {}",
            wrap(&format!("others, which no table here knows: {shown}{more}"), 4, COLUMNS)
        )?;
    }
    if !tasks.is_empty() {
        let single = cpus.len() == 1;
        let text = if single {
            "They run only when there is work for this CPU."
        } else {
            "They run only when there is work for their CPU."
        };
        writeln!(out, "  {}", style.paint(TextRole::Quiet, text))?;
    }
    Ok(())
}

fn entry(out: &mut dyn Write, pattern: &str, count: usize, row: &KernelThread) -> io::Result<()> {
    let name = pattern.replace('#', "N");
    let cure = match row.moving {
        Movability::Follows => format!(" -> follows {}", row.cure),
        Movability::Free if row.cure == MOVE_TO_HOUSEKEEPING => String::new(),
        Movability::Free | Movability::Bound => format!(" -> {}", row.cure),
    };
    if name.chars().count() > 18 {
        writeln!(out, "  {name}")?;
    }
    let name = if name.chars().count() > 18 { "" } else { &name };
    writeln!(
        out,
        "  {name:<18} {count:>4}  {}",
        wrap(&format!("{}{cure}", row.what), 27, COLUMNS)
    )
}
