//! Memory and devices' access to it.

use super::{ParameterCost, ParameterRow, row};

pub(super) const ROWS: &[ParameterRow] = &[
    row(
        "default_hugepagesz",
        "=SIZE",
        "the default size of huge pages",
        "fewer TLB misses for programs that use them",
    ),
    row(
        "hugepagesz",
        "=SIZE",
        "size that the next hugepages= counts",
        "must come before its hugepages=",
    )
    .many(),
    row(
        "hugepages",
        "=COUNT",
        "number of huge pages to reserve",
        "reserved at boot, memory is not fragmented yet; fewer TLB misses",
    )
    .twin("/sys/kernel/mm/hugepages/*/nr_hugepages")
    .many(),
    row(
        "transparent_hugepage",
        "=always|madvise|never",
        "whether the kernel creates huge pages automatically",
        "khugepaged and compaction interrupt with TLB shootdowns; never avoids both",
    )
    .twin("/sys/kernel/mm/transparent_hugepage/enabled")
    .price(ParameterCost::Speed),
    row(
        "numa_balancing",
        "=enable|disable",
        "moves memory to the node that uses it",
        "it unmaps pages to find out which node uses them: page faults on isolated CPUs",
    )
    .twin("/proc/sys/kernel/numa_balancing")
    .price(ParameterCost::Speed),
    row(
        "iommu",
        "=pt|off|...",
        "how devices reach memory (x86)",
        "pt gives the host's own devices direct access without translation; no isolation by itself",
    )
    .many(),
    row(
        "iommu.passthrough",
        "=1|0",
        "like iommu=pt, on all architectures",
        "cheaper device access; no isolation by itself",
    ),
    row(
        "iommu.strict",
        "=1|0",
        "whether unmapped memory is flushed at once",
        "0 batches flushes; no isolation by itself",
    )
    .price(ParameterCost::Safety),
    row(
        "intel_iommu",
        "=on|off|...",
        "the IOMMU of Intel",
        "needed to pass devices to programs (VFIO, DPDK)",
    )
    .many(),
    row(
        "amd_iommu",
        "=on|off|...",
        "the IOMMU of AMD",
        "needed to pass devices to programs (VFIO, DPDK)",
    )
    .many(),
    row(
        "psi",
        "=1|0",
        "measures pressure on CPU, memory and I/O",
        "a little work at every context switch",
    ),
    row(
        "init_on_alloc",
        "=1|0",
        "zeroes memory when it is allocated",
        "slower allocation in the kernel; a security decision",
    )
    .price(ParameterCost::Security),
    row(
        "init_on_free",
        "=1|0",
        "zeroes memory when it is freed",
        "slower freeing in the kernel; a security decision",
    )
    .price(ParameterCost::Security),
    row(
        "slab_nomerge",
        "",
        "keeps caches of the kernel separate",
        "almost no effect on isolation",
    ),
];
