//! Boot lines, and the results of the rules for two known kernels and an unknown one.

use super::{FuzzTarget, owned, text};
use machine::parse_cmdline;
use plan::lint::{KernelFacts, lint};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "boot_lines",
    seeds: || {
        owned(&[
            "ro quiet isolcpus=domain,managed_irq,1-3 nohz_full=1-3 rcu_nocbs=1-3 irqaffinity=0",
            "root=UUID=\"a b\" isolcpus=nohz,,9-7 nohz_full= -- init=x",
            "isolcpus=0xff,1 rcu_nocbs=all mce=off idle=poll skew_tick=1 tsc=reliable \"x y=\"",
            "kthread_cpus=0 nosmt maxcpus=4294967296 nr_cpus=-1 isolcpus=N hugepagesz=1G hugepages=0:1,1:2",
        ])
    },
    run: |bytes| {
        let line = text(bytes);
        let _ = parse_cmdline(&line);
        let kernels = [
            KernelFacts::of_release("6.12.9"),
            KernelFacts::of_release("4.14.0-rt"),
            Some(KernelFacts::default()),
        ];
        for facts in kernels.iter().flatten() {
            let verdict = lint(&line, facts);
            assert!(verdict.findings.iter().all(|finding| !finding.id.as_str().is_empty()));
            let _ = lint(&verdict.suggested, facts);
        }
    },
};
