//! Holds what the user has chosen to see: pane, order, filter, rows, and overlay.

use machine::CpuId;

/// Number of panes: the length of [`PANES`](crate::PANES).
pub(crate) const PANE_COUNT: usize = 5;

/// Which CPUs the panes show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuScope {
    /// The isolated ones; all if none is isolated.
    #[default]
    Isolated,
    /// All.
    All,
    /// This one.
    One(CpuId),
}

/// An overlay over the panes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlay {
    /// The keys.
    Help,
    /// The finding with this key: message, evidence, fix.
    Fix(String),
    /// A result of `blame`.
    Answer {
        /// The title.
        title: String,
        /// The text.
        text: String,
    },
}

/// The user's choices.
#[derive(Clone, Debug, Default)]
pub struct ViewState {
    /// The index of the focused pane in [`PANES`](crate::PANES).
    pub focus: usize,
    /// Which CPUs.
    pub scope: CpuScope,
    /// Only rows that contain this text, ignoring case.
    pub filter: String,
    /// The filter is being typed.
    pub typing: bool,
    /// The overlay.
    pub overlay: Option<Overlay>,
    /// The first visible line of the overlay.
    pub scroll: usize,
    /// The last message; the next key removes it.
    pub note: String,
    sorts: [usize; PANE_COUNT],
    selected: [String; PANE_COUNT],
}

impl ViewState {
    /// The sort order of a pane.
    #[must_use]
    pub fn sort(&self, pane: usize) -> usize {
        self.sorts.get(pane).copied().unwrap_or(0)
    }

    /// Switches the focused pane to its next sort order.
    pub(crate) fn sort_next(&mut self, orders: usize) {
        if let Some(sort) = self.sorts.get_mut(self.focus) {
            *sort = (*sort + 1) % orders.max(1);
        }
    }

    /// The key of the selected row of a pane.
    #[must_use]
    pub fn selected(&self, pane: usize) -> &str {
        self.selected.get(pane).map_or("", String::as_str)
    }

    pub(crate) fn select(&mut self, pane: usize, key: &str) {
        if let Some(selected) = self.selected.get_mut(pane) {
            key.clone_into(selected);
        }
    }

    /// Opens an overlay.
    pub fn open_overlay(&mut self, overlay: Overlay) {
        self.overlay = Some(overlay);
        self.scroll = 0;
    }
}
