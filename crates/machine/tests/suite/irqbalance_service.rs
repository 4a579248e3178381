//! The systemd configuration of irqbalance: unit, drop-ins and environment files, on a machine and in its snapshot.

use machine::{Machine, capture, irqbalance};
use root::Root;
use std::os::unix::fs::symlink;
use std::path::Path;

const ETC: &str = "etc/systemd/system/irqbalance.service.d";
const RUN: &str = "run/systemd/system/irqbalance.service.d";
const LIB: &str = "usr/lib/systemd/system/irqbalance.service.d";
const UNIT: &str = "usr/lib/systemd/system/irqbalance.service";
const DEBIAN: &str = "etc/default/irqbalance";
const LIST: &str = "IRQBALANCE_BANNED_CPULIST";

/// The lines of Debian 12's unit that concern the environment.
const OF_DEBIAN: &str = "[Unit]\nDescription=irqbalance daemon\n[Service]\nEnvironmentFile=-/etc/default/irqbalance\n\
                         ExecStart=/usr/sbin/irqbalance --foreground $OPTIONS\n";

fn write_file(top: &Path, path: &str, text: &str) {
    let place = top.join(path);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    match text.strip_prefix("-> ") {
        Some(target) => symlink(target, place).unwrap(),
        None => std::fs::write(place, text).unwrap(),
    }
}

/// Returns each ban as its files and its CPUs.
fn bans(root: &Root) -> Vec<(String, String)> {
    let bans = Machine::read(root).irqbalance_bans.into_iter();
    bans.map(|ban| {
        let cpus = ban.banned.map_or_else(|_| ban.text, |cpus| cpus.to_string());
        (ban.paths.join(", "), cpus)
    })
    .collect()
}

/// Compares the bans of a machine with these files, and those of its snapshot.
fn check(what: &str, files: &[(String, String)], expected: &[(&str, &str)]) {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("machine");
    write_file(&top, "proc/version", "Linux version 6.1.0\n");
    for (path, text) in files {
        write_file(&top, path, text);
    }
    let expected: Vec<(String, String)> = expected
        .iter()
        .map(|(path, cpus)| (format!("/{path}"), (*cpus).to_owned()))
        .collect();
    let root = Root::open(&top).unwrap();
    assert_eq!(bans(&root), expected, "{what}");
    let archive = dir.path().join("snapshot.tar");
    capture::capture(&root, &archive, "test", &[]).unwrap();
    assert_eq!(bans(&Root::open(&archive).unwrap()), expected, "{what}, snapshot");
}

fn file(path: &str, text: &str) -> (String, String) {
    (path.to_owned(), text.to_owned())
}

fn unit() -> (String, String) {
    file(UNIT, OF_DEBIAN)
}

/// A drop-in with these lines.
fn drop_in(dir: &str, name: &str, lines: &str) -> (String, String) {
    file(&format!("{dir}/{name}"), &format!("[Service]\n{lines}\n"))
}

fn sets(cpus: &str) -> String {
    format!("Environment={LIST}={cpus}")
}

#[test]
fn the_last_drop_in_by_name_decides_the_banned_cpus() {
    let first = format!("{ETC}/10-first.conf");
    check(
        "one",
        &[unit(), drop_in(ETC, "10-first.conf", &sets("2-3"))],
        &[(&first, "2-3")],
    );
    check(
        "without a unit",
        &[drop_in(ETC, "10-first.conf", &sets("2-3"))],
        &[(&first, "2-3")],
    );
    let both = [
        unit(),
        drop_in(ETC, "10-first.conf", &sets("2-3")),
        drop_in(LIB, "20-later.conf", &sets("1")),
    ];
    check("a later name", &both, &[(&format!("{LIB}/20-later.conf"), "1")]);
    check(
        "other files",
        &[
            unit(),
            drop_in(ETC, "a.txt", &sets("1")),
            file(&format!("{ETC}/b.conf"), "Environment=IRQBALANCE_BANNED_CPULIST=1\n"),
        ],
        &[],
    );
}

