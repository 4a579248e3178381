//! Computes what the length of a run proves: the bound on the frequency of samples above a limit, from the number seen.
//!
//! Wake-ups are counted as trials: with `above` of `trials` later than the limit, the exact (Clopper-Pearson) upper bound
//! of the probability at 95 %; with none above it is `1 - 0.05^(1/trials)`, about 3 / trials (the "rule of three"). Gaps
//! occur in time, so they have a rate per second, with the exact Poisson (Garwood) bound. Both assume independent
//! samples; if latencies come in bursts, a run proves less than this.

mod tail;

use serde::{Deserialize, Serialize};
use tail::{binomial_at_most, bisect, poisson_at_most};

/// The accepted probability of a wrong claim: the bounds hold with 95 % confidence.
const RISK: f64 = 0.05;

/// A claim to prove: samples above a limit are rare.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The limit, in nanoseconds.
    pub limit_ns: u64,
    /// Latency: the probability that a wake-up is later, between 0 and 1. Noise: longer gaps per second.
    pub at_most: f64,
}

/// The evidence of a run about a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proof {
    /// The limit; the largest sample if no claim was made.
    pub limit_ns: u64,
    /// Latency: expected wake-ups. Noise: `None`, because gaps occur in time.
    pub trials: Option<u64>,
    /// Samples above the limit, including wake-ups that did not fit in memory.
    pub above: u64,
    /// Confidence, in percent, that the true value does not exceed the bound.
    pub confidence_percent: u32,
    /// Latency: a probability. Noise: gaps per second.
    pub bound: f64,
    /// `zero_events` (closed form), `clopper_pearson` or `poisson`.
    pub method: String,
    /// The claim, and whether the run proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimJudgement>,
}

/// A claim with its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimJudgement {
    /// The claimed maximum.
    pub at_most: f64,
    /// The verdict of the run.
    pub verdict: ClaimVerdict,
    /// The total run time, in nanoseconds, that would prove it if no further sample were above the limit.
    /// `None` for a refuted claim.
    pub needed_ns: Option<u64>,
}

/// The verdict of a run about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The bound does not exceed the claim.
    Shown,
    /// The run is too short to decide.
    NotShown,
    /// Even the lower bound exceeds the claim.
    Refuted,
}

/// The counts of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrialCounts {
    /// Expected wake-ups; `None` for gaps.
    pub trials: Option<u64>,
    /// Samples above the limit.
    pub above: u64,
    /// Length of the run.
    pub duration_ns: u64,
}

/// The proof. `None` without samples.
pub(crate) fn proof(limit_ns: u64, seen: TrialCounts, claim: Option<Claim>) -> Option<Proof> {
    let bound = upper(seen)?;
    Some(Proof {
        limit_ns,
        trials: seen.trials,
        above: seen.above,
        confidence_percent: 95,
        bound,
        method: match (seen.trials, seen.above) {
            (None, _) => "poisson",
            (Some(_), 0) => "zero_events",
            (Some(_), _) => "clopper_pearson",
        }
        .to_owned(),
        claim: claim.map(|claim| judge(claim.at_most, bound, seen)),
    })
}

fn judge(at_most: f64, bound: f64, seen: TrialCounts) -> ClaimJudgement {
    let verdict = match bound <= at_most {
        true => ClaimVerdict::Shown,
        false if lower(seen) > at_most => ClaimVerdict::Refuted,
        false => ClaimVerdict::NotShown,
    };
    ClaimJudgement {
        at_most,
        verdict,
        needed_ns: (verdict != ClaimVerdict::Refuted)
            .then(|| needed_ns(at_most, seen))
            .flatten(),
    }
}

/// The exact upper bound.
fn upper(seen: TrialCounts) -> Option<f64> {
    match seen.trials {
        Some(0) => None,
        Some(trials) if seen.above >= trials => Some(1.0),
        Some(trials) if seen.above == 0 => Some(-f64::exp_m1(RISK.ln() / trials as f64)),
        Some(trials) => Some(bisect(0.0, 1.0, |p| binomial_at_most(seen.above, trials, p) > RISK)),
        None if seen.duration_ns == 0 => None,
        None => {
            // Garwood's bound of a count: far below count + 10 sqrt(count + 1) + 10.
            let count = seen.above as f64;
            let highest = count + 10.0 * (count + 1.0).sqrt() + 10.0;
            let events = bisect(0.0, highest, |mean| poisson_at_most(seen.above, mean) > RISK);
            Some(events / (seen.duration_ns as f64 / 1e9))
        }
    }
}

/// The exact lower bound; 0 if no sample was above the limit.
fn lower(seen: TrialCounts) -> f64 {
    let Some(below) = seen.above.checked_sub(1) else {
        return 0.0;
    };
    match seen.trials {
        Some(trials) => bisect(0.0, 1.0, |p| 1.0 - binomial_at_most(below, trials, p) < RISK),
        None => {
            let events = bisect(0.0, seen.above as f64, |mean| 1.0 - poisson_at_most(below, mean) < RISK);
            events / (seen.duration_ns as f64 / 1e9).max(f64::MIN_POSITIVE)
        }
    }
}

