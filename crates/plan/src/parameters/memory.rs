//! Memory and devices' access to it.

use super::{ParameterCost, ParameterRow, row};

pub(super) const ROWS: &[ParameterRow] = &[
    row(
        "default_hugepagesz",
        "=SIZE",
        "size of huge pages where none is named",
        "fewer TLB misses for programs that use them",
    ),
    row(
        "hugepagesz",
        "=SIZE",
        "size that the next hugepages= counts",
        "must stand in front of its hugepages=",
    )
    .many(),
    row(
        "hugepages",
        "=COUNT",
        "huge pages to set aside",
        "set aside at boot they are whole; fewer TLB misses",
    )
    .twin("/sys/kernel/mm/hugepages/*/nr_hugepages")
    .many(),
    row(
        "transparent_hugepage",
        "=always|madvise|never",
        "whether the kernel joins pages to huge ones by itself",
        "khugepaged and compaction interrupt with TLB shootdowns; never avoids both",
    )
    .twin("/sys/kernel/mm/transparent_hugepage/enabled")
    .price(ParameterCost::Speed),
    row(
        "numa_balancing",
        "=enable|disable",
        "moves memory to the node that uses it",
        "it unmaps pages to see who uses them: page faults on isolated CPUs",
    )
    .twin("/proc/sys/kernel/numa_balancing")
    .price(ParameterCost::Speed),
    row(
        "iommu",
        "=pt|off|...",
        "how devices reach memory (x86)",
        "pt lets the host's own devices pass without translation; no isolation by itself",
    )
    .many(),
    row(
        "iommu.passthrough",
        "=1|0",
        "as iommu=pt, everywhere",
        "cheaper device access; no isolation by itself",
    ),
    row(
        "iommu.strict",
        "=1|0",
        "whether unmapped memory is flushed at once",
        "0 collects flushes; no isolation by itself",
    )
    .price(ParameterCost::Safety),
    row(
        "intel_iommu",
        "=on|off|...",
        "the IOMMU of Intel",
        "needed to hand devices to programs (VFIO, DPDK)",
    )
    .many(),
    row(
        "amd_iommu",
        "=on|off|...",
        "the IOMMU of AMD",
        "needed to hand devices to programs (VFIO, DPDK)",
    )
    .many(),
    row(
        "psi",
        "=1|0",
        "measures pressure on CPU, memory and I/O",
        "a little work at every scheduling",
    ),
    row(
        "init_on_alloc",
        "=1|0",
        "zeroes memory when it is given out",
        "slower allocation in the kernel; a security decision",
    )
    .price(ParameterCost::Security),
    row(
        "init_on_free",
        "=1|0",
        "zeroes memory when it comes back",
        "slower freeing in the kernel; a security decision",
    )
    .price(ParameterCost::Security),
    row(
        "slab_nomerge",
        "",
        "keeps caches of the kernel apart",
        "hardly any effect on isolation",
    ),
];
