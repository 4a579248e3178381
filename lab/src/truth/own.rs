//! Scores kernel entries that a watched program made itself. `blame` counts them by kind and thread and reports no
//! single times, so only the counts are compared.

use super::{ExpectedBlame, Injection, ReportedCulprit, ScoreCounts};
use serde::{Deserialize, Serialize};

/// A row of `own` in the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnRow {
    /// Its class.
    pub class: String,
    /// Its name.
    pub name: String,
    /// Number of entries.
    pub count: u64,
    /// The thread that made them.
    pub culprit: Option<ReportedCulprit>,
}

/// Scores all acts of one kind. `class` is the count of the rows with the right class and name; `culprit` is the count
/// of those that also name the injecting thread.
#[must_use]
pub fn score_own(expected: &ExpectedBlame, injected: &[Injection], own: &[OwnRow]) -> ScoreCounts {
    let is_it = |row: &&OwnRow| {
        expected.classes.contains(&row.class.as_str())
            && (expected.name.is_empty() || expected.name.contains(&row.name.as_str()))
    };
    let done = injected.len() as u64;
    let sum = |rows: &mut dyn Iterator<Item = &OwnRow>| rows.map(|row| row.count).sum::<u64>().min(done);
    let thread = injected.first().map(|act| &act.culprit);
    let by = |row: &&OwnRow| {
        let blamed = row.culprit.as_ref();
        thread.zip(blamed).is_some_and(|(thread, blamed)| {
            thread.comm == blamed.comm && thread.pid == blamed.pid && thread.cpu == blamed.cpu
        })
    };
    ScoreCounts {
        injected: done,
        class: sum(&mut own.iter().filter(is_it)),
        culprit: sum(&mut own.iter().filter(is_it).filter(by)),
        ..ScoreCounts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DisturbingThread, ExpectedCulprit};
    use super::*;

    const FAULTS: ExpectedBlame = ExpectedBlame {
        classes: &["page_fault"],
        name: &["page fault"],
        culprit: ExpectedCulprit::Itself,
        callsite: &[],
        reporting_events: &[],
    };

    fn row(class: &str, count: u64, comm: &str) -> OwnRow {
        OwnRow {
            class: class.to_owned(),
            name: "page fault".to_owned(),
            count,
            culprit: Some(ReportedCulprit {
                pid: 7,
                comm: comm.to_owned(),
                cpu: 1,
                ..ReportedCulprit::default()
            }),
        }
    }

    #[test]
    fn uncounted_entries_and_those_of_other_threads_are_missed() {
        let act = Injection {
            begin_raw_ns: 1,
            end_raw_ns: 2,
            culprit: DisturbingThread {
                pid: 7,
                comm: "fault".to_owned(),
                cpu: 1,
            },
        };
        let acts = vec![act; 10];
        let of = |rows: &[OwnRow]| {
            let counts = score_own(&FAULTS, &acts, rows);
            (counts.injected, counts.class, counts.culprit)
        };
        assert_eq!(of(&[row("page_fault", 12, "fault")]), (10, 10, 10));
        assert_eq!(of(&[row("page_fault", 4, "fault")]), (10, 4, 4));
        assert_eq!(
            of(&[row("page_fault", 4, "fault"), row("page_fault", 9, "other")]),
            (10, 10, 4)
        );
        assert_eq!(of(&[row("system_call", 10, "fault")]), (10, 0, 0));
        assert_eq!(of(&[]), (10, 0, 0));
    }
}
