//! Describes the boot parameters that matter to isolated CPUs: what each does, what it costs, and its run-time
//! equivalent. `explain` and the rules about boot lines use this table.
//!
//! Facts: `Documentation/admin-guide/kernel-parameters.txt` and the sources that it names.

mod core;
mod memory;
mod power;
mod system;

use machine::same_name;
use serde::Serialize;

/// What a parameter costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterCost {
    /// Nothing significant.
    None,
    /// Speed, of system calls or of the housekeeping CPUs.
    Speed,
    /// Power and heat.
    Power,
    /// Faults go undetected.
    Safety,
    /// Known vulnerabilities stay open.
    Security,
}

/// What reads a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterReader {
    /// The kernel.
    Kernel,
    /// A program that reads `/proc/cmdline`.
    Program,
}

/// Whether a parameter may occur on a line more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Repeatability {
    /// The last one counts.
    Last,
    /// The first one counts, up to 4.14 the last one.
    First,
    /// All count.
    Many,
}

/// One boot parameter that matters to isolated CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ParameterRow {
    /// Its name.
    pub name: &'static str,
    /// What follows the name.
    pub form: &'static str,
    /// What it does.
    pub what: &'static str,
    /// What that means for isolated CPUs.
    pub isolation: &'static str,
    /// The first kernel with it; empty if older than 4.14.
    pub since: &'static str,
    /// Required kernel configuration; empty for nothing special.
    pub needs: &'static str,
    /// The run-time equivalent; empty if there is none.
    pub twin: &'static str,
    /// What it costs.
    pub price: ParameterCost,
    /// What reads it.
    pub reader: ParameterReader,
    /// Whether it may be repeated.
    pub repeats: Repeatability,
}

const fn row(name: &'static str, form: &'static str, what: &'static str, isolation: &'static str) -> ParameterRow {
    ParameterRow {
        name,
        form,
        what,
        isolation,
        since: "",
        needs: "",
        twin: "",
        price: ParameterCost::None,
        reader: ParameterReader::Kernel,
        repeats: Repeatability::Last,
    }
}

impl ParameterRow {
    const fn since(self, since: &'static str) -> ParameterRow {
        ParameterRow { since, ..self }
    }
    const fn needs(self, needs: &'static str) -> ParameterRow {
        ParameterRow { needs, ..self }
    }
    const fn twin(self, twin: &'static str) -> ParameterRow {
        ParameterRow { twin, ..self }
    }
    const fn price(self, price: ParameterCost) -> ParameterRow {
        ParameterRow { price, ..self }
    }
    const fn program(self) -> ParameterRow {
        ParameterRow {
            reader: ParameterReader::Program,
            ..self
        }
    }
    const fn first(self) -> ParameterRow {
        ParameterRow {
            repeats: Repeatability::First,
            ..self
        }
    }
    const fn many(self) -> ParameterRow {
        ParameterRow {
            repeats: Repeatability::Many,
            ..self
        }
    }
}

/// Every row, group by group.
pub fn parameters() -> impl Iterator<Item = &'static ParameterRow> {
    [core::ROWS, power::ROWS, memory::ROWS, system::ROWS]
        .into_iter()
        .flatten()
}

/// The row of a parameter; `-` and `_` count as the same.
#[must_use]
pub fn parameter(name: &str) -> Option<&'static ParameterRow> {
    parameters().find(|row| same_name(row.name, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn parameter_names_are_unique_and_described() {
        let names: BTreeSet<&str> = parameters().map(|row| row.name).collect();
        assert_eq!(names.len(), parameters().count());
        for row in parameters() {
            assert!(row.what.len() > 10 && row.isolation.len() > 10, "{}", row.name);
        }
        assert_eq!(parameter("rcu-nocbs").map(|row| row.name), Some("rcu_nocbs"));
    }
}
