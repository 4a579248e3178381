//! Explains findings by their stable ids, for `explain`. Findings about boot lines are the rules of [`crate::lint`],
//! findings about chosen CPUs the rules of choosing; those carry their own explanation.

/// One finding that `explain` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindingRow {
    /// Its stable identifier.
    pub id: &'static str,
    /// Where it occurs: `plans`, `apply`, `prove`, `differences`, `check`.
    pub about: &'static str,
    /// What it means.
    pub what: &'static str,
}

/// The rows of this file: every finding except those of rules.
pub(crate) fn rows() -> impl Iterator<Item = FindingRow> {
    let tables = [
        ("plans", FINDINGS),
        ("apply", ENACTED),
        ("prove", PROVED),
        ("differences", DIFFERENCES),
        ("check", CHECKED),
    ];
    tables.into_iter().flat_map(|(about, table)| {
        table
            .iter()
            .map(move |&(id, what)| FindingRow { id, about, what })
    })
}

/// Whether a finding has a row here.
pub(crate) fn is_known(id: &str) -> bool {
    rows().any(|row| row.id == id)
}

/// A table of ids and meanings.
macro_rules! table {
    ($($id:literal => $what:literal,)*) => { &[$(($id, $what)),*] };
}

/// Findings of plans: ids and meanings.
const FINDINGS: &[(&str, &str)] = table! {
    "knob-absent" =>
        "an explicitly requested knob does not exist on this machine, so nothing is changed there",
    "owner-inside-only" =>
        "on cgroup v2 the owner of a partition cannot bring in tasks that run elsewhere, because that takes write permission above both",
    "owner-ancestor" =>
        "the owner of a partition may write the root's list of tasks, so he can move tasks of other users too",
    "systemd-bus" =>
        "systemd could not be asked to keep the cpuset controller on, so the next daemon-reload takes the partition apart",
    "systemd-controller" =>
        "systemd started the slice that asks for the cpuset controller and does not keep the controller on for it",
    "irqbalance-runs" =>
        "the daemon irqbalance does not know of partitions and moves interrupts back onto their CPUs",
    "irqbalance-bad-list" =>
        "a file tells irqbalance to ban CPUs with a list that is none, as a template leaves it where it counts down (4-3)",
    "irqbalance-unjudged" =>
        "irqbalance is configured with a script, with hints of drivers, or with a file that could not be read: where it sends interrupts is not known",
    "irqbalance-not-banned" =>
        "a file tells irqbalance which CPUs to ban and leaves isolated ones out; the list replaces what it finds by itself",
    "net-channels" =>
        "a network card has more receive queues, and so interrupts, than there are housekeeping CPUs",
    "governor-not-offered" => "the wanted frequency governor is not there, so the frequency stays as it is",
    "clock-shared" => "housekeeping CPUs share the clock of isolated ones, so their frequency changes too",
    "fair-server-remains" =>
        "from 6.12 on the fair server protects ordinary tasks, also when real-time throttling is off",
    "cycle-stays" =>
        "an isolated CPU cannot be switched off and on again, so timers that were armed there stay until they run out",
    "offline-lowest" => "the sibling that would be switched off is the lowest CPU, which the machine needs",
    "offline-cpuset" =>
        "a cpuset holds the sibling that would be switched off, and the kernel would not give it back",
    "no-balancing" => "the kernel does not spread threads over isolated CPUs: each has to be pinned",
    "owner-cset" => "the program cset made cpusets on this machine, and two tools that move tasks fight",
    "owner-partrt" => "the program partrt made cpusets on this machine, and two tools that move tasks fight",
    "owner-tuned" =>
        "the daemon TuneD runs, which sets the knobs of its profile again when it starts or switches profiles",
    "owner-kubernetes" =>
        "the kubelet's CPU manager gives the isolated CPUs to containers, and does so again by itself",
    "containers-to-come" =>
        "on cgroup v1 a container runtime without a cpuset of its own cannot start anything beside the partition",
    "foreign-cpuset" =>
        "a cpuset of another program has no other CPU than the isolated ones: an error where its owner is known, else it is left alone",
    "irq-per-cpu" =>
        "each CPU has its own interrupt of this number (a timer, an IPI), so it cannot be brought to others",
    "irq-managed" =>
        "the kernel manages this interrupt's mask itself; only isolcpus=managed_irq at boot keeps it away",
    "irq-fixed" =>
        "this interrupt has a mask that nothing changes: a timer of the kernel, or a chip that accepts no mask",
    "vector-space" => "more interrupts move to the housekeeping CPUs than x86 has vectors for there",
    "boot-line-boot-cpu" => "the boot CPU cannot lose its tick, because it keeps time for the others",
    "boot-line-ignored" =>
        "this kernel is built without what a boot parameter needs, so the parameter is left out",
    "boot-line-unsure" =>
        "this kernel's configuration is unknown, so a suggested boot parameter may be ignored",
    "boot-line-no-managed-irq" => "this kernel is too old for isolcpus=managed_irq",
    "boot-line-redundant" => "a boot parameter is left out because another one includes it",
    "boot-line-at-run-time" => "part of what the boot line does is done without a reboot",
    "boot-line-conflict" => "the present boot line holds something that defeats the suggested one",
    "boot-cpu" => "the CPU that the kernel booted on keeps duties that cannot be taken from it",
    "one-kind" => "the CPUs are of two kinds, so the same work runs at two speeds",
    "node-housekeeping" => "a memory node would keep no housekeeping CPU for its memory, devices and tasks",
    "no-cpuset" => "no cpuset controller is mounted, so tasks cannot be kept away",
    "cpuset-read-only" => "the cpuset file system is mounted read-only, so no partition can be made",
    "v2-does-harm" =>
        "before 5.12, ending a cgroup v2 partition widens the masks of kernel threads for good, so none is made there",
    "kernel-unsupported" =>
        "this kernel is older than 4.14, the oldest that quietcore is made for, so an answer about it may be wrong",
    "per-cpu-threads" =>
        "kernel threads that are bound to the isolated CPUs stay there; they run only when there is work for that CPU",
};

