//! Interrupts, workqueues, disks, network.

use super::{SettingRow, row};
use crate::parameters::Price;

pub(super) const ROWS: &[SettingRow] = &[
    row("smp_affinity_list", "/proc/irq/N/smp_affinity_list", "the CPUs that an interrupt may use", "the housekeeping CPUs; managed interrupts refuse the write").stops(&["device"]),
    row("effective_affinity_list", "/proc/irq/N/effective_affinity_list", "the CPU that an interrupt really goes to", "read only; it follows with the next interrupt").since("4.13"),
    row("irqbalance", "/etc/default/irqbalance", "the daemon that spreads interrupts", "IRQBALANCE_BANNED_CPULIST with the isolated CPUs; it sees those of the boot line by itself, partitions not").stops(&["device"]),
    row("writeback_cpumask", "/sys/devices/virtual/workqueue/writeback/cpumask", "the CPUs that write dirty pages back", "the housekeeping CPUs; the general workqueue mask covers it"),
    row("rq_affinity", "/sys/block/DISK/queue/rq_affinity", "on which CPU a finished disk request is completed", "1 completes on the submitter's cache group, 2 on the submitter itself, 0 where the interrupt is: 2 keeps completions of other CPUs' requests off the isolated ones")
        .stops(&["soft_block", "function_call"]),
    row("nr_requests", "/sys/block/DISK/queue/nr_requests", "requests that a disk queue holds", "no effect on isolation by itself"),
    row("mq_cpu_list", "/sys/block/DISK/mq/H/cpu_list", "which CPUs use a hardware queue of a disk", "read only; a queue of an isolated CPU interrupts it only for its own requests"),
    row("iostats", "/sys/block/DISK/queue/iostats", "whether requests are counted", "0 saves a little work per request"),
    row("rps_cpus", "/sys/class/net/IF/queues/rx-N/rps_cpus", "CPUs that received packets are handed to (a mask)", "0, or the housekeeping CPUs; the kernel takes boot-isolated CPUs out by itself").stops(&["soft_net", "function_call"]),
    row("rps_flow_cnt", "/sys/class/net/IF/queues/rx-N/rps_flow_cnt", "flows that are handed to the CPU of their reader", "0: a reader on an isolated CPU would draw packets there").stops(&["soft_net"]),
    row("rps_default_mask", "/proc/sys/net/core/rps_default_mask", "rps_cpus of queues that are made later", "the housekeeping CPUs").since("6.3").stops(&["soft_net"]),
    row("xps_cpus", "/sys/class/net/IF/queues/tx-N/xps_cpus", "CPUs that send through a queue (a mask)", "queues of the housekeeping CPUs: completions do not come to the isolated ones").stops(&["soft_net"]),
    row("threaded", "/sys/class/net/IF/threaded", "polls a network card in threads napi/IF-N", "1: the threads can be pinned, softirqs cannot").since("5.12").stops(&["soft_net"]).price(Price::Speed),
    row("aspm_policy", "/sys/module/pcie_aspm/parameters/policy", "power saving of PCI Express links", "performance: no links that have to wake").price(Price::Power),
];
