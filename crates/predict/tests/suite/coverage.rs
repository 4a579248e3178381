//! Compares ranges with later watches of the same made machine: nine of ten must lie inside.

use crate::support::{SECOND_NS, story, watch};
use blame::{Class, CureContext, GapStory, Interruption};
use machine::CpuSet;
use predict::{ChangeSelection, Estimate, PredictionInput, WatchOrigin, predict};

/// A random sequence that is the same in each run.
struct MadeRandom(u64);

impl MadeRandom {
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The time to the next event of a Poisson process.
    fn wait_ns(&mut self, per_s: f64) -> u64 {
        (-(1.0 - self.unit()).ln() / per_s * 1e9) as u64
    }
}

/// How often a row occurs: bursts per second, and the mean number of gaps in each.
struct BurstRate {
    per_s: f64,
    gaps: f64,
}

/// The gaps of a watch: ticks (row 0) at a fixed rate, and bursts of row 1.
fn gaps(random: &mut MadeRandom, seconds: u64, ticks: bool, bursts: &BurstRate) -> Vec<GapStory> {
    let mut at: Vec<(u64, u64, usize)> = Vec::new();
    if ticks {
        at.extend((0..seconds * 100).map(|tick| (tick * 10_000_000, 3_000, 0)));
    }
    let mut burst = random.wait_ns(bursts.per_s);
    while burst < seconds * SECOND_NS {
        let mut inside = burst;
        while inside < seconds * SECOND_NS {
            at.push((inside, 4_000 + random.wait_ns(40_000.0), 1));
            if random.unit() > 1.0 - 1.0 / bursts.gaps {
                break;
            }
            inside += 100_000 + random.wait_ns(2_000.0);
        }
        burst = burst.max(inside) + random.wait_ns(bursts.per_s);
    }
    at.sort_unstable();
    at.into_iter()
        .map(|(start, length_ns, row)| story(start, &[(length_ns, Some(row))]))
        .collect()
}

/// The share of later watches, without ticks, whose numbers lie in the predicted ranges: stolen time, and gaps.
fn coverage(seconds: u64, bursts: &BurstRate) -> [f64; 2] {
    const TRIALS: u32 = 200;
    let context = CureContext {
        requested: CpuSet::range(3, 3),
        ..CureContext::default()
    };
    let mut random = MadeRandom(7);
    let mut inside = [0_u32; 2];
    for _ in 0..TRIALS {
        let rows = vec![
            Interruption::new(Class::Tick, "tick"),
            Interruption::new(Class::Firmware, "firmware"),
        ];
        let answer = watch(seconds * SECOND_NS, rows, gaps(&mut random, seconds, true, bursts));
        let input = PredictionInput {
            answer: &answer,
            context: &context,
            threshold_ns: 1_000,
            selection: ChangeSelection::Only {
                profile: None,
                boot: true,
            },
            origin: WatchOrigin::Now,
            others: None,
            base_latency_ns: None,
            untraced: None,
        };
        let outcome = predict(&input).unwrap().changes.remove(0).outcome;
        let later = gaps(&mut random, seconds, false, bursts);
        let stolen_ns: u64 = later.iter().map(|story| story.gap.end - story.gap.start).sum();
        let measured = [stolen_ns as f64, later.len() as f64].map(|sum| sum / seconds as f64);
        let ranges = [outcome.stolen_ns_per_s, outcome.gap_rates[0].per_s];
        for ((count, measured), Estimate { low, high, .. }) in inside.iter_mut().zip(measured).zip(ranges) {
            *count += u32::from(low <= measured && measured <= high);
        }
    }
    inside.map(|count| f64::from(count) / f64::from(TRIALS))
}

#[test]
fn nine_of_ten_later_watches_lie_in_the_ranges() {
    let cases = [(30, 20.0, 1.0), (30, 3.0, 8.0), (30, 1.0, 20.0), (20, 0.5, 3.0)];
    let mut all = Vec::new();
    for (seconds, per_s, gaps) in cases {
        for share in coverage(seconds, &BurstRate { per_s, gaps }) {
            assert!(share >= 0.85, "{seconds} s, {per_s} bursts of {gaps} gaps: {share}");
            all.push(share);
        }
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    assert!((0.85..=0.97).contains(&mean), "{mean}: {all:?}");
}

/// One gap in ten seconds: most watches see none, one or two. The length of a gap that was never seen cannot be known, so
/// only their number counts.
#[test]
fn ranges_hold_for_gaps_that_hardly_occur() {
    let [_, count] = coverage(10, &BurstRate { per_s: 0.1, gaps: 1.0 });
    assert!(count >= 0.85, "{count}");
}
