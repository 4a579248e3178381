//! Command lines of public bug reports: empty lists, words that no kernel accepts, lists broken by a line wrap.

use super::KernelBuild::{self, Full};
use super::{LintCase, check, facts};
use plan::lint::lint;

pub const CASES: &[LintCase] = &[
    LintCase {
        from: "TuneD with empty words",
        kernel: "6.8",
        built: Full,
        possible: "0-3",
        line: "root=/dev/sda1 isolcpus= nohz_full=2-3 irqaffinity=",
        loud: &["nohz-full-without-domain"],
        quiet: &["empty-cpu-list", "irqaffinity-narrow"],
        because: "an empty list names no CPU",
    },
    LintCase {
        from: "the same on 5.10",
        kernel: "5.10",
        built: Full,
        possible: "0-3",
        line: "root=/dev/sda1 isolcpus= nohz_full=2-3 irqaffinity=",
        loud: &["nohz-full-without-domain"],
        quiet: &["empty-cpu-list"],
        because: "5.10 ignores isolcpus= with a message, which has the same effect",
    },
    LintCase {
        from: "the same on 5.15",
        kernel: "5.15",
        built: Full,
        possible: "0-3",
        line: "root=/dev/sda1 isolcpus= nohz_full=2-3 irqaffinity=",
        loud: &["!isolation-lists-differ", "nohz-full-without-domain"],
        quiet: &["empty-cpu-list"],
        because: "from 5.14 to 5.17 the empty list is the one mask for both, so nohz_full= is dropped",
    },
    LintCase {
        from: "the same on 4.14",
        kernel: "4.14",
        built: Full,
        possible: "0-3",
        line: "root=/dev/sda1 isolcpus= nohz_full=2-3 irqaffinity=",
        loud: &["nohz-full-without-domain"],
        quiet: &["empty-cpu-list"],
        because: "each has a mask of its own",
    },
    LintCase {
        from: "the other way round on 5.15",
        kernel: "5.15",
        built: Full,
        possible: "0-3",
        line: "nohz_full= isolcpus=2-3",
        loud: &["!isolation-lists-differ", "tick-and-rcu-remain", "irqaffinity-missing"],
        quiet: &["empty-cpu-list"],
        because: "nohz_full= came first",
    },
    LintCase {
        from: "switched off at the end, 4.14",
        kernel: "4.14",
        built: Full,
        possible: "0-3",
        line: "isolcpus=2-3 isolcpus=",
        loud: &["isolcpus-twice"],
        quiet: &["empty-cpu-list"],
        because: "the last one counts up to 4.14",
    },
    LintCase {
        from: "switched off at the end",
        kernel: "6.8",
        built: Full,
        possible: "0-3",
        line: "isolcpus=2-3 isolcpus=",
        loud: &["isolcpus-twice", "tick-and-rcu-remain", "irqaffinity-missing"],
        quiet: &["empty-cpu-list"],
        because: "the kernel keeps the first list",
    },
    LintCase {
        from: "empty in front",
        kernel: "6.8",
        built: Full,
        possible: "0-3",
        line: "isolcpus= isolcpus=2-3",
        loud: &["!isolcpus-twice", "tick-and-rcu-remain", "irqaffinity-missing"],
        quiet: &["empty-cpu-list"],
        because: "the empty list came first, and the second does not match it",
    },
    LintCase {
        from: "empty in front, 6.12",
        kernel: "6.12",
        built: Full,
        possible: "0-3",
        line: "isolcpus= isolcpus=2-3",
        loud: &["tick-and-rcu-remain", "irqaffinity-missing"],
        quiet: &["empty-cpu-list"],
        because: "from 6.9 on an empty list is not stored",
    },
    LintCase {
        from: "two lists on 4.14",
        kernel: "4.14",
        built: Full,
        possible: "0-3",
        line: "isolcpus=1 isolcpus=2",
        loud: &["!isolcpus-twice", "tick-and-rcu-remain", "irqaffinity-missing"],
        quiet: &[],
        because: "the last one counts up to 4.14",
    },
    LintCase {
        from: "steady tick and an empty list",
        kernel: "6.8",
        built: Full,
        possible: "0-3",
        line: "nohz=off nohz_full=",
        loud: &[],
        quiet: &["empty-cpu-list"],
        because: "no CPU without a tick is asked for",
    },
    LintCase {
        from: "callbacks switched off",
        kernel: "6.8",
        built: Full,
        possible: "0-3",
        line: "rcu_nocbs= isolcpus=2-3 irqaffinity=0-1",
        loud: &["tick-and-rcu-remain"],
        quiet: &["empty-cpu-list"],
        because: "an empty rcu_nocbs= is neither redundant nor elsewhere",
    },
    LintCase {
        from: "commas alone",
        kernel: "6.8",
        built: Full,
        possible: "0-3",
        line: "isolcpus=,,",
        loud: &[],
        quiet: &["empty-cpu-list"],
        because: "the parser skips commas",
    },
    LintCase {
        from: "sysctl",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "timer_migration=0",
        loud: &["sysctl-as-parameter"],
        quiet: &[],
        because: "a sysctl takes its prefix",
    },
    LintCase {
        from: "sysctl with a sign",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "sched_rt_runtime_us=-1",
        loud: &["sysctl-as-parameter"],
        quiet: &[],
        because: "a sysctl takes its prefix",
    },
    LintCase {
        from: "sysctl, dotted",
        kernel: "5.4",
        built: Full,
        possible: "0-7",
        line: "kernel.sched_rt_runtime_us=-1 vm.stat_interval=60",
        loud: &["sysctl-as-parameter"],
        quiet: &[],
        because: "5.4 has no way to write it on the line",
    },
    LintCase {
        from: "a variable of scripts",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "isolated_cpus=1-3",
        loud: &["foreign-parameter"],
        quiet: &[],
        because: "the word is isolcpus",
    },
    LintCase {
        from: "a variable of TuneD",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "isolated_cores=1-3",
        loud: &["foreign-parameter"],
        quiet: &[],
        because: "the word is isolcpus",
    },
    LintCase {
        from: "two letters missing",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "isocpu=1-3",
        loud: &["misspelled-parameter"],
        quiet: &[],
        because: "isolcpus lacks an l and an s",
    },
    LintCase {
        from: "letters swapped",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "rcu_nobcs=1-3",
        loud: &["misspelled-parameter"],
        quiet: &[],
        because: "cb became bc",
    },
    LintCase {
        from: "a letter missing behind the dot",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "workqueue.unbound_cpu=0-3",
        loud: &["misspelled-parameter"],
        quiet: &[],
        because: "the kernel never lists a word with a dot",
    },
    LintCase {
        from: "old word for threads of a core",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "noht",
        loud: &["foreign-parameter"],
        quiet: &[],
        because: "the word is nosmt",
    },
    LintCase {
        from: "a file of workqueues",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "workqueue.cpumask=1",
        loud: &["foreign-parameter"],
        quiet: &[],
        because: "the parameter is unbound_cpus and takes a list",
    },
    LintCase {
        from: "polled interrupts",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "irqpoll",
        loud: &["irqpoll"],
        quiet: &[],
        because: "handlers of all lines are asked",
    },
    LintCase {
        from: "a file of the driver",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "processor_idle.max_cstate=0",
        loud: &["foreign-parameter"],
        quiet: &[],
        because: "the module is called processor",
    },
    LintCase {
        from: "systemd on the isolated CPUs",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "systemd.cpu_affinity=2-7 isolcpus=2-7",
        loud: &[
            "systemd-affinity-on-isolated",
            "tick-and-rcu-remain",
            "irqaffinity-missing",
        ],
        quiet: &[],
        because: "it names who works, not who is isolated",
    },
    LintCase {
        from: "systemd's word by its own name",
        kernel: "6.8",
        built: Full,
        possible: "0-7",
        line: "CPUAffinity=0-1 quiet",
        loud: &["foreign-parameter"],
        quiet: &[],
        because: "system.conf spells it so",
    },
    LintCase {
        from: "wrapped behind a comma",
        kernel: "6.8",
        built: Full,
        possible: "0-15",
        line: "isolcpus=2-8, 10-15",
        loud: &["!blank-in-list", "tick-and-rcu-remain", "irqaffinity-missing"],
        quiet: &[],
        because: "10-15 is a separate parameter",
    },
    LintCase {
        from: "wrapped in front of a dash",
        kernel: "6.8",
        built: Full,
        possible: "0-15",
        line: "isolcpus=2-8 -15",
        loud: &["!blank-in-list", "tick-and-rcu-remain", "irqaffinity-missing"],
        quiet: &[],
        because: "-15 is no parameter; what it belongs to is not clear",
    },
    LintCase {
        from: "wrapped inside a number",
        kernel: "6.8",
        built: Full,
        possible: "0-15",
        line: "isolcpus=2-8,1 0-15",
        loud: &["!blank-in-list", "irqaffinity-missing", "tick-and-rcu-remain"],
        quiet: &[],
        because: "0-15 is no parameter, and 10-15 is the one order",
    },
    LintCase {
        from: "wrapped in front of N",
        kernel: "6.8",
        built: Full,
        possible: "0-15",
        line: "isolcpus=2-3, 5-N",
        loud: &["!blank-in-list", "tick-and-rcu-remain", "irqaffinity-missing"],
        quiet: &[],
        because: "N is a part of lists",
    },
    LintCase {
        from: "wrapped between flags",
        kernel: "6.8",
        built: Full,
        possible: "0-15",
        line: "isolcpus=domain, managed_irq,2-3",
        loud: &["!blank-in-list"],
        quiet: &[],
        because: "flags are torn as lists are",
    },
    LintCase {
        from: "a comma forgotten",
        kernel: "6.8",
        built: Full,
        possible: "0-15",
        line: "isolcpus=2-3 5-7",
        loud: &["!blank-in-list", "tick-and-rcu-remain", "irqaffinity-missing"],
        quiet: &[],
        because: "5-7 is no parameter",
    },
    LintCase {
        from: "two readings",
        kernel: "6.8",
        built: Full,
        possible: "0-15",
        line: "isolcpus=1 2-15",
        loud: &["!blank-in-list", "tick-and-rcu-remain", "irqaffinity-missing"],
        quiet: &[],
        because: "1,2-15 or 12-15",
    },
    LintCase {
        from: "empty and then the list",
        kernel: "6.8",
        built: Full,
        possible: "0-15",
        line: "isolcpus= 2-3",
        loud: &["!blank-in-list"],
        quiet: &[],
        because: "the list is torn off, not switched off",
    },
    LintCase {
        from: "a run level",
        kernel: "6.8",
        built: Full,
        possible: "0-15",
        line: "isolcpus=2-3 5",
        loud: &["tick-and-rcu-remain", "irqaffinity-missing"],
        quiet: &[],
        because: "a single digit is for init",
    },
    LintCase {
        from: "name torn at its underscore",
        kernel: "6.8",
        built: Full,
        possible: "0-15",
        line: "nohz _full=2-3",
        loud: &["!blank-in-name"],
        quiet: &[],
        because: "two words that no kernel takes",
    },
    LintCase {
        from: "name torn in the middle",
        kernel: "6.8",
        built: Full,
        possible: "0-15",
        line: "isol cpus=2-3",
        loud: &["!blank-in-name"],
        quiet: &[],
        because: "two words that no kernel takes",
    },
];

