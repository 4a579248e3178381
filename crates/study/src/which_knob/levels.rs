//! From the knobs of a plan to isolations: which there are, and which two of them answer for a knob.

use crate::isolations::empty_intent;
use plan::{Intent, Profile, Refusal};
use std::collections::BTreeSet;

/// The knobs of a plan, as far as they make a difference on a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Whose knobs those are that nobody named.
    pub profile: Profile,
    /// Knobs that change something and can be left out, as `--with` takes them, in the order in which they are applied.
    pub takes: Vec<String>,
    /// Names of knobs that no isolation takes.
    pub leaves_out: Vec<String>,
    /// Names of those of `takes` that are asked about.
    pub asked: Vec<String>,
}

/// An isolation: its name, and how far it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Its name in the file.
    pub name: String,
    /// Knobs beyond the profile, as `--with` takes them.
    pub with: Vec<String>,
    /// Knobs of the profile that are left out.
    pub without: Vec<String>,
    /// Names of the candidates that it takes.
    pub takes: BTreeSet<String>,
}

/// All isolations beside `none`, and what is asked of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Whose knobs those are that nobody named.
    pub profile: Profile,
    /// Every level is another set of knobs.
    pub levels: Vec<Level>,
    /// Each with names of levels, or `none`.
    pub questions: Vec<LevelQuestion>,
}

/// What is asked about one knob, by the names of isolations: without it, with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelQuestion {
    /// Its name.
    pub knob: String,
    /// With nothing beside it.
    pub alone: Option<[String; 2]>,
    /// With the rest of the plan beside it.
    pub in_plan: Option<[String; 2]>,
    /// Knobs without which it changes nothing.
    pub needs: Vec<String>,
    /// Knobs that change nothing without it.
    pub along: Vec<String>,
}

impl Matrix {
    /// How many comparisons answer it.
    #[must_use]
    pub fn comparisons(&self) -> usize {
        let of =
            |asks: &LevelQuestion| usize::from(asks.alone.is_some()) + usize::from(asks.in_plan.is_some());
        self.questions.iter().map(of).sum()
    }
}

/// The isolations that answer for each knob that is asked about. `changes` says which candidates change something when an
/// intent, without CPUs, is planned; `None` where it cannot be planned.
///
/// # Errors
/// A knob that there is not, or that cannot be left out.
pub fn matrix(
    candidates: &Candidates,
    changes: &mut dyn FnMut(&Intent) -> Option<BTreeSet<String>>,
) -> Result<Matrix, Refusal> {
    let all: BTreeSet<String> = candidates.takes.iter().map(|knob| name(knob)).collect();
    let mut effective = |taken: &BTreeSet<String>| -> Result<BTreeSet<String>, Refusal> {
        let changed = changes(&intent(candidates, &candidates.level("", taken))?);
        let changed = changed.unwrap_or_default();
        Ok(taken.intersection(&changed).cloned().collect())
    };
    let mut made = Made {
        candidates,
        levels: Vec::new(),
    };
    let (bare, full) = (made.level("bare", &BTreeSet::new()), made.level("full", &all));
    // The partition cannot be left out of a plan, so nothing is asked of it there.
    let mut questions = vec![LevelQuestion {
        knob: "cpuset_partition".to_owned(),
        alone: Some(["none".to_owned(), bare.clone()]),
        in_plan: None,
        needs: Vec::new(),
        along: Vec::new(),
    }];
    for knob in &candidates.asked {
        let one = BTreeSet::from([knob.clone()]);
        let mut asks = LevelQuestion {
            knob: knob.clone(),
            alone: None,
            in_plan: None,
            needs: Vec::new(),
            along: Vec::new(),
        };
        if effective(&one)? == one {
            let only = made.level(&format!("only_{knob}"), &one);
            asks.alone = Some([bare.clone(), only]);
        } else {
            for other in all.iter().filter(|other| *other != knob) {
                let two = BTreeSet::from([knob.clone(), other.clone()]);
                if effective(&two)? == two {
                    asks.needs.push(other.clone());
                }
            }
            if asks.needs.is_empty() {
                asks.needs = all.iter().filter(|other| *other != knob).cloned().collect();
            }
        }
        let rest: BTreeSet<String> = all.difference(&one).cloned().collect();
        let stays = effective(&rest)?;
        asks.along = rest.difference(&stays).cloned().collect();
        let without = made.level(&format!("without_{knob}"), &stays);
        asks.in_plan = Some([without, full.clone()]).filter(|pair| asks.alone.as_ref() != Some(pair));
        questions.push(asks);
    }
    Ok(Matrix {
        profile: candidates.profile,
        levels: made.levels,
        questions,
    })
}

/// The levels so far: a set of knobs that is there already keeps its first name.
struct Made<'a> {
    candidates: &'a Candidates,
    levels: Vec<Level>,
}

impl Made<'_> {
    fn level(&mut self, name: &str, takes: &BTreeSet<String>) -> String {
        if let Some(known) = self.levels.iter().find(|level| level.takes == *takes) {
            return known.name.clone();
        }
        self.levels.push(self.candidates.level(name, takes));
        name.to_owned()
    }
}

impl Candidates {
    fn level(&self, called: &str, takes: &BTreeSet<String>) -> Level {
        let profile = empty_intent(self.profile);
        let is_held = |knob: &String| plan::takes(&profile, knob);
        let is_taken = |knob: &&String| takes.contains(&name(knob));
        // A value is asked for by name also where the profile has the knob.
        let by_name = |knob: &&String| knob.contains('=') || !is_held(knob);
        let out = self.takes.iter().filter(|knob| !is_taken(knob));
        Level {
            name: called.to_owned(),
            with: self
                .takes
                .iter()
                .filter(is_taken)
                .filter(by_name)
                .cloned()
                .collect(),
            without: out
                .map(|knob| name(knob))
                .chain(self.leaves_out.iter().cloned())
                .filter(is_held)
                .collect(),
            takes: takes.clone(),
        }
    }
}

/// The name of a knob that may have a value behind it.
fn name(knob: &str) -> String {
    knob.split_once('=').map_or(knob, |(name, _)| name).to_owned()
}

fn intent(candidates: &Candidates, level: &Level) -> Result<Intent, Refusal> {
    let mut intent = empty_intent(candidates.profile);
    level.with.iter().try_for_each(|knob| intent.take(knob))?;
    level.without.iter().try_for_each(|knob| intent.leave_out(knob))?;
    Ok(intent)
}
