//! Inputs from public bug reports (`fixtures/cases`), each with the correct answer.

use crate::support::schemas::document;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command to run on a case, and the correct answer.
struct CaseQuestion {
    case: &'static str,
    /// The command line. `CASE` is the path of the case, `CASE/FILE` a file in it.
    command: &'static str,
    status: i32,
    /// Parts of the expected answer. White space is ignored.
    answer: &'static [&'static str],
    /// What version 0.1 wrongly reported or did.
    never: &'static [&'static str],
}

const QUESTIONS: &[CaseQuestion] = &[
    CaseQuestion {
        case: "grub-plus-equals-debian",
        command: "boot show --root CASE",
        status: 0,
        answer: &[
            "line of normal entries (/etc/default/grub, /etc/default/grub.d/zz-quietcore.cfg): unknown",
            "/etc/default/grub:3: `GRUB_CMDLINE_LINUX_DEFAULT+=` is not an assignment in POSIX",
        ],
        never: &["quiet splash isolcpus=2-3"],
    },
    CaseQuestion {
        case: "grub-plus-equals-debian",
        command: "boot set --root CASE --cpus 2-3 --dry-run",
        status: 4,
        answer: &[
            "the boot line cannot be computed, so its files are not edited",
            "add these parameters by hand to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run \
             `update-grub`: isolcpus=managed_irq,domain,2-3 nohz_full=2-3",
        ],
        never: &["+++"],
    },
    CaseQuestion {
        case: "hetzner-dropped-words",
        command: "boot show --root CASE",
        status: 0,
        answer: &[
            "/etc/default/grub.d/hetzner.cfg:2 sets GRUB_CMDLINE_LINUX_DEFAULT again, so these parameters of \
             /etc/default/grub:2 do not reach the kernel: quiet splash isolcpus=2-3 nohz_full=2-3",
        ],
        never: &[],
    },
    CaseQuestion {
        case: "rhel-unread-snippet",
        command: "boot show --root CASE",
        status: 0,
        answer: &["nothing reads /etc/default/grub.d/cmdline.cfg (isolcpus=domain,4-31 nohz_full=4-31"],
        never: &[],
    },
    CaseQuestion {
        case: "nixos-generated-entries",
        command: "boot set --root CASE --cpus 2-3 --dry-run",
        status: 4,
        answer: &[
            "an edit of the loader's entries would not last",
            "add `boot.kernelParams = [ \"isolcpus=managed_irq,domain,2-3\" \"nohz_full=2-3\" \"irqaffinity=0-1,4-15\" ];` to \
             the configuration (/etc/nixos/configuration.nix), then run `nixos-rebuild boot`",
        ],
        never: &["+++"],
    },
    CaseQuestion {
        case: "popos-kernelstub",
        command: "boot set --root CASE --cpus 2-3 --dry-run",
        status: 4,
        answer: &[
            "an edit of the entries of systemd-boot would not last",
            "run `kernelstub -a 'isolcpus=managed_irq,domain,2-3 nohz_full=2-3 irqaffinity=0-1,4-15'`",
        ],
        never: &["+++"],
    },
    CaseQuestion {
        case: "orangepi-env",
        command: "boot show --root CASE",
        status: 0,
        answer: &["line of the only entry (/boot/orangepiEnv.txt) cma=128M"],
        never: &[],
    },
    CaseQuestion {
        case: "pi-two-lines",
        command: "boot show --root CASE",
        status: 0,
        answer: &[
            "/boot/firmware/cmdline.txt has no line for kernel parameters",
            "the firmware reads only the first: these parameters do not reach the kernel: isolcpus=3 nohz_full=3 \
             rcu_nocbs=3",
        ],
        never: &["line of cannot be edited", "()"],
    },
    CaseQuestion {
        case: "irqsoff-longest-run",
        command: "trace longest-run CASE/irqsoff.txt",
        status: 0,
        answer: &[
            "Longest time with interrupts disabled: 49040 us CPU 1, kswapd0[91], from _raw_spin_lock_irq+0x1a/0x40 \
             to shrink_inactive_list+0x165/0x420",
            "How long a thread ran without interruption cannot be read from it",
        ],
        never: &["Max uninterrupted exec"],
    },
    CaseQuestion {
        case: "hwlatdetect",
        command: "report CASE/hwlatdetect.txt",
        status: 0,
        answer: &["hwlatdetect: gaps in a busy loop", "all 5 45 us - - - - 48 us"],
        never: &[],
    },
    CaseQuestion {
        case: "hwlatdetect",
        command: "report CASE/hwlatdetect-old.txt",
        status: 0,
        answer: &["hwlatdetect: gaps in a busy loop", "all 3 18 us - - - - 21 us"],
        never: &[],
    },
    CaseQuestion {
        case: "hwlatdetect",
        command: "report CASE/hwlatdetect-none.txt",
        status: 0,
        answer: &[
            "all 0 - - - - - -",
            "no gap was above 10us: shorter ones were not recorded",
        ],
        never: &[],
    },
    CaseQuestion {
        case: "rtla-top",
        command: "report CASE/timerlat-top.txt",
        status: 0,
        answer: &[
            "rtla: latency of wake-ups",
            "CPU 23 irq 12,320 - - - - - 28 us CPU 23 thread - - - - - - 41 us",
            "the run ended at a latency above its own limit",
        ],
        never: &[],
    },
    CaseQuestion {
        case: "rtla-top",
        command: "report CASE/osnoise-top.txt",
        status: 0,
        answer: &["rtla: gaps in a busy loop", "CPU 3 - - - - - - 23 us"],
        never: &[],
    },
    CaseQuestion {
        case: "hgrm",
        command: "report CASE/wrk2.hgrm",
        status: 0,
        answer: &[
            "all 86,233 28.48 s 44.99 s 44.99 s 44.99 s - 49.32 s",
            "the file contains neither a unit nor what it measured",
        ],
        never: &[],
    },
];