/// The shortest run with this many samples above the limit whose bound does not exceed the claim. Rounded up; `None` beyond
/// 500 years.
fn needed_ns(at_most: f64, seen: TrialCounts) -> Option<u64> {
    const LONGEST: f64 = 1.6e19;
    if at_most <= 0.0 || at_most.is_nan() {
        return None;
    }
    let ns = match seen.trials {
        Some(_) if at_most >= 1.0 => 0.0,
        Some(trials) => {
            let each_ns = seen.duration_ns as f64 / trials.max(1) as f64;
            let enough = |n: f64| {
                upper(TrialCounts {
                    trials: Some(n as u64),
                    ..seen
                })
                .is_some_and(|bound| bound <= at_most)
            };
            // A count of n is bounded by (above + 10 sqrt(above + 1) + 10) / n.
            let above = seen.above as f64;
            let most = (above + 10.0 * (above + 1.0).sqrt() + 10.0) / at_most + 1.0;
            bisect(1.0, most, |n| !enough(n)).ceil() * each_ns
        }
        None => {
            upper(TrialCounts {
                duration_ns: 1_000_000_000,
                ..seen
            })? / at_most
                * 1e9
        }
    };
    (ns < LONGEST).then_some(ns.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(trials: u64, above: u64) -> TrialCounts {
        TrialCounts {
            trials: Some(trials),
            above,
            duration_ns: trials * 1_000_000,
        }
    }

    fn close(ours: f64, known: f64) {
        assert!((ours - known).abs() <= known * 1e-4, "{ours} for {known}");
    }

    #[test]
    fn the_bounds_agree_with_published_tables() {
        // One-sided 95 % limits, as published for Clopper-Pearson and Garwood.
        for (trials, above, known) in [
            (1_000, 0, 0.002_991_25),
            (10, 1, 0.394_163),
            (10, 5, 0.777_559),
            (100, 5, 0.102_253),
            (100, 99, 0.999_487),
            (7, 7, 1.0),
        ] {
            close(upper(of(trials, above)).unwrap(), known);
        }
        close(lower(of(10, 5)), 0.222_441);
        close(lower(of(100, 1)), 0.000_512_8);
        for (above, known) in [(0, 2.995_732), (1, 4.743_865), (10, 16.962_219), (100, 118.078_6)] {
            let seen = TrialCounts {
                trials: None,
                above,
                duration_ns: 1_000_000_000,
            };
            close(upper(seen).unwrap(), known);
        }
        // So many that a product of probabilities would underflow: near the normal bound 1e-3 + 1.645 sqrt(1e-3 / n).
        let many = upper(of(1_000_000_000, 1_000_000)).unwrap();
        assert!((1.001_6e-3..1.001_7e-3).contains(&many), "{many}");
    }

    #[test]
    fn a_run_without_samples_proves_nothing() {
        assert_eq!(proof(1, of(0, 0), None), None);
        let no_time = TrialCounts {
            trials: None,
            above: 0,
            duration_ns: 0,
        };
        assert_eq!(proof(1, no_time, None), None);
    }

    #[test]
    fn a_claim_is_proved_refuted_or_needs_a_longer_run() {
        let claim = |at_most| {
            Some(Claim {
                limit_ns: 50_000,
                at_most,
            })
        };
        let judged = |seen, at_most| proof(50_000, seen, claim(at_most)).unwrap().claim.unwrap();
        let short = judged(of(10_000, 0), 1e-6);
        assert_eq!(short.verdict, ClaimVerdict::NotShown);
        // ln 0.05 / ln(1 - 1e-6) wake-ups of a millisecond each.
        let needed = short.needed_ns.unwrap();
        assert!(needed.abs_diff(2_995_731 * 1_000_000) <= 2_000_000, "{needed}");
        assert_eq!(judged(of(2_995_731, 0), 1e-6).verdict, ClaimVerdict::Shown);
        assert_eq!(judged(of(2_995_700, 0), 1e-6).verdict, ClaimVerdict::NotShown);
        let refuted = judged(of(10_000, 3), 1e-6);
        assert_eq!((refuted.verdict, refuted.needed_ns), (ClaimVerdict::Refuted, None));
        // One in ten thousand does not refute a claim of 2e-5 (its lower bound is 5.1e-6); it makes the required run longer.
        let longer = judged(of(10_000, 1), 2e-5);
        assert_eq!(longer.verdict, ClaimVerdict::NotShown);
        close(longer.needed_ns.unwrap() as f64, 4.743_865 / 2e-5 * 1e6);
        assert_eq!(judged(of(10_000, 9), 1.0).verdict, ClaimVerdict::Shown);
    }
}
