//! Pauses before each run of a study: a fixed time, then until the machine has cooled down if the file requests it.

use machine::duration_text;
use machine::temperatures::{Temperature, hottest};
use session::Session;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use study::Study;

/// The maximum wait: a warm room must not block a study forever.
pub const AT_MOST: Duration = Duration::from_secs(10 * 60);
/// The time between two readings.
const EACH: Duration = Duration::from_secs(1);

/// A note, reported once, if no sensor can be read.
pub fn remark(session: &Session, study: &Study) -> Option<&'static str> {
    let nothing = hottest(session.root()).is_none();
    match (nothing, study.cool_to_c) {
        (false, _) => None,
        (true, Some(_)) => Some(
            "this machine reports no temperature (no thermal zone, no hwmon sensor): `cool_to_c` has no effect, and \
             only `cool_down` is used",
        ),
        (true, None) => Some("this machine reports no temperature: it is unknown whether it was warmer in some cells"),
    }
}

/// Pauses, then waits until the machine is cool enough. Returns the temperature of the hottest sensor; `None` without sensors.
pub fn cool(session: &Session, study: &Study, stop: &AtomicBool) -> Option<Temperature> {
    rest(study.cool_down, stop);
    let now = || hottest(session.root());
    let Some(limit_c) = study.cool_to_c else {
        return now();
    };
    let start = Instant::now();
    let mut pause = || {
        if stop.load(Ordering::Relaxed) || start.elapsed() >= AT_MOST {
            return ControlFlow::Break(());
        }
        rest(EACH, stop);
        ControlFlow::Continue(())
    };
    let first = now()?;
    let last = cooled(first.clone(), limit_c, &mut || now(), &mut pause);
    let is_too_warm = last.millidegrees_c > i64::from(limit_c) * 1_000;
    let degrees = |one: &Temperature| format!("{:.1} °C", one.millidegrees_c as f64 / 1_000.0);
    if is_too_warm && !stop.load(Ordering::Relaxed) {
        session.note(&format!(
            "still {} after {}, and not the {limit_c} °C of cool_to_c ({}): measuring anyway\n",
            degrees(&last),
            duration_text(start.elapsed()),
            report::safe(&last.sensor)
        ));
    } else if last != first {
        session.note(&format!(
            "cooled from {} to {} in {}\n",
            degrees(&first),
            degrees(&last),
            duration_text(start.elapsed())
        ));
    }
    Some(last)
}

/// Reads the temperature until it is low enough, no sensor reports any more, or the pause ends the wait.
fn cooled(
    first: Temperature,
    limit_c: u8,
    now: &mut dyn FnMut() -> Option<Temperature>,
    pause: &mut dyn FnMut() -> ControlFlow<()>,
) -> Temperature {
    let mut last = first;
    while last.millidegrees_c > i64::from(limit_c) * 1_000 && pause().is_continue() {
        let Some(temperature) = now() else { break };
        last = temperature;
    }
    last
}

/// Pauses for this time.
pub fn rest(time: Duration, stop: &AtomicBool) {
    let start = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let left = time.saturating_sub(start.elapsed());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(200)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(degrees: i64) -> Temperature {
        Temperature {
            sensor: "cpu-thermal".to_owned(),
            millidegrees_c: degrees * 1_000,
        }
    }

    /// Runs over these readings with at most this many pauses; returns the number of pauses.
    fn run(temperatures: &[Option<i64>], patience: usize) -> (i64, usize) {
        let mut rest = temperatures.iter().skip(1).copied();
        let mut pauses = 0;
        let last = cooled(
            at(temperatures[0].unwrap()),
            55,
            &mut || rest.next().flatten().map(at),
            &mut || match pauses < patience {
                true => {
                    pauses += 1;
                    ControlFlow::Continue(())
                }
                false => ControlFlow::Break(()),
            },
        );
        (last.millidegrees_c / 1_000, pauses)
    }

    #[test]
    fn cooling_waits_until_cool_enough_or_a_limit() {
        assert_eq!(run(&[Some(55), Some(40)], 9), (55, 0), "cool enough at once");
        assert_eq!(run(&[Some(70), Some(60), Some(54), Some(50)], 9), (54, 2));
        assert_eq!(
            run(&[Some(70), Some(69), Some(68), Some(67)], 2),
            (68, 2),
            "a warm room"
        );
        assert_eq!(run(&[Some(70), None, Some(40)], 9), (70, 1), "the sensor went away");
    }
}
