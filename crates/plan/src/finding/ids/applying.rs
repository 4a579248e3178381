//! Findings of applying and undoing, and of `prove`.

use super::{FindingId, FindingRow};
use crate::finding::Level;

table! { APPLY, "apply":
    BOOT_PART_DIFFERS "boot-part-differs" Error =>
        "a partition is declared with the boot line (`boot = true`), but the line is missing or isolates other CPUs",
        "`quietcore boot set` writes what is declared; `boot = false` keeps a partition off the boot line";
    BOOT_PART_PENDING "boot-part-pending" Info =>
        "the boot line of a declared partition is written and waits for a restart",
        "restart the machine";
    BOOT_PART_REVERTED "boot-part-reverted" Error =>
        "the machine was restarted without the boot line that was written for a declared partition",
        "`quietcore boot check` says what went wrong; `quietcore boot set` writes it again";
    BOOT_PART_WITHOUT_EFFECT "boot-part-without-effect" Error =>
        "the boot line of a declared partition is running, but the kernel did not accept it or another parameter \
         defeats it",
        "`quietcore boot check` says which word has no effect and why";
    MASK_LOST "mask-lost" Warning =>
        "a CPU went offline and came back, and the kernel refused the former mask of an interrupt",
        "write the mask to the interrupt's smp_affinity_list again";
    PROCESS_WAITS_OUTSIDE "process-waits-outside" Warning =>
        "cgroup v2: while single threads of a process are in a partition, the process is in the root cgroup, outside \
         the limits of its slice",
        "none is needed: when its last thread leaves (`quietcore move --back`), the process returns to its cgroup";
    FORK_STORM "fork-storm" Error =>
        "tasks were created faster than they could be moved, so another pass would find new ones",
        "stop the program that starts so many tasks, then apply again";
    TASK_REFUSED "task-refused" Warning =>
        "the kernel refused to move or restrict a task, so it may still run on the isolated CPUs",
        "stop the task, or change its policy or limits so that the kernel admits the move";
    TASK_STAYS "task-stays" Warning =>
        "a task that may run on the isolated CPUs was left where it is",
        "move it to a cgroup without the isolated CPUs; `quietcore check` lists it";
    TASK_LEFT_OUT "task-left-out" Error =>
        "a program of a resized partition was not moved back into it, or lost its pinning",
        "move it into the partition with `quietcore move`";
    POLICY_LOST "policy-lost" Error =>
        "a program of a resized partition does not have its previous scheduling policy",
        "set the policy again with chrt";
    PIN_LOST "pin-lost" Warning =>
        "the move dropped the affinity that a task had set, because the new set has none of its CPUs",
        "pin the task again with taskset, to CPUs that its set has";
    PARTITION_FALLBACK "partition-fallback" Warning =>
        "this kernel has no isolated partitions, so a root partition was created: its CPUs still balance load among \
         themselves",
        "use kernel 6.1 or later, which has isolated partitions";
    REFUSED "refused" Error =>
        "the kernel refused an optional write; the file keeps its former value. EIO means that the kernel refuses this \
         to every program: there is nothing to repair",
        "`quietcore explain KNOB` has the reasons; `--without KNOB` leaves it out";
    DRIFT "drift" Warning =>
        "another program changed a value that quietcore had set; it is left alone until you use --force or \
         --skip-changed",
        "find out which program changed it; `quietcore undo` and `quietcore apply` set it again, `quietcore undo \
         --skip-changed` accepts it";
}

table! { PROVE, "prove":
    NO_LOAD "no-load" Warning =>
        "no load could be started on the housekeeping CPUs, so the comparison is between idle machines",
        "keep a housekeeping CPU and free memory for the load, then run `prove` again";
    NOT_MEASURED "not-measured" Error =>
        "a measurement failed, so there is nothing to compare",
        "remove what the message names, then run `prove` again";
    NOT_ISOLATED "not-isolated" Error =>
        "the CPUs could not be isolated, so nothing was measured on isolated ones",
        "`quietcore plan` shows what prevents it";
    TICK "tick" Warning =>
        "the timer tick still fires on the isolated CPUs; only nohz_full= at boot stops it",
        "boot with nohz_full=CPUS, and run one task per CPU there; `quietcore boot check` says whether it works";
}
