//! The panes: one file each, one line each in [`PANES`].

pub(crate) mod cpus;
mod culprits;
pub(crate) mod findings;
mod interrupts;
pub(crate) mod map;
mod threads;

use crate::row::Row;
use crate::view::PANE_COUNT;
use crate::{Now, View};

/// One pane: a list of rows under a line that names the columns.
pub struct Pane {
    /// Its name.
    pub name: &'static str,
    /// What stands in it, for the help.
    pub what: &'static str,
    /// Its orders.
    pub sorts: &'static [&'static str],
    /// Names of the columns, for a width.
    pub head: fn(&Now, usize) -> String,
    /// Its rows, sorted by an order of `sorts`, for a width. The filter is no business of the pane.
    pub rows: for<'a> fn(&'a Now<'a>, &View, usize, usize) -> Vec<Row<'a>>,
    /// What stands there when there is no row.
    pub empty: &'static str,
}

/// Every pane. The first one is always seen.
pub const PANES: [Pane; PANE_COUNT] = [
    cpus::PANE,
    culprits::PANE,
    threads::PANE,
    interrupts::PANE,
    findings::PANE,
];

/// The rows of a pane that the filter lets through.
#[must_use]
pub(crate) fn rows<'a>(pane: usize, now: &'a Now<'a>, view: &View, width: usize) -> Vec<Row<'a>> {
    let Some(one) = PANES.get(pane) else {
        return Vec::new();
    };
    let mut rows = (one.rows)(now, view, view.sort(pane), width);
    // The CPUs stay: what is filtered is who and what.
    if pane > 0 && !view.filter.is_empty() {
        let wanted = view.filter.to_lowercase();
        rows.retain(|row| {
            row.text().to_lowercase().contains(&wanted) || row.key.to_lowercase().contains(&wanted)
        });
    }
    rows
}

#[cfg(test)]
mod tests;
