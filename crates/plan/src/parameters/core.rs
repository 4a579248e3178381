//! Isolation itself: scheduler domains, the tick, RCU, interrupts, workqueues.

use super::{ParameterCost, ParameterRow, row};

pub(super) const ROWS: &[ParameterRow] = &[
    row(
        "isolcpus",
        "=[nohz,][domain,][managed_irq,]LIST",
        "removes CPUs from the scheduler's load balancing (domain), moves managed interrupts away from them \
         (managed_irq), stops their tick (nohz)",
        "only tasks that are pinned to these CPUs run there; threads pinned to several isolated CPUs are not \
         distributed over them",
    )
    .since("flags 4.15, managed_irq 5.6")
    .needs("CONFIG_CPU_ISOLATION")
    .twin("domain: isolated cpuset partition (6.1, v2) or sched_load_balance 0 (v1); managed_irq: none"),
    row(
        "nohz_full",
        "=LIST",
        "stops the periodic tick of a CPU while one task runs there, and moves its RCU callbacks and timers elsewhere",
        "the most effective single measure against ticks; needs one runnable task per CPU, isolated domains, and nohz \
         not off",
    )
    .needs("CONFIG_NO_HZ_FULL")
    .first()
    .price(ParameterCost::Speed),
    row(
        "nohz",
        "=on|off",
        "lets the tick stop on idle CPUs; off keeps it everywhere and always",
        "off disables nohz_full= without a message",
    )
    .price(ParameterCost::Power),
    row(
        "rcu_nocbs",
        "[=LIST]",
        "passes RCU callbacks of these CPUs to the threads rcuop/N, which may run elsewhere",
        "stops the RCU softirq there; nohz_full= includes it, isolcpus= does not",
    )
    .needs("CONFIG_RCU_NOCB_CPU"),
    row(
        "rcu_nocb_poll",
        "",
        "the threads rcuog/N poll for callbacks instead of being woken by the CPU that has some",
        "an isolated CPU sends no wake-up; the housekeeping CPUs poll all the time",
    )
    .needs("CONFIG_RCU_NOCB_CPU")
    .price(ParameterCost::Power),
    row(
        "irqaffinity",
        "=LIST",
        "sets the CPUs of interrupts that are requested later",
        "keeps device interrupts away from the start; managed and per-CPU interrupts ignore it, and the boot CPU is \
         always added",
    )
    .twin("/proc/irq/default_smp_affinity and /proc/irq/N/smp_affinity_list"),
    row(
        "kthread_cpus",
        "=LIST",
        "sets where kernel threads may run, on kernels with a patch for it",
        "unknown to mainline kernels, which pass it to init",
    )
    .since("never in mainline")
    .twin("sched_setaffinity of each kernel thread"),
    row(
        "workqueue.unbound_cpus",
        "=LIST",
        "limits the CPUs of unbound workqueues",
        "keeps kworker/u* threads on housekeeping CPUs from the start",
    )
    .since("6.6")
    .twin("/sys/devices/virtual/workqueue/cpumask"),
    row(
        "workqueue.power_efficient",
        "=1|0",
        "turns some per-CPU workqueues into unbound ones",
        "the workqueue mask can then move their work away; nohz_full= enables it from 6.12 on",
    ),
    row(
        "skew_tick",
        "=1|0",
        "shifts the ticks of the CPUs relative to each other",
        "CPUs that keep their tick contend less often for the same locks; isolates nothing by itself",
    )
    .price(ParameterCost::Power),
    row(
        "threadirqs",
        "",
        "runs interrupt handlers in threads irq/N-name that have a priority",
        "a pinned real-time task can outrank them; always so on PREEMPT_RT",
    )
    .needs("CONFIG_IRQ_FORCED_THREADING")
    .price(ParameterCost::Speed),
    row(
        "rcupdate.rcu_normal",
        "=1|0",
        "makes every expedited RCU grace period an ordinary one",
        "fewer IPIs to busy CPUs",
    )
    .twin("/sys/kernel/rcu_normal")
    .price(ParameterCost::Speed),
    row(
        "rcupdate.rcu_normal_after_boot",
        "=1|0",
        "as rcupdate.rcu_normal, but only after the boot",
        "fewer IPIs to busy CPUs; PREEMPT_RT sets it by itself",
    )
    .twin("/sys/kernel/rcu_normal")
    .price(ParameterCost::Speed),
    row(
        "rcupdate.rcu_expedited",
        "=1|0",
        "makes every RCU grace period an expedited one",
        "interrupts CPUs that are in the kernel: the opposite of isolation",
    )
    .twin("/sys/kernel/rcu_expedited"),
    row(
        "rcupdate.rcu_cpu_stall_suppress",
        "=1|0",
        "hides warnings about CPUs that hold RCU up",
        "hides that a busy loop starves the kernel's own threads",
    )
    .twin("/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress")
    .price(ParameterCost::Safety),
    row(
        "rcutree.kthread_prio",
        "=0|1-99",
        "real-time priority of RCU's threads",
        "must be above that of busy loops that share a CPU with such a thread",
    ),
    row(
        "rcutree.use_softirq",
        "=1|0",
        "runs RCU's work in softirqs, or with 0 in threads rcuc/N",
        "threads have a priority, softirqs do not; PREEMPT_RT always uses threads",
    ),
    row(
        "rcutree.nohz_full_patience_delay",
        "=MILLISECONDS",
        "how long RCU waits before it interrupts CPUs with offloaded callbacks",
        "fewer requests to CPUs that are about to enter user space or a guest",
    )
    .since("6.12"),
    row(
        "rcutree.enable_rcu_lazy",
        "=1|0",
        "delays callbacks for which no process waits",
        "fewer wake-ups of the threads that run them",
    ),
    row(
        "irqchip.gicv3_pseudo_nmi",
        "=1|0",
        "lets arm64 have interrupts that work in sections with interrupts masked",
        "perf and backtraces reach CPUs that mask interrupts; every masking costs slightly more",
    )
    .price(ParameterCost::Speed),
    row(
        "preempt",
        "=none|voluntary|full|lazy",
        "chooses the preemption model at boot",
        "full gives the shortest wake-up latency outside PREEMPT_RT",
    )
    .since("5.12, lazy 6.13")
    .needs("CONFIG_PREEMPT_DYNAMIC")
    .twin("/sys/kernel/debug/sched/preempt"),
];