#[test]
fn etc_overrides_run_and_run_overrides_usr() {
    let all = [
        drop_in(ETC, "x.conf", &sets("1")),
        drop_in(RUN, "x.conf", &sets("2")),
        drop_in(LIB, "x.conf", &sets("3")),
    ];
    for (from, dir, cpus) in [(0, ETC, "1"), (1, RUN, "2"), (2, LIB, "3")] {
        check(dir, &all[from..], &[(&format!("{dir}/x.conf"), cpus)]);
    }
    let masked = [file(&format!("{ETC}/x.conf"), "-> /dev/null"), all[2].clone()];
    check("masked", &masked, &[]);
}

#[test]
fn an_empty_assignment_clears_earlier_ones() {
    let reset = [
        unit(),
        drop_in(ETC, "1.conf", &sets("1")),
        drop_in(ETC, "2.conf", "Environment="),
    ];
    check("variables", &reset, &[]);
    let own = file(DEBIAN, &format!("{LIST}=1\n"));
    let files = [unit(), own.clone(), drop_in(ETC, "1.conf", "EnvironmentFile=")];
    check("files", &files, &[]);
    let other = [
        unit(),
        own,
        drop_in(ETC, "1.conf", "EnvironmentFile=\nEnvironmentFile=-/srv/balance"),
        file("srv/balance", &format!("TOKEN=x\n{LIST}=\"2\"\n")),
    ];
    check("another file", &other, &[("srv/balance", "2")]);
}

#[test]
fn environment_files_override_variables_and_the_last_file_counts() {
    let own = file(DEBIAN, &format!("{LIST}=1\n"));
    let both = [unit(), own.clone(), drop_in(ETC, "1.conf", &sets("2"))];
    check("a file and a variable", &both, &[(DEBIAN, "1")]);
    let two = [
        unit(),
        own.clone(),
        drop_in(ETC, "1.conf", "EnvironmentFile=/srv/balance"),
        file("srv/balance", &format!("{LIST}=3\n")),
    ];
    check("two files", &two, &[("srv/balance", "3")]);
    let unread = [unit(), file("etc/sysconfig/irqbalance", &format!("{LIST}=1\n"))];
    check("a file that the unit does not name", &unread, &[]);
    let several = drop_in(
        ETC,
        "1.conf",
        &format!("Environment=\"A=b c\" '{LIST}=4-3' IRQBALANCE_ARGS=-j"),
    );
    check(
        "several in one line",
        &[unit(), several],
        &[(&format!("{ETC}/1.conf"), "IRQBALANCE_BANNED_CPULIST=4-3")],
    );
}

#[test]
fn a_masked_unit_counts_as_absent() {
    let own = file(DEBIAN, &format!("{LIST}=1\n"));
    let masked = file("etc/systemd/system/irqbalance.service", "-> /dev/null");
    let files = [unit(), own.clone(), masked, drop_in(ETC, "1.conf", &sets("2"))];
    check("masked", &files, &[(DEBIAN, "1")]);
    let replaced = file("etc/systemd/system/irqbalance.service", "[Service]\nExecStart=/x\n");
    check("replaced", &[unit(), own, replaced], &[]);
}

/// Writes the files of `/proc` that show a process.
fn process(top: &Path, pid: u32, comm: &str, arguments: &str) {
    let stat = format!(
        "{pid} ({comm}) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1000{}\n",
        " 0".repeat(30)
    );
    for dir in [format!("proc/{pid}"), format!("proc/{pid}/task/{pid}")] {
        write_file(top, &format!("{dir}/stat"), &stat);
        write_file(
            top,
            &format!("{dir}/status"),
            &format!("Name:\t{comm}\nTgid:\t{pid}\nCpus_allowed_list:\t0\n"),
        );
    }
    write_file(top, &format!("proc/{pid}/cmdline"), arguments);
}

