//! Exports the plan as `cgconfig.conf` of libcgroup with its service, as Machinekit's manual sets up `/rt` on cgroup v1.
//!
//! The configuration contains the cpusets; the service does everything else (existing tasks, interrupts, workqueues).

use super::{ExportForm, ExportObstacle, ExportSubject, ExportedFile, comment, comments, quote};
use machine::{Hierarchy, Version};
use plan::{Action, TaskSelector, UndoMethod};

pub(super) const FORM: ExportForm = ExportForm {
    name: "cgconfig",
    about: "cgconfig.conf of libcgroup and its service, for cgroup v1",
    write,
};

const CONFIGURATION: &str = "/etc/cgconfig.conf";

fn write(subject: &ExportSubject) -> Result<Vec<ExportedFile>, ExportObstacle> {
    match subject.hierarchy() {
        Some(hierarchy) if hierarchy.version == Version::V1 => Ok(vec![
            ExportedFile {
                path: CONFIGURATION.to_owned(),
                mode: 0o644,
                content: configuration(subject, hierarchy),
            },
            ExportedFile {
                path: format!(
                    "/etc/systemd/system/quietcore-{}-cgconfig.service",
                    subject.plan.partition
                ),
                mode: 0o644,
                content: service(subject),
            },
        ]),
        Some(_) => Err(ExportObstacle {
            why: "cpusets use cgroup v2 on this machine; cgconfig.conf cannot create a partition there and verify it"
                .to_owned(),
            next: "use --format systemd or --format shell".to_owned(),
        }),
        None => Err(ExportObstacle {
            why: "no cpuset controller is mounted on this machine, and cgconfig.conf configures nothing else"
                .to_owned(),
            next: "use --format shell".to_owned(),
        }),
    }
}

fn configuration(subject: &ExportSubject, hierarchy: &Hierarchy) -> String {
    let plan = subject.plan;
    let mut text = comments(&[
        &format!(
            "{}, CPU {} for everything else: cpusets of cgroup v1, created by `cgconfigparser -l {CONFIGURATION}`.",
            subject.promise(),
            plan.housekeeping
        ),
        "To let a user put tasks in, write the name under `task`; to let a user change the set too, under `admin`.",
        "Limits: this file does not move existing tasks, stop load balancing in the root, or move interrupts and \
         kernel work. The service next to it does. Nothing here works on cgroup v2.",
    ]);
    text.push_str(&subject.notes());
    for change in subject.changes() {
        if let Action::MakeSet { path } = &change.action {
            let name = path
                .strip_prefix(&hierarchy.mount)
                .unwrap_or(path)
                .trim_start_matches('/');
            text.push('\n');
            text.push_str(&comment(&change.why));
            let permissions = permissions(subject, path);
            text.push_str(&format!("group {name} {{\n{permissions}    cpuset {{\n"));
            for (file, value) in values(subject, path) {
                text.push_str(&format!("        {file} = \"{value}\";\n"));
            }
            text.push_str("    }\n}\n");
        }
    }
    text
}

/// Permissions: adding tasks to a set, and changing it.
fn permissions(subject: &ExportSubject, set: &str) -> String {
    let owner = subject.changes().find_map(|change| match &change.action {
        Action::GiveFile { path, uid, gid, .. } if path.starts_with(&format!("{set}/")) => {
            let group = gid.map_or_else(|| "root".to_owned(), |gid| gid.to_string());
            Some((uid.to_string(), group))
        }
        _ => None,
    });
    let (uid, gid) = owner.unwrap_or_else(|| ("root".to_owned(), "root".to_owned()));
    format!(
        "    perm {{
        task {{
            uid = {uid};
            gid = {gid};
        }}
        admin {{
            uid = root;
            gid = root;
        }}
    }}
"
    )
}

/// The files of a new set, in the order of the plan: no task can join before CPUs and memory nodes are set.
fn values<'a>(subject: &ExportSubject<'a>, set: &str) -> Vec<(&'a str, &'a str)> {
    let values = subject.changes().filter_map(|change| match &change.action {
        Action::Write {
            path,
            value,
            undo: UndoMethod::WithSet,
            ..
        } => {
            let (folder, file) = path.rsplit_once('/')?;
            (folder == set).then_some((file, value.as_str()))
        }
        _ => None,
    });
    values.collect()
}

