//! Formats `status`: what is isolated by what and since when, the last check, and what to type next.

use crate::check::means;
use crate::report_text::ReportText;
use crate::style::{Style, TextRole, counted, safe};
use check::{IntendedIsolation, IsolationMeans};
use machine::{CpuSet, utc_text};
use plan::Profile;
use serde::Serialize;

/// The schema of the document.
pub const STATUS_SCHEMA: &str = "quietcore.status/1";

/// What `status` shows.
pub struct MachineStatus<'a> {
    /// The online CPUs.
    pub online: &'a CpuSet,
    /// What isolates CPUs, or is declared to.
    pub isolations: Vec<StatusRow<'a>>,
    /// When the last check ended, in seconds since 1970, and its verdict, errors and warnings.
    pub last_check: Option<(u64, &'a str, usize, usize)>,
    /// A change started and did not end.
    pub is_change_unfinished: bool,
    /// Why a part is unknown, one line each.
    pub unseen: &'a [String],
    /// Whether root could see that part.
    pub needs_root: bool,
}

/// One isolation.
#[derive(Clone, Copy)]
pub struct StatusRow<'a> {
    /// The CPUs and what isolates them.
    pub isolation: &'a IntendedIsolation,
    /// When it was applied, in seconds since 1970; `None` for what quietcore did not apply.
    pub since_s: Option<u64>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct StatusDocument<'a> {
    schema: &'static str,
    /// The online CPUs.
    online: &'a CpuSet,
    /// The online CPUs that nothing isolates.
    housekeeping: CpuSet,
    /// What isolates CPUs, or is declared to.
    isolations: Vec<IsolationJson<'a>>,
    /// The last check; `None` if there was none since the isolation was applied.
    last_check: Option<LastCheckJson<'a>>,
    /// Whether a change started and did not finish.
    change_unfinished: bool,
    /// Why a part is unknown, one line each.
    unseen: &'a [String],
    /// What to type next.
    next: &'static str,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct IsolationJson<'a> {
    /// Name of the partition.
    partition: &'a str,
    /// Its CPUs.
    cpus: &'a CpuSet,
    /// Its profile.
    profile: Profile,
    /// What isolates them.
    means: &'a IsolationMeans,
    /// When it was applied: RFC 3339, UTC; `None` for what quietcore did not apply.
    since: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LastCheckJson<'a> {
    /// When it ended: RFC 3339, UTC.
    at: String,
    /// Its verdict.
    verdict: &'a str,
    /// Number of its errors.
    errors: usize,
    /// Number of its warnings.
    warnings: usize,
}

impl MachineStatus<'_> {
    /// The online CPUs that nothing isolates.
    fn housekeeping(&self) -> CpuSet {
        let active = self.isolations.iter().map(|row| row.isolation);
        let isolated = active.filter(|one| one.means.isolates()).map(|one| &one.intent.cpus);
        isolated.fold(self.online.clone(), |rest, cpus| rest.minus(cpus))
    }

    /// The command that helps now.
    fn next(&self) -> &'static str {
        let has = |wanted: fn(&IsolationMeans) -> bool| self.isolations.iter().any(|row| wanted(&row.isolation.means));
        match self.last_check {
            _ if self.is_change_unfinished => "`quietcore undo` rolls back the unfinished change",
            _ if has(|means| *means == IsolationMeans::Missing) => "`quietcore apply` activates what is declared",
            _ if self.isolations.is_empty() && self.needs_root => {
                "`sudo quietcore status` shows what is isolated; only root can read the journal"
            }
            _ if self.isolations.is_empty() => {
                "`quietcore inspect` shows the machine; `quietcore plan` proposes CPUs and lists the changes"
            }
            Some((_, "quiet", ..)) => {
                "`quietcore run -- PROGRAM` starts a program there; `quietcore blame` names interruptions"
            }
            Some(_) => "`quietcore check` shows what is wrong and how to fix it",
            None => "`quietcore check` compares the intended with the actual isolation",
        }
    }
}

/// The JSON document `quietcore.status/1`.
#[must_use]
pub fn status_json<'a>(status: &'a MachineStatus<'a>) -> impl Serialize + 'a {
    let isolation = |row: &StatusRow<'a>| IsolationJson {
        partition: row.isolation.intent.name.as_str(),
        cpus: &row.isolation.intent.cpus,
        profile: row.isolation.intent.profile,
        means: &row.isolation.means,
        since: row.since_s.map(utc_text),
    };
    StatusDocument {
        schema: STATUS_SCHEMA,
        online: status.online,
        housekeeping: status.housekeeping(),
        isolations: status.isolations.iter().map(isolation).collect(),
        last_check: status
            .last_check
            .map(|(at_s, verdict, errors, warnings)| LastCheckJson {
                at: utc_text(at_s),
                verdict,
                errors,
                warnings,
            }),
        change_unfinished: status.is_change_unfinished,
        unseen: status.unseen,
        next: status.next(),
    }
}

/// The status in one line.
#[must_use]
pub fn status_verdict(status: &MachineStatus) -> String {
    let isolated = status.online.minus(&status.housekeeping());
    match (isolated.is_empty(), status.needs_root) {
        (false, _) if status.unseen.is_empty() => format!("CPU {isolated} is isolated.\n"),
        (false, _) => format!("CPU {isolated} is isolated, as far as could be read.\n"),
        (true, true) => "What is isolated is not known without root.\n".to_owned(),
        (true, false) => "No CPU is isolated.\n".to_owned(),
    }
}

