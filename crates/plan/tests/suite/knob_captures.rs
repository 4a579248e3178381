//! A snapshot holds the files of every knob: `plan` on a captured machine answers as on the machine itself.

use machine::capture;
use root::Root;

/// Files of knobs that are no setting of the machine: those that appear with a partition, and the link to a file that has another
/// name too.
const NO_SETTINGS: &[&str] = &["/sys/fs/cgroup/", "/run/", "/sys/bus/workqueue/devices/"];

/// The file of a knob on some machine: placeholders get the name of a thing.
fn example(file: &str) -> String {
    let names = [
        ("cpuN", "cpu0"),
        ("stateM", "state0"),
        ("/irq/N/", "/irq/24/"),
        ("rx-N", "rx-0"),
        ("tx-N", "tx-0"),
        ("/IF/", "/eth0/"),
        ("/DISK/", "/sda/"),
        ("workqueue/NAME/", "workqueue/scsi_tmf_0/"),
    ];
    names
        .iter()
        .fold(file.to_owned(), |path, (place, name)| path.replace(place, name))
}

#[test]
fn a_snapshot_has_the_files_of_every_knob() {
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<String> = plan::KNOBS
        .iter()
        .flat_map(|knob| knob.files)
        .filter(|file| file.starts_with('/') && !NO_SETTINGS.iter().any(|start| file.starts_with(start)))
        .map(|file| example(file))
        .collect();
    assert!(files.len() > 30, "{files:?}");
    for file in &files {
        let path = dir.path().join(file.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "0\n").unwrap();
    }
    std::fs::create_dir_all(dir.path().join("proc/1")).unwrap();
    std::fs::write(dir.path().join("proc/mounts"), "tracefs /proc tracefs rw 0 0\n").unwrap();
    let root = Root::open(dir.path()).unwrap();
    let archive = dir.path().join("snapshot.tar");
    capture::capture(&root, &archive, "test", &[]).unwrap();
    let captured = Root::open(&archive).unwrap();
    let missing: Vec<&String> = files
        .iter()
        .filter(|file| !matches!(captured.value(file), Ok(Some(value)) if value == "0"))
        .collect();
    assert!(missing.is_empty(), "not captured: {missing:?}");
}
