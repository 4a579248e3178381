//! Labels gaps that a spinning real-time thread causes itself.
//!
//! The kernel stops a real-time thread that never sleeps once per period, so that ordinary tasks do not
//! starve: by real-time throttling (`kernel.sched_rt_runtime_us`, in `kernel/sched/rt.c`, up to 6.11 and with
//! `RT_GROUP_SCHED`) or by the fair server (`kernel/sched/deadline.c`, 6.12 and later). Both leave gaps of nearly
//! the same length, at least a period apart. These gaps of 50 ms must not be attributed to the machine.

use crate::{GapLabel, MeasuredGap};
use machine::Policy;

/// The kernel's limits for real-time threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RealtimeLimits {
    /// `kernel.sched_rt_runtime_us`; -1 is unlimited.
    pub rt_runtime_us: Option<i64>,
    /// `kernel.sched_rt_period_us`.
    pub rt_period_us: Option<u64>,
    /// The fair server of this CPU: runtime and period in nanoseconds; `None` where it cannot be read.
    pub fair_server: Option<(u64, u64)>,
    /// Major and minor number of the kernel.
    pub kernel: Option<(u32, u32)>,
}

/// The kernel's defaults of the fair server, 50 ms in 1 s (`fair_server_init`).
const FAIR_SERVER_DEFAULT: (u64, u64) = (50_000_000, 1_000_000_000);

/// Shorter gaps may be interrupts, which occur in the server's time as well as outside it.
const SHORTEST_NS: u64 = 1_000_000;

/// Maximum distance between the end of a gap and the end of the kernel's period.
const SLACK_NS: u64 = 2_000_000;

/// Labels the gaps of one thread, which must be in order of time.
///
/// Applies only to real-time policies. First it finds the full gaps: within a fifth of the kernel's budget, and at
/// least nine tenths of a period after the previous one. They mark the end of the kernel's period, because the
/// budget is spent last in it. Then it finds the fragments: if starved tasks use only a part of the budget, or sleep
/// in between, they leave gaps of 1 ms and more within the last budget's length of a period.
pub fn label(gaps: &mut [MeasuredGap], policy: Policy, limits: &RealtimeLimits) {
    if !matches!(policy, Policy::Fifo | Policy::Rr) {
        return;
    }
    let Some(signature) = signature(limits) else {
        return;
    };
    let ends = label_full(gaps, &signature);
    let mut next = 0;
    for gap in gaps.iter_mut().filter(|gap| gap.label.is_none()) {
        // The last full gap before this one, or else the first of all.
        while ends.get(next + 1).is_some_and(|&end| end <= gap.at_ns) {
            next += 1;
        }
        if ends.get(next).is_some_and(|&end| signature.is_fragment(gap, end)) {
            gap.label = Some(signature.label);
        }
    }
}

fn label_full(gaps: &mut [MeasuredGap], signature: &Signature) -> Vec<u64> {
    let mut ends: Vec<u64> = Vec::new();
    for gap in gaps {
        let end = gap.at_ns.saturating_add(gap.duration_ns);
        let fits = gap.duration_ns.abs_diff(signature.budget_ns) <= signature.budget_ns / 5;
        let apart = ends
            .last()
            .is_none_or(|last| end.saturating_sub(*last) >= signature.period_ns / 10 * 9);
        if fits && apart {
            gap.label = Some(signature.label);
            ends.push(end);
        }
    }
    ends
}

/// The pattern of gaps that the kernel causes.
struct Signature {
    label: GapLabel,
    budget_ns: u64,
    period_ns: u64,
}

impl Signature {
    /// Whether the gap lies in the budget's part of a period, if one period ended at `anchor`.
    fn is_fragment(&self, gap: &MeasuredGap, anchor: u64) -> bool {
        let end = gap.at_ns.saturating_add(gap.duration_ns);
        // The server restarts when no task is starved for a while, so a distant anchor proves nothing.
        let near = end.abs_diff(anchor) <= self.period_ns.saturating_mul(3);
        let period = i128::from(self.period_ns.max(1));
        let phase = |time: u64| (i128::from(time) - i128::from(anchor)).rem_euclid(period);
        let (slack, budget) = (i128::from(SLACK_NS), i128::from(self.budget_ns));
        let ends_in_it = phase(end) <= slack || phase(end) >= period - budget;
        let begins_in_it = phase(gap.at_ns) >= period - budget - slack;
        near && gap.duration_ns >= SHORTEST_NS && ends_in_it && begins_in_it
    }
}

