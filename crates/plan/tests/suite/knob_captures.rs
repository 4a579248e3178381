//! A plan reads the files of every knob, a snapshot captures them, and `diff` compares them. All three follow from the
//! knob's declaration.

use machine::capture::{ExtraCapture, capture};
use machine::{CpuId, CpuSet, Machine, settings};
use plan::diff::{MachineReading, diff};
use plan::{KNOBS, Level, ReadbackComparison, knobs};
use root::Root;
use std::collections::BTreeMap;

/// Parts of the machine model, from which a plan reads these files.
const MODEL: &[&str] = &["/etc/", "/proc/irq/", "/run/", "/sys/fs/cgroup/"];

/// Returns the file of a knob on an example machine: words in capital letters are replaced by names.
fn example(file: &str) -> String {
    let names = [
        ("PID", "7"),
        ("NAME", "writeback"),
        ("DISK", "sda"),
        ("IF", "eth0"),
        ("N", "3"),
        ("M", "1"),
    ];
    names
        .iter()
        .fold(file.to_owned(), |path, (word, name)| path.replace(word, name))
}

/// Returns every file that knobs set (`files`) or read.
fn examples(of: fn(&plan::Knob) -> Vec<&'static str>) -> Vec<(&'static plan::Knob, String)> {
    let all = KNOBS
        .iter()
        .flat_map(|knob| of(knob).into_iter().map(|file| (*knob, file)));
    let settings = all.filter(|(_, file)| !MODEL.iter().any(|start| file.starts_with(start)));
    settings.map(|(knob, file)| (knob, example(file))).collect()
}

fn machine_with(values: &BTreeMap<String, &str>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let put = |path: &str, value: &str| {
        let path = dir.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{value}\n")).unwrap();
    };
    put("/proc/1/comm", "init");
    put("/proc/mounts", "tracefs /proc tracefs rw 0 0");
    values.iter().for_each(|(path, value)| put(path, value));
    dir
}

#[test]
fn a_snapshot_gives_the_same_plan_as_the_machine() {
    let files = examples(|knob| [knob.files, knob.reads].concat());
    assert!(files.len() > 35, "{}", files.len());
    let dir = machine_with(&files.iter().map(|(_, path)| (path.clone(), "0")).collect());
    let root = Root::open(dir.path()).unwrap();
    let archive = dir.path().join("snapshot.tar");
    let also: Vec<ExtraCapture> = knobs::captured().collect();
    capture(&root, &archive, "test", &also).unwrap();
    let cpus = CpuSet::from_iter([CpuId(3)]);
    let read = |root: &Root| settings::for_cpus(root, &cpus, knobs::planned());
    let planned = read(&root);
    assert_eq!(read(&Root::open(&archive).unwrap()), planned);
    // This file is part of the machine model.
    let unbound = "/sys/devices/virtual/workqueue/cpumask";
    let missing: Vec<&String> = files.iter().map(|(_, path)| path).collect();
    let missing: Vec<_> = missing
        .into_iter()
        .filter(|path| *path != unbound && planned.get(path) != Some("0"))
        .collect();
    assert!(missing.is_empty(), "not read: {missing:?}");
}

#[test]
fn diff_reports_a_change_of_each_file_that_a_knob_sets() {
    // Other parts of `diff` report these two.
    let elsewhere = [
        "/sys/devices/virtual/workqueue/cpumask",
        "/sys/devices/system/cpu/cpu3/online",
    ];
    for (knob, path) in examples(|knob| knob.files.to_vec()) {
        let (old, new) = match knob.compare {
            ReadbackComparison::Choice => ("[a] b", "a [b]"),
            ReadbackComparison::List | ReadbackComparison::Mask => ("1", "8"),
            _ => ("1", "2"),
        };
        let read = |value| {
            let dir = machine_with(&BTreeMap::from([(path.clone(), value)]));
            let root = Root::open(dir.path()).unwrap();
            MachineReading {
                machine: Machine::read(&root),
                settings: settings::read(&root, knobs::compared()),
                own_pid: None,
            }
        };
        // A list `8` is CPU 8, a mask `8` is CPU 3.
        let isolated = CpuSet::from_iter([CpuId(3), CpuId(8)]);
        let found = diff(&read(old), &read(new), Some(&isolated)).changes;
        let reported = found.iter().filter(|change| change.id.as_str() == "setting");
        let levels: Vec<Level> = reported.map(|change| change.level).collect();
        let is_enough = matches!(levels.as_slice(), [Level::Warning | Level::Error]);
        assert!(
            is_enough != elsewhere.contains(&path.as_str()),
            "{}: {path} {found:?}",
            knob.name
        );
    }
}
