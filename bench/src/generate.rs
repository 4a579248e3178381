//! Writes a captured machine of any size as a directory, to test `inspect --root` at scale.
//!
//! The files are those of a 6.x kernel. Two packages, two hardware threads per core, eight cores per last-level cache,
//! one NUMA node per package. Interrupts are spread over all CPUs; one process in four has several threads.

use std::fmt::Write as _;
use std::path::Path;
use xtask::error::{TaskResult, XtaskError};

/// The size of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of CPUs; a multiple of 32.
    pub cpus: u32,
    /// Number of interrupts.
    pub irqs: u32,
    /// Number of threads of all processes.
    pub tasks: u32,
}

/// Runs `bench generate DIR CPUS IRQS TASKS`.
///
/// # Errors
/// [`XtaskError`] when an argument is not a number or a file cannot be written.
pub fn from_words(dir: &str, words: [&str; 3]) -> TaskResult {
    let number = |word: &str| {
        let why = |error: std::num::ParseIntError| XtaskError::Program {
            program: word.into(),
            why: error.to_string(),
        };
        word.parse::<u32>().map_err(why)
    };
    let [cpus, irqs, tasks] = words;
    machine(
        Path::new(dir),
        Size {
            cpus: number(cpus)?,
            irqs: number(irqs)?,
            tasks: number(tasks)?,
        },
    )
}

/// Writes the machine into `dir`, which is created.
///
/// # Errors
/// [`XtaskError::File`] when a file cannot be written.
pub fn machine(dir: &Path, size: Size) -> TaskResult {
    kernel(dir, size)?;
    for cpu in 0..size.cpus {
        topology(dir, cpu, size)?;
    }
    interrupts(dir, size)?;
    for pid in 0..size.tasks.div_ceil(THREADS) {
        let first = 1 + pid * THREADS;
        for tid in first..(first + THREADS).min(size.tasks + 1) {
            task(dir, first, tid, size)?;
        }
    }
    Ok(())
}

const THREADS: u32 = 4;

fn write_file(dir: &Path, path: &str, text: &str) -> TaskResult {
    let file = dir.join(path);
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent).map_err(XtaskError::file(parent))?;
    }
    std::fs::write(&file, text).map_err(XtaskError::file(&file))
}

