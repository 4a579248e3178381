//! Exports the plan as a profile of TuneD, which manages tuning on some distributions.
//!
//! TuneD isolates by affinity: its `scheduler` plug-in pins every thread and every interrupt, `sysfs` and `sysctl`
//! write files, `bootloader` edits the boot line. It creates no cpuset partition.

use super::{ExportForm, ExportObstacle, ExportSubject, ExportedFile, comment, comments};
use crate::style::safe;
use plan::{Action, UndoMethod};

pub(super) const FORM: ExportForm = ExportForm {
    name: "tuned",
    about: "a TuneD profile with its file of variables",
    write,
};

/// The TuneD equivalent of a change.
enum TunedEquivalent<'a> {
    /// A line of `[sysctl]`.
    Sysctl(String, &'a str),
    /// A line of `[sysfs]`.
    Sysfs(&'a str, &'a str),
    /// Done by `isolated_cores` of `[scheduler]`: threads, interrupts, the default for later ones.
    Scheduler,
    /// A cpuset partition.
    Partition,
    /// TuneD cannot express it.
    Nothing,
}

fn part(action: &Action) -> TunedEquivalent<'_> {
    match action {
        Action::MoveTasks { .. } | Action::NarrowTasks { .. } => TunedEquivalent::Scheduler,
        // Its own settings for irqbalance follow from the intent.
        Action::GiveFile { .. } | Action::BanCpus { .. } | Action::CycleCpus { .. } => TunedEquivalent::Nothing,
        Action::MakeSet { .. }
        | Action::RemoveSet { .. }
        | Action::StartSlice { .. }
        | Action::MakePartition { .. }
        | Action::Write {
            undo: UndoMethod::WithSet,
            ..
        } => TunedEquivalent::Partition,
        Action::Write { path, value, .. } => {
            if let Some(name) = path.strip_prefix("/proc/sys/") {
                // As in sysctl(8): a dot that belongs to a name becomes a slash.
                let swapped = name.chars().map(|letter| match letter {
                    '/' => '.',
                    '.' => '/',
                    other => other,
                });
                TunedEquivalent::Sysctl(swapped.collect(), value)
            } else if path.starts_with("/proc/irq/") {
                TunedEquivalent::Scheduler
            } else if path.contains("cpuset.") || path.ends_with("cgroup.subtree_control") {
                TunedEquivalent::Partition
            } else if path.starts_with("/sys/") {
                TunedEquivalent::Sysfs(path, value)
            } else {
                TunedEquivalent::Nothing
            }
        }
    }
}

fn write(subject: &ExportSubject) -> Result<Vec<ExportedFile>, ExportObstacle> {
    let name = format!("quietcore-{}", subject.plan.partition);
    let variables = format!("/etc/tuned/{name}-variables.conf");
    Ok(vec![
        ExportedFile {
            path: format!("/etc/tuned/{name}/tuned.conf"),
            mode: 0o644,
            content: profile(subject, &name, &variables),
        },
        ExportedFile {
            path: variables,
            mode: 0o644,
            content: format!(
                "{}isolated_cores={}\n",
                comment("The isolated CPUs, as a list. The profile reads it from here."),
                subject.plan.isolated
            ),
        },
    ])
}

/// The lines of a profile that write files.
#[derive(Default)]
struct ProfileLines {
    sysctl: String,
    sysfs: String,
    /// Comments about changes that TuneD cannot make.
    lost: String,
}

fn profile_lines(subject: &ExportSubject) -> ProfileLines {
    let mut lines = ProfileLines::default();
    for change in subject.changes() {
        // Only file names, but TuneD interprets line ends and `${` in a variables file.
        let plain = |text: &str| !text.contains(['$', '\n', '#', ';', '=']);
        match part(&change.action) {
            TunedEquivalent::Sysctl(key, value) if plain(&key) => {
                lines.sysctl.push_str(&format!("{key}={value}\n"));
            }
            TunedEquivalent::Sysfs(path, value) if plain(path) => {
                lines.sysfs.push_str(&format!("{path}={value}\n"));
            }
            TunedEquivalent::Scheduler | TunedEquivalent::Partition => {}
            TunedEquivalent::Sysctl(..) | TunedEquivalent::Sysfs(..) | TunedEquivalent::Nothing => {
                lines.lost.push_str(&comment(&format!(
                    "Left out, because TuneD cannot write it: {} ({})",
                    change.target, change.why
                )));
            }
        }
    }
    lines
}

fn profile(subject: &ExportSubject, name: &str, variables: &str) -> String {
    let plan = subject.plan;
    let lines = profile_lines(subject);
    let mut text = comments(&[
        &format!(
            "Activate it with `tuned-adm profile {name}`, undo it with `tuned-adm off`. Newer versions of TuneD keep \
             profiles in /etc/tuned/profiles: put the directory there then."
        ),
        "Limits: TuneD creates no cpuset partition (it supports cgroup v1 only, and no isolated partitions). The \
         scheduler stops balancing these CPUs only with isolcpus= in [bootloader], after a reboot. Threads and \
         interrupts are pinned instead, including later ones; `tuned-adm off` lets all of them run everywhere, \
         whatever their previous affinity.",
        "On Debian, [irqbalance] writes /etc/sysconfig/irqbalance, which irqbalance does not read there, and \
         [bootloader] needs /etc/grub.d/00_tuned; if that is missing, add the line by hand.",
    ]);
    if !subject.intent.irq_here.is_empty() {
        text.push_str(&comment(
            "Left out: the interrupts of --irq-here. [scheduler] moves every interrupt away from these CPUs.",
        ));
    }
    text.push_str(&lines.lost);
    text.push_str(&subject.notes());
    text.push_str(&format!(
        "
[main]
summary=CPU {} for partition {} alone
{}#include=cpu-partitioning

[variables]
include={variables}
",
        plan.isolated,
        plan.partition,
        comment(
            "TuneD's own profile does more than this plan: no deep idle states, no NMI watchdog, nosoftlockup, no huge \
             pages. Include it if you want that; it reads isolated_cores from here.",
        )
    ));
    for (section, lines) in [("sysctl", lines.sysctl), ("sysfs", lines.sysfs)] {
        if !lines.is_empty() {
            text.push_str(&format!("\n[{section}]\n{lines}"));
        }
    }
    text.push_str(
        "
[scheduler]
isolated_cores=${isolated_cores}

[irqbalance]
banned_cpus=${isolated_cores}
",
    );
    if let Some(line) = &plan.boot_line {
        let suffix = plan.partition.replace('-', "_");
        let line = safe(line);
        text.push_str(&format!("\n[bootloader]\ncmdline_quietcore_{suffix}=+{line}\n"));
    }
    text
}
