//! Decides what a study does next on a machine that it restarts: measure, restart, or give up a boot.
//!
//! The decision uses only what was recorded on the disk and the state of the running machine, so the cause of a restart does
//! not matter.

use crate::boot_state::CurrentMachine;
use crate::{BootSession, RunSchedule, Study};

/// Maximum number of attempts of the same boot without a new result.
pub const MAX_ATTEMPTS: usize = 3;

/// One step, recorded before it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebootAttempt {
    /// The boot that it was for.
    pub boot_session: BootSession,
    /// True: the machine had booted for it and was about to measure. False: the machine was about to be restarted.
    pub has_booted: bool,
    /// The number of results at that time.
    pub runs_done: usize,
    /// The boot ID of the machine when the step was recorded.
    pub boot_id: Option<String>,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Measure the cells of this boot.
    Measure(BootSession),
    /// Restart the machine for it.
    Restart(BootSession),
    /// Skip this boot from now on.
    GiveUp {
        /// Which.
        boot_session: BootSession,
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
pub fn next(study: &Study, schedule: &RunSchedule, tried: &[RebootAttempt], here: &CurrentMachine) -> NextStep {
    let Some(boot_session) = schedule.next_boot_session() else {
        return NextStep::Over;
    };
    let is_here = |one: &RebootAttempt| one.boot_id.is_some() && one.boot_id.as_deref() == here.boot_id;
    let of_it = tried.iter().rev().take_while(|one| one.boot_session == boot_session);
    // A restart that was recorded in this very boot has not happened yet.
    let restarted = of_it
        .clone()
        .next()
        .is_some_and(|last| last.has_booted || !is_here(last));
    let in_vain: Vec<&RebootAttempt> = of_it.filter(|one| one.runs_done == schedule.runs_done()).collect();
    let wrong = study.wrong_boot(boot_session.boot, here);
    if restarted && wrong.is_none() {
        let fell = in_vain.iter().filter(|one| one.has_booted && !is_here(one)).count();
        return match fell < MAX_ATTEMPTS {
            true => NextStep::Measure(boot_session),
            false => NextStep::GiveUp {
                boot_session,
                why: format!("the machine went down {fell} times during the measurement"),
            },
        };
    }
    if is_used(study, schedule, tried, here) {
        return NextStep::BudgetUsed;
    }
    let restarts = in_vain.iter().filter(|one| !one.has_booted && !is_here(one)).count();
    if restarts < MAX_ATTEMPTS {
        return NextStep::Restart(boot_session);
    }
    let how = wrong.unwrap_or_else(|| "the last restart did not happen".to_owned());
    NextStep::GiveUp {
        boot_session,
        why: format!("after {restarts} restarts it was still not reached: {how}"),
    }
}

/// Whether one more run would exceed the budget. At least one result is allowed, so that every call makes progress.
fn is_used(study: &Study, schedule: &RunSchedule, tried: &[RebootAttempt], here: &CurrentMachine) -> bool {
    let got_further = tried
        .first()
        .is_some_and(|first| schedule.runs_done() > first.runs_done);
    let would_take = here.under_way_for.saturating_add(schedule.one());
    got_further && study.budget.is_some_and(|budget| would_take > budget)
}