fn kernel(dir: &Path, size: Size) -> TaskResult {
    let all = format!("0-{}\n", size.cpus - 1);
    for name in ["online", "present", "possible"] {
        write_file(dir, &format!("sys/devices/system/cpu/{name}"), &all)?;
    }
    for name in ["offline", "isolated", "nohz_full"] {
        write_file(dir, &format!("sys/devices/system/cpu/{name}"), "\n")?;
    }
    write_file(dir, "proc/sys/kernel/osrelease", "6.12.0-generated\n")?;
    write_file(dir, "proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n")?;
    write_file(
        dir,
        "proc/version",
        "Linux version 6.12.0-generated (builder@host) #1 SMP PREEMPT_DYNAMIC\n",
    )?;
    write_file(dir, "proc/cmdline", "root=/dev/sda1 ro quiet\n")?;
    write_file(dir, "proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")?;
    write_file(
        dir,
        "proc/self/mountinfo",
        "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    )?;
    write_file(dir, "sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n")?;
    write_file(dir, "sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu memory\n")?;
    write_file(dir, "sys/fs/cgroup/cpuset.cpus.effective", &all)?;
    write_file(dir, "sys/fs/cgroup/cpuset.mems.effective", "0-1\n")?;
    let half = size.cpus / 2;
    write_file(dir, "sys/devices/system/node/online", "0-1\n")?;
    write_file(
        dir,
        "sys/devices/system/node/node0/cpulist",
        &format!("0-{}\n", half - 1),
    )?;
    write_file(
        dir,
        "sys/devices/system/node/node1/cpulist",
        &format!("{half}-{}\n", size.cpus - 1),
    )
}

fn topology(dir: &Path, cpu: u32, size: Size) -> TaskResult {
    let base = format!("sys/devices/system/cpu/cpu{cpu}");
    let (core, half) = (cpu / 2 * 2, size.cpus / 2);
    let package = cpu / half;
    let llc = cpu / 16 * 16;
    let siblings = format!("{core}-{}\n", core + 1);
    let in_package = format!("{}-{}\n", package * half, (package + 1) * half - 1);
    let in_llc = format!("{llc}-{}\n", llc + 15);
    let put = |name: &str, text: &str| write_file(dir, &format!("{base}/{name}"), text);
    put("online", "1\n")?;
    put("topology/physical_package_id", &format!("{package}\n"))?;
    put("topology/die_id", "0\n")?;
    put("topology/core_id", &format!("{}\n", cpu / 2 % (half / 2)))?;
    put("topology/thread_siblings_list", &siblings)?;
    put("topology/core_cpus_list", &siblings)?;
    put("topology/core_siblings_list", &in_package)?;
    put("topology/package_cpus_list", &in_package)?;
    put("topology/die_cpus_list", &in_package)?;
    for (index, level, kind, shared, kib) in [
        (0, 1, "Data", &siblings, 48),
        (1, 1, "Instruction", &siblings, 32),
        (2, 2, "Unified", &siblings, 2048),
        (3, 3, "Unified", &in_llc, 32768),
    ] {
        put(&format!("cache/index{index}/level"), &format!("{level}\n"))?;
        put(&format!("cache/index{index}/type"), &format!("{kind}\n"))?;
        put(&format!("cache/index{index}/shared_cpu_list"), shared)?;
        put(&format!("cache/index{index}/size"), &format!("{kib}K\n"))?;
    }
    Ok(())
}

fn interrupts(dir: &Path, size: Size) -> TaskResult {
    let mut table = "     ".to_owned();
    for cpu in 0..size.cpus {
        let _ = write!(table, " {:<10}", format!("CPU{cpu}"));
    }
    table.push('\n');
    for irq in 1..=size.irqs {
        let home = irq % size.cpus;
        let _ = write!(table, "{irq:>5}:");
        for cpu in 0..size.cpus {
            let _ = write!(table, " {:>10}", if cpu == home { irq * 7 } else { 0 });
        }
        let _ = writeln!(
            table,
            "  PCI-MSIX-0000:{:02x}:00.0 {}-edge      nvme{}q{}",
            irq % 256,
            irq % 64,
            irq / 64,
            irq % 64
        );
        let base = format!("proc/irq/{irq}");
        write_file(
            dir,
            &format!("{base}/smp_affinity_list"),
            &format!("0-{}\n", size.cpus - 1),
        )?;
        write_file(dir, &format!("{base}/effective_affinity_list"), &format!("{home}\n"))?;
    }
    write_file(dir, "proc/interrupts", &table)?;
    let mask = vec!["ffffffff"; usize::try_from(size.cpus / 32).unwrap_or(1)].join(",");
    write_file(dir, "proc/irq/default_smp_affinity", &format!("{mask}\n"))
}

fn task(dir: &Path, pid: u32, tid: u32, size: Size) -> TaskResult {
    let comm = if tid.is_multiple_of(7) {
        format!("a (b) {tid}")
    } else {
        format!("work/{tid}")
    };
    let cpu = tid % size.cpus;
    let (parent, flags) = if pid % 8 == 1 {
        (2, 0x0020_8040)
    } else {
        (1, 0x0040_0000)
    };
    let stat = format!(
        "{tid} ({comm}) S {parent} {pid} {pid} 0 -1 {flags} 10 0 0 0 5 6 0 0 20 0 {THREADS} 0 {start} 1000000 100 \
         18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        start = 100 + tid
    );
    let status = format!(
        "Name:\t{comm}\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t{pid}\nPid:\t{tid}\nPPid:\t{parent}\n\
         Cpus_allowed:\t{mask}\nCpus_allowed_list:\t0-{last}\nMems_allowed_list:\t0-1\n\
         voluntary_ctxt_switches:\t10\nnonvoluntary_ctxt_switches:\t1\n",
        mask = vec!["ffffffff"; usize::try_from(size.cpus / 32).unwrap_or(1)].join(","),
        last = size.cpus - 1
    );
    let mut task_dirs = vec![format!("proc/{pid}/task/{tid}")];
    if pid == tid {
        task_dirs.push(format!("proc/{pid}"));
    }
    for task_dir in task_dirs {
        write_file(dir, &format!("{task_dir}/stat"), &stat)?;
        write_file(dir, &format!("{task_dir}/status"), &status)?;
        write_file(dir, &format!("{task_dir}/comm"), &format!("{comm}\n"))?;
        write_file(dir, &format!("{task_dir}/cgroup"), "0::/system.slice\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_machine_has_files_for_every_cpu_irq_and_thread() {
        let dir = std::env::temp_dir().join(format!("quietcore-generate-{}", std::process::id()));
        machine(
            &dir,
            Size {
                cpus: 32,
                irqs: 10,
                tasks: 9,
            },
        )
        .unwrap();
        let read = |path: &str| std::fs::read_to_string(dir.join(path)).unwrap();
        let shared = read("sys/devices/system/cpu/cpu31/cache/index3/shared_cpu_list");
        let rows = read("proc/interrupts").lines().count();
        let stat = read("proc/9/task/9/stat");
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!((shared.trim(), rows), ("16-31", 11));
        // Field 39 of stat is the CPU (proc_pid_stat(5)).
        assert_eq!(
            stat.rsplit_once(')').unwrap().1.split_whitespace().nth(39 - 3),
            Some("9")
        );
    }
}
