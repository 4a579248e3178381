//! Level 3 with irqbalance: undo restores its list of banned CPUs, whenever the tool is killed.

use crate::support::rehearsal::acting::{dies, isolate_as, undo};
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel};
use apply::{ApplyOutcome, ChangeOutcome, Force, UndoOutcome, UndoTarget};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};

const PID: u32 = 200;

fn isolate(kernel: &SimKernel, disk: &SimDisk, name: &str, cpus: &str) -> ApplyOutcome {
    let cpus = CpuSet::parse_list(cpus).unwrap();
    let intent = Intent::new(PartitionName::new(name).unwrap(), cpus, Profile::Minimal);
    isolate_as(kernel, disk, &intent, || {}).unwrap()
}

fn run_undo(kernel: &SimKernel, disk: &SimDisk, which: UndoTarget, force: Force) -> UndoOutcome {
    undo(kernel, disk, which, force).unwrap()
}

/// Returns the list that irqbalance was sent (`own` for none) and the list that it uses.
fn list(kernel: &SimKernel) -> (String, String) {
    let mut balancer = kernel.balancer.borrow_mut();
    let it = balancer.as_mut().unwrap();
    it.apply_bans();
    let received = it.received_ban.as_ref().map_or("own".to_owned(), ToString::to_string);
    (received, it.banned.to_string())
}

fn send_ban(kernel: &SimKernel, list: &str) {
    let mut balancer = kernel.balancer.borrow_mut();
    let it = balancer.as_mut().unwrap();
    it.received_ban = Some(CpuSet::parse_list(list).unwrap());
    it.apply_bans();
}

fn has(received: &str, banned: &str) -> (String, String) {
    (received.to_owned(), banned.to_owned())
}

fn finding_count(applied: &ApplyOutcome) -> usize {
    let findings = applied.findings.iter();
    findings
        .filter(|finding| finding.id.as_str() == "irqbalance-runs")
        .count()
}

fn outcome(applied: &ApplyOutcome) -> &ChangeOutcome {
    let entry = applied
        .entries
        .iter()
        .find(|entry| entry.change.starts_with("irqbalance/"));
    &entry.unwrap().outcome
}

#[test]
fn undo_restores_the_banned_list_after_a_kill_at_any_step() {
    for (own, somebody) in [("", None), ("1", None), ("", Some("2")), ("1", Some("2"))] {
        let ready = || {
            let kernel = SimKernel::boot(Rules::V2);
            kernel.balance(PID, own);
            if let Some(somebody) = somebody {
                send_ban(&kernel, somebody);
            }
            kernel
        };
        let before = list(&ready());
        let steps = {
            let kernel = ready();
            let disk = SimDisk::new(&kernel);
            let applied = isolate(&kernel, &disk, "rt", "3");
            assert_eq!((outcome(&applied), finding_count(&applied)), (&ChangeOutcome::Done, 0));
            let wanted = CpuSet::parse_list(somebody.unwrap_or(own)).unwrap();
            let wanted = wanted.or(&CpuSet::range(3, 3)).to_string();
            assert_eq!(list(&kernel), has(&wanted, &wanted));
            kernel.steps.get()
        };
        for at in 1..=steps {
            for death in [Death::Before(at), Death::After(at), Death::Torn(at)] {
                let kernel = ready();
                let disk = SimDisk::new(&kernel);
                kernel.death.set(death);
                dies(|| {
                    isolate(&kernel, &disk, "rt", "3");
                });
                kernel.death.set(Death::Never);
                let undone = run_undo(&kernel, &disk, UndoTarget::All, Force::No);
                assert!(undone.equal(), "{death:?}: {:?}", undone.remains());
                assert_eq!(list(&kernel), before, "{own:?} {somebody:?} {death:?}");
            }
        }
        // The undo itself is killed.
        for at in 1..=steps {
            let kernel = ready();
            let disk = SimDisk::new(&kernel);
            isolate(&kernel, &disk, "rt", "3");
            kernel.death.set(Death::Before(steps + at));
            dies(|| {
                run_undo(&kernel, &disk, UndoTarget::All, Force::No);
            });
            kernel.death.set(Death::Never);
            let undone = run_undo(&kernel, &disk, UndoTarget::All, Force::No);
            assert!(undone.equal(), "{at}: {:?}", undone.remains());
            assert_eq!(list(&kernel), before, "{own:?} {somebody:?}: undo died before {at}");
        }
    }
}

