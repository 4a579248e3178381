//! Level 3 for the changes of a measurement in tracefs: its instance, the shared settings, a kill at every step.

use crate::support::rehearsal::acting::dies;
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel};
use apply::tracing::{TracingSetting, TracingSettings, hold, release_own, second_instance_name, sweep};
use apply::{ApplyError, System};
use machine::TaskKey;
use root::Tracefs;

const TOP: &str = "/sys/kernel/tracing";
const PERIOD: &str = "osnoise/timerlat_period_us";
const CPUS: &str = "osnoise/cpus";

fn boot() -> SimKernel {
    let kernel = SimKernel::boot_with_settings(Rules::V2);
    for (file, text) in [
        (PERIOD, "500\n"),
        (CPUS, "0-3\n"),
        ("tracing_on", "1\n"),
        ("instances/of-somebody/tracing_on", "1\n"),
    ] {
        kernel.put(&format!("{TOP}/{file}"), text);
    }
    kernel
}

fn at(kernel: &SimKernel, file: &str) -> Option<String> {
    kernel.root().value(&format!("{TOP}/{file}")).unwrap()
}

fn holder(kernel: &SimKernel, tid: u32) -> TaskKey {
    machine::tasks::read_one(kernel.root(), tid).unwrap().key
}

const DEAD: TaskKey = TaskKey {
    tid: 100,
    start_time: 1,
};

fn timerlat() -> TracingSettings {
    TracingSettings {
        shared: vec![
            TracingSetting::must(CPUS, "3"),
            TracingSetting::must(PERIOD, "1000"),
            TracingSetting::may("osnoise/of-a-later-kernel", "1"),
        ],
        own: vec![
            TracingSetting::must("trace_clock", "mono"),
            TracingSetting::may("absent", "1"),
            TracingSetting::must("current_tracer", "timerlat"),
        ],
        ..TracingSettings::default()
    }
}

const CLOCK: &str = "trace_clock";

/// A second instance for a tracer that fills its buffers, and a shared file that shows its choices with brackets.
fn functions() -> TracingSettings {
    TracingSettings {
        shared: vec![TracingSetting::must(CLOCK, "mono_raw")],
        beside: vec![
            TracingSetting::must("tracing_cpumask", "8"),
            TracingSetting::must("current_tracer", "function_graph"),
        ],
        ..timerlat()
    }
}

#[test]
fn a_second_instance_is_created_and_removed_with_the_first() {
    let tracefs = Tracefs::at(TOP);
    let boot = || {
        let kernel = boot();
        kernel.put(&format!("{TOP}/{CLOCK}"), "local [global] mono mono_raw\n");
        kernel
    };
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    let before = kernel.dump();
    let one = holder(&kernel, 100);
    let path = hold(&kernel, &disk, &tracefs, one, &functions()).unwrap();
    let second = second_instance_name(&path);
    assert_eq!(second, "instances/quietcore-100-2");
    let tracer = |path: &str| at(&kernel, &format!("{path}/current_tracer"));
    assert_eq!(tracer(&path).unwrap(), "timerlat");
    assert_eq!(tracer(&second).unwrap(), "function_graph");
    assert_eq!(at(&kernel, CLOCK).unwrap(), "mono_raw");
    assert!(release_own(&kernel, &disk, &tracefs, one).unwrap().is_empty());
    assert_eq!(
        at(&kernel, CLOCK).unwrap(),
        "global",
        "the word, not the line, is what the file takes"
    );
    kernel.put(&format!("{TOP}/{CLOCK}"), "local [global] mono mono_raw\n");
    assert_eq!(kernel.dump(), before);

    // The second instance is in use: both and the ledger stay, and the next call removes them.
    hold(&kernel, &disk, &tracefs, DEAD, &functions()).unwrap();
    let dir = format!("{TOP}/{second}");
    kernel.refusals.borrow_mut().insert(dir.clone(), libc::EBUSY);
    let left = sweep(&kernel, &disk).unwrap();
    assert!(left[0].starts_with(&dir), "{left:?}");
    assert_eq!(tracer(&path).unwrap(), "timerlat");
    kernel.refusals.borrow_mut().clear();
    assert!(sweep(&kernel, &disk).unwrap().is_empty());
    assert_eq!(tracer(&path), None);

    let work = |kernel: &SimKernel, disk: &SimDisk| {
        hold(kernel, disk, &tracefs, DEAD, &functions()).unwrap();
    };
    let whole = boot();
    work(&whole, &SimDisk::new(&whole));
    for death in (1..=whole.steps.get()).flat_map(|step| [Death::Before(step), Death::After(step)]) {
        let kernel = boot();
        let disk = SimDisk::new(&kernel);
        kernel.death.set(death);
        assert!(dies(|| work(&kernel, &disk)), "{death:?} did not die");
        kernel.death.set(Death::Never);
        sweep(&kernel, &disk).unwrap();
        let names = kernel.root().names(&format!("{TOP}/instances")).unwrap();
        assert_eq!(names.unwrap(), ["of-somebody"], "{death:?}");
        assert!(at(&kernel, CLOCK).unwrap().contains("global"), "{death:?}");
    }
}

