//! Tests watches from which nothing can be predicted.

use crate::support::{SECOND_NS, story, watch};
use blame::{BlameResult, Class, CureContext, Interruption};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};
use predict::{ChangeSelection, PredictionInput, PredictionRefusal, WatchOrigin, predict};

fn refusal(answer: &BlameResult, context: &CureContext, selection: ChangeSelection) -> PredictionRefusal {
    let input = PredictionInput {
        answer,
        context,
        threshold_ns: 0,
        selection,
        origin: WatchOrigin::Now,
        others: None,
        base_latency_ns: None,
        untraced: None,
    };
    predict(&input).unwrap_err()
}

#[test]
fn watches_that_show_nothing_are_refused() {
    let tick = || vec![Interruption::new(Class::Tick, "tick")];
    let good = watch(SECOND_NS, tick(), vec![story(0, &[(2_000, Some(0))])]);
    let context = CureContext {
        requested: CpuSet::range(3, 3),
        ..CureContext::default()
    };
    let each = ChangeSelection::Each;
    assert_eq!(
        refusal(&BlameResult::default(), &context, each),
        PredictionRefusal::NotWatched
    );
    assert_eq!(
        refusal(&watch(0, tick(), Vec::new()), &context, each),
        PredictionRefusal::NotWatched
    );
    let mut sums_only = good.clone();
    sums_only.cpus[0].stories.clear();
    assert_eq!(refusal(&sums_only, &context, each), PredictionRefusal::NoSingleGaps);
    let refused = CureContext {
        refusal: Some("CPU 3 is the last one".to_owned()),
        ..context.clone()
    };
    let expected = PredictionRefusal::Refused("CPU 3 is the last one".to_owned());
    assert_eq!(refusal(&good, &refused, each), expected);
    let active = CureContext {
        in_force: vec![Intent::new(
            PartitionName::default(),
            CpuSet::range(3, 3),
            Profile::Strict,
        )],
        ..context
    };
    let minimal = ChangeSelection::Only {
        profile: Some(Profile::Minimal),
        boot: false,
    };
    assert_eq!(refusal(&good, &active, minimal), PredictionRefusal::AlreadyActive);
}
