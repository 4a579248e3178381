//! What a study does next on a machine that it restarts: measure, restart, or give a boot up. Decided from what was noted on the
//! disk and from how the machine came up, so that it does not matter who or what restarted it.

use crate::boot_state::Here;
use crate::{Schedule, Sitting, Study};

/// So often the same boot is tried without one more result.
pub const MOST_TRIES: usize = 3;

/// One step that was noted before it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebootAttempt {
    /// Towards which boot.
    pub sitting: Sitting,
    /// Whether the machine had come up for it and was about to measure; else it was about to be restarted.
    pub came_up: bool,
    /// How many results there were.
    pub done: usize,
    /// The boot of the machine in which it was noted.
    pub boot_id: Option<String>,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Measure the cells of this boot.
    Measure(Sitting),
    /// Restart the machine for it.
    Restart(Sitting),
    /// Leave this boot out from now on.
    GiveUp {
        /// Which.
        sitting: Sitting,
        /// Why.
        why: String,
    },
    /// The next boot does not fit into the budget.
    BudgetUsed,
    /// Nothing is left.
    Over,
}

/// Decides it.
#[must_use]
pub fn next(study: &Study, schedule: &Schedule, tried: &[RebootAttempt], here: &Here) -> Next {
    let Some(sitting) = schedule.sitting() else {
        return Next::Over;
    };
    let is_here = |one: &RebootAttempt| one.boot_id.is_some() && one.boot_id.as_deref() == here.boot_id;
    let of_it = tried.iter().rev().take_while(|one| one.sitting == sitting);
    // A restart that was noted in this very boot has not happened yet.
    let restarted = of_it
        .clone()
        .next()
        .is_some_and(|last| last.came_up || !is_here(last));
    let in_vain: Vec<&RebootAttempt> = of_it.filter(|one| one.done == schedule.done()).collect();
    let wrong = study.wrong_boot(sitting.boot, here);
    if restarted && wrong.is_none() {
        let fell = in_vain.iter().filter(|one| one.came_up && !is_here(one)).count();
        return match fell < MOST_TRIES {
            true => Next::Measure(sitting),
            false => Next::GiveUp {
                sitting,
                why: format!("the machine went down {fell} times while it was measured"),
            },
        };
    }
    if is_used(study, schedule, tried, here) {
        return Next::BudgetUsed;
    }
    let restarts = in_vain.iter().filter(|one| !one.came_up && !is_here(one)).count();
    if restarts < MOST_TRIES {
        return Next::Restart(sitting);
    }
    let how = wrong.unwrap_or_else(|| "the last restart did not happen".to_owned());
    Next::GiveUp {
        sitting,
        why: format!("{restarts} restarts did not bring it about: {how}"),
    }
}

/// Whether one run more would take longer than the study may. One result at least, so that every call gets further.
fn is_used(study: &Study, schedule: &Schedule, tried: &[RebootAttempt], here: &Here) -> bool {
    let got_further = tried.first().is_some_and(|first| schedule.done() > first.done);
    let would_take = here.under_way_for.saturating_add(schedule.one());
    got_further && study.budget.is_some_and(|budget| would_take > budget)
}
