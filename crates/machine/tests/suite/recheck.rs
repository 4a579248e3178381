//! Tasks that ended or moved during the first reading are read again before they are reported.

use machine::{CpuSet, Machine};
use root::{Live, Root};
use std::fs;
use std::path::Path;

fn write_task(dir: &Path, tid: u32, state: char, flags: u32, start: u64, mask: &str) {
    let stat = format!(
        "{tid} (sh) {state} 1 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 {start} {}",
        "0 ".repeat(40)
    );
    let status = format!("Tgid:\t{tid}\nCpus_allowed_list:\t{mask}\n");
    // A thread is found through its process, and read again by its own number.
    for place in [format!("proc/{tid}"), format!("proc/{tid}/task/{tid}")] {
        let proc = dir.join(place);
        fs::create_dir_all(&proc).unwrap();
        fs::write(proc.join("stat"), &stat).unwrap();
        fs::write(proc.join("status"), &status).unwrap();
    }
}

#[test]
fn ended_tasks_are_dropped_and_others_get_their_current_state() {
    let dir = tempfile::tempdir().unwrap();
    for tid in 11..=16 {
        write_task(dir.path(), tid, 'R', 0, 5, "0-1");
    }
    let root = Root::of(&Live::rehearsal(dir.path()));
    let machine = Machine::read(&root).with_tasks(&root);
    assert_eq!(machine.tasks.as_ref().map(Vec::len), Some(6));
    // Task 11 is unchanged and 12 has moved. 13 is gone, 14 is a zombie, 15 is exiting, and 16 is another task.
    write_task(dir.path(), 12, 'R', 0, 5, "0");
    fs::remove_dir_all(dir.path().join("proc/13")).unwrap();
    write_task(dir.path(), 14, 'Z', 0, 5, "0-1");
    write_task(dir.path(), 15, 'R', machine::Task::PF_EXITING, 5, "0-1");
    write_task(dir.path(), 16, 'R', 0, 6, "0-1");
    let again = machine.with_recheck(&root, |task| task.is_movable());
    let masks: Vec<_> = again
        .tasks
        .unwrap()
        .into_iter()
        .map(|task| (task.key.tid, task.allowed))
        .collect();
    let only = |list: &str| CpuSet::parse_list(list).ok();
    assert_eq!(masks, [(11, only("0-1")), (12, only("0"))]);
}
