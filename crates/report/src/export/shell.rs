//! Exports the plan as a POSIX shell script that needs only `awk`, `taskset` and a few standard commands.
//!
//! Each change is one function that checks, saves, makes, undoes and verifies it. The parts that all of them share are in
//! `shell/functions.sh`; the script's verbs are in `shell/verbs.sh`.

use super::{ExportForm, ExportObstacle, ExportSubject, ExportedFile, comment, comments, quote};
use machine::Version;
use plan::{Action, Change, ReadbackComparison, RefusalPolicy, TaskSelector, UndoMethod};
use std::fmt::Write as _;

pub(super) const FORM: ExportForm = ExportForm {
    name: "shell",
    about: "a POSIX shell script with apply, undo and status",
    write,
};

const FUNCTIONS: &str = include_str!("shell/functions.sh");
const VERBS: &str = include_str!("shell/verbs.sh");

fn write(subject: &ExportSubject) -> Result<Vec<ExportedFile>, ExportObstacle> {
    let plan = subject.plan;
    let mut text = String::from("#!/bin/sh\n");
    text.push_str(&comment(&format!(
        "{}; everything else runs on CPU {}. Written by quietcore: makes the same changes as `quietcore apply {}`.",
        subject.promise(),
        plan.housekeeping,
        subject.arguments(quote::shell).join(" ")
    )));
    text.push_str("#\n");
    text.push_str(&comments(&[
        "Needs root, a POSIX shell, awk and taskset (util-linux or busybox). Arguments: apply, undo, status.",
        "Exit status: 0 done; 1 failed, or not as planned; 2 wrong usage; 3 not root (status: not applied); 4 wrong \
         machine, or not possible; 5 already applied, or another program changed something since then, which is \
         reported and left alone.",
        "Valid only until this machine restarts: interrupt numbers then change. Write it again after a restart.",
        "Limits compared with quietcore: `undo` restores the affinity of every thread that still exists, but not what \
         else the kernel changes because of a write (pinning in other cgroups, masks after a CPU went offline); \
         real-time threads that spin in the partition are not demoted first; the kernel's reason for a refusal is not \
         shown.",
    ]));
    let notes = subject.notes();
    if !notes.is_empty() {
        text.push_str("#\n");
        text.push_str(&notes);
    }
    let constants = [
        ("isolated", plan.isolated.to_string()),
        ("housekeeping", plan.housekeeping.to_string()),
        ("planned_online", plan.isolated.or(&plan.housekeeping).to_string()),
        ("state", format!("/run/quietcore-script-{}", plan.partition)),
    ];
    text.push_str("set -eu\nLC_ALL=C\nexport LC_ALL\n\n");
    for (name, value) in constants {
        let _ = writeln!(text, "{name}={}", quote::shell(&value));
    }
    text.push('\n');
    text.push_str(FUNCTIONS);
    let count = changes(subject, &mut text);
    text.push_str("forward() {\n");
    text.extend((1..=count).map(|number| format!("    change_{number} \"$1\"\n")));
    text.push_str("    :\n}\nbackward() {\n");
    text.extend((1..=count).rev().map(|number| format!("    change_{number} \"$1\"\n")));
    text.push_str("    :\n}\n\n");
    text.push_str(VERBS);
    Ok(vec![ExportedFile {
        path: format!("isolate-{}.sh", plan.partition),
        mode: 0o755,
        content: text,
    }])
}

/// Writes one function per change; returns their number.
fn changes(subject: &ExportSubject, text: &mut String) -> usize {
    let rule = "# ---- the changes, each with its reason ";
    let _ = writeln!(text, "{rule:-<114}\n");
    let mut count = 0;
    for change in subject.changes() {
        count += 1;
        text.push_str(&comment(&format!("{}: {}", change.id, change.why)));
        let _ = writeln!(text, "change_{count}() {{ {}; }}\n", call(subject, count, change));
    }
    count
}

fn call(subject: &ExportSubject, number: usize, change: &Change) -> String {
    match &change.action {
        Action::Write {
            path,
            value,
            compare,
            on_refusal,
            undo,
        } => {
            let (path, value) = (quote::shell(path), quote::shell(value));
            match undo {
                UndoMethod::WithSet => format!("inside \"$1\" {} {path} {value}", kind(*compare)),
                UndoMethod::Restore => format!(
                    "file \"$1\" {number} {} {} {path} {value}",
                    kind(*compare),
                    refusal(*on_refusal)
                ),
            }
        }
        Action::MakeSet { path } => make_set(subject, path),
        Action::MakePartition { path, words } => {
            format!("partition \"$1\" {} {}", quote::shell(path), words.join(" "))
        }
        Action::GiveFile { path, uid, gid, .. } => {
            let (owner, mode) = match gid {
                Some(gid) => (format!("{uid}:{gid}"), "g+w"),
                None => (uid.to_string(), "u+w"),
            };
            format!("owner \"$1\" {number} {} {owner} {mode}", quote::shell(path))
        }
        Action::StartSlice { unit, nodes, .. } => {
            format!("slice \"$1\" {} {}", quote::shell(unit), quote::shell(nodes))
        }
        // A shell script has no socket; the comment above says what to do manually.
        Action::BanCpus { .. } => ":".to_owned(),
        Action::RemoveSet { path } => format!("[ \"$1\" != apply ] || rmdir {}", quote::shell(path)),
        Action::MoveTasks { from, to, who, .. } => {
            let who = match who {
                TaskSelector::UserSpace => " user",
                // Single threads are named manually, which no exported plan does.
                TaskSelector::All | TaskSelector::These(_) => "",
            };
            format!("tasks_between \"$1\" {} {}{who}", quote::shell(from), quote::shell(to))
        }
        Action::NarrowTasks { .. } => "kernel_threads \"$1\"".to_owned(),
        Action::CycleCpus { cpus } => {
            let numbers: Vec<String> = cpus.iter().map(|cpu| cpu.0.to_string()).collect();
            format!("cycle \"$1\" {}", numbers.join(" "))
        }
    }
}

fn make_set(subject: &ExportSubject, path: &str) -> String {
    let (mount, members) = match subject.hierarchy() {
        Some(hierarchy) if hierarchy.version == Version::V1 => (hierarchy.mount.as_str(), "tasks"),
        Some(hierarchy) => (hierarchy.mount.as_str(), "cgroup.procs"),
        None => ("", "cgroup.procs"),
    };
    let (path, mount) = (quote::shell(path), quote::shell(mount));
    format!("cgroup \"$1\" {path} {mount} {members}")
}

/// Its name for `same` in the script.
fn kind(compare: ReadbackComparison) -> &'static str {
    match compare {
        ReadbackComparison::List | ReadbackComparison::Includes => "list",
        ReadbackComparison::Mask => "mask",
        ReadbackComparison::Text => "text",
        ReadbackComparison::Word => "word",
        ReadbackComparison::Choice => "choice",
    }
}

fn refusal(on_refusal: RefusalPolicy) -> &'static str {
    match on_refusal {
        RefusalPolicy::Fatal => "fatal",
        RefusalPolicy::Report => "report",
    }
}