/// Whether the daemon scans immediately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanTiming {
    AtOnce,
    Later,
}

#[test]
fn the_list_is_right_for_two_partitions_whenever_the_daemon_polls() {
    let looks = [ScanTiming::AtOnce, ScanTiming::Later];
    let mut cases = Vec::new();
    for (first, left) in [("rt", "2"), ("fast", "3")] {
        for after_rt in looks {
            for after_fast in looks {
                cases.extend(looks.map(|after_undo| (first, left, [after_rt, after_fast, after_undo])));
            }
        }
    }
    for (first, left, [after_rt, after_fast, after_undo]) in cases {
        let kernel = SimKernel::boot(Rules::V2);
        kernel.balance(PID, "");
        let disk = SimDisk::new(&kernel);
        let look = |when| {
            if when == ScanTiming::AtOnce {
                kernel.balancer.borrow_mut().as_mut().unwrap().apply_bans();
            }
        };
        isolate(&kernel, &disk, "rt", "3");
        look(after_rt);
        isolate(&kernel, &disk, "fast", "2");
        look(after_fast);
        let case = format!("{first} goes first, looks {after_rt:?} {after_fast:?} {after_undo:?}");
        assert!(
            run_undo(&kernel, &disk, UndoTarget::Named(first), Force::No).equal(),
            "{case}"
        );
        look(after_undo);
        let received = kernel.balancer.borrow().as_ref().unwrap().received_ban.clone();
        assert_eq!(
            received.map(|received| received.to_string()),
            Some(left.to_owned()),
            "{case}"
        );
        assert!(run_undo(&kernel, &disk, UndoTarget::All, Force::No).equal(), "{case}");
        assert_eq!(list(&kernel), has("own", ""), "{case}");
    }
}

#[test]
fn a_daemon_that_bans_the_cpus_already_is_not_changed() {
    let kernel = SimKernel::boot(Rules::V2);
    kernel.balance(PID, "2-3");
    let disk = SimDisk::new(&kernel);
    assert_eq!(outcome(&isolate(&kernel, &disk, "rt", "3")), &ChangeOutcome::Already);
    assert_eq!(list(&kernel), has("own", "2-3"));
    assert!(run_undo(&kernel, &disk, UndoTarget::All, Force::No).equal());
    assert_eq!(list(&kernel), has("own", "2-3"));
}

#[test]
fn a_daemon_that_does_not_answer_is_reported() {
    let kernel = SimKernel::boot(Rules::V2);
    kernel.balance(PID, "");
    let disk = SimDisk::new(&kernel);
    kernel.balancer.borrow_mut().as_mut().unwrap().mute = true;
    let applied = isolate(&kernel, &disk, "rt", "3");
    assert_eq!(
        (outcome(&applied), finding_count(&applied)),
        (&ChangeOutcome::Refused(libc::ETIMEDOUT), 1)
    );
    assert!(run_undo(&kernel, &disk, UndoTarget::All, Force::No).equal());

    kernel.balancer.borrow_mut().as_mut().unwrap().mute = false;
    isolate(&kernel, &disk, "rt", "3");
    kernel.balancer.borrow_mut().as_mut().unwrap().mute = true;
    let undone = run_undo(&kernel, &disk, UndoTarget::All, Force::No);
    assert!(
        undone.failed.iter().any(|line| line.contains("keeps its list")),
        "{:?}",
        undone.failed
    );
    kernel.balancer.borrow_mut().as_mut().unwrap().mute = false;
    assert!(run_undo(&kernel, &disk, UndoTarget::All, Force::No).equal());
    assert_eq!(list(&kernel), has("own", ""));
}

