//! `check` recognizes CPUs that other tools isolate, from the files that cset, partrt and TuneD leave, as their Debian
//! packages write them.

use crate::support::captured::CaptureFixture;
use crate::support::schemas::document;
use serde_json::Value;
use std::process::Command;

/// `/etc/tuned/cpu-partitioning-variables.conf` of TuneD 2.20, as its package installs it.
const TUNED: &str = "# Examples:
# isolated_cores=2,4-7
# isolated_cores=2-23
#
# Reserve 1 core per socket for housekeeping, isolate the rest.
isolated_cores=${f:calc_isolated_cores:1}

# To disable the kernel load balancing in certain isolated CPUs:
# no_balance_cores=5-10
";

/// A machine with two packages of two CPUs. Nothing is isolated.
const MACHINE: &str = "4x86-2p2c-v1-6.1";

impl CaptureFixture {
    fn set(&self, name: &str, cpus: &str, exclusive: &str, balanced: &str) {
        for (file, value) in [
            ("cpus", cpus),
            ("mems", "0"),
            ("cpu_exclusive", exclusive),
            ("sched_load_balance", balanced),
        ] {
            let path = format!("sys/fs/cgroup/cpuset/{name}/cpuset.{file}");
            self.write_file(&path, &format!("{value}\n"));
        }
    }

    fn tuned(&self, variables: &str) {
        self.write_file("etc/tuned/active_profile", "cpu-partitioning\n");
        self.write_file("etc/tuned/cpu-partitioning-variables.conf", variables);
    }

