//! Level 3 for probes on kernel functions: the list is shared, and only our own lines are removed from it.

use crate::support::rehearsal::acting::dies;
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel};
use apply::kprobes::{Kprobe, ProbeGroup, exist, hold, missed, release_own, sweep};
use apply::{ApplyError, Storage, System};
use machine::TaskKey;
use root::Tracefs;

const TOP: &str = "/sys/kernel/tracing";
const FOREIGN_PROBES: &str = "p:kprobes/of_somebody do_sys_open\nr4:quietcore_1000/of_another vfs_read\n";

const DEAD: TaskKey = TaskKey {
    tid: 100,
    start_time: 1,
};

fn boot() -> SimKernel {
    let kernel = SimKernel::boot_with_settings(Rules::V2);
    kernel.put(&format!("{TOP}/tracing_on"), "1\n");
    kernel.put(&format!("{TOP}/kprobe_events"), FOREIGN_PROBES);
    kernel
}

fn list(kernel: &SimKernel) -> String {
    kernel.root().text(&format!("{TOP}/kprobe_events")).unwrap().unwrap()
}

fn live_task(kernel: &SimKernel) -> TaskKey {
    machine::tasks::read_one(kernel.root(), 100).unwrap().key
}

fn group(holder: TaskKey) -> ProbeGroup<'static> {
    let stem = "quietcore";
    ProbeGroup { holder, stem }
}

fn requested_probes() -> Vec<Kprobe> {
    let probe = |event: &str, functions: &[&str]| Kprobe {
        event: event.to_owned(),
        functions: functions.iter().map(|&name| name.to_owned()).collect(),
        fetches: "cpu=%di:u32".to_owned(),
    };
    vec![
        probe("one", &["native_smp_send_reschedule"]),
        probe("second_name", &["absent_here", "smp_call_function_many"]),
        probe("none", &["absent_here", "notrace_here"]),
    ]
}

#[test]
fn own_probes_are_added_and_removed_and_foreign_ones_stay() {
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    let tracefs = Tracefs::at(TOP);
    let before = kernel.dump();
    let one = live_task(&kernel);
    assert!(exist(&kernel, &tracefs).unwrap());
    let placed = hold(&kernel, &disk, &tracefs, group(one), &requested_probes()).unwrap();
    assert_eq!(placed.group, "quietcore_100");
    assert_eq!(
        list(&kernel),
        format!(
            "{FOREIGN_PROBES}p:quietcore_100/one native_smp_send_reschedule cpu=%di:u32\n\
             p:quietcore_100/second_name smp_call_function_many cpu=%di:u32\n"
        )
    );
    let pairs: Vec<(&str, &str)> = placed
        .probes
        .iter()
        .map(|(event, at)| (event.as_str(), at.as_str()))
        .collect();
    assert_eq!(
        pairs,
        [
            ("one", "native_smp_send_reschedule"),
            ("second_name", "smp_call_function_many")
        ]
    );
    let (refused, error) = &placed.refused[0];
    assert_eq!((refused.as_str(), error.errno()), ("none", Some(libc::EINVAL)));
    assert!(sweep(&kernel, &disk).unwrap().is_empty());
    assert!(list(&kernel).contains("quietcore_100/one"), "its owner lives");
    assert!(release_own(&kernel, &disk, &tracefs, one).unwrap().is_empty());
    assert_eq!(kernel.dump(), before);
}

/// The profile lists event names without their groups. Only the order identifies our lines.
#[test]
fn missed_hits_are_read_from_the_line_of_the_own_probe() {
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    let tracefs = Tracefs::at(TOP);
    let ask = || missed(&kernel, &tracefs, "quietcore_100").unwrap();
    hold(&kernel, &disk, &tracefs, group(live_task(&kernel)), &requested_probes()).unwrap();
    assert_eq!(ask(), None, "a kernel without the file does not say it");
    let profile = |lines: [(&str, u64, u64); 4]| {
        let line = |(name, hits, missed)| format!("  {name:<44} {hits:>15} {missed:>15}\n");
        kernel.put(&format!("{TOP}/kprobe_profile"), &lines.map(line).concat());
    };
    profile([
        ("of_somebody", 9, 8),
        ("of_another", 7, 6),
        ("one", 100, 3),
        ("second_name", 5, 0),
    ]);
    let ours = vec![("one".to_owned(), 3), ("second_name".to_owned(), 0)];
    assert_eq!(ask(), Some(ours));
    // In the meantime another program removed one probe and added another.
    profile([
        ("of_another", 7, 6),
        ("one", 100, 3),
        ("second_name", 5, 0),
        ("one", 1, 77),
    ]);
    assert_eq!(ask(), None);
    kernel.put(&format!("{TOP}/kprobe_profile"), "  of_somebody 9 8\n");
    assert_eq!(ask(), None, "a list that is shorter is another");
}