#[test]
fn a_restart_or_another_list_since_apply_is_reported() {
    let kernel = SimKernel::boot(Rules::V2);
    kernel.balance(PID, "");
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "rt", "3");
    kernel.balance(201, "1");
    let again = isolate(&kernel, &disk, "rt", "3");
    let drift = again.findings.iter().find(|finding| finding.id.as_str() == "drift");
    assert!(
        drift.is_some_and(|drift| drift.message.contains("it restarted")),
        "{again:?}"
    );
    let undone = run_undo(&kernel, &disk, UndoTarget::All, Force::No);
    assert!(
        undone.equal() && undone.notes.iter().any(|note| note.contains("has ended")),
        "{undone:?}"
    );
    assert_eq!(list(&kernel), has("own", "1"));

    // Interrupts that irqbalance has placed since then do not count as drift.
    kernel.balance(PID, "");
    isolate(&kernel, &disk, "rt", "3");
    kernel.put("/proc/irq/25/smp_affinity_list", "1\n");
    let again = isolate(&kernel, &disk, "rt", "3");
    assert!(
        again.findings.iter().all(|finding| finding.id.as_str() != "drift"),
        "{:?}",
        again.findings
    );
    let undone = run_undo(&kernel, &disk, UndoTarget::All, Force::No);
    assert!(
        undone.equal() && undone.notes.iter().any(|note| note.contains("moved interrupts 25")),
        "{undone:?}"
    );
}

/// irqbalance never places such an interrupt, so another program moved it. That is drift.
#[test]
fn an_interrupt_banned_on_the_command_line_counts_as_drift() {
    const DEVICE: &str = "/sys/bus/pci/devices/0000:00:02.0";
    for (arguments, drifts) in [
        ("--foreground\0", false),
        ("--foreground\0--banirq=24\0", false),
        ("--foreground\0--banirq=25\0", true),
        ("-fi\x0025\0", true),
        ("--banmod=e1000\0", true),
        ("-m\0nvme\0", false),
        ("--policyscript=/etc/irq\0", false),
    ] {
        let kernel = SimKernel::boot(Rules::V2);
        kernel.balance(PID, "");
        kernel.put(
            &format!("/proc/{PID}/cmdline"),
            &format!("/usr/sbin/irqbalance\0{arguments}"),
        );
        kernel.put(&format!("{DEVICE}/msi_irqs/25"), "msi\n");
        let driver = kernel.dir.path().join(DEVICE.trim_start_matches('/')).join("driver");
        std::os::unix::fs::symlink("../../../bus/pci/drivers/e1000e", driver).unwrap();
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk, "rt", "3");
        kernel.put("/proc/irq/25/smp_affinity_list", "1\n");
        let again = isolate(&kernel, &disk, "rt", "3");
        let mut drift = again.findings.iter().filter(|finding| finding.id.as_str() == "drift");
        let is_it = |finding: &plan::Finding| finding.subject == "/proc/irq/25/smp_affinity_list";
        assert_eq!(drift.any(is_it), drifts, "{arguments:?}: {:?}", again.findings);
        let undone = run_undo(&kernel, &disk, UndoTarget::All, Force::No);
        let is_named = undone.drift.iter().any(|line| line.starts_with("/proc/irq/25/"));
        assert_eq!(is_named, drifts, "{arguments:?}: {undone:?}");
        let is_left = undone.notes.iter().any(|note| note.contains("moved interrupts 25"));
        assert_eq!(is_left, !drifts, "{arguments:?}: {undone:?}");
    }
}

/// irqbalance never writes the default mask of new interrupts.
#[test]
fn a_changed_default_mask_is_drift_even_with_irqbalance() {
    const FILE: &str = "/proc/irq/default_smp_affinity";
    let kernel = SimKernel::boot(Rules::V2);
    kernel.balance(PID, "");
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk, "rt", "3");
    kernel.put(FILE, "1\n");
    let again = isolate(&kernel, &disk, "rt", "3");
    let is_it = |finding: &&plan::Finding| finding.id.as_str() == "drift" && finding.subject == FILE;
    assert_eq!(again.findings.iter().filter(is_it).count(), 1, "{:?}", again.findings);
}
