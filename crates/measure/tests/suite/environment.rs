//! The stored description of the machine, for a captured one and for this one.

use machine::Machine;
use measure::Environment;
use root::Root;
use std::path::Path;

fn write(base: &Path, path: &str, text: &str) {
    let path = base.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn the_environment_of_a_captured_machine_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let cpu = "sys/devices/system/cpu";
    for (path, text) in [
        ("proc/sys/kernel/osrelease", "6.12.1-rt\n"),
        ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
        ("proc/cmdline", "ro isolcpus=2-3\n"),
        (
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: QEMU TCG CPU version 2.5+\nflags\t\t: fpu hypervisor\n\n",
        ),
        (
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc\n",
        ),
        (&format!("{cpu}/online"), "0-3\n"),
        (&format!("{cpu}/isolated"), "2-3\n"),
        (&format!("{cpu}/cpufreq/policy0/scaling_governor"), "powersave\n"),
        (&format!("{cpu}/cpufreq/policy1/scaling_governor"), "performance\n"),
        (&format!("{cpu}/cpufreq/policy2/scaling_governor"), "performance\n"),
    ] {
        write(dir.path(), path, text);
    }
    let root = Root::open(dir.path()).unwrap();
    let environment = Environment::of(&Machine::read(&root), &root, "1.2.3");
    assert_eq!(environment.tool_version, "1.2.3");
    assert_eq!(environment.release.as_deref(), Some("6.12.1-rt"));
    assert_eq!(environment.cmdline.as_deref(), Some("ro isolcpus=2-3"));
    assert_eq!(environment.governor.as_deref(), Some("performance,powersave"));
    assert_eq!(environment.sched_rt_runtime_us, Some(950_000));
    assert_eq!(environment.clocksource.as_deref(), Some("tsc"));
    assert_eq!(environment.online.to_string(), "0-3");
    assert_eq!(environment.boot_isolated.unwrap().to_string(), "2-3");
    assert_eq!(
        (environment.nohz_full, environment.partitioned),
        (None, None),
        "unknown is not empty"
    );
    assert!(environment.emulated, "{:?}", environment.hypervisor);
}

#[test]
fn the_environment_of_an_empty_root_is_unknown() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "proc/nothing", "");
    let root = Root::open(dir.path()).unwrap();
    let environment = Environment::of(&Machine::read(&root), &root, "");
    assert_eq!(
        (environment.release, environment.governor, environment.hypervisor),
        (None, None, None)
    );
    assert!(!environment.emulated && environment.online.is_empty());
}

#[test]
fn the_environment_of_this_machine_is_read() {
    let root = Root::live();
    let environment = Environment::of(&Machine::read(&root), &root, "0");
    assert_eq!(environment.release, root.value("/proc/sys/kernel/osrelease").unwrap());
    assert!(!environment.online.is_empty());
    let text = serde_json::to_string(&environment).unwrap();
    assert_eq!(serde_json::from_str::<Environment>(&text).unwrap(), environment);
}
