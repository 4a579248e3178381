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

The command line of partrt 1.2, answered by quietcore, on cgroup v1 and v2. Every change goes into quietcore's journal
first, and `undo` gives back what was there before, nothing else.

Options:
        -v           Say what is done, on standard error
        -V           Show the version and exit
        -x           Accepted; it traced the original's script
        -h           Show this
        -r NAME      Name of the real-time partition (default: rt)
        -n NAME      Name of everything else (default: nrt). On v1 a cpuset of that name, on v2 all of the tree that
                     is not in a partition

create
        Gives the CPUs of the mask to the real-time partition and sends away what can leave them: tasks, kernel
        threads, interrupts, work queues. Nothing is saved in /tmp.

        [cpumask]    Hexadecimal, with or without 0x; also what bitcalc takes ('#2-3'). Not needed with -n
        -a           Leave the NUMA affinity of the writeback workqueue (kernels before 6.6) alone
        -b           Leave the mask of the writeback workqueue alone
        -c           Leave the polling for machine checks (x86) alone
        -d           Accepted: no kernel since 4.14 has the tick deferment that it was about
        -h           Show this
        -n <node>    The CPUs of a NUMA node, with its memory
        -m           Leave the interval of vmstat alone
        -r           Leave timer migration alone. CPUs are never switched off and on to drive their timers away
        -t           Leave real-time throttling alone
        -u           Leave the mask of unbound workqueues alone
        -w           Leave the watchdogs alone

undo
        Gives back what was there before `create`.

        -h           Show this
        -s file      Accepted: the file that the original's `create` left. What was there is in the journal

run
        Runs a command in a partition.

        -c <cpumask> On these CPUs of the partition
        -f <prio>    As SCHED_FIFO with this priority
        -r <prio>    As SCHED_RR with this priority
        -o           As SCHED_OTHER
        -h           Show this

move
        Moves a process with all its threads; on v1 also a single thread, by its number.

        -c <cpumask> Onto these CPUs of the partition
        -h           Show this

list
        Shows the partitions.

Example:
        Real-time partition of CPU 2 and 3:
        > partrt create 0xc

        cyclictest on CPU 3, in it:
        > partrt run -c 0x8 rt cyclictest -n -i 10000 -l 10000

        Out of it again:
        > partrt move \"pid of cyclictest\" nrt

        As before:
        > partrt undo

";

/// The version: of the implemented command line, and of quietcore.
pub fn version() -> String {
    format!("partrt 1.2 (quietcore {})\n", env!("CARGO_PKG_VERSION"))
}