#[test]
fn release_restores_the_former_settings() {
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    let tracefs = Tracefs::at(TOP);
    let before = kernel.dump();
    let one = holder(&kernel, 100);
    let path = hold(&kernel, &disk, &tracefs, one, &timerlat()).unwrap();
    assert_eq!(path, "instances/quietcore-100");
    assert_eq!(at(&kernel, &format!("{path}/current_tracer")).unwrap(), "timerlat");
    assert_eq!(at(&kernel, PERIOD).unwrap(), "1000");
    assert!(sweep(&kernel, &disk).unwrap().is_empty());
    assert_eq!(at(&kernel, PERIOD).unwrap(), "1000", "its owner lives");
    // A second process can have its own instance. With shared settings it is refused before anything is written.
    let two = holder(&kernel, 102);
    let between = kernel.dump();
    let refused = hold(&kernel, &disk, &tracefs, two, &timerlat()).unwrap_err();
    assert!(matches!(refused, ApplyError::Tracing { pid: 100 }), "{refused}");
    assert_eq!(kernel.dump(), between);
    let own = TracingSettings {
        shared: Vec::new(),
        ..timerlat()
    };
    hold(&kernel, &disk, &tracefs, two, &own).unwrap();
    assert!(release_own(&kernel, &disk, &tracefs, one).unwrap().is_empty());
    assert!(at(&kernel, "instances/quietcore-102/trace_clock").is_some());
    assert!(release_own(&kernel, &disk, &tracefs, two).unwrap().is_empty());
    assert_eq!(kernel.dump(), before);
}

const SIZE: &str = "per_cpu/cpu3/buffer_size_kb";

/// The tracer comes first, because its start allocates the buffers of a trace that was never used.
fn in_the_shared_trace() -> TracingSettings {
    TracingSettings {
        shared: vec![
            TracingSetting::must("current_tracer", "function_graph"),
            TracingSetting::may(SIZE, "16384"),
        ],
        ..TracingSettings::default()
    }
}

#[test]
fn the_former_buffer_size_of_one_cpu_is_restored() {
    let tracefs = Tracefs::at(TOP);
    let boot = |whole: &str, size: &str| {
        let kernel = boot();
        for (file, text) in [("buffer_size_kb", whole), (SIZE, size), ("current_tracer", "nop\n")] {
            kernel.put(&format!("{TOP}/{file}"), text);
        }
        kernel
    };
    for (whole, size, back) in [
        ("1408\n", "1408\n", "1408"),
        ("X\n", "5000\n", "5000"),
        // The trace was never used. Its buffer gets the size of the first use back, not the two pages before that.
        ("7 (expanded: 1408)\n", "7\n", "1408"),
    ] {
        let kernel = boot(whole, size);
        let disk = SimDisk::new(&kernel);
        let one = holder(&kernel, 100);
        hold(&kernel, &disk, &tracefs, one, &in_the_shared_trace()).unwrap();
        assert_eq!(at(&kernel, SIZE).unwrap(), "16384");
        // In the kernel, starting the tracer has this effect.
        kernel.put(
            &format!("{TOP}/buffer_size_kb"),
            if whole.starts_with('X') { "X\n" } else { "1408\n" },
        );
        assert!(release_own(&kernel, &disk, &tracefs, one).unwrap().is_empty());
        assert_eq!(at(&kernel, SIZE).unwrap(), back, "{whole}");
        assert_eq!(at(&kernel, "current_tracer").unwrap(), "nop");
    }
    // The kernel rounds the size to whole pages. Any other value is from another program.
    for (says, back, left) in [("16387", "1408", 0), ("1410", "1410", 0), ("20000", "20000", 1)] {
        let kernel = boot("1408\n", "1408\n");
        let disk = SimDisk::new(&kernel);
        let one = holder(&kernel, 100);
        hold(&kernel, &disk, &tracefs, one, &in_the_shared_trace()).unwrap();
        kernel.put(&format!("{TOP}/{SIZE}"), &format!("{says}\n"));
        let reported = release_own(&kernel, &disk, &tracefs, one).unwrap();
        assert_eq!(reported.len(), left, "{says}: {reported:?}");
        assert_eq!(at(&kernel, SIZE).unwrap().trim(), back, "{says}");
    }
    let work = |kernel: &SimKernel, disk: &SimDisk| {
        hold(kernel, disk, &tracefs, DEAD, &in_the_shared_trace()).unwrap();
    };
    let (unused, used) = (("7 (expanded: 1408)\n", "7\n"), ("1408\n", "1408\n"));
    for (whole, size) in [unused, used] {
        let kernel = boot(whole, size);
        work(&kernel, &SimDisk::new(&kernel));
        for death in (1..=kernel.steps.get()).flat_map(|step| [Death::Before(step), Death::After(step)]) {
            let kernel = boot(whole, size);
            let disk = SimDisk::new(&kernel);
            kernel.death.set(death);
            assert!(dies(|| work(&kernel, &disk)), "{death:?} did not die");
            kernel.death.set(Death::Never);
            let left = sweep(&kernel, &disk).unwrap();
            assert!(left.is_empty(), "{death:?}: {left:?}");
            let now = at(&kernel, SIZE).unwrap();
            assert!(now == size.trim() || now == "1408", "{death:?}: {now}");
            assert_eq!(at(&kernel, "current_tracer").unwrap(), "nop", "{death:?}");
        }
    }
}

