//! The cells of a study of a plan's knobs, and the answers for data with a known truth.

use compare::{ComparisonAnswer, ComparisonQuestion, Number, Quantity, RISK, SetComparison, Verdict, judge};
use formats::{Basis, SeriesKind};
use measure::MeasurementKind;
use std::collections::{BTreeMap, BTreeSet};
use study::parse;
use study::which_knob::{
    Candidates, Experiment, KnobEffect, KnobQuestion, LoadLevel, Matrix, knob_answers, least_repetitions, matrix,
};

const KNOBS: [&str; 4] = ["stat_interval=60", "rq_affinity", "irq_affinity", "ksm_run"];

fn candidates(takes: &[&str], requested: &[&str]) -> Candidates {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Candidates {
        profile: plan::Profile::Strict,
        takes: words(takes),
        leaves_out: words(&["timer_migration"]),
        requested_knobs: words(requested),
    }
}

/// Returns those of the knobs that an intent takes and that change something. One with an unmet requirement does not.
fn changing(intent: &plan::Intent, needs: Option<(&str, &str)>) -> BTreeSet<String> {
    let names = KNOBS.map(|knob| knob.split('=').next().unwrap());
    let is_able = |knob: &&str| needs.is_none_or(|(one, other)| **knob != *one || plan::takes(intent, other));
    let taken = names
        .into_iter()
        .filter(|knob| plan::takes(intent, knob))
        .filter(is_able);
    taken.map(str::to_owned).collect()
}

fn made(takes: &[&str], requested: &[&str], needs: Option<(&str, &str)>) -> Matrix {
    matrix(&candidates(takes, requested), &mut |intent| {
        Some(changing(intent, needs))
    })
    .unwrap()
}

fn experiment() -> Experiment {
    Experiment {
        what: MeasurementKind::Noise,
        cpus: "1".to_owned(),
        each: "2s".to_owned(),
        policy: Some("other".to_owned()),
        interval: None,
        load: LoadLevel {
            kinds: "cpu+io".to_owned(),
            place: "others",
        },
        repetitions: 6,
        seed: 4,
        budget: Some("1h".to_owned()),
        cool_down: "0s".to_owned(),
    }
}

fn names(matrix: &Matrix) -> Vec<&str> {
    matrix.levels.iter().map(|level| level.name.as_str()).collect()
}

#[test]
fn the_study_file_has_each_knob_alone_and_omitted() {
    let requested = ["stat_interval", "rq_affinity", "irq_affinity", "ksm_run"];
    let matrix = made(&KNOBS, &requested, None);
    assert_eq!(matrix.comparisons(), 1 + 2 * 4);
    let text = experiment().text(&matrix);
    let study = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(study.cells.len(), 3 + 2 * 4);
    assert_eq!(
        (study.repetitions, study.seed, study.each.as_secs()),
        (6, 4, 2),
        "{text}"
    );
    assert_eq!((study.cpus.text.as_str(), study.what), ("1", MeasurementKind::Noise));
    assert_eq!(study.policy.as_ref().unwrap().text, "other");
    assert_eq!(study.budget.unwrap().as_secs(), 3_600);

    // Checks the candidates that each cell takes. The one that changes nothing is in no cell.
    let taken = |place: usize| match &study.cells[place].intent {
        None => None,
        Some(intent) => {
            assert!(!plan::takes(intent, "timer_migration"), "{intent:?}");
            assert_eq!(
                intent.with.contains_key("stat_interval"),
                plan::takes(intent, "stat_interval")
            );
            Some(changing(intent, None))
        }
    };
    assert_eq!(study.which_knob.len(), 5);
    let all: BTreeSet<String> = requested.iter().map(|knob| (*knob).to_owned()).collect();
    for question in &study.which_knob {
        if question.knob == "cpuset_partition" {
            let [none, bare] = question.alone.unwrap();
            assert_eq!((taken(none), taken(bare)), (None, Some(BTreeSet::new())));
            assert_eq!(question.in_plan, None);
            continue;
        }
        let one = BTreeSet::from([question.knob.clone()]);
        let [bare, only] = question.alone.unwrap();
        assert_eq!((taken(bare), taken(only)), (Some(BTreeSet::new()), Some(one.clone())));
        let [without, full] = question.in_plan.unwrap();
        assert_eq!(taken(full), Some(all.clone()));
        assert_eq!(taken(without), Some(all.difference(&one).cloned().collect()));
    }
}

