//! Derives isolations from the knobs of a plan, and selects the two isolations that show the effect of each knob.

use crate::isolations::empty_intent;
use plan::{Intent, PlanRefusal, Profile};
use std::collections::BTreeSet;

/// The knobs of a plan that make a difference on a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The profile of all knobs that are not listed explicitly.
    pub profile: Profile,
    /// Knobs that change something and can be left out, in the syntax of `--with`, in the order in which they are applied.
    pub takes: Vec<String>,
    /// Names of knobs that no isolation uses.
    pub leaves_out: Vec<String>,
    /// Names of the knobs of `takes` that the study tests.
    pub requested_knobs: Vec<String>,
}

/// An isolation: its name and its set of knobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobLevel {
    /// Its name in the file.
    pub name: String,
    /// Knobs beyond the profile, in the syntax of `--with`.
    pub with: Vec<String>,
    /// Knobs of the profile that are left out.
    pub without: Vec<String>,
    /// Names of the candidates that it uses.
    pub takes: BTreeSet<String>,
}

/// All isolations except `none`, and the comparisons between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// The profile of all knobs that are not listed explicitly.
    pub profile: Profile,
    /// Every level is a different set of knobs.
    pub levels: Vec<KnobLevel>,
    /// Each uses names of levels, or `none`.
    pub questions: Vec<LevelQuestion>,
}

/// The comparisons for one knob, by isolation name: without it, with it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LevelQuestion {
    /// Its name.
    pub knob: String,
    /// The knob with no other knob.
    pub alone: Option<[String; 2]>,
    /// The knob with the rest of the plan.
    pub in_plan: Option<[String; 2]>,
    /// Knobs that it needs to have an effect.
    pub needs: Vec<String>,
    /// Knobs that have no effect without it.
    pub along: Vec<String>,
}

impl Matrix {
    /// The number of comparisons.
    #[must_use]
    pub fn comparisons(&self) -> usize {
        let of =
            |question: &LevelQuestion| usize::from(question.alone.is_some()) + usize::from(question.in_plan.is_some());
        self.questions.iter().map(of).sum()
    }
}

/// Builds the isolations that show the effect of each tested knob. `changes` returns the candidates that change something
/// when an intent, without CPUs, is planned; `None` where it cannot be planned.
///
/// # Errors
/// An unknown knob, or one that cannot be left out.
pub fn matrix(
    candidates: &Candidates,
    changes: &mut dyn FnMut(&Intent) -> Option<BTreeSet<String>>,
) -> Result<Matrix, PlanRefusal> {
    let all: BTreeSet<String> = candidates.takes.iter().map(|knob| name(knob)).collect();
    let mut effective = |taken: &BTreeSet<String>| -> Result<BTreeSet<String>, PlanRefusal> {
        let changed = changes(&intent(candidates, &candidates.level("", taken))?);
        let changed = changed.unwrap_or_default();
        Ok(taken.intersection(&changed).cloned().collect())
    };
    let mut made = LevelBuilder {
        candidates,
        levels: Vec::new(),
    };
    let (bare, full) = (made.level("bare", &BTreeSet::new()), made.level("full", &all));
    // The partition cannot be left out of a plan, so there is no comparison within the plan.
    let mut questions = vec![LevelQuestion {
        knob: "cpuset_partition".to_owned(),
        alone: Some(["none".to_owned(), bare.clone()]),
        ..LevelQuestion::default()
    }];
    for knob in &candidates.requested_knobs {
        let one = BTreeSet::from([knob.clone()]);
        let mut question = LevelQuestion {
            knob: knob.clone(),
            ..LevelQuestion::default()
        };
        if effective(&one)? == one {
            let only = made.level(&format!("only_{knob}"), &one);
            question.alone = Some([bare.clone(), only]);
        } else {
            for other in all.iter().filter(|other| *other != knob) {
                let two = BTreeSet::from([knob.clone(), other.clone()]);
                if effective(&two)? == two {
                    question.needs.push(other.clone());
                }
            }
            if question.needs.is_empty() {
                question.needs = all.iter().filter(|other| *other != knob).cloned().collect();
            }
        }
        let rest: BTreeSet<String> = all.difference(&one).cloned().collect();
        let stays = effective(&rest)?;
        question.along = rest.difference(&stays).cloned().collect();
        let without = made.level(&format!("without_{knob}"), &stays);
        question.in_plan = Some([without, full.clone()]).filter(|pair| question.alone.as_ref() != Some(pair));
        questions.push(question);
    }
    Ok(Matrix {
        profile: candidates.profile,
        levels: made.levels,
        questions,
    })
}

/// The levels so far. A set of knobs that already exists keeps its first name.
struct LevelBuilder<'a> {
    candidates: &'a Candidates,
    levels: Vec<KnobLevel>,
}

impl LevelBuilder<'_> {
    fn level(&mut self, name: &str, takes: &BTreeSet<String>) -> String {
        if let Some(known) = self.levels.iter().find(|level| level.takes == *takes) {
            return known.name.clone();
        }
        self.levels.push(self.candidates.level(name, takes));
        name.to_owned()
    }
}

impl Candidates {
    fn level(&self, called: &str, takes: &BTreeSet<String>) -> KnobLevel {
        let profile = empty_intent(self.profile);
        let is_held = |knob: &String| plan::takes(&profile, knob);
        let is_taken = |knob: &&String| takes.contains(&name(knob));
        // A knob with a value is explicitly requested even if the profile includes the knob.
        let by_name = |knob: &&String| knob.contains('=') || !is_held(knob);
        let out = self.takes.iter().filter(|knob| !is_taken(knob));
        KnobLevel {
            name: called.to_owned(),
            with: self.takes.iter().filter(is_taken).filter(by_name).cloned().collect(),
            without: out
                .map(|knob| name(knob))
                .chain(self.leaves_out.iter().cloned())
                .filter(is_held)
                .collect(),
            takes: takes.clone(),
        }
    }
}

/// The name of a knob, without its optional value.
fn name(knob: &str) -> String {
    knob.split_once('=').map_or(knob, |(name, _)| name).to_owned()
}

fn intent(candidates: &Candidates, level: &KnobLevel) -> Result<Intent, PlanRefusal> {
    let mut intent = empty_intent(candidates.profile);
    level.with.iter().try_for_each(|knob| intent.take(knob))?;
    level.without.iter().try_for_each(|knob| intent.leave_out(knob))?;
    Ok(intent)
}
