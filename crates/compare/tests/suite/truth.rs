//! Verdicts for data with a known truth: the rates of false differences, of detected differences, and of intervals that
//! contain the true value.

use compare::{ComparisonQuestion, RISK, Verdict, judge};

/// A pseudorandom number generator that is the same in every run of the test.
struct TruthRng(u64);

impl TruthRng {
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        bits ^= bits >> 33;
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A standard normal number, computed as a sum of twelve.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// How the values of a machine vary from run to run.
#[derive(Clone, Copy, Debug)]
enum Scatter {
    /// Symmetric.
    Normal,
    /// With a long tail to the right, like latencies.
    Skew,
    /// With occasional outliers.
    Outliers,
    /// A rare event that few runs see.
    Rare,
}

impl Scatter {
    const ALL: [Scatter; 4] = [Scatter::Normal, Scatter::Skew, Scatter::Outliers, Scatter::Rare];

    /// Combines the level of a run with an individual part for each quantile, because the quantiles of a run are
    /// correlated.
    fn run(self, random: &mut TruthRng, questions: usize) -> Vec<f64> {
        let level = random.normal();
        let one = |random: &mut TruthRng| {
            let value = 0.7 * level + 0.7 * random.normal();
            match self {
                Scatter::Normal => 100.0 + 10.0 * value,
                Scatter::Skew => 80.0 + 20.0 * (0.6 * value).exp(),
                Scatter::Outliers if random.unit() < 0.05 => 100.0 + 60.0 * value.abs(),
                Scatter::Outliers => 100.0 + 5.0 * value,
                Scatter::Rare => f64::from(u8::from(random.unit() < 0.15)),
            }
        };
        (0..questions).map(|_| one(random)).collect()
    }
}

/// Returns the runs of a machine and of one that is slower by this amount, as questions.
fn experiment(
    random: &mut TruthRng,
    scatter: Scatter,
    runs: (usize, usize),
    questions: usize,
    more: f64,
) -> Vec<ComparisonQuestion> {
    let mut of = |runs: usize, more: f64| -> Vec<Vec<f64>> {
        (0..runs)
            .map(|_| {
                scatter
                    .run(random, questions)
                    .into_iter()
                    .map(|value| value + more)
                    .collect()
            })
            .collect()
    };
    let (first, other) = (of(runs.0, 0.0), of(runs.1, more));
    (0..questions)
        .map(|place| ComparisonQuestion {
            first: first.iter().map(|run| run[place]).collect(),
            other: other.iter().map(|run| run[place]).collect(),
            resolution: 0.0,
        })
        .collect()
}

const TRIALS: u32 = 200;

#[test]
fn false_differences_are_at_most_five_percent() {
    for scatter in Scatter::ALL {
        for (runs, questions) in [((4, 4), 1), ((5, 7), 6), ((8, 8), 12)] {
            let mut random = TruthRng(7);
            let (mut alarms, mut outside) = (0, 0);
            for _ in 0..TRIALS {
                let answers = judge(&experiment(&mut random, scatter, runs, questions, 0.0)).unwrap();
                alarms += u32::from(answers.iter().any(|answer| answer.verdict != Verdict::NotShown));
                let holds = answers
                    .iter()
                    .all(|answer| answer.interval[0] <= 0.0 && 0.0 <= answer.interval[1]);
                outside += u32::from(!holds);
            }
            let share = |count: u32| f64::from(count) / f64::from(TRIALS);
            println!(
                "{scatter:?} {runs:?} {questions}: alarms {:.3}, outside the interval {:.3}",
                share(alarms),
                share(outside)
            );
            assert!(share(alarms) <= RISK, "{scatter:?} {runs:?}: {alarms} of {TRIALS}");
        }
    }
}

#[test]
fn detectable_differences_are_detected_in_four_of_five_cases() {
    for runs in [(6, 6), (10, 10)] {
        let mut random = TruthRng(11);
        // The detectable difference is estimated from the same few runs, so the mean of many estimates is used.
        let sizes: Vec<f64> = (0..TRIALS)
            .map(|_| judge(&experiment(&mut random, Scatter::Normal, runs, 3, 0.0)).unwrap()[0].detectable)
            .collect();
        let size = sizes.iter().sum::<f64>() / sizes.len() as f64;
        let (mut shown, mut inside, mut wrong) = (0, 0, 0);
        for _ in 0..TRIALS {
            let answers = judge(&experiment(&mut random, Scatter::Normal, runs, 3, size)).unwrap();
            let answer = &answers[0];
            shown += u32::from(answer.verdict == Verdict::Higher);
            wrong += u32::from(answer.verdict == Verdict::Lower);
            inside += u32::from(answer.interval[0] <= size && size <= answer.interval[1]);
        }
        println!("{runs:?}: {size:.1} shown {shown}, in the interval {inside}, of {TRIALS}");
        assert!(
            shown * 10 >= TRIALS * 8 && shown * 10 <= TRIALS * 19 / 2,
            "{runs:?}: {shown}"
        );
        assert!(inside * 100 >= TRIALS * 95, "{runs:?}: {inside}");
        assert_eq!(wrong, 0);
    }
}

#[test]
fn the_suggested_number_of_repetitions_is_sufficient() {
    let mut random = TruthRng(13);
    let mean = |runs: usize, random: &mut TruthRng| {
        let of = |random: &mut TruthRng| {
            judge(&experiment(random, Scatter::Normal, (runs, runs), 1, 0.0)).unwrap()[0].clone()
        };
        let all: Vec<_> = (0..100).map(|_| of(random)).collect();
        let size = all.iter().map(|answer| answer.detectable).sum::<f64>() / 100.0;
        let times = all
            .iter()
            .map(|answer| answer.times_for(size / 2.0).unwrap())
            .sum::<f64>()
            / 100.0;
        (size, times)
    };
    let (size, times) = mean(8, &mut random);
    let runs = (8.0 * times).ceil() as usize;
    let (smaller, _) = mean(runs, &mut random);
    assert!(
        smaller <= size / 2.0,
        "{runs} runs show {smaller}, half of {size} was promised"
    );
    assert!(
        smaller > size / 4.0,
        "{runs} runs were far too many: {smaller} of {size}"
    );
}

#[test]
fn few_repetitions_and_constant_values_are_no_proof() {
    let question = |first: &[f64], other: &[f64], resolution: f64| ComparisonQuestion {
        first: first.to_vec(),
        other: other.to_vec(),
        resolution,
    };
    for (first, other) in [(1, 9), (3, 3), (2, 4), (0, 4)] {
        let few = judge(&[question(&vec![1.0; first], &vec![2.0; other], 0.0)]).unwrap_err();
        assert_eq!((few.first, few.other), (first, other));
    }
    assert!(judge(&[question(&[1.0; 4], &[2.0; 4], 0.0), question(&[1.0; 4], &[2.0; 5], 0.0)]).is_err());
    assert_eq!(judge(&[]), Ok(Vec::new()));

    let one = |first: &[f64], other: &[f64], resolution: f64| {
        judge(&[question(first, other, resolution)]).unwrap()[0].clone()
    };
    assert_eq!(one(&[5.0; 4], &[5.0; 4], 0.0).verdict, Verdict::NotShown);
    let apart = one(&[5.0; 4], &[9.0; 4], 1.0);
    assert_eq!((apart.verdict, apart.interval), (Verdict::Higher, [3.0, 5.0]));
    // As far apart as the resolution of the file.
    let close = one(&[5.0; 4], &[6.0; 4], 1.0);
    assert_eq!(close.verdict, Verdict::NotShown);
    assert_eq!(
        close.times_for(0.9),
        None,
        "no number of repetitions sees below the unit"
    );
    let lower = one(&[9.0, 9.1, 8.9, 9.2, 9.0], &[5.0, 5.1, 4.9, 5.0, 5.2], 0.0);
    assert_eq!(lower.verdict, Verdict::Lower);
    assert!(lower.p <= RISK && lower.interval[1] < -3.5, "{lower:?}");
}
