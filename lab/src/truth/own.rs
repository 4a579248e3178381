//! What a program that is watched asked of the kernel itself: `blame` counts that by kind and thread, and has no single times
//! of it, so it is the counts that are held against each other.

use super::{Blamed, Counts, Expected, Injected};
use serde::{Deserialize, Serialize};

/// A row of `own`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// Its class.
    pub class: String,
    /// Its name.
    pub name: String,
    /// How often.
    pub count: u64,
    /// Which thread did it.
    pub culprit: Option<Blamed>,
}

/// Judges all of one kind: as many are right as the rows of the class and the name count, and as the thread's own do.
#[must_use]
pub fn score_own(expected: &Expected, injected: &[Injected], own: &[Own]) -> Counts {
    let is_it = |row: &&Own| {
        expected.classes.contains(&row.class.as_str())
            && (expected.name.is_empty() || expected.name.contains(&row.name.as_str()))
    };
    let done = injected.len() as u64;
    let sum = |rows: &mut dyn Iterator<Item = &Own>| rows.map(|row| row.count).sum::<u64>().min(done);
    let thread = injected.first().map(|act| &act.culprit);
    let by = |row: &&Own| {
        let blamed = row.culprit.as_ref();
        thread.zip(blamed).is_some_and(|(thread, blamed)| {
            thread.comm == blamed.comm && thread.pid == blamed.pid && thread.cpu == blamed.cpu
        })
    };
    Counts {
        injected: done,
        class: sum(&mut own.iter().filter(is_it)),
        culprit: sum(&mut own.iter().filter(is_it).filter(by)),
        ..Counts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Thread, Who};
    use super::*;

    const FAULTS: Expected = Expected {
        classes: &["page_fault"],
        name: &["page fault"],
        culprit: Who::Itself,
        callsite: &[],
        told_by: &[],
    };

    fn row(class: &str, count: u64, comm: &str) -> Own {
        Own {
            class: class.to_owned(),
            name: "page fault".to_owned(),
            count,
            culprit: Some(Blamed {
                pid: 7,
                comm: comm.to_owned(),
                cpu: 1,
                ..Blamed::default()
            }),
        }
    }

    #[test]
    fn what_is_not_counted_or_is_another_threads_is_missed() {
        let act = Injected {
            begin_raw_ns: 1,
            end_raw_ns: 2,
            culprit: Thread {
                pid: 7,
                comm: "fault".to_owned(),
                cpu: 1,
            },
        };
        let acts = vec![act; 10];
        let of = |rows: &[Own]| {
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
