//! Declares every finding: its stable id, its meaning, its highest level and what to do about it.
//!
//! A reported finding names the files and CPUs of its machine; a row holds what is true of the id on every machine, for
//! `explain` and the reference page. Findings about boot lines are the rules of [`crate::lint`], findings about chosen
//! CPUs the rules of choosing; those carry their own explanation.

use super::Level;
use serde::Serialize;
use std::fmt;

// There is one constant for each row of the tables; the ids of rules come from the rules. So `explain` knows every id that a
// finding can have.
/// The stable identifier of a finding, which scripts may match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct FindingId(&'static str);

impl FindingId {
    /// The id of a rule about boot lines or chosen CPUs.
    pub(crate) const fn of_rule(id: &'static str) -> FindingId {
        FindingId(id)
    }

    /// The id as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

/// One finding that `explain` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindingRow {
    /// Its stable identifier.
    pub id: FindingId,
    /// Where it occurs: `plans`, `apply`, `prove`, `differences`, `check`, `chosen CPUs`.
    pub about: &'static str,
    /// What it means.
    pub what: &'static str,
    /// The highest level with which it is reported.
    pub level: Level,
    /// What to do about it; says so if nothing is needed.
    pub fix: &'static str,
}

/// The rows of all findings except those of rules.
pub(crate) fn finding_rows() -> impl Iterator<Item = FindingRow> {
    let tables = [
        plans::PLANS,
        applying::APPLY,
        applying::PROVE,
        differences::DIFFERENCES,
        checks::CHECK,
    ];
    tables.into_iter().flatten().copied()
}

/// A table of findings: constant of [`FindingId`], id, highest level, meaning, what to do.
macro_rules! table {
    ($table:ident, $about:literal: $($name:ident $id:literal $level:ident => $what:literal, $fix:literal;)*) => {
        impl FindingId {
            $(#[doc = $what] pub const $name: FindingId = FindingId($id);)*
        }
        pub(super) const $table: &[FindingRow] = &[$(FindingRow {
            id: FindingId::$name,
            about: $about,
            what: $what,
            level: Level::$level,
            fix: $fix,
        }),*];
    };
}

mod applying;
mod checks;
mod differences;
mod plans;

#[cfg(test)]
mod tests {
    use crate::findings;
    use std::collections::BTreeSet;

    #[test]
    fn finding_ids_are_unique() {
        let ids: BTreeSet<&str> = findings().map(|row| row.id.as_str()).collect();
        assert_eq!(ids.len(), findings().count());
        for rule in crate::lint::RULES {
            assert!(!ids.contains(rule.id), "{}", rule.id);
        }
    }

    #[test]
    fn every_finding_has_advice() {
        for row in findings() {
            let is_short_phrase = (10..160).contains(&row.fix.len()) && !row.fix.ends_with('.');
            assert!(is_short_phrase, "{}: {:?}", row.id, row.fix);
        }
    }
}