/// The mechanism that stops a real-time thread on this kernel, its duration and period; `None` if there is none.
fn signature(limits: &RealtimeLimits) -> Option<Signature> {
    let throttling = match (limits.rt_runtime_us, limits.rt_period_us) {
        (Some(runtime), Some(period)) => u64::try_from(runtime).ok().and_then(|runtime| {
            let budget = period.checked_sub(runtime).filter(|&budget| budget > 0)?;
            Some((
                GapLabel::RtThrottling,
                budget.checked_mul(1_000)?,
                period.checked_mul(1_000)?,
            ))
        }),
        _ => None,
    };
    let has_fair_server = limits.kernel.is_some_and(|version| version >= (6, 12));
    let fair_server = match limits.fair_server {
        Some((0, _)) => None,
        Some((runtime, period)) => Some((GapLabel::FairServer, runtime, period)),
        None if has_fair_server => Some((GapLabel::FairServer, FAIR_SERVER_DEFAULT.0, FAIR_SERVER_DEFAULT.1)),
        None => None,
    };
    let (label, budget_ns, period_ns) = fair_server.or(throttling)?;
    Some(Signature {
        label,
        budget_ns,
        period_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps of a 5 s run of a FIFO spinner beside ordinary tasks, and one gap of 50 ms between two periods.
    fn recorded() -> Vec<MeasuredGap> {
        [
            (120_331_907, 21_840),
            (949_870_114, 49_961_302),
            (1_512_004_870, 4_717_202),
            (1_949_911_020, 50_003_114),
            (2_949_920_411, 50_113_930),
            (3_100_000_000, 50_001_000),
            (3_950_002_007, 49_958_221),
            (4_950_010_300, 51_057_000),
        ]
        .map(|(at_ns, duration_ns)| MeasuredGap {
            at_ns,
            duration_ns,
            label: None,
        })
        .to_vec()
    }

    fn labelled(policy: Policy, limits: &RealtimeLimits) -> Vec<Option<GapLabel>> {
        let mut gaps = recorded();
        label(&mut gaps, policy, limits);
        gaps.iter().map(|gap| gap.label).collect()
    }

    const OLD: RealtimeLimits = RealtimeLimits {
        rt_runtime_us: Some(950_000),
        rt_period_us: Some(1_000_000),
        fair_server: None,
        kernel: Some((6, 1)),
    };

    #[test]
    fn periodic_gaps_of_the_rt_budget_are_labelled_as_throttling() {
        let own = Some(GapLabel::RtThrottling);
        // The fifth gap of 50 ms is in the middle of a period, so throttling did not cause it.
        let expected = [None, own, None, own, own, None, own, own];
        assert_eq!(labelled(Policy::Fifo, &OLD), expected);
        let new = RealtimeLimits {
            kernel: Some((6, 18)),
            ..OLD
        };
        let expected = expected.map(|label| label.map(|_| GapLabel::FairServer));
        assert_eq!(labelled(Policy::Rr, &new), expected);
        assert_eq!(
            labelled(
                Policy::Fifo,
                &RealtimeLimits {
                    rt_runtime_us: Some(-1),
                    ..new
                }
            ),
            expected
        );
    }

    #[test]
    fn gaps_within_the_server_period_are_labelled_as_fair_server() {
        // The longest gaps of a FIFO spinner on 6.18 beside compilers: the server's periods end at .975 s.
        let own = Some(GapLabel::FairServer);
        let run = [
            (926_558_450, 1_596_787, own),
            (928_241_611, 46_722_546, own),
            (1_705_063_210, 14_252_543, None),
            (1_805_063_072, 14_378_290, None),
            (1_956_241_508, 18_714_411, own),
            (2_007_180_981, 2_003_276, None),
            (2_029_474_113, 296_656, None),
            (2_953_916_178, 21_044_373, own),
        ];
        let mut gaps = run.map(|(at_ns, duration_ns, _)| MeasuredGap {
            at_ns,
            duration_ns,
            label: None,
        });
        label(
            &mut gaps,
            Policy::Fifo,
            &RealtimeLimits {
                kernel: Some((6, 18)),
                ..OLD
            },
        );
        assert_eq!(gaps.map(|gap| gap.label), run.map(|(_, _, label)| label));
    }

    #[test]
    fn without_throttling_no_gap_is_labelled() {
        assert_eq!(labelled(Policy::Other, &OLD), [None; 8]);
        assert_eq!(
            labelled(
                Policy::Fifo,
                &RealtimeLimits {
                    rt_runtime_us: Some(-1),
                    ..OLD
                }
            ),
            [None; 8]
        );
        assert_eq!(
            labelled(
                Policy::Fifo,
                &RealtimeLimits {
                    rt_runtime_us: Some(1_000_000),
                    ..OLD
                }
            ),
            [None; 8]
        );
        assert_eq!(labelled(Policy::Fifo, &RealtimeLimits::default()), [None; 8]);
        let off = RealtimeLimits {
            fair_server: Some((0, 1_000_000_000)),
            rt_runtime_us: Some(-1),
            ..OLD
        };
        assert_eq!(labelled(Policy::Fifo, &off), [None; 8]);
        let other = RealtimeLimits {
            fair_server: Some((20_000_000, 1_000_000_000)),
            ..OLD
        };
        assert_eq!(
            labelled(Policy::Fifo, &other),
            [None; 8],
            "50 ms are not a budget of 20 ms"
        );
    }
}
