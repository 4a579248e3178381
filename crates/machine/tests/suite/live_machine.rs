//! The model of this machine, compared with other interfaces of the kernel and with its own snapshot.

use machine::{CpuId, CpuSet, Machine, Task, Version};
use root::{Origin, Root};
use std::collections::BTreeMap;

#[test]
fn the_model_agrees_with_other_sources_of_the_kernel() {
    let root = Root::live();
    let machine = Machine::read(&root).with_tasks(&root).with_interrupts(&root);
    assert_eq!(machine.origin, Origin::Live);
    let uname = rustix::system::uname();
    assert_eq!(machine.kernel.release.as_deref(), uname.release().to_str().ok());
    // The C library parses the same sysfs lists, so the scheduler's own mask is used for comparison.
    let own = rustix::thread::sched_getaffinity(None).unwrap();
    let allowed: CpuSet = (0..1024)
        .filter(|&cpu| own.is_set(cpu))
        .map(|cpu| CpuId(cpu as u32))
        .collect();
    assert!(
        allowed.is_subset(&machine.topology.online),
        "{allowed} of {}",
        machine.topology.online
    );
    let tasks = machine.tasks.unwrap();
    let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let mine = tasks.iter().find(|task| task.key.tid == me).unwrap();
    assert_eq!(mine.pid, std::process::id());
    assert_eq!(mine.allowed.as_ref(), Some(&allowed));
    assert!(!mine.is_kernel() && mine.is_movable());
    assert!(tasks.is_sorted_by_key(|task| task.key));
    let one = machine::tasks::read_one(&root, me).unwrap();
    assert_eq!((one.pid, one.key, &one.comm), (mine.pid, mine.key, &mine.comm));
    assert!(
        machine::tasks::read_process(&root, std::process::id())
            .iter()
            .any(|task| task.key == mine.key)
    );
    assert_eq!(machine::tasks::read_one(&root, u32::MAX), None);
    for cpu in machine.topology.cpus.iter().filter(|cpu| cpu.online) {
        assert!(cpu.siblings.as_ref().is_none_or(|set| set.contains(cpu.id)), "{cpu:?}");
        assert!(cpu.llc.as_ref().is_none_or(|set| set.contains(cpu.id)), "{cpu:?}");
    }
}

/// Returns the attributes of a task that do not change between two readings.
fn lasting(task: &Task) -> (u32, u32, Option<&CpuSet>, machine::Policy, u32, i32, Option<&str>) {
    let Task {
        pid,
        ppid,
        allowed,
        policy,
        rt_priority,
        nice,
        cgroup,
        ..
    } = task;
    (
        *pid,
        *ppid,
        allowed.as_ref(),
        *policy,
        *rt_priority,
        *nice,
        cgroup.as_deref(),
    )
}

#[test]
fn a_snapshot_gives_the_same_machine() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("here.tar.gz");
    let live = Root::live();
    let read = |root: &Root| Machine::read(root).with_task_cgroups(root).with_interrupts(root);
    let before = read(&live);
    let summary = machine::capture::capture(&live, &path, "test", &[]).unwrap();
    println!(
        "{} files, {} links, {} bytes",
        summary.files, summary.links, summary.bytes
    );
    println!(
        "{} bytes packed; not readable: {:#?}",
        std::fs::metadata(&path).unwrap().len(),
        summary.unreadable
    );
    let captured = Root::open(&path).unwrap();
    let after = read(&captured);
    assert_eq!(after.origin, Origin::Captured);
    assert_eq!(after.kernel, before.kernel);
    assert_eq!(after.topology, before.topology);
    assert_eq!(after.isolation, before.isolation);
    assert_eq!(after.cgroups, before.cgroups);
    let strip = |machine: &Machine| {
        let mut all = machine.interrupts.clone().unwrap();
        for interrupt in &mut all {
            interrupt.counts.clear();
            interrupt.effective = None;
        }
        all
    };
    assert_eq!(strip(&after), strip(&before));
    let (old, new) = (before.tasks.unwrap(), after.tasks.unwrap());
    let known: BTreeMap<_, _> = old.iter().map(|task| (task.key, task)).collect();
    let both: Vec<_> = new
        .iter()
        .filter_map(|task| Some((task, *known.get(&task.key)?)))
        .collect();
    // Other tests and programs start and end; most remain.
    assert!(both.len() * 10 > old.len() * 7, "{} of {} tasks", both.len(), old.len());
    let changed = both.iter().filter(|(new, old)| lasting(new) != lasting(old)).count();
    assert!(changed * 20 <= both.len(), "{changed} of {} tasks differ", both.len());
    let manifest = captured
        .text(&format!("/{}", machine::capture::MANIFEST))
        .unwrap()
        .unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["schema"], "quietcore.snapshot/1");
    assert_eq!(manifest["files"], summary.files);
}

#[test]
fn the_cpuset_tree_is_found_if_it_exists() {
    let machine = Machine::read(&Root::live());
    let Some(tree) = &machine.cgroups.cpuset else {
        println!("SKIP: the_cpuset_tree_is_found_if_it_exists: no cpuset controller is mounted here");
        return;
    };
    let first = &tree.sets[0];
    assert_eq!(first.name, "/");
    assert!(first.effective_cpus.as_ref().is_some_and(|cpus| !cpus.is_empty()));
    assert!(tree.version == Version::V2 || first.sched_load_balance.is_some());
}
