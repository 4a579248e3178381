//! Measures watched CPUs without a trace: what a wake-up takes, and what the trace adds to gaps.

use blame::BlameResult;
use machine::{CpuId, CpuSet};
use measure::{Environment, MeasureRequest, Measurement, SamplerPolicy, ThreadResult};
use predict::{SHORT_NS, UntracedShares};
use root::Failure;
use session::{Session, cpuset_entry};
use std::time::Duration;

/// The length of a measurement.
const TIME: Duration = Duration::from_secs(1);

/// A share of fewer gaps per second would be chance.
const ENOUGH_GAPS: f64 = 30.0;

/// The median latency of wake-ups, on the slowest of these CPUs: most wake-ups meet no gap. `None` if a signal ended the run.
///
/// # Errors
/// Those of a measurement.
pub(crate) fn base_latency_ns(session: &Session, cpus: &CpuSet) -> Result<Option<u64>, Failure> {
    let measured = measured(session, cpus, |environment| {
        MeasureRequest::latency(cpus.clone(), TIME, environment, session::stop_flag())
    })?;
    Ok(measured.threads.iter().filter_map(|thread| thread.p50_ns).max())
}

/// What is left of the gaps of a watch without its trace. `None` if one of the two runs has no complete list of gaps.
///
/// # Errors
/// Those of a measurement.
pub(crate) fn shares(
    session: &Session,
    answer: &BlameResult,
    policy: Option<SamplerPolicy>,
) -> Result<Option<UntracedShares>, Failure> {
    let cpus = answer.watched();
    let untraced = measured(session, &cpus, |environment| {
        let mut request = MeasureRequest::noise(cpus.clone(), TIME, environment, session::stop_flag());
        for lane in &mut request.lanes {
            policy.into_iter().for_each(|policy| policy.fill(lane));
        }
        request
    })?;
    Ok(compared(answer, &untraced.threads).filter(|_| untraced.complete))
}

fn measured<'a>(
    session: &Session,
    cpus: &CpuSet,
    request: impl FnOnce(Environment) -> MeasureRequest<'a>,
) -> Result<Measurement, Failure> {
    let machine = session.machine();
    let door = cpuset_entry::door(session.root(), &machine, cpus);
    let enter = |pid: u32| cpuset_entry::enter(session, door.as_deref(), pid);
    let environment = Environment::of(&machine, session.root(), env!("CARGO_PKG_VERSION"));
    let mut request = request(environment);
    request.join = door.is_some().then_some(&enter);
    Ok(measure::run(&request, session.root(), &mut |_| {})?)
}

fn compared(answer: &BlameResult, untraced: &[ThreadResult]) -> Option<UntracedShares> {
    let (mut with, mut without) = (GapRates::default(), GapRates::default());
    for cpu in &answer.cpus {
        let thread = untraced.iter().find(|thread| thread.cpu == CpuId(cpu.cpu))?;
        // A run ends some nanoseconds before or after its time.
        let is_whole = thread.duration_ns as f64 > 0.9e9 && thread.missed == 0;
        if cpu.is_incomplete() || thread.gaps_kept != thread.gaps_total || !is_whole {
            return None;
        }
        with.add(
            cpu.stories.iter().map(|story| story.gap.end - story.gap.start),
            cpu.duration_ns,
        )?;
        without.add(
            thread.gaps.as_ref()?.iter().map(|gap| gap.duration_ns),
            thread.duration_ns,
        )?;
    }
    let share = |gaps: f64, of: fn(&GapRates) -> f64| match gaps < ENOUGH_GAPS {
        true => 1.0,
        false => (of(&without) / of(&with)).min(1.0),
    };
    Some(UntracedShares {
        stolen: share(with.short, |rates| rates.short_ns),
        gaps: share(with.gaps, |rates| rates.gaps),
        gaps_10us: share(with.gaps_10us, |rates| rates.gaps_10us),
    })
}

/// Sums over CPUs, each per second.
#[derive(Default)]
struct GapRates {
    /// The time in short gaps, in nanoseconds.
    short_ns: f64,
    short: f64,
    gaps: f64,
    gaps_10us: f64,
}

impl GapRates {
    /// Adds the gaps of a CPU; `None` without a time.
    fn add(&mut self, lengths_ns: impl Iterator<Item = u64>, duration_ns: u64) -> Option<()> {
        let per_s = (duration_ns > 0).then(|| 1e9 / duration_ns as f64)?;
        for length_ns in lengths_ns {
            if length_ns < SHORT_NS {
                self.short_ns += length_ns as f64 * per_s;
                self.short += per_s;
            }
            self.gaps += per_s;
            self.gaps_10us += if length_ns >= 10_000 { per_s } else { 0.0 };
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blame::{CpuAnswer, Gap, GapStory};
    use measure::MeasuredGap;

    fn traced(lengths_ns: &[u64], stories_left_out: u64) -> BlameResult {
        let story = |length_ns: &u64| GapStory {
            gap: Gap {
                start: 1_000,
                end: 1_000 + length_ns,
            },
            pieces: Vec::new(),
        };
        BlameResult {
            cpus: vec![CpuAnswer {
                cpu: 3,
                duration_ns: 2_000_000_000,
                stories: lengths_ns.iter().map(story).collect(),
                stories_left_out,
                ..CpuAnswer::default()
            }],
        }
    }

    fn untraced(cpu: u32, lengths_ns: &[u64], gaps_total: u64) -> [ThreadResult; 1] {
        let gap = |duration_ns: &u64| MeasuredGap {
            at_ns: 0,
            duration_ns: *duration_ns,
            label: None,
        };
        [ThreadResult {
            cpu: CpuId(cpu),
            duration_ns: 999_999_986,
            gaps: Some(lengths_ns.iter().map(gap).collect()),
            gaps_kept: Some(lengths_ns.len() as u64),
            gaps_total: Some(gaps_total),
            ..ThreadResult::default()
        }]
    }

    #[test]
    fn shares_are_those_of_a_second() {
        // In two seconds 80 gaps of 11 us and a long one, in one second 40 of 8 us.
        let watch = traced(&[&[11_000; 80][..], &[5_000_000]].concat(), 0);
        let second = untraced(3, &[8_000; 40], 40);
        let found = compared(&watch, &second).unwrap();
        let expected = [8.0 / 11.0, 40.0 / 40.5, 0.0];
        for (found, expected) in [found.stolen, found.gaps, found.gaps_10us].into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found}: {expected}");
        }
        let no_less = UntracedShares {
            stolen: 1.0,
            gaps: 1.0,
            gaps_10us: 1.0,
        };
        assert_eq!(compared(&watch, &untraced(3, &[20_000; 60], 60)), Some(no_less));
        assert_eq!(compared(&traced(&[], 0), &second), Some(no_less));
        let few = compared(&traced(&[11_000; 40], 0), &untraced(3, &[], 0));
        assert_eq!(few, Some(no_less), "20 gaps per second are too few");
        let mut cut = untraced(3, &[8_000; 40], 40);
        cut[0].duration_ns = 5_000_000;
        assert_eq!(compared(&watch, &cut), None, "a signal ended it");
        assert_eq!(
            compared(&watch, &untraced(3, &[8_000; 40], 41)),
            None,
            "a gap is missing"
        );
        assert_eq!(compared(&watch, &untraced(2, &[8_000; 40], 40)), None, "another CPU");
        assert_eq!(compared(&traced(&[11_000; 80], 1), &second), None);
    }
}
