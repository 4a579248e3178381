//! Decides what a study does next on a machine that it restarts: measure, restart, or give up a boot.
//!
//! The decision uses only what was recorded on the disk and the state of the running machine, so the cause of a restart does
//! not matter.

use crate::boot_state::Here;
use crate::{Schedule, Sitting, Study};

/// Maximum number of attempts of the same boot without a new result.
pub const MOST_TRIES: usize = 3;

/// One step, recorded before it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebootAttempt {
    /// The boot that it was for.
    pub sitting: Sitting,
    /// True: the machine had booted for it and was about to measure. False: the machine was about to be restarted.
    pub came_up: bool,
    /// The number of results at that time.
    pub done: usize,
    /// The boot ID of the machine when the step was recorded.
    pub boot_id: Option<String>,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Measure the cells of this boot.
    Measure(Sitting),
    /// Restart the machine for it.
    Restart(Sitting),
    /// Skip this boot from now on.
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

/// Decides the next step.
#[must_use]
pub fn next(study: &Study, schedule: &Schedule, tried: &[RebootAttempt], here: &Here) -> Next {
    let Some(sitting) = schedule.sitting() else {
        return Next::Over;
    };
    let is_here = |one: &RebootAttempt| one.boot_id.is_some() && one.boot_id.as_deref() == here.boot_id;
    let of_it = tried.iter().rev().take_while(|one| one.sitting == sitting);
    // A restart that was recorded in this very boot has not happened yet.
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

/// Whether one more run would exceed the budget. At least one result is allowed, so that every call makes progress.
fn is_used(study: &Study, schedule: &Schedule, tried: &[RebootAttempt], here: &Here) -> bool {
    let got_further = tried.first().is_some_and(|first| schedule.done() > first.done);
    let would_take = here.under_way_for.saturating_add(schedule.one());
    got_further && study.budget.is_some_and(|budget| would_take > budget)
}
