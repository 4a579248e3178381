//! Interrupts, workqueues, disks, network.

use super::{SettingRow, row};
use crate::parameters::ParameterCost;

pub(super) const ROWS: &[SettingRow] = &[
    row(
        "effective_affinity_list",
        "/proc/irq/N/effective_affinity_list",
        "the CPU on which an interrupt really arrives",
        "read only; it follows with the next interrupt",
    )
    .since("4.13"),
    row(
        "affinity_scope",
        "/sys/devices/virtual/workqueue/NAME/affinity_scope",
        "how close to the CPU that queues it a workqueue runs its work",
        "no effect on isolation by itself: the masks limit which CPUs are used",
    )
    .since("6.6"),
    row(
        "nr_requests",
        "/sys/block/DISK/queue/nr_requests",
        "how many requests a disk queue can contain",
        "no effect on isolation by itself",
    ),
    row(
        "mq_cpu_list",
        "/sys/block/DISK/mq/H/cpu_list",
        "which CPUs use a hardware queue of a disk",
        "read only; a queue of an isolated CPU interrupts it only for its own requests",
    ),
    row(
        "iostats",
        "/sys/block/DISK/queue/iostats",
        "whether requests are counted",
        "0 saves a little work for each request",
    ),
    row(
        "napi_threaded",
        "/sys/class/net/IF/threaded",
        "polls a network card in threads napi/IF-N",
        "1: the threads can be pinned, softirqs cannot",
    )
    .since("5.12")
    .stops(&["soft_net"])
    .price(ParameterCost::Speed),
    row(
        "aspm_policy",
        "/sys/module/pcie_aspm/parameters/policy",
        "power saving of PCI Express links",
        "performance: no links that have to wake up",
    )
    .price(ParameterCost::Power),
];
