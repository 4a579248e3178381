//! `bench inject`: disturbs one CPU or one process at known times, so that a sampler can be compared with the truth.
//!
//! Prints one line per event on standard output (see [`event`]) after the last event, because printing also disturbs.

pub(crate) mod event;
mod ipi;
pub(crate) mod place;
mod preempt;
mod schedule;
mod stop;
mod switch;

use event::InjectedDisturbance;
pub(crate) use lab::{clock, random};
use std::fmt::Display;
use xtask::error::{TaskResult, XtaskError};

/// The default lengths, from disturbances that no isolation removes to those that every tool detects.
pub(crate) const PREEMPT_NS: &[u64] = &[
    5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000,
];
/// Shorter disturbances are injected six times as often.
const SHORT_NS: u64 = 100_000;
/// Number of groups of lengths, one group per run. A group has every third length, so that gaps of one length are not
/// mistaken for those of the next.
pub(crate) const PREEMPT_GROUPS: usize = 3;

/// The lengths of one of the [`PREEMPT_GROUPS`].
pub(crate) fn preempt_group(group: usize) -> Vec<u64> {
    PREEMPT_NS.iter().skip(group).step_by(PREEMPT_GROUPS).copied().collect()
}

/// Lengths of stops, and the number of stops of each length in one run. Long stops fill the run, so there are few.
pub(crate) const STOP_NS: &[(u64, usize)] = &[(1_000_000, 12), (10_000_000, 6), (100_000_000, 2), (500_000_000, 1)];

/// Runs `inject KIND ...` with the arguments of the command line.
///
/// # Errors
/// [`XtaskError`] when an argument is not a number, or the machine does not permit the disturbance.
pub(crate) fn run(words: &[&str]) -> TaskResult {
    let events = match words {
        ["preempt", cpu, milliseconds, events, seed, lengths] => preempt::run(
            number(cpu)? as usize,
            &schedule::of(
                &each(&numbers(lengths)?, number(events)? as usize),
                number(milliseconds)?,
                number(seed)?,
            )?,
        )?,
        ["stop", pids, milliseconds, seed] => {
            let lengths: Vec<u64> = STOP_NS
                .iter()
                .flat_map(|&(ns, times)| std::iter::repeat_n(ns, times))
                .collect();
            stop::run(
                &numbers(pids)?,
                &schedule::of(&lengths, number(milliseconds)?, number(seed)?)?,
            )?
        }
        ["ipi", cpu, milliseconds, events, seed] => ipi::run(
            number(cpu)? as usize,
            &schedule::of(
                &each(&[0], number(events)? as usize),
                number(milliseconds)?,
                number(seed)?,
            )?,
        )?,
        ["switch", cpu, milliseconds, events, seed, lengths] => switch::run(
            number(cpu)? as usize,
            &schedule::of(
                &each(&numbers(lengths)?, number(events)? as usize),
                number(milliseconds)?,
                number(seed)?,
            )?,
        )?,
        _ => {
            return Err(failed(
                "preempt CPU MS EVENTS SEED NS,NS | stop PID,PID MS SEED | ipi CPU MS EVENTS SEED | switch CPU MS EVENTS SEED NS,NS",
            ));
        }
    };
    for event in &events {
        println!("{event}");
    }
    Ok(())
}

/// An error of the injector.
pub(crate) fn failed(why: impl Display) -> XtaskError {
    XtaskError::Program {
        program: "inject".into(),
        why: why.to_string(),
    }
}

fn number(word: &str) -> TaskResult<u64> {
    word.parse().map_err(|_| failed(format!("{word} is no number")))
}

fn numbers(words: &str) -> TaskResult<Vec<u64>> {
    words.split(',').map(number).collect()
}

/// Repeats each length this many times. Short lengths are repeated more often: they cost little, and a noisy machine
/// has many gaps of their size.
fn each(lengths: &[u64], times: usize) -> Vec<u64> {
    let of = |ns| if ns > 0 && ns < SHORT_NS { times * 6 } else { times };
    let repeated = lengths.iter().flat_map(|&ns| std::iter::repeat_n(ns, of(ns)));
    repeated.collect()
}

/// Calls `place` and then `body` in a new thread, and returns the events. The thread writes into memory that is already
/// mapped, and the caller waits without running.
fn in_a_placed_thread(
    place: impl FnOnce() -> TaskResult + Send,
    body: impl FnOnce() -> Vec<InjectedDisturbance> + Send,
) -> TaskResult<Vec<InjectedDisturbance>> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| -> TaskResult<Vec<InjectedDisturbance>> {
            place()?;
            Ok(body())
        });
        thread
            .join()
            .unwrap_or_else(|_| Err(failed("the thread that disturbs ended early")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_in_one_group_with_distant_lengths() {
        let mut all: Vec<u64> = (0..PREEMPT_GROUPS).flat_map(preempt_group).collect();
        all.sort_unstable();
        assert_eq!(all, PREEMPT_NS);
        for group in 0..PREEMPT_GROUPS {
            assert!(preempt_group(group).windows(2).all(|two| two[0] * 10 == two[1]));
        }
    }

    #[test]
    fn short_disturbances_are_planned_more_often() {
        assert_eq!(
            each(&[50_000, 100_000], 1),
            [50_000, 50_000, 50_000, 50_000, 50_000, 50_000, 100_000]
        );
        assert_eq!(each(&[0], 2), [0, 0], "interrupts have no length");
    }

    #[test]
    fn wrong_arguments_are_errors() {
        for wrong in [
            &["preempt"] as &[&str],
            &["stop", "x", "1", "1"],
            &["ipi", "1", "1", "1"],
            &[],
        ] {
            assert!(run(wrong).is_err(), "{wrong:?}");
        }
    }
}
