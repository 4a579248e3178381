//! Findings of plans.

use super::{FindingId, FindingRow};
use crate::finding::Level;

table! { PLANS, "plans":
    KNOB_ABSENT "knob-absent" Warning =>
        "an explicitly requested knob does not exist on this machine, so nothing is changed there",
        "leave the knob out; `quietcore explain KNOB` says what it needs";
    OWNER_INSIDE_ONLY "owner-inside-only" Warning =>
        "on cgroup v2 the owner of a partition cannot move in tasks that run elsewhere, because that needs write \
         permission above both cgroups",
        "start the first program as root with `quietcore run --user USER`; or add `--with owner_ancestor`";
    OWNER_ANCESTOR "owner-ancestor" Warning =>
        "the owner of a partition may write the root's list of tasks, which also lets that user move tasks of other \
         users",
        "leave owner_ancestor out where users do not trust each other";
    SYSTEMD_BUS "systemd-bus" Warning =>
        "systemd could not be asked to keep the cpuset controller enabled, so the next daemon-reload breaks the \
         partition",
        "make systemd's socket reachable; until then, undo and apply again after each daemon-reload";
    SYSTEMD_CONTROLLER "systemd-controller" Warning =>
        "systemd started the slice that requests the cpuset controller, but does not keep the controller enabled for \
         it",
        "look for DisableControllers=cpuset in `systemctl cat -- -.slice`";
    IRQBALANCE_RUNS "irqbalance-runs" Warning =>
        "irqbalance does not know of partitions and moves interrupts back to their CPUs",
        "set IRQBALANCE_BANNED_CPULIST in irqbalance's configuration to the isolated CPUs and restart it, or stop it";
    IRQBALANCE_BAD_LIST "irqbalance-bad-list" Warning =>
        "a file gives irqbalance an invalid list of CPUs to ban, as some templates do (4-3)",
        "correct the list in the file and restart irqbalance";
    IRQBALANCE_UNJUDGED "irqbalance-unjudged" Info =>
        "irqbalance is configured with a script, driver hints or an unreadable file, so it is unknown where it moves \
         interrupts",
        "see that it leaves the isolated CPUs alone; `quietcore inspect --irqs` shows where interrupts may fire";
    IRQBALANCE_NOT_BANNED "irqbalance-not-banned" Warning =>
        "a file names the CPUs that irqbalance bans and leaves out isolated ones; that list replaces the CPUs that \
         irqbalance detects itself",
        "add the isolated CPUs to the list and restart irqbalance";
    NET_CHANNELS "net-channels" Info =>
        "a network card has more receive queues, and therefore interrupts, than there are housekeeping CPUs",
        "`ethtool -L CARD combined N` with N housekeeping CPUs at most";
    GOVERNOR_NOT_OFFERED "governor-not-offered" Warning =>
        "the requested frequency governor does not exist, so the frequency is not changed",
        "load the governor's module, or name another one with `--with scaling_governor=NAME`";
    CLOCK_SHARED "clock-shared" Info =>
        "housekeeping CPUs share the clock of isolated ones, so their frequency changes too",
        "none is needed; isolate all CPUs of the clock if the others must save power";
    FAIR_SERVER_REMAINS "fair-server-remains" Info =>
        "from 6.12 on the fair server protects ordinary tasks, even when real-time throttling is off",
        "add `--with fair_server`";
    CYCLE_STAYS "cycle-stays" Warning =>
        "an isolated CPU cannot be taken offline and online, so timers that were set there stay until they expire",
        "isolate other CPUs, or wait until the timers there have run out";
    OFFLINE_LOWEST "offline-lowest" Error =>
        "the sibling that would be taken offline is the lowest CPU, which the machine needs",
        "isolate another core, or leave `--with cpu_offline` out";
    OFFLINE_CPUSET "offline-cpuset" Error =>
        "a cpuset contains the sibling that would be taken offline, and the kernel would not restore it",
        "undo that cpuset first, or isolate whole cores instead";
    NO_BALANCING "no-balancing" Info =>
        "the kernel does not distribute threads over isolated CPUs: each thread has to be pinned",
        "pin each thread, for example with `quietcore run --cpus` or `--pin`";
    OWNER_CSET "owner-cset" Warning =>
        "cset created cpusets on this machine, and two tools that move tasks conflict",
        "undo its cpusets first: `cset shield --reset`";
    OWNER_PARTRT "owner-partrt" Warning =>
        "partrt created cpusets on this machine, and two tools that move tasks conflict",
        "undo its cpusets first: `partrt undo`";
    OWNER_TUNED "owner-tuned" Warning =>
        "TuneD is running; it sets the values of its profile again when it starts or switches profiles",
        "let one of the two do it: `tuned-adm off`, or `quietcore plan --format tuned`";
    OWNER_KUBERNETES "owner-kubernetes" Error =>
        "the kubelet's CPU manager assigns the isolated CPUs to containers and repeats this by itself",
        "give the kubelet the isolated CPUs as reservedSystemCPUs with strict-cpu-reservation, or isolate other CPUs";
    CONTAINERS_TO_COME "containers-to-come" Warning =>
        "on cgroup v1 a container runtime without its own cpuset cannot start anything while the partition exists",
        "start one container before `apply`, so that its cpuset exists";
    FOREIGN_CPUSET "foreign-cpuset" Error =>
        "a cpuset of another program contains only isolated CPUs: this is an error if its owner is known, otherwise \
         the cpuset is left alone",
        "give that cpuset other CPUs, stop what runs in it, or isolate other CPUs";
    PARTITION_IN_PLACE "partition-in-place" Error =>
        "a cgroup of another program was to become the partition where it is: this is an error if there is another \
         partition at that place, and a warning if the kernel has no such partitions, so that the partition is a cgroup \
         of its own",
        "undo the other partition; on kernels before 6.11 and on cgroup v1, move the program into the partition";
    IRQ_PER_CPU "irq-per-cpu" Warning =>
        "this is a per-CPU interrupt (a timer, an IPI), so it cannot be moved to other CPUs",
        "none is needed: the isolated CPUs have their own; leave it out of --irq-here";
    IRQ_MANAGED "irq-managed" Warning =>
        "the kernel manages the mask of this interrupt; only isolcpus=managed_irq at boot moves it away",
        "boot with isolcpus=managed_irq,domain,CPUS (kernel 5.6 or later); or let nothing on the isolated CPUs use the \
         device";
    IRQ_FIXED "irq-fixed" Warning =>
        "nothing can change the mask of this interrupt: it is a kernel timer, or its chip accepts no mask",
        "nothing moves it: isolate other CPUs, or do not use its device";
    VECTOR_SPACE "vector-space" Warning =>
        "more interrupts move to the housekeeping CPUs than x86 has free vectors there",
        "keep more housekeeping CPUs, or fewer queues per device";
    BOOT_LINE_BOOT_CPU "boot-line-boot-cpu" Warning =>
        "the boot CPU cannot lose its tick, because it keeps time for the other CPUs",
        "isolate other CPUs";
    BOOT_LINE_IGNORED "boot-line-ignored" Warning =>
        "this kernel is built without an option that a boot parameter needs, so the parameter is left out",
        "use a kernel that is built with the option";
    BOOT_LINE_UNSURE "boot-line-unsure" Info =>
        "this kernel's configuration is unknown, so a suggested boot parameter may be ignored",
        "look for the option in /boot/config-RELEASE or /proc/config.gz";
    BOOT_LINE_NO_MANAGED_IRQ "boot-line-no-managed-irq" Info =>
        "this kernel is too old for isolcpus=managed_irq",
        "use kernel 5.6 or later, or let nothing on the isolated CPUs use those devices";
    BOOT_LINE_REDUNDANT "boot-line-redundant" Info =>
        "a boot parameter is left out because another one includes it",
        "none is needed";
    BOOT_LINE_AT_RUN_TIME "boot-line-at-run-time" Info =>
        "part of what the boot line does needs no reboot",
        "none is needed";
    BOOT_LINE_CONFLICT "boot-line-conflict" Warning =>
        "a parameter on the present boot line prevents the suggested one from working",
        "take the word off the line; `quietcore explain --cmdline` says what each one does";
    BOOT_CPU "boot-cpu" Warning =>
        "the CPU on which the kernel booted keeps duties that cannot be moved",
        "leave the boot CPU to housekeeping";
    ONE_KIND "one-kind" Warning =>
        "the CPUs are of two kinds, so the same work runs at two speeds",
        "choose one kind with --kind, or pin each thread to the kind that it needs";
    NODE_HOUSEKEEPING "node-housekeeping" Warning =>
        "a memory node would keep no housekeeping CPU for its memory, devices and tasks",
        "leave one CPU of the node to housekeeping";
    NO_CPUSET "no-cpuset" Error =>
        "no cpuset controller is mounted, so other tasks cannot be blocked from the CPUs",
        "mount cgroup v2 with the cpuset controller (mount -t cgroup2 none /sys/fs/cgroup), outside a container";
    CPUSET_READ_ONLY "cpuset-read-only" Error =>
        "the cgroup file system is mounted read-only, so no partition can be created",
        "remount it read-write, or run outside the container";
    V2_DOES_HARM "v2-does-harm" Error =>
        "before 5.12, ending a cgroup v2 partition permanently widens the masks of kernel threads, so none is created \
         there",
        "use kernel 5.12 or later, or mount the cpuset controller as cgroup v1";
    KERNEL_UNSUPPORTED "kernel-unsupported" Warning =>
        "this kernel is older than 4.14, the oldest supported one, so a result may be wrong",
        "use kernel 4.14 or later";
    PER_CPU_THREADS "per-cpu-threads" Info =>
        "kernel threads that are bound to the isolated CPUs stay there; they run only when that CPU has work for them",
        "none is needed: `quietcore explain NAME` says what each thread does";
}