    /// Returns what a command prints about the captured machine.
    fn output_of(&self, args: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
            .args(args)
            .arg("--root")
            .arg(&self.root)
            .output()
            .unwrap();
        // Undo the line wrapping.
        String::from_utf8(output.stdout)
            .unwrap()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Returns the source and the means of the one intention, its CPUs, and the ids of the errors.
    fn check(&self) -> (Value, Value, Value, Vec<String>) {
        let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
            .args(["check", "--json", "--root"])
            .arg(&self.root)
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let json: Value = document(&output.stdout).unwrap_or_else(|error| panic!("{error}: {message}"));
        let errors = json["findings"].as_array().unwrap().iter();
        let errors = errors.filter(|one| one["level"] == "error");
        let intention = &json["intention"];
        let first = &intention["partitions"][0];
        assert_eq!(
            intention["partitions"].as_array().unwrap().len().min(2),
            usize::from(!first.is_null())
        );
        (
            intention["source"].clone(),
            first["means"].clone(),
            first["cpus"].clone(),
            errors.map(|one| one["id"].as_str().unwrap().to_owned()).collect(),
        )
    }
}

#[test]
fn a_shield_of_cset_is_recognized() {
    let captured = CaptureFixture::of(MACHINE);
    assert_eq!(captured.check().0, "nobody");
    // `cset set -s system -c 0-2` and `cset set -s user -c 3 --cpu_exclusive`: load balancing stays on.
    captured.set("system", "0-2", "0", "1");
    captured.set("user", "3", "1", "1");
    let (source, means, cpus, errors) = captured.check();
    assert_eq!((source, cpus), ("cpuset".into(), "3".into()));
    assert_eq!(means["cpuset"], "/user");
    // No task was moved, and the root cpuset balances over all CPUs.
    for id in ["task-here", "partition-differs"] {
        assert!(errors.iter().any(|error| error == id), "no {id} in {errors:?}");
    }
}

#[test]
fn a_partition_of_partrt_is_recognized() {
    let captured = CaptureFixture::of(MACHINE);
    captured.write_file("sys/fs/cgroup/cpuset/cpuset.sched_load_balance", "0\n");
    captured.set("nrt", "0-1", "0", "1");
    captured.set("rt", "2-3", "1", "0");
    let (source, means, cpus, errors) = captured.check();
    assert_eq!((source, cpus), ("cpuset".into(), "2-3".into()));
    assert_eq!(means["cpuset"], "/rt");
    assert!(!errors.iter().any(|error| error == "partition-differs"), "{errors:?}");
}

/// A reversed range, as an unedited template has it, is reported. So is a list without the CPUs that the command line
/// isolates.
#[test]
fn errors_in_the_configuration_of_irqbalance_are_reported() {
    let captured = CaptureFixture::of("4x86-2p2c-v2-boot-line-6.1");
    for (text, id) in [("4-3", "[irqbalance-bad-list]"), ("0", "[irqbalance-not-banned]")] {
        captured.write_file("etc/default/irqbalance", &format!("IRQBALANCE_BANNED_CPULIST={text}\n"));
        let message = captured.output_of(&["check", "--for", "0s"]);
        assert!(message.contains(id), "{text}: {message}");
    }
    captured.write_file("etc/default/irqbalance", "IRQBALANCE_BANNED_CPULIST=1-3\n");
    let message = captured.output_of(&["check", "--for", "0s"]);
    assert!(!message.contains("[irqbalance-"), "{message}");
}

/// A machine with cgroup v2 and systemd. Nothing is isolated.
const WITH_SLICES: &str = "8x86-2p2c2t-v2-7";

#[test]
fn allowed_cpus_of_systemd_slices_are_recognized() {
    let captured = CaptureFixture::of(WITH_SLICES);
    let bound = |name: &str, cpus: &str| {
        let dir = format!("sys/fs/cgroup/{name}");
        captured.write_file(&format!("{dir}/cpuset.cpus"), &format!("{cpus}\n"));
        captured.write_file(&format!("{dir}/cpuset.cpus.effective"), "0-1,4-5\n");
        captured.write_file(&format!("{dir}/cpuset.cpus.partition"), "member\n");
    };
    for name in ["system.slice", "init.scope"] {
        bound(name, "0-1,4-5");
    }
    // Guests may run on all CPUs.
    bound("machine.slice", "");
    assert_eq!(captured.check().0, "nobody", "sessions may run anywhere");
    bound("user.slice", "");
    assert_eq!(captured.check().0, "nobody", "an empty list bounds nothing");
    bound("user.slice", "0-1,5");
    let (source, means, cpus, errors) = captured.check();
    assert_eq!((source, means), ("slices".into(), "slices".into()));
    assert_eq!(cpus, "2-3,6-7");
    assert!(!errors.iter().any(|error| error == "partition-missing"), "{errors:?}");
    let message = captured.output_of(&["check", "--for", "0s"]);
    assert!(message.contains("isolated by systemd's AllowedCPUs"), "{message}");
    let named = captured.output_of(&["check", "--for", "0s", "--cpus", "2,5"]);
    assert!(
        named.contains("isolated by systemd's AllowedCPUs") && named.contains("CPU 5 is not isolated: no partition"),
        "{named}"
    );
    assert!(named.contains("CPU 5 is NOT ISOLATED; CPU 2 is isolated"), "{named}");
    let seen = captured.output_of(&["inspect"]);
    assert!(seen.contains("blocks services and sessions from CPU 2-3,6-7"), "{seen}");
    bound("user.slice", "0-7");
    assert_eq!(captured.check().0, "nobody", "no CPU is left");
}

/// Files with their content, and the isolated CPUs; `None` if nothing is isolated.
type TunedProfileFiles<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);

