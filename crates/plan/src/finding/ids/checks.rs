//! Findings of comparing an intent with the actual machine.

use super::{FindingId, FindingRow};
use crate::finding::Level;

table! { CHECK, "check":
    MASK_PLACED_THREADS "mask-placed-threads" Info =>
        "kernel threads that are bound to no CPU may run on the isolated ones, and cannot be moved one by one: the \
         mask of unbound workqueues places kworker/u*",
        "`--with workqueue_cpumask` sets the mask; rescuers of workqueues run only when memory is short";
    NOTHING_ISOLATED "nothing-isolated" Error =>
        "no CPU is isolated here: no partition is declared or active, and no boot parameter requests it",
        "`quietcore plan` proposes CPUs, `quietcore apply` isolates them";
    PARTITION_MISSING "partition-missing" Error =>
        "CPUs that should be isolated are not: their partition is not active, or its cgroup no longer exists",
        "`quietcore apply` activates what is declared";
    PARTITION_INVALID "partition-invalid" Error =>
        "the partition's cgroup exists but the kernel does not treat it as a partition, so other programs share its \
         CPUs",
        "make its CPUs exclusive again: no sibling cgroup may have them, and its parent must; `quietcore check --fix` \
         tries";
    PARTITION_DIFFERS "partition-differs" Error =>
        "a file of the partition's cpusets has another value than the one that was written",
        "`quietcore check --fix` writes the value again";
    CPUSET_OVERLAPS "cpuset-overlaps" Error =>
        "a cpuset of another program contains isolated CPUs, which joins them to its scheduling domain or makes the \
         partition invalid",
        "`quietcore check --fix` narrows that cpuset again";
    STILL_BALANCED "still-balanced" Warning =>
        "the scheduler still moves tasks onto CPUs that the boot line isolates in another way",
        "`quietcore apply --cpus CPUS`, or isolcpus=domain,CPUS on the boot line";
    PLAN_REFUSED "plan-refused" Error =>
        "the intended isolation is not possible on the machine in its current state",
        "`quietcore plan` with the same CPUs says what has to change";
    TASK_HERE "task-here" Error =>
        "a task that could be moved may run on isolated CPUs",
        "`quietcore check --fix` moves it, or move the program in with `quietcore move`";
    TASK_PINNED_HERE "task-pinned-here" Info =>
        "a task is pinned to CPUs that the boot line isolates, which is how programs are placed there",
        "none is needed if the program belongs there; else pin it elsewhere with taskset";
    TASKS_INSIDE "tasks-inside" Info =>
        "the tasks in the partition",
        "none is needed";
    IRQ_HERE "irq-here" Error =>
        "an interrupt that could be moved may fire on isolated CPUs, or one that was requested there may fire \
         elsewhere",
        "`quietcore check --fix` moves it";
    IRQ_REFUSED "irq-refused" Info =>
        "the kernel refused to move an interrupt when the partition was applied",
        "a managed interrupt follows isolcpus=managed_irq at boot; `quietcore explain irq_affinity` has the other \
         reasons";
    IRQ_LINGERS "irq-lingers" Info =>
        "an interrupt was moved away and leaves when it fires next",
        "none is needed: it fires once more at most. If it matters, use its device once before the work begins";
    KNOB_LOST "knob-lost" Error =>
        "a file does not have the value that the profile sets",
        "`quietcore check --fix` sets it again; find out which program changed it, or whether its device is new";
    KNOB_REFUSED "knob-refused" Info =>
        "the kernel refused a value of the profile when the partition was applied",
        "`quietcore explain KNOB` has the reasons; `--without KNOB` leaves it out";
    BOOT_PARAMETER_BROKEN "boot-parameter-broken" Error =>
        "a parameter on the running boot line has no effect",
        "`quietcore boot check` says why; `quietcore boot set` writes the line";
    BOOT_PARAMETER_UNSEEN "boot-parameter-unseen" Info =>
        "it is unknown whether a parameter on the running boot line works",
        "`quietcore boot check` as root looks more closely";
    INTERRUPT_ARRIVED "interrupt-arrived" Error =>
        "an interrupt of a device arrived on an isolated CPU during the check",
        "`quietcore inspect --irqs` shows where it may fire, `quietcore blame --cpus CPUS` what caused it";
    IPI_ARRIVED "ipi-arrived" Info =>
        "other CPUs interrupted an isolated one, counted by kind",
        "`quietcore blame --cpus CPUS` names the senders";
    SOFTIRQ_RAN "softirq-ran" Info =>
        "softirqs ran on an isolated CPU, counted by kind",
        "`quietcore blame --cpus CPUS` names the causes";
    SWITCHES "switches" Info =>
        "the scheduler ran on an isolated CPU",
        "none is needed if programs there sleep; `quietcore blame --cpus CPUS` names other tasks";
    PAGE_FAULTS "page-faults" Warning =>
        "threads of an isolated CPU had page faults, each an entry into the kernel",
        "mlockall(MCL_CURRENT|MCL_FUTURE) in the program, and touch all memory once before the work begins";
    IDLE_STATES "idle-states" Info =>
        "an isolated CPU slept, counted by idle state",
        "none is needed for a program that polls; else `quietcore run --latency`, or `--with \
         pm_qos_resume_latency_us=n/a`";
    IDLE_TOO_DEEP "idle-too-deep" Warning =>
        "an isolated CPU slept deeper than its wake-up latency limit allows",
        "this governor or driver ignores the limit: `quietcore explain pm_qos_resume_latency_us` names what obeys it";
    FREQUENCY_CHANGED "frequency-changed" Info =>
        "the frequency of an isolated CPU changed during the check",
        "`quietcore apply --profile strict`, or the governor `performance`";
    THROTTLED "throttled" Warning =>
        "the core of an isolated CPU was throttled for heat",
        "better cooling, or fewer busy CPUs; no setting stops it";
    NOT_COUNTED "not-counted" Info =>
        "what this kernel does not count on isolated CPUs, and is therefore unknown",
        "none on this kernel; `quietcore blame` can see some of it";
    STEAL "steal" Warning =>
        "the hypervisor ran something else on the host CPU",
        "pin the virtual CPU to a host CPU of its own; nothing inside the guest can stop it";
}