#[test]
fn a_snapshot_has_the_command_line_of_irqbalance_and_of_no_other_process() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("machine");
    process(
        &top,
        200,
        "irqbalance",
        "/usr/sbin/irqbalance\0--banirq=24\0--banmod=e1000\0",
    );
    process(&top, 201, "other", "other\0--token=x\0");
    for (device, driver, irq) in [("0000:00:02.0", "e1000e", 25), ("0000:00:03.0", "nvme", 26)] {
        let at = format!("sys/bus/pci/devices/{device}");
        write_file(&top, &format!("{at}/msi_irqs/{irq}"), "msi\n");
        write_file(
            &top,
            &format!("{at}/driver"),
            &format!("-> ../../../../bus/pci/drivers/{driver}"),
        );
    }
    let pin = "sys/bus/pci/devices/0000:00:04.0";
    write_file(&top, &format!("{pin}/irq"), "11\n");
    write_file(&top, &format!("{pin}/driver"), "-> ../../../../bus/pci/drivers/e1000");
    let left_alone = |root: &Root| {
        let machine = Machine::read(root).with_tasks(root);
        let daemon = machine.irqbalance().unwrap();
        irqbalance::left_alone(root, daemon).into_iter().collect::<Vec<_>>()
    };
    let root = Root::open(&top).unwrap();
    assert_eq!(left_alone(&root), [11, 24, 25]);
    let archive = dir.path().join("snapshot.tar");
    capture::capture(&root, &archive, "test", &[]).unwrap();
    let captured = Root::open(&archive).unwrap();
    assert_eq!(left_alone(&captured), [11, 24, 25]);
    assert_eq!(captured.text("/proc/201/cmdline").unwrap(), None);
}

/// Returns the settings that cannot be evaluated, as file and text.
fn unjudged(files: &[(String, String)]) -> Vec<(String, String)> {
    let dir = tempfile::tempdir().unwrap();
    write_file(dir.path(), "proc/version", "Linux version 6.1.0\n");
    for (path, text) in files {
        write_file(dir.path(), path, text);
    }
    let found = Machine::read(&Root::open(dir.path()).unwrap()).irqbalance_unjudged;
    found.into_iter().map(|one| (one.path, one.text)).collect()
}

#[test]
fn environment_files_are_found_by_their_pattern() {
    check(
        "a pattern",
        &[
            unit(),
            drop_in(ETC, "10.conf", "EnvironmentFile=\nEnvironmentFile=-/etc/irq.d/*.env"),
            file("etc/irq.d/10-first.env", &format!("{LIST}=1\n")),
            file("etc/irq.d/20-last.env", &format!("{LIST}=2-3\n")),
            file("etc/irq.d/30-other.txt", &format!("{LIST}=7\n")),
        ],
        &[("etc/irq.d/20-last.env", "2-3")],
    );
}

#[test]
fn policy_scripts_hints_and_missing_files_are_reported() {
    let script = |name: &str| {
        file(
            "etc/default/irqbalance",
            &format!("{name}=\"--policyscript=/etc/p.sh -j\"\n"),
        )
    };
    let pair = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let expected = [pair("/etc/default/irqbalance", "--policyscript=/etc/p.sh")];
    assert_eq!(unjudged(&[script("IRQBALANCE_ARGS")]), expected, "without systemd");
    assert_eq!(
        unjudged(&[unit(), script("OPTIONS")]),
        expected,
        "with the unit of Debian"
    );
    assert_eq!(
        unjudged(&[unit(), script("IRQBALANCE_ARGS")]),
        [],
        "a variable that is not passed on"
    );
    let drop_in_path = format!("/{ETC}/10.conf");
    assert_eq!(
        unjudged(&[
            unit(),
            drop_in(
                ETC,
                "10.conf",
                "ExecStart=\nExecStart=/usr/sbin/irqbalance --hintpolicy exact"
            )
        ]),
        [pair(&drop_in_path, "--hintpolicy=exact")]
    );
    assert_eq!(
        unjudged(&[unit(), drop_in(ETC, "10.conf", "EnvironmentFile=/etc/irq/%H.env")]),
        [pair(&drop_in_path, "EnvironmentFile=/etc/irq/%H.env")]
    );
    assert_eq!(unjudged(&[unit()]), []);
}
