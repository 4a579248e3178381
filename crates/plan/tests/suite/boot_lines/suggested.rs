//! Complete suggestions: an empty list stays empty, an unknown word is corrected, and broken lists are joined if only
//! one reading makes sense.

use super::KernelBuild::Full;
use super::facts;
use plan::lint::lint;

/// Kernel, possible CPUs, line, and suggested line.
const SUGGESTED: &[(&str, &str, &str, &str)] = &[
    (
        "6.8",
        "0-3",
        "root=/dev/sda1 isolcpus= nohz_full=2-3 irqaffinity=",
        "root=/dev/sda1 isolcpus= nohz_full=2-3 irqaffinity=",
    ),
    (
        "5.10",
        "0-3",
        "root=/dev/sda1 isolcpus= nohz_full=2-3 irqaffinity=",
        "root=/dev/sda1 isolcpus= nohz_full=2-3 irqaffinity=",
    ),
    (
        "4.14",
        "0-3",
        "root=/dev/sda1 isolcpus= nohz_full=2-3 irqaffinity=",
        "root=/dev/sda1 isolcpus= nohz_full=2-3 irqaffinity=",
    ),
    (
        "5.15",
        "0-3",
        "root=/dev/sda1 isolcpus= nohz_full=2-3 irqaffinity=",
        "root=/dev/sda1 nohz_full=2-3 irqaffinity=",
    ),
    (
        "5.15",
        "0-3",
        "nohz_full= isolcpus=2-3",
        "isolcpus=managed_irq,domain,2-3 irqaffinity=0-1",
    ),
    ("4.14", "0-3", "isolcpus=2-3 isolcpus=", "isolcpus="),
    ("6.8", "0-3", "isolcpus=2-3 isolcpus=", "isolcpus="),
    ("6.8", "0-3", "isolcpus= isolcpus=2-3", "isolcpus="),
    ("4.14", "0-3", "isolcpus=1 isolcpus=2", "isolcpus=2 irqaffinity=0-1,3"),
    ("6.8", "0-3", "nohz=off nohz_full=", "nohz=off nohz_full="),
    ("6.8", "0-3", "rcu_nocbs= irqaffinity=", "rcu_nocbs= irqaffinity="),
    ("6.8", "0-3", "isolcpus=,,", "isolcpus=,,"),
    ("6.8", "0-7", "timer_migration=0", "sysctl.kernel.timer_migration=0"),
    (
        "5.4",
        "0-7",
        "kernel.sched_rt_runtime_us=-1",
        "kernel.sched_rt_runtime_us=-1",
    ),
    (
        "6.8",
        "0-7",
        "isolated_cores=1-3 irqaffinity=0",
        "isolcpus=managed_irq,domain,1-3 irqaffinity=0",
    ),
    (
        "6.8",
        "0-7",
        "isolated_cores=1-3 isolcpus=2 irqaffinity=0",
        "isolcpus=managed_irq,domain,2 irqaffinity=0",
    ),
    ("6.8", "0-7", "rcu_nobcs=1-3", "rcu_nocbs=1-3"),
    ("6.8", "0-7", "noht", "noht"),
    ("6.8", "0-7", "workqueue.cpumask=3", "workqueue.unbound_cpus=0-1"),
    ("6.5", "0-7", "workqueue.cpumask=3", "workqueue.cpumask=3"),
    ("6.8", "0-7", "workqueue.cpumask=2-3", "workqueue.cpumask=2-3"),
    ("6.8", "0-7", "irqpoll", "irqpoll"),
    ("6.8", "0-7", "processor_idle.max_cstate=1", "processor.max_cstate=1"),
    (
        "6.8",
        "0-7",
        "systemd.cpu_affinity=2-7 isolcpus=managed_irq,domain,2-7 irqaffinity=0",
        "systemd.cpu_affinity=0-1 isolcpus=managed_irq,domain,2-7 irqaffinity=0",
    ),
    (
        "6.8",
        "0-15",
        "isolcpus=managed_irq,domain,2-8 -15 irqaffinity=0",
        "isolcpus=managed_irq,domain,2-8 irqaffinity=0",
    ),
    (
        "6.8",
        "0-15",
        "isolcpus=managed_irq,domain,2-8,1 0-15 irqaffinity=0",
        "isolcpus=managed_irq,domain,2-8,10-15 irqaffinity=0",
    ),
    (
        "6.8",
        "0-15",
        "isolcpus=managed_irq,domain,2-3, 5-N irqaffinity=0",
        "isolcpus=managed_irq,domain,2-3,5-N irqaffinity=0",
    ),
    (
        "6.8",
        "0-15",
        "isolcpus=domain, managed_irq,2-3 irqaffinity=0",
        "isolcpus=domain,managed_irq,2-3 irqaffinity=0",
    ),
    (
        "6.8",
        "0-15",
        "isolcpus=managed_irq,domain,2-3 5-7 irqaffinity=0",
        "isolcpus=managed_irq,domain,2-3,5-7 irqaffinity=0",
    ),
    (
        "6.8",
        "0-15",
        "isolcpus=managed_irq,domain,1 2-15 irqaffinity=0",
        "isolcpus=managed_irq,domain,1 irqaffinity=0",
    ),
    (
        "6.8",
        "0-15",
        "isolcpus=managed_irq,domain,2 -5 irqaffinity=0",
        "isolcpus=managed_irq,domain,2-5 irqaffinity=0",
    ),
    (
        "6.8",
        "0-15",
        "isolcpus=managed_irq,domain,4 irqaffinity 0-3",
        "isolcpus=managed_irq,domain,4 irqaffinity=0-3",
    ),
    (
        "6.8",
        "0-15",
        "nohz _full=2-3 irqaffinity=0",
        "nohz_full=2-3 irqaffinity=0",
    ),
    (
        "6.8",
        "0-15",
        "isol cpus=managed_irq,domain,2-3 irqaffinity=0",
        "isolcpus=managed_irq,domain,2-3 irqaffinity=0",
    ),
];

#[test]
fn suggestions_keep_empty_lists_and_join_split_ones() {
    let mut wrong = String::new();
    for (kernel, possible, line, wanted) in SUGGESTED {
        let found = lint(line, &facts(kernel, Full, possible)).suggested;
        if found != *wanted {
            wrong.push_str(&format!("\n{kernel}: {line}\n  found  {found}\n  wanted {wanted}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