/// Findings of applying and undoing.
const ENACTED: &[(&str, &str)] = table! {
    "boot-part-differs" =>
        "a partition is declared with the boot line (`boot = true`), and the line is missing or isolates something else",
    "boot-part-pending" => "the boot line of a declared partition is written and waits for a restart",
    "boot-part-reverted" =>
        "the machine was restarted without the boot line that was written for a declared partition",
    "boot-part-without-effect" =>
        "the boot line of a declared partition is running, and the kernel did not take it or something defeats it",
    "mask-lost" =>
        "a CPU went off and came back, and the kernel refused the mask that an interrupt had before",
    "process-waits-outside" =>
        "cgroup v2: while single threads of it are in a partition, a process is in the root cgroup, outside the limits of its slice",
    "fork-storm" => "tasks were born faster than they could be moved, so one more pass would find new ones",
    "task-refused" =>
        "the kernel did not let a task be moved or narrowed, so it may still run on the isolated CPUs",
    "task-stays" => "a task that may run on the isolated CPUs was left where it is",
    "task-left-out" => "a program of a resized partition did not come back into it, or not with its pin",
    "policy-lost" =>
        "a program of a resized partition does not have the scheduling policy that it had in it before",
    "pin-lost" =>
        "the move dropped the affinity that a task had asked for, because the new set has none of its CPUs",
    "partition-fallback" =>
        "this kernel knows no isolated partition, so a root partition was made: its CPUs still balance load among themselves",
    "refused" =>
        "the kernel refused a write that the rest can do without; what it would have changed is as before. EIO means \
         that it refuses this to every program: there is nothing to repair",
    "drift" => "another program changed what quietcore had set; it is left alone until it is forced or kept",
};

/// Findings of `prove`.
const PROVED: &[(&str, &str)] = table! {
    "no-load" =>
        "no load could be started on the housekeeping CPUs, so the comparison is between idle machines",
    "not-measured" => "a measurement failed, so there is nothing to compare",
    "not-isolated" => "the CPUs could not be isolated, so nothing was measured on isolated ones",
    "tick" => "the timer tick still fires on the isolated CPUs; only nohz_full= at boot stops it",
};