#[test]
fn other_knobs_stay_in_the_plan_and_no_set_of_knobs_runs_twice() {
    let matrix = made(&KNOBS, &["ksm_run"], None);
    assert_eq!(names(&matrix), ["bare", "full", "only_ksm_run", "without_ksm_run"]);
    assert_eq!(matrix.levels[3].takes.len(), 3);
    // With two knobs, one alone equals the other one left out. With one knob, both cells exist already.
    let two = made(&KNOBS[1..3], &["rq_affinity", "irq_affinity"], None);
    assert_eq!(names(&two), ["bare", "full", "only_rq_affinity", "without_rq_affinity"]);
    assert_eq!(
        two.questions[2].alone.as_ref().unwrap(),
        &["bare", "without_rq_affinity"]
    );
    assert_eq!(
        two.questions[2].in_plan.as_ref().unwrap(),
        &["only_rq_affinity", "full"]
    );
    let one = made(&KNOBS[3..], &["ksm_run"], None);
    assert_eq!(names(&one), ["bare", "full"]);
    assert_eq!(
        (one.questions[1].alone.is_some(), &one.questions[1].in_plan),
        (true, &None)
    );
    for matrix in [matrix, two, one] {
        let text = experiment().text(&matrix);
        assert_eq!(parse(text.as_bytes()).unwrap().cells.len(), 1 + matrix.levels.len());
    }
}

#[test]
fn a_dependent_knob_is_not_tested_alone() {
    let needs = Some(("rq_affinity", "irq_affinity"));
    let matrix = made(&KNOBS, &["rq_affinity", "irq_affinity"], needs);
    let [_, needy, needed] = matrix.questions.as_slice() else {
        panic!("{matrix:?}")
    };
    assert_eq!(
        (&needy.alone, needy.needs.as_slice()),
        (&None, &["irq_affinity".to_owned()][..])
    );
    assert_eq!(needed.along, ["rq_affinity"]);
    let without = matrix
        .levels
        .iter()
        .find(|level| level.name == "without_irq_affinity")
        .unwrap();
    assert!(!without.takes.contains("rq_affinity"), "{without:?}");
    let study = parse(experiment().text(&matrix).as_bytes()).unwrap();
    assert_eq!(study.which_knob[1].needs, ["irq_affinity"]);
    assert_eq!(study.which_knob[2].along, ["rq_affinity"]);
}

#[test]
fn every_knob_gives_a_valid_cell_name() {
    for knob in plan::KNOBS.iter().filter(|knob| knob.needed.is_empty()) {
        let one = Candidates {
            profile: plan::Profile::Minimal,
            takes: vec!["workqueue_cpumask".to_owned(), knob.name.to_owned()],
            leaves_out: Vec::new(),
            requested_knobs: vec![knob.name.to_owned()],
        };
        let all = |_: &plan::Intent| Some(one.takes.iter().cloned().collect());
        let text = experiment().text(&matrix(&one, &mut { all }).unwrap());
        // Other knobs are refused because they need a value.
        if let Err(error) = parse(text.as_bytes()) {
            assert!(!error.to_string().contains("part of a directory name"), "{error}");
        }
    }
}