/// Each line of `silent-words/words` and the expected finding. Version 0.1 reported none of them.
const SILENT_WORDS: &[(&str, &str, &str)] = &[
    (
        "timer_migration=0",
        "sysctl-as-parameter",
        "write sysctl.kernel.timer_migration=0",
    ),
    (
        "sched_rt_runtime_us=-1",
        "sysctl-as-parameter",
        "write sysctl.kernel.sched_rt_runtime_us=-1",
    ),
    ("isolated_cpus=1-3", "foreign-parameter", "write isolcpus=1-3"),
    ("isolated_cores=1-3", "foreign-parameter", "write isolcpus=1-3"),
    ("isocpu=1-3", "misspelled-parameter", "write isolcpus=1-3"),
    ("rcu_nobcs=1-3", "misspelled-parameter", "write rcu_nocbs=1-3"),
    ("noht", "foreign-parameter", "write nosmt"),
    (
        "workqueue.cpumask=1",
        "foreign-parameter",
        "write workqueue.unbound_cpus=0",
    ),
    ("irqpoll", "irqpoll", "remove it"),
    (
        "processor_idle.max_cstate=0",
        "foreign-parameter",
        "write processor.max_cstate=0",
    ),
    (
        "systemd.cpu_affinity=2-7 isolcpus=2-7",
        "systemd-affinity-on-isolated",
        "write the housekeeping CPUs",
    ),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cases")
}

/// Returns what is wrong with the answer; empty if the answer is correct.
fn wrong(question: &CaseQuestion) -> Vec<String> {
    let case = folder().join(question.case).display().to_string();
    let words = question.command.split(' ').map(|word| word.replace("CASE", &case));
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(words)
        .output()
        .unwrap();
    let both = [output.stdout, output.stderr].concat();
    let both = String::from_utf8_lossy(&both).into_owned();
    let answer = both.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut wrong = Vec::new();
    if output.status.code() != Some(question.status) {
        wrong.push(format!("status {:?}, not {}", output.status, question.status));
    }
    let missing = question.answer.iter().filter(|part| !answer.contains(**part));
    wrong.extend(missing.map(|part| format!("it does not say `{part}`")));
    let there = question.never.iter().filter(|part| answer.contains(**part));
    wrong.extend(there.map(|part| format!("it says `{part}`")));
    if !wrong.is_empty() {
        wrong.insert(0, format!("{}: quietcore {}", question.case, question.command));
        wrong.push(both);
    }
    wrong
}

/// Returns the JSON of `explain` for a command line.
fn explained(line: &str, kernel: &str, cpus: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args([
            "explain",
            "--json",
            "--cmdline",
            line,
            "--kernel",
            kernel,
            "--cpus",
            cpus,
        ])
        .output()
        .unwrap();
    document(&output.stdout).unwrap()
}

