//! Contains the output of `partrt -h` and `partrt -V`.

/// The help text.
pub const USAGE: &str = "\
partrt - divides the CPUs into a real-time partition and the rest

Usage:
partrt [options] create [cmd-options] [cpumask]
partrt [options] undo [cmd-options]
partrt [options] run [cmd-options] <partition> <command>
partrt [options] move [cmd-options] <pid> <partition>
partrt [options] list [cmd-options]

This is quietcore with the command line of partrt 1.2, for cgroup v1 and v2. Every change is recorded in quietcore's
journal first, and `undo` restores exactly the state before it.

Options:
        -v           Print each action on standard error
        -V           Show the version and exit
        -x           Accepted without effect; it traced the script of the original
        -h, --help   Show this help
        -r NAME      Name of the real-time partition (default: rt)
        -n NAME      Name of everything else (default: nrt). On v1 a cpuset of that name, on v2 the whole tree
                     outside partitions

create
        Reserves the CPUs of the mask for the real-time partition and moves everything movable off them: tasks,
        kernel threads, interrupts, workqueues. Nothing is saved in /tmp.

        [cpumask]    Hexadecimal, with or without 0x; also a list as for bitcalc ('#2-3'). Not needed with -n
        -a           Leave the NUMA affinity of the writeback workqueue (kernels before 6.6) alone
        -b           Leave the mask of the writeback workqueue alone
        -c           Leave the polling for machine checks (x86) alone
        -d           Accepted without effect: no kernel since 4.14 has the tick deferment that it set
        -h           Show this help
        -n <node>    The CPUs of a NUMA node, with its memory
        -m           Leave the interval of vmstat alone
        -r           Leave timer migration alone. CPUs are never taken offline to move their timers
        -t           Leave real-time throttling alone
        -u           Leave the mask of unbound workqueues alone
        -w           Leave the watchdogs alone

undo
        Restores the state before `create`.

        -h           Show this help
        -s file      Accepted: the file that `create` of the original wrote. quietcore restores from its journal

run
        Runs a command in a partition.

        -c <cpumask> On these CPUs of the partition
        -f <prio>    As SCHED_FIFO with this priority
        -r <prio>    As SCHED_RR with this priority
        -o           As SCHED_OTHER
        -h           Show this help

move
        Moves a process with all its threads; on v1 also a single thread, by its number.

        -c <cpumask> Onto these CPUs of the partition
        -h           Show this help

list
        Shows the partitions.

Example:
        Real-time partition of CPU 2 and 3:
        > partrt create 0xc

        cyclictest on CPU 3, in it:
        > partrt run -c 0x8 rt cyclictest -n -i 10000 -l 10000

        Move it out again:
        > partrt move \"pid of cyclictest\" nrt

        Restore the former state:
        > partrt undo

Exit status:
        0 done, 1 an error; of `run` that of the command

";

/// The version: of the implemented command line, and of quietcore.
pub fn version() -> String {
    format!("partrt 1.2 (quietcore {})\n", env!("CARGO_PKG_VERSION"))
}
