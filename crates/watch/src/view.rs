//! What a person has chosen to see: pane, order, filter, rows, and what lies over the panes.

use machine::CpuId;

/// Number of panes: the length of [`PANES`](crate::PANES).
pub(crate) const PANE_COUNT: usize = 5;

/// Which CPUs the panes are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The isolated ones; all where nobody isolates any.
    #[default]
    Isolated,
    /// All.
    All,
    /// This one.
    One(CpuId),
}

/// What lies over the panes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlay {
    /// The keys.
    Help,
    /// The finding with this key: what, evidence, fix.
    Fix(String),
    /// An answer of `blame`.
    Answer {
        /// What was asked.
        title: String,
        /// What came.
        text: String,
    },
}

/// What is chosen.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Place of the focused pane in [`PANES`](crate::PANES).
    pub focus: usize,
    /// Which CPUs.
    pub scope: Scope,
    /// Only rows that hold this text, in any case of letters.
    pub filter: String,
    /// The filter is being typed.
    pub typing: bool,
    /// What lies over the panes.
    pub overlay: Option<Overlay>,
    /// First line of it that is seen.
    pub scroll: usize,
    /// What was said last; the next key takes it away.
    pub note: String,
    sorts: [usize; PANE_COUNT],
    selected: [String; PANE_COUNT],
}

impl View {
    /// By which of its orders a pane is sorted.
    #[must_use]
    pub fn sort(&self, pane: usize) -> usize {
        self.sorts.get(pane).copied().unwrap_or(0)
    }

    /// Sorts the focused pane, which has so many orders, by its next one.
    pub(crate) fn sort_next(&mut self, orders: usize) {
        if let Some(sort) = self.sorts.get_mut(self.focus) {
            *sort = (*sort + 1) % orders.max(1);
        }
    }

    /// The key of the row that is chosen in a pane.
    #[must_use]
    pub fn selected(&self, pane: usize) -> &str {
        self.selected.get(pane).map_or("", String::as_str)
    }

    pub(crate) fn select(&mut self, pane: usize, key: &str) {
        if let Some(selected) = self.selected.get_mut(pane) {
            key.clone_into(selected);
        }
    }

    /// Puts something over the panes.
    pub fn lay_over(&mut self, overlay: Overlay) {
        self.overlay = Some(overlay);
        self.scroll = 0;
    }
}
