//! Findings of comparing two readings of a machine.

use super::{FindingId, FindingRow};
use crate::finding::Level;

table! { DIFFERENCES, "differences":
    REBOOTED "rebooted" Info =>
        "the machine was restarted between the two readings, so run-time changes are gone",
        "`quietcore apply` activates again what is declared";
    KERNEL_RELEASE "kernel-release" Warning =>
        "another kernel runs",
        "measure again: results of another kernel do not apply";
    PREEMPTION "preemption" Error =>
        "the kernel's preemption model is another one",
        "boot the kernel, or with the preempt= parameter, that the machine had before";
    CLOCKSOURCE "clocksource" Warning =>
        "time is read from another clock source; all but tsc need a system call or a slow device access",
        "find the reason in the kernel log; `quietcore explain clocksource`";
    LOCKDOWN "lockdown" Info =>
        "kernel lockdown changed what root may do, for example write to registers of the CPU",
        "none is needed, unless a knob is refused";
    KERNEL_CONFIG "kernel-config" Warning =>
        "a kernel configuration option that isolation needs has another value",
        "use a kernel that is built with the option; `quietcore plan` says what it lacks";
    BOOT_LINE "boot-line" Error =>
        "a boot parameter that matters to isolated CPUs was added, removed or changed",
        "`quietcore boot check` compares the line with what is intended";
    CPU_OFFLINE "cpu-offline" Error =>
        "CPUs went offline; their tasks and interrupts now run on others",
        "echo 1 >/sys/devices/system/cpu/cpuN/online, then `quietcore check`";
    CPU_UNPLUGGED "cpu-unplugged" Error =>
        "CPUs no longer exist",
        "isolate other CPUs, or restore the machine's or guest's configuration";
    CPU_ONLINE "cpu-online" Warning =>
        "CPUs came online; new CPUs belong to housekeeping and to every mask that contained all CPUs",
        "`quietcore check` says whether tasks or interrupts may now run where they should not";
    BOOT_ISOLATED "boot-isolated" Error =>
        "the boot line excludes other CPUs from the scheduler than before",
        "`quietcore boot check`; `quietcore boot set` writes the line";
    NOHZ_FULL "nohz-full" Error =>
        "other CPUs than before may stop their tick",
        "`quietcore boot check`; `quietcore boot set` writes the line";
    RCU_NOCBS "rcu-nocbs" Error =>
        "other CPUs than before have their RCU callbacks handled by threads",
        "`quietcore boot check`; `quietcore boot set` writes the line";
    CGROUP_LAYOUT "cgroup-layout" Warning =>
        "cpusets are mounted elsewhere, or with the other cgroup version",
        "`quietcore check`; undo and apply again if a partition is not valid any more";
    CPUSET "cpuset" Error =>
        "a cpuset was created or removed, or has other CPUs",
        "`quietcore check` says whether a partition lost its CPUs";
    DEFAULT_IRQ_AFFINITY "default-irq-affinity" Error =>
        "interrupts that are requested from now on start with another mask",
        "`quietcore check --fix` sets it again";
    WORKQUEUE_CPUMASK "workqueue-cpumask" Error =>
        "unbound kernel work may run on other CPUs",
        "`quietcore check --fix` sets it again";
    IRQ_NEW "irq-new" Error =>
        "a device has a new interrupt",
        "`quietcore check --fix` moves it if it may fire on isolated CPUs";
    IRQ_GONE "irq-gone" Info =>
        "an interrupt no longer exists",
        "none is needed";
    IRQ_AFFINITY "irq-affinity" Error =>
        "an interrupt may fire on other CPUs",
        "`quietcore check --fix` moves it; stop irqbalance if it moves back";
    IRQ_EFFECTIVE "irq-effective" Error =>
        "an interrupt fires on another CPU",
        "`quietcore check` says whether its mask allows isolated CPUs";
    TASK_NEW "task-new" Warning =>
        "a new task may run on the isolated CPUs",
        "`quietcore check --fix` moves it, or move the program in with `quietcore move`";
    TASK_GONE "task-gone" Info =>
        "a task that was allowed on the isolated CPUs has ended",
        "none is needed";
    TASKS_NEW "tasks-new" Info =>
        "there are new tasks elsewhere",
        "none is needed";
    TASKS_GONE "tasks-gone" Info =>
        "tasks elsewhere have ended",
        "none is needed";
    TASK_ALLOWED "task-allowed" Error =>
        "a task may run on other CPUs",
        "`quietcore check --fix` narrows it again";
    TASK_POLICY "task-policy" Warning =>
        "a task has another scheduling policy or priority",
        "set the former policy again with chrt if the change was not intended";
    MANAGER "manager" Warning =>
        "a program that moves tasks or interrupts was started or stopped",
        "configure it so that it leaves the isolated CPUs alone; `quietcore plan` says how";
    SETTING "setting" Error =>
        "a run-time setting that matters to isolated CPUs has another value",
        "`quietcore check --fix` sets it again; `quietcore explain NAME` says what it does";
}
