//! Exports the plan as systemd units: a service that applies and undoes it, and drop-ins that restrict systemd's own slices.
//!
//! `AllowedCPUs=` and `AllowedMemoryNodes=` exist since systemd 244 and work on cgroup v2 only (systemd.resource-control(5)).

use super::{ExportForm, ExportObstacle, ExportSubject, ExportedFile, comment, comments, quote};
use machine::Version;

pub(super) const FORM: ExportForm = ExportForm {
    name: "systemd",
    about: "a service that runs quietcore at boot, with slices that stay off these CPUs",
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
        "Creates the partition and moves tasks, interrupts and kernel work at boot, and undoes all of it when it is \
         stopped. Works with every version of systemd.",
        "The path of quietcore is a guess: change it to the installed program.",
    ]);
    if !is_v2 {
        text.push_str(&comment(
            "On this machine cpusets use cgroup v1, where systemd has no AllowedCPUs=. So there are no files for its \
             slices: only the service moves their tasks, and children stay with their parents.",
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
# To skip this unit, add quietcore=off to the boot line.
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
        "systemd 244 or later, cgroup v2. Without it systemd may widen this unit to all CPUs again when it rewrites \
         its settings. Active after `systemctl daemon-reload` or, at the latest, a reboot.",
        "Stopping the service does not undo this: remove the file to undo it.",
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
            "systemd 244 or later, cgroup v2. Isolation without quietcore: a service with Slice={name}.slice runs on \
             CPU {}, and the drop-ins move the other slices away.",
            plan.isolated
        ),
        &format!(
            "Limits: the scheduler still balances load over these CPUs (boot with isolcpus=domain,{} to change that), \
             and kernel threads and interrupts stay. It conflicts with quietcore's partition, which needs exclusive \
             CPUs, so starting one stops the other.",
            plan.isolated
        ),
    ]);
    text.push_str(&format!(
        "
[Unit]
Description=Programs on CPU {isolated}
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
        "CPUAffinity= pins the first process, and therefore every service that does not set its own. It needs a reboot \
         (or `systemctl daemon-reexec`, for services started later), and it is a pin: `undo` does not remove it from \
         running services. So it is disabled here.",
        if is_v2 {
            "With AllowedCPUs= of the slices it is not needed."
        } else {
            "On cgroup v1 only this setting moves services away before they start."
        },
    ]);
    text.push_str(&format!("[Manager]\n#CPUAffinity={}\n", plan.housekeeping));
    file(
        format!("/etc/systemd/system.conf.d/quietcore-{}.conf", plan.partition),
        text,
    )
}