/// Formats the status for a terminal, about ten lines.
#[must_use]
pub fn status_text(status: &MachineStatus, style: Style) -> String {
    const INDENT: usize = 14;
    let mut text = ReportText::new(style);
    let mut line = |role: TextRole, label: &str, value: &str| text.marked((label, role), 0, INDENT, value);
    let mut labelled = None;
    for row in &status.isolations {
        let since = row
            .since_s
            .map_or_else(String::new, |since| format!(", since {}", utc_text(since)));
        let value = format!(
            "CPU {}: {}{since}",
            row.isolation.intent.cpus,
            safe(&means(row.isolation))
        );
        let (role, label) = match row.isolation.means.isolates() {
            true => (TextRole::Good, "Isolated"),
            false => (TextRole::Warning, "Not isolated"),
        };
        // A label is printed once for the rows that it describes.
        let is_new = labelled.replace(label) != Some(label);
        line(role, if is_new { label } else { "" }, &value);
    }
    let housekeeping = status.housekeeping();
    if housekeeping == *status.online {
        let none = match status.needs_root {
            true => "not known without root",
            false => "no CPU",
        };
        line(TextRole::Head, "Isolated", none);
    }
    line(TextRole::Head, "Housekeeping", &format!("CPU {housekeeping}"));
    if let Some((at_s, verdict, errors, warnings)) = status.last_check {
        let counts = format!("{}, {}", counted(errors, "error"), counted(warnings, "warning"));
        line(
            TextRole::Head,
            "Last check",
            &format!("{}: {} ({counts})", utc_text(at_s), safe(verdict)),
        );
    } else if !status.isolations.is_empty() && status.unseen.is_empty() {
        let is_applied = status.isolations.iter().any(|row| row.since_s.is_some());
        let since = if is_applied {
            "none since the isolation was applied"
        } else {
            "none"
        };
        line(TextRole::Head, "Last check", since);
    }
    for why in status.unseen {
        line(TextRole::Warning, "Not known", &safe(why));
    }
    line(TextRole::Head, "Next", status.next());
    text.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Intent, PartitionName};

    fn isolation(cpu: u32, means: IsolationMeans) -> IntendedIsolation {
        let intent = Intent::new(PartitionName::default(), CpuSet::range(cpu, cpu), Profile::Balanced);
        IntendedIsolation::new(intent, means)
    }

    fn status<'a>(online: &'a CpuSet, all: &'a [IntendedIsolation]) -> MachineStatus<'a> {
        let row = |isolation| StatusRow {
            isolation,
            since_s: Some(1_790_000_000),
        };
        MachineStatus {
            online,
            isolations: all.iter().map(row).collect(),
            last_check: None,
            is_change_unfinished: false,
            unseen: &[],
            needs_root: false,
        }
    }

    #[test]
    fn a_label_is_printed_once_for_its_rows() {
        let online = CpuSet::range(0, 3);
        let all = [2, 3].map(|cpu| isolation(cpu, IsolationMeans::Partition));
        let text = status_text(&status(&online, &all), Style::Plain);
        assert_eq!(text.matches("Isolated").count(), 1, "{text}");
        assert!(text.contains("\n              CPU 3: partition"), "{text}");
    }

    #[test]
    fn without_root_the_journal_is_unknown_and_not_empty() {
        let online = CpuSet::range(0, 3);
        let unseen = ["the journal could not be read".to_owned()];
        let unprivileged = MachineStatus {
            unseen: &unseen,
            needs_root: true,
            ..status(&online, &[])
        };
        let text = status_text(&unprivileged, Style::Plain);
        assert!(!text.contains("no CPU"), "{text}");
        assert!(text.contains("Isolated      not known without root"), "{text}");
        assert!(text.contains("`sudo quietcore status`"), "{text}");
    }

    #[test]
    fn the_next_step_depends_on_what_is_wrong() {
        let online = CpuSet::range(0, 3);
        let active = [isolation(3, IsolationMeans::Partition)];
        let missing = [isolation(3, IsolationMeans::Missing)];
        let next = |all: &[IntendedIsolation], verdict: Option<&'static str>| {
            let mut status = status(&online, all);
            status.last_check = verdict.map(|verdict| (7, verdict, 0, 0));
            status.next()
        };
        assert!(next(&[], None).contains("plan"));
        assert!(next(&active, None).starts_with("`quietcore check` compares"));
        assert!(next(&active, Some("quiet")).contains("run"));
        assert!(next(&active, Some("noisy")).contains("how to fix it"));
        assert!(next(&missing, Some("noisy")).contains("apply"));
        let unfinished = MachineStatus {
            is_change_unfinished: true,
            ..status(&online, &missing)
        };
        assert!(unfinished.next().contains("undo"));
    }

    #[test]
    fn a_declared_partition_that_is_not_active_does_not_count_as_isolated() {
        let online = CpuSet::range(0, 3);
        let all = [
            isolation(3, IsolationMeans::Partition),
            isolation(2, IsolationMeans::Missing),
        ];
        let text = status_text(&status(&online, &all), Style::Plain);
        assert!(text.contains("Isolated      CPU 3: partition"), "{text}");
        assert!(text.contains("since 2026-09-21T"), "{text}");
        assert!(text.contains("Not isolated  CPU 2: partition"), "{text}");
        assert!(text.contains("Housekeeping  CPU 0-2\n"), "{text}");
        assert!(text.lines().count() <= 10, "{text}");
    }
}
