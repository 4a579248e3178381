//! Describes the run-time settings that matter to isolated CPUs, including those that quietcore does not set (yet): the
//! file, what it does, which value isolates, and what it costs. Run-time equivalents of boot parameters are here too.

mod devices;
mod kernel;

use crate::knobs::is_file;
use crate::parameters::ParameterCost;
use serde::Serialize;

/// One run-time setting that matters to isolated CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SettingRow {
    /// Its name: that of the file, or the kernel's name for it.
    pub name: &'static str,
    /// Where it is.
    pub path: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Which value isolates, and what that means for isolated CPUs.
    pub isolation: &'static str,
    /// The first kernel with it; empty if older than 4.14.
    pub since: &'static str,
    /// Names of the interruption classes that it stops.
    pub stops: &'static [&'static str],
    /// What it costs.
    pub price: ParameterCost,
}

const fn row(name: &'static str, path: &'static str, what: &'static str, isolation: &'static str) -> SettingRow {
    SettingRow {
        name,
        path,
        what,
        isolation,
        since: "",
        stops: &[],
        price: ParameterCost::None,
    }
}

impl SettingRow {
    const fn since(self, since: &'static str) -> SettingRow {
        SettingRow { since, ..self }
    }
    const fn stops(self, stops: &'static [&'static str]) -> SettingRow {
        SettingRow { stops, ..self }
    }
    const fn price(self, price: ParameterCost) -> SettingRow {
        SettingRow { price, ..self }
    }
}

/// Every row, group by group.
pub fn settings() -> impl Iterator<Item = &'static SettingRow> {
    [kernel::ROWS, devices::ROWS].into_iter().flatten()
}

/// The row with this name, or of this file.
#[must_use]
pub fn setting(name: &str) -> Option<&'static SettingRow> {
    settings().find(|row| row.name == name || is_file(row.path, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn setting_names_are_unique_and_described() {
        let names: BTreeSet<&str> = settings().map(|row| row.name).collect();
        assert_eq!(names.len(), settings().count());
        for row in settings() {
            assert!(row.path.starts_with('/'), "{}: {}", row.name, row.path);
            assert!(row.what.len() > 10 && row.isolation.len() > 10, "{}", row.name);
        }
    }
}