/// Findings of comparing an intent with the actual machine.
const CHECKED: &[(&str, &str)] = table! {
    "mask-placed-threads" =>
        "kernel threads that are bound to no CPU may run on the isolated ones, and cannot be moved one by one: the mask of unbound workqueues places kworker/u*",
    "nothing-isolated" =>
        "no CPU is isolated here: no partition is declared or active, and no boot parameter requests it",
    "partition-missing" =>
        "CPUs that should be isolated are not: their partition is not in force, or its cgroup is gone",
    "partition-invalid" =>
        "the partition's cgroup is there and the kernel does not treat it as a partition, so its CPUs are shared",
    "partition-differs" => "a file of the partition's cpusets holds another value than it was made with",
    "cpuset-overlaps" =>
        "a cpuset of another program was given isolated CPUs, which joins them to its scheduling domain or makes the partition invalid",
    "still-balanced" =>
        "the scheduler still moves tasks onto CPUs that the boot line isolates in another way",
    "plan-refused" => "the intended isolation is not possible on the machine as it is now",
    "task-here" => "a task that could be moved may run on isolated CPUs",
    "task-pinned-here" =>
        "a task is pinned to CPUs that the boot line isolates, as programs are that shall run there",
    "tasks-inside" => "the tasks that live in the partition",
    "irq-here" =>
        "an interrupt that could be moved may fire on isolated CPUs, or one that was wanted there may fire elsewhere",
    "irq-refused" => "the kernel refused to move an interrupt when the partition was applied",
    "irq-lingers" => "an interrupt was sent away and leaves when it fires next",
    "knob-lost" =>
        "a file that the profile sets has another value: a program changed it, or a new device has it unset",
    "knob-refused" => "the kernel refused a value of the profile when the partition was applied",
    "boot-parameter-broken" => "a parameter on the running boot line does not do what it asks for",
    "boot-parameter-unseen" => "whether a parameter on the running boot line works could not be seen",
    "interrupt-arrived" => "an interrupt of a device arrived on an isolated CPU while it was looked at",
    "ipi-arrived" => "other CPUs interrupted an isolated one, by kinds",
    "softirq-ran" => "softirqs ran on an isolated CPU, by kinds",
    "switches" => "the scheduler ran on an isolated CPU",
    "page-faults" => "threads of an isolated CPU had page faults, each an entry into the kernel",
    "idle-states" => "an isolated CPU went to sleep, by idle states",
    "idle-too-deep" => "an isolated CPU slept deeper than the limit of its wake-up latency says",
    "frequency-changed" => "an isolated CPU changed its frequency while it was looked at",
    "throttled" => "the core of an isolated CPU was slowed down for heat",
    "not-counted" => "what this kernel does not count on isolated CPUs, so that nothing is known of it",
    "steal" => "the hypervisor ran something else on the host's CPU",
};

/// Findings of comparing two readings of a machine.
const DIFFERENCES: &[(&str, &str)] = table! {
    "rebooted" => "the machine was booted between the two readings, so run-time changes are gone",
    "kernel-release" => "another kernel runs",
    "preemption" => "the kernel's preemption model is another one",
    "clocksource" =>
        "time is read from another clock source; all but tsc cost a look into the kernel or a device",
    "lockdown" => "kernel lockdown changed what root may do, for example write to registers of the CPU",
    "kernel-config" => "an option of the kernel's configuration that isolation builds on has another value",
    "boot-line" => "a boot parameter that matters to isolated CPUs came, went or changed",
    "cpu-offline" => "CPUs went offline; their tasks and interrupts are on others now",
    "cpu-unplugged" => "CPUs are no longer there at all",
    "cpu-online" => "CPUs came online; new CPUs belong to housekeeping and to every mask that was wide",
    "boot-isolated" => "the CPUs that the boot line takes from the scheduler are others",
    "nohz-full" => "the CPUs that may stop their tick are others",
    "rcu-nocbs" => "the CPUs whose RCU callbacks threads handle are others",
    "cgroup-layout" => "cpusets are mounted elsewhere, or as the other version of cgroups",
    "cpuset" => "a cpuset came, went, or has other CPUs",
    "default-irq-affinity" => "interrupts that are requested from now on start with another mask",
    "workqueue-cpumask" => "unbound kernel work may run on other CPUs",
    "irq-new" => "a device has a new interrupt",
    "irq-gone" => "an interrupt is no longer there",
    "irq-affinity" => "an interrupt may fire on other CPUs",
    "irq-effective" => "an interrupt fires on another CPU",
    "task-new" => "a task that was not there may run on the isolated CPUs",
    "task-gone" => "a task that might run on the isolated CPUs has ended",
    "tasks-new" => "tasks that were not there run elsewhere",
    "tasks-gone" => "tasks that ran elsewhere have ended",
    "task-allowed" => "a task may run on other CPUs",
    "task-policy" => "a task has another scheduling policy or priority",
    "manager" => "a program that moves tasks or interrupts was started or stopped",
    "setting" => "a run-time setting that matters to isolated CPUs has another value",
};

#[cfg(test)]
mod tests {
    use crate::findings;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_told_apart() {
        let ids: BTreeSet<&str> = findings().map(|row| row.id).collect();
        assert_eq!(ids.len(), findings().count());
        for rule in crate::lint::RULES {
            assert!(!ids.contains(rule.id), "{}", rule.id);
        }
    }
}