/// Profiles as TuneD resolves them: includes, and variables in other files or in the profile itself.
#[test]
fn profiles_of_tuned_are_recognized() {
    const INCLUDES: &str = "[variables]\ninclude=/etc/tuned/cpu-partitioning-variables.conf\n\
                            isolated_cores = ${isolated_cores}\nno=${f:cpulist_invert:${isolated_cores}}\n";
    let cases: &[TunedProfileFiles] = &[
        (
            &[
                ("etc/tuned/active_profile", "realtime-virtual-host\n"),
                ("etc/tuned/rvh.conf", "isolated_cores=2-3\n"),
                (
                    "usr/lib/tuned/realtime-virtual-host/tuned.conf",
                    "[main]\nsummary=x\ninclude=realtime\n[variables]\ninclude=/etc/tuned/rvh.conf\n",
                ),
                (
                    "usr/lib/tuned/realtime/tuned.conf",
                    "[main]\ninclude=network-latency\n[variables]\ninclude=/etc/tuned/realtime-variables.conf\n",
                ),
                ("etc/tuned/realtime-variables.conf", "isolated_cores=1\n"),
            ],
            Some("2-3"),
        ),
        (
            &[
                ("etc/tuned/active_profile", "my-rt\n"),
                ("etc/tuned/my-rt/tuned.conf", "[main]\ninclude=cpu-partitioning\n"),
                ("usr/lib/tuned/cpu-partitioning/tuned.conf", INCLUDES),
                ("etc/tuned/cpu-partitioning-variables.conf", "isolated_cores=2-3\n"),
            ],
            Some("2-3"),
        ),
        (
            &[
                ("etc/tuned/active_profile", "my-rt\n"),
                (
                    "etc/tuned/profiles/my-rt/tuned.conf",
                    "[main]\ninclude=cpu-partitioning\n[variables]\nisolated_cores=1,3 # spare\n",
                ),
                ("usr/lib/tuned/profiles/cpu-partitioning/tuned.conf", INCLUDES),
                ("etc/tuned/cpu-partitioning-variables.conf", "isolated_cores=2-3\n"),
            ],
            Some("1,3"),
        ),
        (
            // A profile of the same name overrides the packaged one and includes it.
            &[
                ("etc/tuned/active_profile", "cpu-partitioning\n"),
                (
                    "etc/tuned/cpu-partitioning/tuned.conf",
                    "[main]\ninclude = balanced ; cpu-partitioning\n[variables]\nisolated_cores=3\n",
                ),
                ("usr/lib/tuned/cpu-partitioning/tuned.conf", INCLUDES),
            ],
            Some("3"),
        ),
        (
            &[
                ("etc/tuned/active_profile", "balanced mine\n"),
                (
                    "etc/tuned/mine/tuned.conf",
                    "[variables]\nmine=3\nisolated_cores=${mine}\n[sysfs]\nisolated_cores=1\n",
                ),
            ],
            Some("3"),
        ),
        (
            &[
                ("etc/tuned/active_profile", "loop\n"),
                (
                    "etc/tuned/loop/tuned.conf",
                    "[main]\ninclude=loop\n[variables]\ninclude=../../shadow\n",
                ),
            ],
            None,
        ),
    ];
    for (files, cpus) in cases {
        let captured = CaptureFixture::of(MACHINE);
        for (path, text) in *files {
            captured.write_file(path, text);
        }
        let (source, _, found, _) = captured.check();
        match cpus {
            Some(cpus) => assert_eq!((source, found), ("tuned".into(), (*cpus).into()), "{files:?}"),
            None => assert_eq!(source, "nobody", "{files:?}"),
        }
    }
}

#[test]
fn variables_of_tuned_are_resolved() {
    let captured = CaptureFixture::of(MACHINE);
    captured.write_file("etc/tuned/cpu-partitioning-variables.conf", TUNED);
    assert_eq!(captured.check().0, "nobody", "no profile is active");
    captured.tuned(TUNED);
    let (source, means, cpus, errors) = captured.check();
    assert_eq!((source, means), ("tuned".into(), "tuned".into()));
    assert_eq!(cpus, "1,3", "all but the first of each package");
    assert!(errors.iter().any(|error| error == "task-here"), "{errors:?}");
    captured.tuned("isolated_cores=2-3\n");
    assert_eq!(captured.check().2, "2-3");
    // Only TuneD can compute this list, so no intention is derived from it.
    captured.tuned("isolated_cores=${f:cpulist_invert:0}\n");
    assert_eq!(captured.check().0, "nobody");
    captured.tuned("isolated_cores=1-9999999999\n");
    let output = captured.output_of(&["check"]);
    assert!(
        output.contains("isolated_cores=1-9999999999 cannot be parsed as a list of CPUs"),
        "{output}"
    );
    captured.tuned("isolated_cores=99\n");
    assert_eq!(captured.check().0, "nobody", "a CPU that is not there");
}