#[test]
fn each_case_gets_the_expected_answer() {
    let wrong: Vec<String> = QUESTIONS.iter().flat_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_empty_list_means_no_cpu() {
    let line = std::fs::read_to_string(folder().join("empty-list/tuned.line")).unwrap();
    for kernel in ["6.8", "4.14"] {
        let judged = explained(line.trim_end(), kernel, "0-3");
        let findings = judged["findings"].as_array().unwrap().iter();
        let empty: Vec<&str> = findings
            .filter(|one| one["id"] == "empty-cpu-list")
            .map(|one| one["subject"].as_str().unwrap())
            .collect();
        assert_eq!(empty, ["isolcpus=", "irqaffinity="], "{kernel}");
        assert!(!each(&judged["findings"], "level").contains(&"error"), "{kernel}");
        let suggested = judged["suggested"].as_str().unwrap();
        assert!(suggested.contains(" isolcpus= "), "isolation stays off: {suggested}");
    }
    let judged = explained("isolcpus=2-3 isolcpus=", "4.14", "0-3");
    let message =
        |one: &Value| one["id"] == "isolcpus-twice" && one["message"].as_str().unwrap().contains("the last one counts");
    assert!(judged["findings"].as_array().unwrap().iter().any(message), "{judged}");
    assert_eq!(judged["suggested"], "isolcpus=", "{judged}");
}

#[test]
fn words_without_effect_are_found() {
    let words = std::fs::read_to_string(folder().join("silent-words/words")).unwrap();
    let lines = SILENT_WORDS.iter().map(|(line, ..)| *line);
    assert!(words.lines().eq(lines), "the table has each line of the file");
    let mut wrong = Vec::new();
    for (line, id, fix) in SILENT_WORDS {
        let judged = explained(line, "6.8", "0-7");
        let mut findings = judged["findings"].as_array().unwrap().iter();
        let is_right = |one: &Value| {
            one["id"] == *id && one["level"] == "warning" && one["fix"].as_str().unwrap().starts_with(fix)
        };
        if !findings.any(is_right) {
            wrong.push(format!("{line}: no {id} that says `{fix}`: {}", judged["findings"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A case without a question proves nothing.
#[test]
fn each_case_has_a_question() {
    let source = include_str!("cases.rs");
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "README.md" {
            assert!(source.contains(&format!("\"{name}")), "{name}");
        }
    }
}

/// Returns the JSON output of a command on one of the cases.
fn output_json(machine: &str, args: &[&str]) -> Value {
    let root = folder().join(machine);
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(args)
        .arg("--json")
        .arg("--root")
        .arg(root)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    document(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

/// Returns a text field of each object of a list.
fn each<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    let list = list.as_array().unwrap().iter();
    list.map(|one| one[field].as_str().unwrap()).collect()
}

#[test]
fn ipis_of_powerpc_are_not_moved() {
    let plan = output_json("power-xive-ipi", &["plan", "--count", "2"]);
    let moved: Vec<&str> = each(&plan["changes"], "id")
        .into_iter()
        .filter(|id| id.starts_with("irq_affinity/"))
        .collect();
    assert_eq!(moved, ["irq_affinity/18", "irq_affinity/19"]);
    let check = output_json("power-xive-ipi", &["check", "--for", "0s", "--cpus", "6-7"]);
    let findings = check["findings"].as_array().unwrap().iter();
    let here = findings.filter(|one| one["id"] == "irq-here");
    let subjects: Vec<&str> = here.map(|one| one["subject"].as_str().unwrap()).collect();
    assert_eq!(
        subjects,
        ["/proc/irq/18/smp_affinity_list", "/proc/irq/19/smp_affinity_list"]
    );
}

#[test]
fn allowed_cpus_of_slices_count_as_an_intention() {
    let check = output_json("slices-allowedcpus", &["check", "--for", "0s"]);
    let intention = &check["intention"];
    assert_eq!(intention["source"], "slices");
    assert_eq!(intention["partitions"][0]["cpus"], "4-7,12-15");
    assert!(!each(&check["findings"], "id").contains(&"nothing-isolated"));
    let inspect = output_json("slices-allowedcpus", &["inspect"]);
    assert_eq!(inspect["isolation"]["kept_free"], "4-7,12-15");
}

#[test]
fn a_descending_banned_list_is_reported_as_invalid() {
    let check = output_json("irqbalance-file", &["check", "--for", "0s"]);
    let findings = check["findings"].as_array().unwrap();
    let bad: Vec<&Value> = findings
        .iter()
        .filter(|one| one["id"] == "irqbalance-bad-list")
        .collect();
    assert_eq!(bad.len(), 1, "{findings:?}");
    assert_eq!(bad[0]["level"], "warning");
    assert_eq!(bad[0]["subject"], "/etc/default/irqbalance, /etc/irqbalance.env");
}
