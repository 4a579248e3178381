//! Gaps that a spinning real-time thread brings on itself.
//!
//! A real-time thread that never sleeps is stopped by the kernel once per period, so that ordinary tasks do not
//! starve: by real-time throttling (`kernel.sched_rt_runtime_us`, in `kernel/sched/rt.c`, up to 6.11 and with
//! `RT_GROUP_SCHED`) or by the fair server (`kernel/sched/deadline.c`, 6.12 and later). Both leave gaps of nearly
//! the same length, at least a period apart. Whoever reads 50 ms there must not blame the machine.

use crate::{Gap, GapLabel};
use machine::Policy;

/// What the kernel grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
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

/// Labels the gaps of one thread, which must be in order of time.
///
/// A gap is labelled when the policy is a real-time one, its length is the kernel's budget to within a fifth,
/// and the last such gap is at least nine tenths of a period away. Shorter gaps, in which a starved task used
/// only part of the budget, are left unlabelled: that task would have run anyway.
pub fn label(gaps: &mut [Gap], policy: Policy, limits: &Limits) {
    if !matches!(policy, Policy::Fifo | Policy::Rr) {
        return;
    }
    let Some((label, budget_ns, period_ns)) = signature(limits) else {
        return;
    };
    let mut last_end = None;
    for gap in gaps {
        let end = gap.at_ns.saturating_add(gap.duration_ns);
        let fits = gap.duration_ns.abs_diff(budget_ns) <= budget_ns / 5;
        // The budget is renewed once per period, so two such gaps end a period apart.
        let apart = last_end.is_none_or(|last| end.saturating_sub(last) >= period_ns / 10 * 9);
        if fits && apart {
            gap.label = Some(label);
            last_end = Some(end);
        }
    }
}

/// Who stops a real-time thread on this kernel, for how long, how often; `None` when nobody does.
fn signature(limits: &Limits) -> Option<(GapLabel, u64, u64)> {
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
    fair_server.or(throttling)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps of a recorded run of a FIFO spinner (6.18, 5 s): the server's, and the machine's own noise.
    fn recorded() -> Vec<Gap> {
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
        .map(|(at_ns, duration_ns)| Gap {
            at_ns,
            duration_ns,
            label: None,
        })
        .to_vec()
    }

    fn labelled(policy: Policy, limits: &Limits) -> Vec<Option<GapLabel>> {
        let mut gaps = recorded();
        label(&mut gaps, policy, limits);
        gaps.iter().map(|gap| gap.label).collect()
    }

    const OLD: Limits = Limits {
        rt_runtime_us: Some(950_000),
        rt_period_us: Some(1_000_000),
        fair_server: None,
        kernel: Some((6, 1)),
    };

    #[test]
    fn periodic_gaps_of_the_budget_are_the_kernels() {
        let own = Some(GapLabel::RtThrottling);
        // The fifth of 50 ms comes in the middle of a period: not the throttle's.
        let expected = [None, own, None, own, own, None, own, own];
        assert_eq!(labelled(Policy::Fifo, &OLD), expected);
        let new = Limits {
            kernel: Some((6, 18)),
            ..OLD
        };
        let expected = expected.map(|label| label.map(|_| GapLabel::FairServer));
        assert_eq!(labelled(Policy::Rr, &new), expected);
        assert_eq!(
            labelled(
                Policy::Fifo,
                &Limits {
                    rt_runtime_us: Some(-1),
                    ..new
                }
            ),
            expected
        );
    }

    #[test]
    fn nobody_is_blamed_where_nobody_throttles() {
        assert_eq!(labelled(Policy::Other, &OLD), [None; 8]);
        assert_eq!(
            labelled(
                Policy::Fifo,
                &Limits {
                    rt_runtime_us: Some(-1),
                    ..OLD
                }
            ),
            [None; 8]
        );
        assert_eq!(
            labelled(
                Policy::Fifo,
                &Limits {
                    rt_runtime_us: Some(1_000_000),
                    ..OLD
                }
            ),
            [None; 8]
        );
        assert_eq!(labelled(Policy::Fifo, &Limits::default()), [None; 8]);
        let off = Limits {
            fair_server: Some((0, 1_000_000_000)),
            rt_runtime_us: Some(-1),
            ..OLD
        };
        assert_eq!(labelled(Policy::Fifo, &off), [None; 8]);
        let other = Limits {
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