#[test]
fn impossible_questions_are_refused_with_their_line() {
    let text = experiment().text(&made(&KNOBS, &["ksm_run"], None));
    for (from, to, words) in [
        ("knob = \"ksm_run\"", "knob = \"no_such\"", "no knob `no_such`"),
        ("knob = \"ksm_run\"", "knob = \"cpuset_partition\"", "twice"),
        (
            "alone = [\"bare\", \"only_ksm_run\"]",
            "alone = [\"bare\", \"nowhere\"]",
            "no cell has the isolation `nowhere`",
        ),
        ("load = [\"cpu+io\"]", "load = [\"cpu+io\", \"idle\"]", "several loads"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        let error = parse(text.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(error.line > 0 && error.to_string().contains(words), "{error}");
        assert!(!error.next.is_empty());
    }
}

/// A pseudorandom number generator that is the same in every run of the test.
struct NoiseRng(u64);

impl NoiseRng {
    /// A standard normal number, computed as a sum of twelve.
    fn normal(&mut self) -> f64 {
        let mut unit = || {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let mut bits = self.0;
            bits = (bits ^ (bits >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
            bits ^= bits >> 33;
            (bits >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| unit()).sum::<f64>() - 6.0
    }
}

const NUMBERS: usize = 3;

/// Returns correlated numbers for the runs of a cell.
fn runs(random: &mut NoiseRng, level: f64, count: usize) -> Vec<[f64; NUMBERS]> {
    let run = |random: &mut NoiseRng| {
        let own = 0.7 * random.normal();
        [(); NUMBERS].map(|()| level + own + 0.7 * random.normal())
    };
    (0..count).map(|_| run(random)).collect()
}

fn compared(without: &[[f64; NUMBERS]], with: &[[f64; NUMBERS]]) -> SetComparison {
    let number = |place: usize, runs: &[[f64; NUMBERS]]| runs.iter().map(|run| run[place]).collect();
    let questions: Vec<ComparisonQuestion> = (0..NUMBERS)
        .map(|place| ComparisonQuestion {
            first: number(place, without),
            other: number(place, with),
            resolution: 0.0,
        })
        .collect();
    let quantity = |place: usize| Quantity {
        thread: "CPU 1".to_owned(),
        kind: SeriesKind::Latency,
        basis: Basis::Samples,
        number: Number::Quantile([0.5, 0.9, 0.99][place]),
    };
    let answers = judge(&questions).unwrap();
    SetComparison {
        first: "without".to_owned(),
        first_runs: without.len(),
        other: "with".to_owned(),
        other_runs: with.len(),
        run_ns: None,
        answers: answers
            .into_iter()
            .enumerate()
            .map(|(place, answer)| (quantity(place), answer))
            .collect(),
        withheld: None,
        not_representative: BTreeMap::new(),
        one_after_the_other: false,
        conditions: Vec::new(),
    }
}

/// Runs a study of these knobs, whose cells have the sum of the effects of their knobs. Returns the names with the
/// reported effects.
fn experienced(does: &[(&str, f64)], repetitions: usize, random: &mut NoiseRng) -> Vec<(String, KnobEffect)> {
    // Cells: bare, full, and then each knob alone and left out.
    let all: f64 = does.iter().map(|(_, what)| what).sum();
    let mut cells = vec![runs(random, 100.0, repetitions), runs(random, 100.0 + all, repetitions)];
    let mut questions = Vec::new();
    for (knob, what) in does {
        let place = cells.len();
        cells.push(runs(random, 100.0 + what, repetitions));
        cells.push(runs(random, 100.0 + all - what, repetitions));
        questions.push(KnobQuestion {
            knob: (*knob).to_owned(),
            alone: Some([0, place]),
            in_plan: Some([place + 1, 1]),
            needs: Vec::new(),
            along: Vec::new(),
        });
    }
    let answers = knob_answers(&questions, &mut |[without, with]| {
        Some(compared(&cells[without], &cells[with]))
    });
    answers
        .iter()
        .map(|one| (one.question.knob.clone(), one.effect))
        .collect()
}

#[test]
fn helpful_and_harmful_knobs_are_reported_most_helpful_first() {
    let does = [
        ("nothing", 0.0),
        ("harms", 8.0),
        ("helps", -8.0),
        ("nothing too", 0.0),
        ("helps more", -16.0),
    ];
    let effects = experienced(&does, 8, &mut NoiseRng(3));
    let expected = [
        ("helps more", KnobEffect::Helped),
        ("helps", KnobEffect::Helped),
        ("nothing", KnobEffect::NotShown),
        ("nothing too", KnobEffect::NotShown),
        ("harms", KnobEffect::DidHarm),
    ];
    let effects: Vec<(&str, KnobEffect)> = effects.iter().map(|(knob, effect)| (knob.as_str(), *effect)).collect();
    assert_eq!(effects, expected);
}

#[test]
fn false_reports_of_helpful_knobs_are_at_most_five_percent() {
    const STUDIES: u32 = 60;
    let does = ["a", "b", "c", "d", "e"].map(|knob| (knob, 0.0));
    let mut random = NoiseRng(5);
    let mut alarms = 0;
    for _ in 0..STUDIES {
        let effects = experienced(&does, 6, &mut random);
        alarms += u32::from(effects.iter().any(|(_, effect)| *effect != KnobEffect::NotShown));
    }
    println!("{alarms} of {STUDIES} studies name a knob");
    assert!(f64::from(alarms) <= f64::from(STUDIES) * RISK, "{alarms} of {STUDIES}");
}

#[test]
fn without_enough_results_there_is_no_verdict() {
    let question = KnobQuestion {
        knob: "ksm_run".to_owned(),
        alone: Some([0, 1]),
        in_plan: None,
        needs: Vec::new(),
        along: Vec::new(),
    };
    let questions = [question];
    let answers = knob_answers(&questions, &mut |_| None);
    assert_eq!(
        (answers[0].effect, answers[0].sides().count()),
        (KnobEffect::NoVerdict, 0)
    );
    // With 4 runs each there are 70 permutations: 2 / 70 is below 5 % for one question. With 5 there are 252, and 2 /
    // 252 is below 5 % / 6.
    assert_eq!([1, 2, 6, 7, 23, 24].map(least_repetitions), [4, 5, 5, 6, 6, 7]);
}

/// The answers of one comparison: quantity, value before and after, verdict.
fn side(answers: &[(Number, f64, f64, Verdict)]) -> SetComparison {
    let runs = |level: f64| vec![[level; NUMBERS]; 4];
    let mut made = compared(&runs(1.0), &runs(1.0));
    let (quantity, pattern) = made.answers[0].clone();
    let answer = |(number, was, is, verdict): &(Number, f64, f64, Verdict)| {
        let quantity = Quantity {
            kind: SeriesKind::Noise,
            number: *number,
            ..quantity.clone()
        };
        let answer = ComparisonAnswer {
            first_mean: *was,
            other_mean: *is,
            difference: is - was,
            p: 0.001,
            verdict: *verdict,
            ..pattern.clone()
        };
        (quantity, answer)
    };
    made.answers = answers.iter().map(answer).collect();
    made
}

/// Users care about how much time is stolen and how long the longest gaps are.
#[test]
fn more_short_gaps_are_no_harm_if_less_time_is_stolen() {
    use Verdict::{Higher, Lower, NotShown};
    let (stolen, short, middle, long) = (
        Number::Stolen,
        Number::Rate(1_000),
        Number::Rate(100_000),
        Number::Rate(10_000_000),
    );
    let question = KnobQuestion {
        knob: "cpuset_partition".to_owned(),
        alone: Some([0, 1]),
        in_plan: None,
        needs: Vec::new(),
        along: Vec::new(),
    };
    let judged = |answers: &[(Number, f64, f64, Verdict)]| {
        let questions = [question.clone()];
        let knob_answers = knob_answers(&questions, &mut |_| Some(side(answers)));
        let side = knob_answers[0].alone.as_ref().unwrap();
        (knob_answers[0].effect, side.reported.clone(), side.headline())
    };
    let less = (stolen, 810e6, 15e6, Lower);
    let more = (short, 400.0, 2_000.0, Higher);
    // Observed on a machine whose thread had the CPU five times as long with the partition.
    let seen = [less, more, (middle, 9.0, 9.0, NotShown), (long, 30.0, 0.0, Lower)];
    assert_eq!(judged(&seen), (KnobEffect::Helped, vec![1], Some(3)));
    // If the stolen time is the same, or not known to be less, more gaps count as harm.
    let same = (stolen, 15e6, 15e6, NotShown);
    assert_eq!(judged(&[same, more, (long, 1.0, 1.0, NotShown)]).0, KnobEffect::DidHarm);
    // Longer gaps are more frequent too, or it is the longest ones that are.
    let longer = (long, 1.0, 30.0, Higher);
    assert_eq!(
        judged(&[less, more, longer]),
        (KnobEffect::HelpedAndDidHarm, Vec::new(), Some(0))
    );
    assert_eq!(judged(&[less, more]).0, KnobEffect::HelpedAndDidHarm);
    // More stolen time is harm, even with fewer short gaps.
    let stolen_more = (stolen, 15e6, 810e6, Higher);
    assert_eq!(
        judged(&[stolen_more, (short, 2_000.0, 400.0, Lower)]).0,
        KnobEffect::HelpedAndDidHarm
    );
}