#[test]
fn every_line_from_bug_reports_gets_the_expected_findings() {
    check(CASES);
}

/// The fix for a line with an empty `isolcpus=` replaces that word and names the CPUs.
#[test]
fn the_fix_for_an_empty_isolcpus_replaces_it() {
    let fix = |line: &str, id: &str| {
        let findings = lint(line, &facts("6.12", KernelBuild::Full, "0-7")).findings;
        let found = findings.into_iter().find(|one| one.id.as_str() == id);
        found.map(|one| one.fix).unwrap_or_default()
    };
    for line in ["isolcpus= nohz_full=2-3", "nohz_full=2-3 isolcpus=,"] {
        for id in ["nohz-full-without-domain", "managed-irq-missing"] {
            let message = fix(line, id);
            assert!(
                message.contains("isolcpus=managed_irq,domain,2-3 in place of isolcpus="),
                "{line}: {id}: {message}"
            );
        }
    }
    let message = fix("isolcpus=managed_irq,2-3 nohz_full=2-4", "nohz-full-without-domain");
    assert!(
        message.contains("isolcpus=managed_irq,domain,2-4 in place of isolcpus=managed_irq,2-3"),
        "{message}"
    );
    let message = fix("nohz_full=2-3", "nohz-full-without-domain");
    assert!(message.starts_with("add isolcpus=managed_irq,domain,2-3"), "{message}");
}

