//! Machines of public bug reports (`fixtures/cases`), each with the answer that is right.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// What a verb says of one of them, as JSON.
fn said(machine: &str, args: &[&str]) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/cases")
        .join(machine);
    let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
        .args(args)
        .arg("--json")
        .arg("--root")
        .arg(root)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

/// A text field of each object of a list.
fn each<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    let list = list.as_array().unwrap().iter();
    list.map(|one| one[field].as_str().unwrap()).collect()
}

#[test]
fn ipis_of_power_stay_where_they_are() {
    let plan = said("power-xive-ipi", &["plan", "--count", "2"]);
    let moved: Vec<&str> = each(&plan["changes"], "id")
        .into_iter()
        .filter(|id| id.starts_with("irq_affinity/"))
        .collect();
    assert_eq!(moved, ["irq_affinity/18", "irq_affinity/19"]);
    let check = said("power-xive-ipi", &["check", "--for", "0s", "--cpus", "6-7"]);
    let findings = check["findings"].as_array().unwrap().iter();
    let here = findings.filter(|one| one["id"] == "irq-here");
    let subjects: Vec<&str> = here.map(|one| one["subject"].as_str().unwrap()).collect();
    assert_eq!(
        subjects,
        ["/proc/irq/18/smp_affinity_list", "/proc/irq/19/smp_affinity_list"]
    );
}

#[test]
fn slices_keep_their_cpus_free() {
    let check = said("slices-allowedcpus", &["check", "--for", "0s"]);
    let intention = &check["intention"];
    assert_eq!(intention["source"], "slices");
    assert_eq!(intention["partitions"][0]["cpus"], "4-7,12-15");
    assert!(!each(&check["findings"], "id").contains(&"nothing-isolated"));
    let inspect = said("slices-allowedcpus", &["inspect"]);
    assert_eq!(inspect["isolation"]["kept_free"], "4-7,12-15");
}

#[test]
fn a_banned_list_that_counts_down() {
    let check = said("irqbalance-file", &["check", "--for", "0s"]);
    let findings = check["findings"].as_array().unwrap();
    let bad: Vec<&Value> = findings
        .iter()
        .filter(|one| one["id"] == "irqbalance-bad-list")
        .collect();
    assert_eq!(bad.len(), 1, "{findings:?}");
    assert_eq!(bad[0]["level"], "warning");
    assert_eq!(bad[0]["subject"], "/etc/default/irqbalance, /etc/irqbalance.env");
}
