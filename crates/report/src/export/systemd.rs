//! Exports the plan as systemd units: a service that applies and undoes it, and drop-ins that restrict systemd's own slices.
//!
//! `AllowedCPUs=` and `AllowedMemoryNodes=` exist since systemd 244 and work on cgroup v2 only (systemd.resource-control(5)).

use super::{ExportForm, ExportObstacle, ExportSubject, ExportedFile, comment, comments, quote};
use machine::Version;

pub(super) const FORM: ExportForm = ExportForm {
    name: "systemd",
    about: "a service that runs quietcore at boot, with slices that stay away",
    write,
};

fn write(subject: &ExportSubject) -> Result<Vec<ExportedFile>, ExportObstacle> {
    let is_v2 = subject
        .hierarchy()
        .is_some_and(|hierarchy| hierarchy.version == Version::V2);
    let mut files = vec![service(subject, is_v2)];
    if is_v2 {
        let units = [
            ("init.scope", "Scope"),
            ("system.slice", "Slice"),
            ("user.slice", "Slice"),
            ("machine.slice", "Slice"),
        ];
        files.extend(units.map(|(unit, section)| drop_in(subject, unit, section)));
        files.push(slice(subject));
    }
    files.push(manager(subject, is_v2));
    Ok(files)
}

fn file(path: String, content: String) -> ExportedFile {
    ExportedFile {
        path,
        mode: 0o644,
        content,
    }
}

fn service(subject: &ExportSubject, is_v2: bool) -> ExportedFile {
    let plan = subject.plan;
    let slice = quote::unit_name(&plan.partition);
    let mut text = comments(&[
        "Makes the partition, moves tasks, interrupts and kernel work at boot, and takes all of it back when it is \
         stopped. Works with every version of systemd.",
        "The path of quietcore is a guess: change it to where the program is.",
    ]);
    if !is_v2 {
        text.push_str(&comment(
            "On this machine cpusets are cgroup v1, where systemd has no AllowedCPUs=. So there are no files for its \
             slices: the service alone moves their tasks, and children stay where their parents are.",
        ));
    }
    text.push_str(&subject.notes());
    let conflict = if is_v2 {
        format!("# Two cgroups cannot hold the same CPUs.\nConflicts={slice}.slice\n")
    } else {
        String::new()
    };
    text.push_str(&format!(
        "
[Unit]
Description=CPU {isolated} for partition {name} alone
# The way out: add quietcore=off to the boot line.
ConditionKernelCommandLine=!quietcore=off
# After network and remote login, so that a mistake can be undone remotely.
After=network.target ssh.service sshd.service systemd-user-sessions.service
{conflict}
[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutSec=120
ExecStart=/usr/local/bin/quietcore apply {arguments}
ExecStop=/usr/local/bin/quietcore undo

[Install]
WantedBy=multi-user.target
",
        isolated = plan.isolated,
        name = plan.partition,
        arguments = subject.arguments(quote::unit_argument).join(" "),
    ));
    file(
        format!("/etc/systemd/system/quietcore-{}.service", plan.partition),
        text,
    )
}

fn drop_in(subject: &ExportSubject, unit: &str, section: &str) -> ExportedFile {
    let plan = subject.plan;
    let mut text = comments(&[
        "systemd 244 or later, cgroup v2. Without it systemd may widen this unit to all CPUs again when it writes its \
         settings again. Active after `systemctl daemon-reload` or, at the latest, a reboot.",
        "Stopping the service does not undo this: remove the file for that.",
    ]);
    text.push_str(&format!("[{section}]\nAllowedCPUs={}\n", plan.housekeeping));
    file(
        format!("/etc/systemd/system/{unit}.d/quietcore-{}.conf", plan.partition),
        text,
    )
}

fn slice(subject: &ExportSubject) -> ExportedFile {
    let plan = subject.plan;
    let name = quote::unit_name(&plan.partition);
    let mut text = comments(&[
        &format!(
            "systemd 244 or later, cgroup v2. The way without quietcore: a service with Slice={name}.slice runs on \
             CPU {}, and the drop-ins keep the other slices away.",
            plan.isolated
        ),
        &format!(
            "What it cannot: the scheduler goes on balancing these CPUs (for that, boot with isolcpus=domain,{}), and \
             kernel threads and interrupts stay. It cannot be there together with quietcore's partition, which needs \
             the CPUs for itself; so starting one stops the other.",
            plan.isolated
        ),
    ]);
    text.push_str(&format!(
        "
[Unit]
Description=What runs on CPU {isolated}
Before=slices.target

[Slice]
AllowedCPUs={isolated}
",
        isolated = plan.isolated
    ));
    if let Some(nodes) = subject.memory_nodes() {
        text.push_str(&format!("AllowedMemoryNodes={nodes}\n"));
    }
    file(format!("/etc/systemd/system/{name}.slice"), text)
}

fn manager(subject: &ExportSubject, is_v2: bool) -> ExportedFile {
    let plan = subject.plan;
    let mut text = comments(&[
        "CPUAffinity= pins the first process, and with it every service that does not set its own. It takes a reboot \
         (or `systemctl daemon-reexec`, for what starts later), and it is a pin: no `undo` takes it from running \
         services again. So it is switched off here.",
        if is_v2 {
            "With AllowedCPUs= of the slices it is not needed."
        } else {
            "On cgroup v1 it is the only way of systemd itself to keep services away before the service has started."
        },
    ]);
    text.push_str(&format!("[Manager]\n#CPUAffinity={}\n", plan.housekeeping));
    file(
        format!("/etc/systemd/system.conf.d/quietcore-{}.conf", plan.partition),
        text,
    )
}
