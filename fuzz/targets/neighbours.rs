//! Data of other CPU owners: irqbalance, the kubelet, TuneD, and the names of their cgroups.

use super::{FuzzTarget, owned, text};
use machine::{cgroup_owners, irqbalance, neighbours};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "neighbours",
    seeds: || {
        owned(&[
            "SLEEP 10 IRQ 24 LOAD 0 DIFF 3 CLASS 5 BANNED 00000001,00000008",
            r#"{"policyName":"static","defaultCpuSet":"0-1","entries":{"0a":{"web":"2-3"}},"checksum":7}"#,
            "# comment\nisolated_cores = 2-3\nno_balance_cores=3\n",
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a_1b.slice/cri-containerd-0123.scope",
            "/machine.slice/machine-qemu\\x2d3\\x2dweb.scope/libvirt/vcpu0",
            "/docker/0123456789abcdef",
        ])
    },
    run: |bytes| {
        let text = text(bytes);
        let _ = irqbalance::parse_setup(&text);
        let _ = neighbours::parse_isolated_cores(&text);
        if let Some(state) = neighbours::parse_cpu_manager_state(&text) {
            assert!(state.exclusive.len() < text.len());
        }
        if let Some(tenant) = cgroup_owners::cgroup_owner(&text) {
            assert!(!tenant.name().is_empty() && !tenant.command("0-2").is_empty());
        }
    },
};