/// No finding recommends what another one says to remove.
#[test]
fn fixes_of_one_line_agree() {
    let of_kernel = |kernel: &str, line: &str, built: KernelBuild| {
        let findings = lint(line, &facts(kernel, built, "0-7")).findings;
        findings.into_iter().map(|one| one.fix).collect::<Vec<String>>()
    };
    let fixes = |line: &str, built: KernelBuild| of_kernel("6.12", line, built);
    let old = of_kernel("5.4", "isolcpus=managed_irq,2-3 nohz_full=2-3", KernelBuild::Full);
    assert!(
        old.iter().any(|fix| fix.contains("write isolcpus=2-3 in place of")),
        "{old:?}"
    );
    let differ = fixes("isolcpus=nohz,domain,managed_irq,2-3 nohz_full=2-4", KernelBuild::Full);
    assert!(differ.iter().any(|fix| fix == "remove the flag nohz"), "{differ:?}");
    assert!(!differ.iter().any(|fix| fix.contains("domain,nohz")), "{differ:?}");
    let ours = fixes("isolcpus=nohz,domain,2-3", KernelBuild::Plain);
    assert!(!ours.iter().any(|fix| fix.contains("write nohz_full")), "{ours:?}");
    let alone = fixes("isolcpus=nohz,2-3", KernelBuild::Full);
    assert!(!alone.iter().any(|fix| fix == "remove the flag nohz"), "{alone:?}");
    let unsupported = fixes("isolcpus=2-3 nohz_full=2-3", KernelBuild::Plain);
    assert!(
        unsupported.iter().any(|fix| fix.contains("remove the parameter")),
        "{unsupported:?}"
    );
    assert!(
        !unsupported.iter().any(|fix| fix.contains("add nohz_full")),
        "{unsupported:?}"
    );
}
