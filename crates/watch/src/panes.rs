//! Defines the panes: one file each, one line each in [`PANES`].

pub(crate) mod cpus;
mod culprits;
pub(crate) mod findings;
mod interrupts;
pub(crate) mod map;
mod threads;

use crate::row::PaneRow;
use crate::view::PANE_COUNT;
use crate::{DisplayData, ViewState};

/// A pane: rows under a heading.
pub struct Pane {
    /// Its name.
    pub name: &'static str,
    /// Its content, for the help.
    pub what: &'static str,
    /// Its sort orders.
    pub sorts: &'static [&'static str],
    /// Names of the columns, for a width.
    pub head: fn(&DisplayData, usize) -> String,
    /// Its rows, sorted by an order of `sorts`, for a width. The caller applies the filter.
    pub rows: for<'a> fn(&'a DisplayData<'a>, &ViewState, usize, usize) -> Vec<PaneRow<'a>>,
    /// The text without rows.
    pub empty: &'static str,
}

/// All panes. The first one is always visible.
pub const PANES: [Pane; PANE_COUNT] = [
    cpus::PANE,
    culprits::PANE,
    threads::PANE,
    interrupts::PANE,
    findings::PANE,
];

/// The rows of a pane that match the filter.
pub(crate) fn rows<'a>(pane: usize, now: &'a DisplayData<'a>, view: &ViewState, width: usize) -> Vec<PaneRow<'a>> {
    let Some(one) = PANES.get(pane) else {
        return Vec::new();
    };
    let mut rows = (one.rows)(now, view, view.sort(pane), width);
    // The filter does not apply to the CPU pane: it selects causes, not CPUs.
    if pane > 0 && !view.filter.is_empty() {
        let lower_filter = view.filter.to_lowercase();
        rows.retain(|row| {
            row.text().to_lowercase().contains(&lower_filter) || row.key.to_lowercase().contains(&lower_filter)
        });
    }
    rows
}

#[cfg(test)]
mod tests;