#[test]
fn if_every_probe_is_refused_nothing_is_left() {
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    let before = kernel.dump();
    kernel
        .refusals
        .borrow_mut()
        .insert(format!("{TOP}/kprobe_events"), libc::EPERM);
    let placed = hold(
        &kernel,
        &disk,
        &Tracefs::at(TOP),
        group(live_task(&kernel)),
        &requested_probes(),
    )
    .unwrap();
    assert!(placed.probes.is_empty());
    let errnos: Vec<_> = placed.refused.iter().map(|(_, error)| error.errno()).collect();
    assert_eq!(errnos, [Some(libc::EPERM); 3]);
    assert_eq!(kernel.dump(), before);
    assert!(disk.read("kprobes").unwrap().is_none(), "nothing is held");
    assert!(!exist(&kernel, &Tracefs::at("/sys/kernel/nowhere")).unwrap());
}

#[test]
fn a_foreign_group_with_that_name_is_left_alone() {
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    kernel.put(&format!("{TOP}/kprobe_events"), "p:quietcore_100/theirs vfs_read\n");
    let before = kernel.dump();
    let error = hold(
        &kernel,
        &disk,
        &Tracefs::at(TOP),
        group(live_task(&kernel)),
        &requested_probes(),
    )
    .unwrap_err();
    assert!(matches!(error, ApplyError::Exists { .. }), "{error}");
    assert_eq!(kernel.dump(), before);
}

/// A probe that is being traced cannot be removed. The next call removes it.
#[test]
fn a_probe_in_use_is_removed_later() {
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    let before = kernel.dump();
    hold(&kernel, &disk, &Tracefs::at(TOP), group(DEAD), &requested_probes()).unwrap();
    let file = format!("{TOP}/kprobe_events");
    kernel.refusals.borrow_mut().insert(file, libc::EBUSY);
    let left = sweep(&kernel, &disk).unwrap();
    assert!(
        left.len() == 2 && left[0].contains("events/quietcore_100/one"),
        "{left:?}"
    );
    kernel.refusals.borrow_mut().clear();
    assert!(sweep(&kernel, &disk).unwrap().is_empty());
    assert_eq!(kernel.dump(), before);
}

#[test]
fn a_kill_at_any_step_is_undone() {
    let tracefs = Tracefs::at(TOP);
    let work = |kernel: &SimKernel, disk: &SimDisk| {
        hold(kernel, disk, &tracefs, group(DEAD), &requested_probes()).unwrap();
        release_own(kernel, disk, &tracefs, DEAD).unwrap();
    };
    let whole = boot();
    work(&whole, &SimDisk::new(&whole));
    let last = whole.steps.get();
    assert!(last >= 6, "{last}");
    for death in (1..=last).flat_map(|step| [Death::Before(step), Death::Torn(step), Death::After(step)]) {
        let kernel = boot();
        let disk = SimDisk::new(&kernel);
        let before = kernel.dump();
        kernel.death.set(death);
        assert!(dies(|| work(&kernel, &disk)), "{death:?} did not die");
        kernel.death.set(Death::Never);
        sweep(&kernel, &disk).unwrap();
        assert_eq!(list(&kernel), FOREIGN_PROBES, "{death:?}");
        // A torn record stays until the next one is written.
        let one = live_task(&kernel);
        hold(&kernel, &disk, &tracefs, group(one), &requested_probes()).unwrap();
        release_own(&kernel, &disk, &tracefs, one).unwrap();
        assert_eq!(kernel.dump(), before, "{death:?}");
    }
}