/// The lines of the service for changes that are not in the configuration.
#[derive(Default)]
struct ServiceLines {
    /// Run before the cpusets are made.
    before: String,
    /// Run after that.
    after: String,
    /// Undo them, in the order of the changes.
    stop: Vec<String>,
}

fn service_lines(subject: &ExportSubject) -> ServiceLines {
    let mut lines = ServiceLines::default();
    let mut made = false;
    for change in subject.changes() {
        match &change.action {
            Action::MakeSet { .. } => made = true,
            Action::Write {
                path,
                value,
                undo: UndoMethod::Restore,
                ..
            } => {
                let (word, start) = if made {
                    ("Post", &mut lines.after)
                } else {
                    ("Pre", &mut lines.before)
                };
                start.push_str(&comment(&change.why));
                start.push_str(&format!("ExecStart{word}=-{}\n", print_to(value, path)));
                lines.stop.push(match &change.before {
                    Some(former) => format!("ExecStop=-{}\n", print_to(former, path)),
                    None => comment(&format!("{path} is not restored: its former value is unknown.")),
                });
            }
            Action::MoveTasks { from, to, who, .. } => {
                lines.after.push_str(&comment(&change.why));
                let command = move_tasks(from, to, who);
                lines.after.push_str(&format!("ExecStartPost=-{command}\n"));
            }
            // Part of the configuration.
            Action::Write { .. } => {}
            // The permissions of the group.
            Action::GiveFile { .. } => {}
            Action::MakePartition { .. }
            | Action::NarrowTasks { .. }
            | Action::BanCpus { .. }
            | Action::CycleCpus { .. }
            | Action::StartSlice { .. }
            | Action::RemoveSet { .. } => {
                let missing = format!("Left out: {} ({})", change.target, change.why);
                lines.after.push_str(&comment(&missing));
            }
        }
    }
    lines
}

fn service(subject: &ExportSubject) -> String {
    let ServiceLines {
        before,
        after,
        mut stop,
    } = service_lines(subject);
    stop.reverse();
    let about = comments(&[
        "Creates the cpusets of /etc/cgconfig.conf at boot, then sets everything that is not a cgroup. Needs \
         cgconfigparser and cgclear (package cgroup-tools or libcgroup-tools).",
        "Limits: it does not verify writes; it does not keep pinning that the kernel drops when it moves a task \
         (before 6.2); stopping it restores the values of the day when it was written; it does not move kernel threads \
         that cannot change their cgroup, such as kthreadd. Interrupt numbers may differ after a reboot. A line that \
         fails is skipped.",
    ]);
    format!(
        "{about}
[Unit]
Description=CPU {isolated} for partition {name} alone (cgconfig)
# To skip this unit, add quietcore=off to the boot line.
ConditionKernelCommandLine=!quietcore=off
# After network and remote login, so that a mistake can be undone remotely.
After=network.target ssh.service sshd.service systemd-user-sessions.service

[Service]
Type=oneshot
RemainAfterExit=yes
Delegate=yes
{before}ExecStart=/usr/sbin/cgconfigparser -l {CONFIGURATION}
{after}
# Undo, in reverse order.
{stop}# Moves the tasks of the sets to the root, then removes the sets.
ExecStop=/usr/sbin/cgclear -l {CONFIGURATION}

[Install]
WantedBy=multi-user.target
",
        isolated = subject.plan.isolated,
        name = subject.plan.partition,
        stop = stop.concat(),
    )
}

fn print_to(value: &str, path: &str) -> String {
    let command = format!("echo {} >{}", quote::shell(value.trim()), quote::shell(path));
    format!("/bin/sh -c {}", quote::unit_argument(&command))
}

/// In passes, because a task that forks while it is moved leaves children behind; tasks that the kernel refuses stay.
fn move_tasks(from: &str, to: &str, movers: &TaskSelector) -> String {
    let which = match movers {
        TaskSelector::All | TaskSelector::These(_) => "",
        // Kernel threads have no executable.
        TaskSelector::UserSpace => "[ -e /proc/$tid/exe ] && ",
    };
    let command = format!(
        "for pass in 1 2 3 4 5; do while read tid; do {which}echo \"$tid\" >{to}; done <{from}; done 2>/dev/null",
        from = quote::shell(&format!("{from}/tasks")),
        to = quote::shell(&format!("{to}/tasks")),
    );
    format!("/bin/sh -c {}", quote::unit_argument(&command))
}