#[test]
fn a_refusal_undoes_earlier_steps() {
    for (file, errno) in [
        (format!("{TOP}/{PERIOD}"), libc::EINVAL),
        (format!("{TOP}/instances/quietcore-100/current_tracer"), libc::EBUSY),
    ] {
        let kernel = boot();
        let disk = SimDisk::new(&kernel);
        let before = kernel.dump();
        kernel.refusals.borrow_mut().insert(file.clone(), errno);
        let error = hold(&kernel, &disk, &Tracefs::at(TOP), holder(&kernel, 100), &timerlat()).unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("cannot write {file}")),
            "{error}"
        );
        assert_eq!(kernel.dump(), before);
    }
}

#[test]
fn instances_and_values_of_other_programs_are_left_alone() {
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    let tracefs = Tracefs::at(TOP);
    let one = holder(&kernel, 100);
    kernel.put(&format!("{TOP}/instances/quietcore-100/tracing_on"), "1\n");
    let before = kernel.dump();
    let error = hold(&kernel, &disk, &tracefs, one, &timerlat()).unwrap_err();
    assert!(matches!(error, ApplyError::Exists { .. }), "{error}");
    assert_eq!(kernel.dump(), before);
    let two = holder(&kernel, 102);
    hold(&kernel, &disk, &tracefs, two, &timerlat()).unwrap();
    kernel.put(&format!("{TOP}/{PERIOD}"), "77\n");
    let left = release_own(&kernel, &disk, &tracefs, two).unwrap();
    assert!(
        left[0].contains("`77`, set by another program") && left[0].contains("`500`"),
        "{left:?}"
    );
    assert_eq!(at(&kernel, PERIOD).unwrap(), "77");
    assert_eq!(at(&kernel, CPUS).unwrap(), "0-3");
}

/// An instance that is being read cannot be removed. The next call removes it.
#[test]
fn an_instance_in_use_is_removed_later() {
    let kernel = boot();
    let disk = SimDisk::new(&kernel);
    let before = kernel.dump();
    let path = hold(&kernel, &disk, &Tracefs::at(TOP), DEAD, &timerlat()).unwrap();
    let dir = format!("{TOP}/{path}");
    kernel.refusals.borrow_mut().insert(dir.clone(), libc::EBUSY);
    let left = sweep(&kernel, &disk).unwrap();
    assert!(left[0].starts_with(&dir), "{left:?}");
    kernel.refusals.borrow_mut().clear();
    assert!(sweep(&kernel, &disk).unwrap().is_empty());
    assert_eq!(kernel.dump(), before);
}

#[test]
fn a_kill_at_any_step_is_undone() {
    let tracefs = Tracefs::at(TOP);
    let work = |kernel: &SimKernel, disk: &SimDisk| {
        hold(kernel, disk, &tracefs, DEAD, &timerlat()).unwrap();
        release_own(kernel, disk, &tracefs, DEAD).unwrap();
    };
    let whole = boot();
    work(&whole, &SimDisk::new(&whole));
    let last = whole.steps.get();
    assert!(last >= 10, "{last}");
    for death in (1..=last).flat_map(|step| [Death::Before(step), Death::Torn(step), Death::After(step)]) {
        let kernel = boot();
        let disk = SimDisk::new(&kernel);
        let before = kernel.dump();
        kernel.death.set(death);
        assert!(dies(|| work(&kernel, &disk)), "{death:?} did not die");
        kernel.death.set(Death::Never);
        sweep(&kernel, &disk).unwrap();
        // A torn record stays until the next one is written.
        let one = holder(&kernel, 102);
        hold(&kernel, &disk, &tracefs, one, &timerlat()).unwrap();
        assert_eq!(at(&kernel, PERIOD).unwrap(), "1000", "{death:?}");
        release_own(&kernel, &disk, &tracefs, one).unwrap();
        assert_eq!(kernel.dump(), before, "{death:?}");
    }
}
