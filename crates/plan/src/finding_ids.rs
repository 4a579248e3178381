//! Explains findings by their stable ids, for `explain`. Findings about boot lines are the rules of [`crate::lint`],
//! findings about chosen CPUs the rules of choosing; those carry their own explanation.

use serde::Serialize;
use std::fmt;

/// The stable identifier of a finding, which scripts may match. There is one constant for each row of this file; the
/// ids of rules come from the rules. So `explain` knows every id that a finding can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct FindingId(&'static str);

impl FindingId {
    /// The id of a rule about boot lines or chosen CPUs.
    pub(crate) const fn of_rule(id: &'static str) -> FindingId {
        FindingId(id)
    }

    /// The id as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

/// One finding that `explain` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindingRow {
    /// Its stable identifier.
    pub id: FindingId,
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
    tables
        .into_iter()
        .flat_map(|(about, table)| table.iter().map(move |&(id, what)| FindingRow { id, about, what }))
}

/// A table of ids and meanings, with one constant of [`FindingId`] per row.
macro_rules! table {
    ($table:ident: $($name:ident $id:literal => $what:literal,)*) => {
        impl FindingId {
            $(#[doc = $what] pub const $name: FindingId = FindingId($id);)*
        }
        const $table: &[(FindingId, &str)] = &[$((FindingId::$name, $what)),*];
    };
}

// Findings of plans: ids and meanings.
table! { FINDINGS:
    KNOB_ABSENT "knob-absent" =>
        "an explicitly requested knob does not exist on this machine, so nothing is changed there",
    OWNER_INSIDE_ONLY "owner-inside-only" =>
        "on cgroup v2 the owner of a partition cannot bring in tasks that run elsewhere, because that takes write permission above both",
    OWNER_ANCESTOR "owner-ancestor" =>
        "the owner of a partition may write the root's list of tasks, so he can move tasks of other users too",
    SYSTEMD_BUS "systemd-bus" =>
        "systemd could not be asked to keep the cpuset controller on, so the next daemon-reload takes the partition apart",
    SYSTEMD_CONTROLLER "systemd-controller" =>
        "systemd started the slice that asks for the cpuset controller and does not keep the controller on for it",
    IRQBALANCE_RUNS "irqbalance-runs" =>
        "the daemon irqbalance does not know of partitions and moves interrupts back onto their CPUs",
    IRQBALANCE_BAD_LIST "irqbalance-bad-list" =>
        "a file tells irqbalance to ban CPUs with a list that is none, as a template leaves it where it counts down (4-3)",
    IRQBALANCE_UNJUDGED "irqbalance-unjudged" =>
        "irqbalance is configured with a script, with hints of drivers, or with a file that could not be read: where it sends interrupts is not known",
    IRQBALANCE_NOT_BANNED "irqbalance-not-banned" =>
        "a file tells irqbalance which CPUs to ban and leaves isolated ones out; the list replaces what it finds by itself",
    NET_CHANNELS "net-channels" =>
        "a network card has more receive queues, and so interrupts, than there are housekeeping CPUs",
    GOVERNOR_NOT_OFFERED "governor-not-offered" => "the wanted frequency governor is not there, so the frequency stays as it is",
    CLOCK_SHARED "clock-shared" => "housekeeping CPUs share the clock of isolated ones, so their frequency changes too",
    FAIR_SERVER_REMAINS "fair-server-remains" =>
        "from 6.12 on the fair server protects ordinary tasks, also when real-time throttling is off",
    CYCLE_STAYS "cycle-stays" =>
        "an isolated CPU cannot be switched off and on again, so timers that were armed there stay until they run out",
    OFFLINE_LOWEST "offline-lowest" => "the sibling that would be switched off is the lowest CPU, which the machine needs",
    OFFLINE_CPUSET "offline-cpuset" =>
        "a cpuset holds the sibling that would be switched off, and the kernel would not give it back",
    NO_BALANCING "no-balancing" => "the kernel does not spread threads over isolated CPUs: each has to be pinned",
    OWNER_CSET "owner-cset" => "the program cset made cpusets on this machine, and two tools that move tasks fight",
    OWNER_PARTRT "owner-partrt" => "the program partrt made cpusets on this machine, and two tools that move tasks fight",
    OWNER_TUNED "owner-tuned" =>
        "the daemon TuneD runs, which sets the knobs of its profile again when it starts or switches profiles",
    OWNER_KUBERNETES "owner-kubernetes" =>
        "the kubelet's CPU manager gives the isolated CPUs to containers, and does so again by itself",
    CONTAINERS_TO_COME "containers-to-come" =>
        "on cgroup v1 a container runtime without a cpuset of its own cannot start anything beside the partition",
    FOREIGN_CPUSET "foreign-cpuset" =>
        "a cpuset of another program has no other CPU than the isolated ones: an error where its owner is known, else it is left alone",
    IRQ_PER_CPU "irq-per-cpu" =>
        "each CPU has its own interrupt of this number (a timer, an IPI), so it cannot be brought to others",
    IRQ_MANAGED "irq-managed" =>
        "the kernel manages this interrupt's mask itself; only isolcpus=managed_irq at boot keeps it away",
    IRQ_FIXED "irq-fixed" =>
        "this interrupt has a mask that nothing changes: a timer of the kernel, or a chip that accepts no mask",
    VECTOR_SPACE "vector-space" => "more interrupts move to the housekeeping CPUs than x86 has vectors for there",
    BOOT_LINE_BOOT_CPU "boot-line-boot-cpu" => "the boot CPU cannot lose its tick, because it keeps time for the others",
    BOOT_LINE_IGNORED "boot-line-ignored" =>
        "this kernel is built without what a boot parameter needs, so the parameter is left out",
    BOOT_LINE_UNSURE "boot-line-unsure" =>
        "this kernel's configuration is unknown, so a suggested boot parameter may be ignored",
    BOOT_LINE_NO_MANAGED_IRQ "boot-line-no-managed-irq" => "this kernel is too old for isolcpus=managed_irq",
    BOOT_LINE_REDUNDANT "boot-line-redundant" => "a boot parameter is left out because another one includes it",
    BOOT_LINE_AT_RUN_TIME "boot-line-at-run-time" => "part of what the boot line does is done without a reboot",
    BOOT_LINE_CONFLICT "boot-line-conflict" => "the present boot line holds something that defeats the suggested one",
    BOOT_CPU "boot-cpu" => "the CPU that the kernel booted on keeps duties that cannot be taken from it",
    ONE_KIND "one-kind" => "the CPUs are of two kinds, so the same work runs at two speeds",
    NODE_HOUSEKEEPING "node-housekeeping" => "a memory node would keep no housekeeping CPU for its memory, devices and tasks",
    NO_CPUSET "no-cpuset" => "no cpuset controller is mounted, so tasks cannot be kept away",
    CPUSET_READ_ONLY "cpuset-read-only" => "the cpuset file system is mounted read-only, so no partition can be made",
    V2_DOES_HARM "v2-does-harm" =>
        "before 5.12, ending a cgroup v2 partition widens the masks of kernel threads for good, so none is made there",
    KERNEL_UNSUPPORTED "kernel-unsupported" =>
        "this kernel is older than 4.14, the oldest that quietcore is made for, so an answer about it may be wrong",
    PER_CPU_THREADS "per-cpu-threads" =>
        "kernel threads that are bound to the isolated CPUs stay there; they run only when there is work for that CPU",
}

// Findings of applying and undoing.
table! { ENACTED:
    BOOT_PART_DIFFERS "boot-part-differs" =>
        "a partition is declared with the boot line (`boot = true`), and the line is missing or isolates something else",
    BOOT_PART_PENDING "boot-part-pending" => "the boot line of a declared partition is written and waits for a restart",
    BOOT_PART_REVERTED "boot-part-reverted" =>
        "the machine was restarted without the boot line that was written for a declared partition",
    BOOT_PART_WITHOUT_EFFECT "boot-part-without-effect" =>
        "the boot line of a declared partition is running, and the kernel did not take it or something defeats it",
    MASK_LOST "mask-lost" =>
        "a CPU went off and came back, and the kernel refused the mask that an interrupt had before",
    PROCESS_WAITS_OUTSIDE "process-waits-outside" =>
        "cgroup v2: while single threads of it are in a partition, a process is in the root cgroup, outside the limits of its slice",
    FORK_STORM "fork-storm" => "tasks were born faster than they could be moved, so one more pass would find new ones",
    TASK_REFUSED "task-refused" =>
        "the kernel did not let a task be moved or narrowed, so it may still run on the isolated CPUs",
    TASK_STAYS "task-stays" => "a task that may run on the isolated CPUs was left where it is",
    TASK_LEFT_OUT "task-left-out" => "a program of a resized partition did not come back into it, or not with its pin",
    POLICY_LOST "policy-lost" =>
        "a program of a resized partition does not have the scheduling policy that it had in it before",
    PIN_LOST "pin-lost" =>
        "the move dropped the affinity that a task had asked for, because the new set has none of its CPUs",
    PARTITION_FALLBACK "partition-fallback" =>
        "this kernel knows no isolated partition, so a root partition was made: its CPUs still balance load among themselves",
    REFUSED "refused" =>
        "the kernel refused a write that the rest can do without; what it would have changed is as before. EIO means \
         that it refuses this to every program: there is nothing to repair",
    DRIFT "drift" => "another program changed what quietcore had set; it is left alone until it is forced or kept",
}

// Findings of `prove`.
table! { PROVED:
    NO_LOAD "no-load" =>
        "no load could be started on the housekeeping CPUs, so the comparison is between idle machines",
    NOT_MEASURED "not-measured" => "a measurement failed, so there is nothing to compare",
    NOT_ISOLATED "not-isolated" => "the CPUs could not be isolated, so nothing was measured on isolated ones",
    TICK "tick" => "the timer tick still fires on the isolated CPUs; only nohz_full= at boot stops it",
}

// Findings of comparing an intent with the actual machine.
table! { CHECKED:
    MASK_PLACED_THREADS "mask-placed-threads" =>
        "kernel threads that are bound to no CPU may run on the isolated ones, and cannot be moved one by one: the mask of unbound workqueues places kworker/u*",
    NOTHING_ISOLATED "nothing-isolated" =>
        "no CPU is isolated here: no partition is declared or active, and no boot parameter requests it",
    PARTITION_MISSING "partition-missing" =>
        "CPUs that should be isolated are not: their partition is not in force, or its cgroup is gone",
    PARTITION_INVALID "partition-invalid" =>
        "the partition's cgroup is there and the kernel does not treat it as a partition, so its CPUs are shared",
    PARTITION_DIFFERS "partition-differs" => "a file of the partition's cpusets holds another value than it was made with",
    CPUSET_OVERLAPS "cpuset-overlaps" =>
        "a cpuset of another program was given isolated CPUs, which joins them to its scheduling domain or makes the partition invalid",
    STILL_BALANCED "still-balanced" =>
        "the scheduler still moves tasks onto CPUs that the boot line isolates in another way",
    PLAN_REFUSED "plan-refused" => "the intended isolation is not possible on the machine as it is now",
    TASK_HERE "task-here" => "a task that could be moved may run on isolated CPUs",
    TASK_PINNED_HERE "task-pinned-here" =>
        "a task is pinned to CPUs that the boot line isolates, as programs are that shall run there",
    TASKS_INSIDE "tasks-inside" => "the tasks that live in the partition",
    IRQ_HERE "irq-here" =>
        "an interrupt that could be moved may fire on isolated CPUs, or one that was wanted there may fire elsewhere",
    IRQ_REFUSED "irq-refused" => "the kernel refused to move an interrupt when the partition was applied",
    IRQ_LINGERS "irq-lingers" => "an interrupt was sent away and leaves when it fires next",
    KNOB_LOST "knob-lost" =>
        "a file that the profile sets has another value: a program changed it, or a new device has it unset",
    KNOB_REFUSED "knob-refused" => "the kernel refused a value of the profile when the partition was applied",
    BOOT_PARAMETER_BROKEN "boot-parameter-broken" => "a parameter on the running boot line does not do what it asks for",
    BOOT_PARAMETER_UNSEEN "boot-parameter-unseen" => "whether a parameter on the running boot line works could not be seen",
    INTERRUPT_ARRIVED "interrupt-arrived" => "an interrupt of a device arrived on an isolated CPU while it was looked at",
    IPI_ARRIVED "ipi-arrived" => "other CPUs interrupted an isolated one, by kinds",
    SOFTIRQ_RAN "softirq-ran" => "softirqs ran on an isolated CPU, by kinds",
    SWITCHES "switches" => "the scheduler ran on an isolated CPU",
    PAGE_FAULTS "page-faults" => "threads of an isolated CPU had page faults, each an entry into the kernel",
    IDLE_STATES "idle-states" => "an isolated CPU went to sleep, by idle states",
    IDLE_TOO_DEEP "idle-too-deep" => "an isolated CPU slept deeper than the limit of its wake-up latency says",
    FREQUENCY_CHANGED "frequency-changed" => "an isolated CPU changed its frequency while it was looked at",
    THROTTLED "throttled" => "the core of an isolated CPU was slowed down for heat",
    NOT_COUNTED "not-counted" => "what this kernel does not count on isolated CPUs, so that nothing is known of it",
    STEAL "steal" => "the hypervisor ran something else on the host's CPU",
}

// Findings of comparing two readings of a machine.
table! { DIFFERENCES:
    REBOOTED "rebooted" => "the machine was booted between the two readings, so run-time changes are gone",
    KERNEL_RELEASE "kernel-release" => "another kernel runs",
    PREEMPTION "preemption" => "the kernel's preemption model is another one",
    CLOCKSOURCE "clocksource" =>
        "time is read from another clock source; all but tsc cost a look into the kernel or a device",
    LOCKDOWN "lockdown" => "kernel lockdown changed what root may do, for example write to registers of the CPU",
    KERNEL_CONFIG "kernel-config" => "an option of the kernel's configuration that isolation builds on has another value",
    BOOT_LINE "boot-line" => "a boot parameter that matters to isolated CPUs came, went or changed",
    CPU_OFFLINE "cpu-offline" => "CPUs went offline; their tasks and interrupts are on others now",
    CPU_UNPLUGGED "cpu-unplugged" => "CPUs are no longer there at all",
    CPU_ONLINE "cpu-online" => "CPUs came online; new CPUs belong to housekeeping and to every mask that was wide",
    BOOT_ISOLATED "boot-isolated" => "the CPUs that the boot line takes from the scheduler are others",
    NOHZ_FULL "nohz-full" => "the CPUs that may stop their tick are others",
    RCU_NOCBS "rcu-nocbs" => "the CPUs whose RCU callbacks threads handle are others",
    CGROUP_LAYOUT "cgroup-layout" => "cpusets are mounted elsewhere, or as the other version of cgroups",
    CPUSET "cpuset" => "a cpuset came, went, or has other CPUs",
    DEFAULT_IRQ_AFFINITY "default-irq-affinity" => "interrupts that are requested from now on start with another mask",
    WORKQUEUE_CPUMASK "workqueue-cpumask" => "unbound kernel work may run on other CPUs",
    IRQ_NEW "irq-new" => "a device has a new interrupt",
    IRQ_GONE "irq-gone" => "an interrupt is no longer there",
    IRQ_AFFINITY "irq-affinity" => "an interrupt may fire on other CPUs",
    IRQ_EFFECTIVE "irq-effective" => "an interrupt fires on another CPU",
    TASK_NEW "task-new" => "a task that was not there may run on the isolated CPUs",
    TASK_GONE "task-gone" => "a task that might run on the isolated CPUs has ended",
    TASKS_NEW "tasks-new" => "tasks that were not there run elsewhere",
    TASKS_GONE "tasks-gone" => "tasks that ran elsewhere have ended",
    TASK_ALLOWED "task-allowed" => "a task may run on other CPUs",
    TASK_POLICY "task-policy" => "a task has another scheduling policy or priority",
    MANAGER "manager" => "a program that moves tasks or interrupts was started or stopped",
    SETTING "setting" => "a run-time setting that matters to isolated CPUs has another value",
}

#[cfg(test)]
mod tests {
    use crate::findings;
    use std::collections::BTreeSet;

    #[test]
    fn finding_ids_are_unique() {
        let ids: BTreeSet<&str> = findings().map(|row| row.id.as_str()).collect();
        assert_eq!(ids.len(), findings().count());
        for rule in crate::lint::RULES {
            assert!(!ids.contains(rule.id), "{}", rule.id);
        }
    }
}
